"""Scene changes whose result depends on where joints were measured, which other nodes do not know."""

from __future__ import annotations

import copy
from typing import Any

from frozendict import frozendict

from robot_cell_planner import msg, srv

from ...errors import RobotCellError
from ...kinematics.transforms import world_pose
from ...model.cell import RobotCell
from ...model.pose import Pose
from ...model.state import RobotCellState
from ...scene.changes import apply_changes
from ...scene.scene import Scene
from ..common.monitored_scene import MAX_CHANGES
from ..conversions.changes import changes_from_message
from ..conversions.models import ModelReader

SHIFT = 0.1  # [rad or m] of all joints, to see whether a result depends on them


def with_recorded_result(request: Any, reply: Any, scene: Scene | None, models: ModelReader) -> Any:
    """Return a request of `scene/apply_changes` that has the recorded result wherever the joints are measured now: the
    request itself, or if its result depends on them, such as that of attaching in place, a copy with changes that set
    the recorded poses at its end. scene: that before it; None if it is not known."""
    if scene is None or not _depends_on_joints(request, scene, models):
        return request
    request, update = copy.deepcopy(request), reply.update
    if update.models.frames:
        frames = msg.RobotCell(frames=update.models.frames)
        request.changes.append(msg.SceneChange(operation=msg.SceneChange.REPLACE, models=frames))
    if update.states != msg.RobotCellState():
        request.changes.append(msg.SceneChange(operation=msg.SceneChange.SET_STATE, states=update.states))
    return request


def _depends_on_joints(request: srv.ApplyChanges.Request, scene: Scene, models: ModelReader) -> bool:
    """Return whether changes lead to another scene where the joints are measured elsewhere."""
    try:
        changes = changes_from_message(request.changes, models, "changes", MAX_CHANGES)
        first, second = (apply_changes(scene, changes, pose) for pose in (world_pose, _pose_elsewhere))
    except RobotCellError:  # of changes that are refused, or with frames of TF
        return False
    return first != second


def _pose_elsewhere(cell: RobotCell, state: RobotCellState, frame: str) -> Pose:
    """Return world_T_frame with all joints elsewhere than in a state."""
    shifted = state.with_configuration({name: state.configuration.get(name, 0.0) + SHIFT for name in cell.variables})
    for name, tool in state.tools.items():
        values = {joint: value + SHIFT for joint, value in tool.configuration.items()}
        shifted = shifted.with_tool(name, tool.with_configuration(frozendict(values)))
    return world_pose(cell, shifted, frame)
