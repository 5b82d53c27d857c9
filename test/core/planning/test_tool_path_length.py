"""The length of a tool's path is that of its positions at finer samples."""

import numpy as np
import pytest

from robot_cell_planner import MotionRequest, load_cell, plan_motion
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.kinematics.targets import TargetMode, target_frame
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.request import Goals


@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_finer_samples(seed):
    cell, state = load_cell("config/demo/cell.yaml")
    group = cell.group()
    random = np.random.default_rng(seed)
    goal = {name: state.configuration[name] + random.uniform(-0.4, 0.4) for name in group.variables}
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=(goal,)), group.name))
    mode = TargetMode.TOOL if cell.tool_of_group(state, group.name) else TargetMode.ROBOT
    frame = target_frame(cell, state, group.name, mode)
    positions = forward_batch(cell, state, frame, plan.variables, densify(plan.path, 0.001)[0])[:, :3, 3]
    expected = np.linalg.norm(np.diff(positions, axis=0), axis=1).sum()
    assert expected > 0.05
    assert plan.tool_path_length == pytest.approx(expected, rel=1e-4)
