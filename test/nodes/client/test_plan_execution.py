"""Plans that are valid only together with the motions of other robots are not executed alone."""

import asyncio

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner import Goals, MotionRequest, Trajectory, load_cell, plan_motion
from robot_cell_planner.action import Move
from robot_cell_planner.errors import InvalidRequestError, NotSupportedError
from robot_cell_planner.msg import ExecutionOptions
from robot_cell_planner.nodes.client.plan_execution import execute_plan
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.execution.trajectory_actions import TrajectoryActions

LEFT, RIGHT = "left/manipulator", "right/manipulator"


def test_a_plan_among_moving_robots_is_not_executed_without_them(request):
    cell, state = load_cell(request.config.rootpath / "config" / "two_arms" / "cell.yaml")
    names = cell.group(LEFT).variables
    here = np.array([[state.configuration[name] for name in names]])
    moving = Trajectory(names, np.array([0.0, 1.0]), np.vstack((here, here + 0.1)))
    plan = plan_motion(cell, state, MotionRequest(Goals(named_states=("up",)), RIGHT, moving=(moving,)))
    with pytest.raises(InvalidRequestError, match="merge their trajectories") as caught:
        execute_plan(None, plan)  # no client is needed to refuse it
    assert caught.value.subjects == names


def test_a_move_among_moving_robots_is_refused():
    actions = object.__new__(TrajectoryActions)  # nothing of it is needed to refuse the goal
    goal = Move.Goal(options=ExecutionOptions(speed_scale=1.0))
    goal.request.moving = [JointTrajectory(joint_names=["left/elbow_joint"])]
    with pytest.raises(NotSupportedError, match="motions that begin together") as caught:
        asyncio.run(actions._move(goal, lambda feedback: None, CancellationToken(), Move.Result()))
    assert caught.value.subjects == ("request.moving",)
