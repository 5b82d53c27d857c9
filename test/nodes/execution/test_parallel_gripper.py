"""The gripper's action as the controllers of ros2_control from Kilted on offer it."""

import pytest
from action_goals import Sent
from action_msgs.msg import GoalStatus
from control_msgs.action import ParallelGripperCommand
from running import start_demo_with_parallel_gripper, wait_for_message
from sensor_msgs.msg import JointState

from robot_cell_planner.nodes.common.node import reliable

pytestmark = pytest.mark.alone

GRIPPER = "gripper_controller/gripper_cmd"
FINGER = "finger_joint"


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_demo_with_parallel_gripper(start_node, gripper_joint=FINGER)
    wait_for_message(client, JointState, "joint_states", reliable(10), lambda message: True)


def grip(client, **command):
    goal = ParallelGripperCommand.Goal(command=JointState(**command))
    return Sent(client, ParallelGripperCommand, GRIPPER, goal).wait()


@pytest.mark.parametrize("names", [[], [FINGER]])
def test_it_reaches_its_goal(client, names):
    for position in (0.02, 0.04):
        sent = grip(client, name=names, position=[position])
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.reached_goal
        assert not sent.result.stalled
        assert list(sent.result.state.name) == [FINGER]
        assert sent.result.state.position[0] == pytest.approx(position, abs=1e-3)


@pytest.mark.parametrize(
    "command",
    [
        {"position": []},
        {"position": [0.01, 0.02]},
        {"position": [0.01], "name": ["elbow_joint"]},
        {"position": [0.01], "velocity": [0.1]},
        {"position": [0.01], "effort": [-1.0]},
        {"position": [1.0]},
        {"position": [float("nan")]},
    ],
)
def test_invalid_commands_are_refused(client, command):
    sent = grip(client, **command)
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert not sent.result.reached_goal
