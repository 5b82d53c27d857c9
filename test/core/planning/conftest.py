from pathlib import Path

import pytest
from loaded_cells import loaded

from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest

DEMO = Path(__file__).parents[3] / "config/demo/cell.yaml"


@pytest.fixture(scope="session")
def demo():
    """The cell of the demonstration and its state."""
    return loaded()


@pytest.fixture(scope="session")
def above(demo):
    """The demo cell with the tool centre point above the workpiece, and its pose there."""
    cell, state = demo
    goal = FrameTarget(pose=world_pose(cell, state, "above_pick"), mode=TargetMode.TOOL)
    plan = plan_motion(cell, state, MotionRequest(Goals(targets=(goal,))))
    state = state.with_configuration(plan.end_configuration())
    return cell, state, forward_kinematics(cell, state, mode=TargetMode.TOOL)
