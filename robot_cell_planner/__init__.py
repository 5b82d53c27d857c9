"""Robot cells: kinematics, collision checks, motion planning and execution, with and without ROS 2.

Import from here what a script needs; names are loaded when they are first used:

```python
from robot_cell_planner import Goals, MotionRequest, load_cell, plan_motion

cell, state = load_cell("config/demo/cell.yaml")
plan = plan_motion(cell, state, MotionRequest(Goals(named_states=("home",))))
```

The packages, of which each imports only those before it: `system`, `model`, `io`, `kinematics`, `scene`, `collision`,
`trajectory`, `planning`, `setup_assistant`, `simulation` and `viewer`, `cases`, `exchange`, `offline` for scripts, and
`nodes`, which alone knows ROS 2. Errors are in `errors`.
"""

import pkgutil

from .system.lazy_exports import lazy_exports

__version__ = "0.1.0"

# The generated `msg`, `srv` and `action` packages lie in the install folder of a workspace; this lets the sources of
# the package be used together with them from another folder.
__path__ = pkgutil.extend_path(__path__, __name__)

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
