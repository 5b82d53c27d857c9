"""A small recording of the demonstration cell, made by hand: the arm turns with the workpiece in the gripper."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from pathlib import Path

import msgspec
from loaded_cells import loaded

from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.viewer import Recorder, Recording

CONFIG = Path(__file__).parents[2] / "config"
ATTACHED_AT = 20  # the moment from which on the gripper carries the workpiece
MOMENTS = 60
STEP = 0.02  # [s]


@lru_cache(maxsize=1)
def demo_cell() -> tuple[RobotCell, RobotCellState]:
    return loaded()


def state_at(state: RobotCellState, index: int) -> RobotCellState:
    """The state of a moment: one joint follows a sine, and from one moment on the workpiece hangs on the palm."""
    state = state.with_configuration({"shoulder_pan_joint": -1.2 + 0.4 * math.sin(0.1 * index)})
    if index < ATTACHED_AT:
        return state
    workpiece = msgspec.structs.replace(
        state.bodies["workpiece"], attached_to="gripper/palm", pose=Pose((0.0, 0.0, 0.165))
    )
    return state.with_body("workpiece", workpiece)


def small_recording(state: RobotCellState) -> Recording:
    recorder = Recorder()
    for index in range(MOMENTS):
        recorder.add(3.0 + STEP * index, state_at(state, index))
    recorder.segment("approach", 3.0, 3.4, {"states": "12"})
    recorder.segment("carry </script> <b>", 3.4, 3.0 + STEP * (MOMENTS - 1), {"clearance mm": "31"})
    return recorder.recording({"verdict": "as it should be"})


def replay_of(text):
    """The content of a page, and the block with its arrays."""

    def element(name):
        return re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', text, re.DOTALL)[1]

    return json.loads(element("replay")), element("block")
