"""A gripper whose joint is configured as the scene names it, and measured by its short name, is moved."""

import pytest
from action_goals import Sent
from action_msgs.msg import GoalStatus
from control_msgs.action import ParallelGripperCommand
from running import start_demo_with_parallel_gripper, wait_for_message
from sensor_msgs.msg import JointState

from robot_cell_planner.nodes.common.node import reliable

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_demo_with_parallel_gripper(start_node, gripper_joints="[gripper/finger_joint]")
    wait_for_message(client, JointState, "joint_states", reliable(10), lambda message: "finger_joint" in message.name)


@pytest.mark.parametrize(("name", "position"), [([], 0.02), (["finger_joint"], 0.03), (["gripper/finger_joint"], 0.04)])
def test_it_reaches_its_goal(client, name, position):
    goal = ParallelGripperCommand.Goal(command=JointState(name=name, position=[position]))
    sent = Sent(client, ParallelGripperCommand, "gripper/gripper_cmd", goal).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED
    assert list(sent.result.state.name) == ["finger_joint"]
    assert sent.result.state.position[0] == pytest.approx(position, abs=1e-3)
