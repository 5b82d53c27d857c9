"""Two robots that clients move at the same time through controllers of ros2_control: one motion of a controller at a
time, since its next goal would replace the one before."""

import numpy as np
import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import FakeRobot, FakeValidator, swing
from trajectory_controller import TrajectoryController

from robot_cell_planner.errors import MotionBusyError

pytestmark = pytest.mark.alone

SHARED, OWN = ("left/rail", "right/rail"), ("right/elbow",)
LONG = 60.0  # [s] of a motion that does not end by itself during a test


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node, (*SHARED, *OWN))


@pytest.fixture(scope="module")
def rails(client, robot):
    """A controller with joints of both robots."""
    return TrajectoryController(client.node, client._group, "rails", SHARED, robot)


@pytest.fixture(scope="module")
def elbow(client, robot):
    return TrajectoryController(client.node, client._group, "elbow", OWN, robot)


@pytest.fixture(scope="module", autouse=True)
def execution_node(client, start_node, rails, elbow):
    FakeValidator(client.node, client._group)
    return start_node(
        "execution_node",
        mode="controller",
        controller_actions=[f"{controller.name}/follow_joint_trajectory" for controller in (rails, elbow)],
        independent_robots="[left/, right/]",
        joint_state_timeout=1.5,
        path_tolerance=5.0,
    )


def test_a_busy_controller_is_refused_and_a_free_one_moves(client, robot, rails, elbow):
    left = execute(client, swing(["left/rail"], [0.0], [9.0], duration=LONG), owner="first", path_tolerance=5.0)
    assert rails.moving.wait(120.0)
    refused = execute(client, swing(["right/rail"], [0.0], [0.1]), owner="second", path_tolerance=5.0).wait()
    assert refused.status == GoalStatus.STATUS_ABORTED
    assert refused.result.error.code == MotionBusyError.code
    assert refused.result.error.message == "rails executes a motion of first"
    assert set(refused.result.error.subjects) == {"first", "rails"}
    free = execute(client, swing(["right/elbow"], [0.0], [0.1]), owner="second", path_tolerance=5.0).wait()
    assert free.status == GoalStatus.STATUS_SUCCEEDED, free.result.error.message
    np.testing.assert_allclose(robot.positions["right/elbow"], 0.1, atol=1e-9)
    assert len(rails.goals) == 1  # the running goal was not replaced
    assert not left.done.is_set()
    left.cancel()
    assert left.wait().status == GoalStatus.STATUS_CANCELED
    right = execute(client, swing(["right/rail"], [0.0], [0.1]), owner="second", path_tolerance=5.0).wait()
    assert right.status == GoalStatus.STATUS_SUCCEEDED, right.result.error.message
