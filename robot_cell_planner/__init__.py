"""Robot cells: kinematics, collision checks, motion planning and execution, with and without ROS 2.

The layers, of which each imports only those before it: `cell`, `kinematics`, `collision`, `trajectory`, `planning`,
`simulation` and `viewer`, `offline` for scripts, and `nodes`, which alone knows ROS 2.
"""

import pkgutil

__version__ = "0.1.0"

# The generated `msg`, `srv` and `action` packages lie in the install folder of a workspace; this lets the sources of
# the package be used together with them from another folder.
__path__ = pkgutil.extend_path(__path__, __name__)
