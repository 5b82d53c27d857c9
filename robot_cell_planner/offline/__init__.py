"""Offline use of a cell in scripts, without ROS: planning, simulation and recording.

```python
with OfflineCell.load("config/demo/cell.yaml", seed=1, report=print) as cell:
    cell.move("to above the workpiece", tool_at="above_pick")
    cell.write_replay("replay.html")
```
"""

from .cell import OfflineCell
from .outcome import ExecutedMotion
from .speed import Speed, measure_speed

__all__ = ["ExecutedMotion", "OfflineCell", "Speed", "measure_speed"]
