"""Cases: a request with everything that its answer depends on, in one file that runs on any machine.

```python
try:
    plan = plan_motion(cell, state, request)
except RobotCellError as error:
    save_case("failure.case", cell, state, request, error)

with open_case("failure.case") as case:
    print(reproduce(case))
```
"""

from .case import Case, Reproduction, reproduce
from .case_file import open_case, save_case

__all__ = ["Case", "Reproduction", "open_case", "reproduce", "save_case"]
