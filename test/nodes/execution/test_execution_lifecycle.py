"""The execution node as a managed node: it stops on the path when it is deactivated, and commands nothing until it is
active again."""

import numpy as np
import pytest
from action_goals import EXECUTE, action_client, execute
from action_msgs.msg import GoalStatus
from fake_robot import JOINTS, FakeRobot, FakeValidator, swing
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from robot_cell_planner import srv
from robot_cell_planner.action import ExecuteTrajectory
from robot_cell_planner.errors import NotActiveError
from robot_cell_planner.nodes.conversions.basic import time_from_message

pytestmark = pytest.mark.alone

ARM = JOINTS[:2]


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node)


@pytest.fixture(scope="module", autouse=True)
def execution_node(client, start_node, robot):
    FakeValidator(client.node, client._group)
    node = start_node(
        "execution_node",
        joints=f"[{', '.join(JOINTS)}]",
        command_fields="[position, velocity]",
        hold_when_idle=True,
        joint_state_timeout=10.0,
        path_tolerance=5.0,
        goal_tolerance=1e-9,
        goal_time=20.0,
    )
    action_client(client, ExecuteTrajectory, EXECUTE)
    return node


def change(client, transition):
    request = ChangeState.Request(transition=Transition(id=transition))
    return client.call_service(ChangeState, "execution_node/change_state", request).success


def all_commands(robot):
    """All commands, also those that were still on their way."""
    commands = robot.taken()
    while True:
        robot.run_for(20)
        late = robot.taken()
        if not late:
            return commands
        commands += late


def here(robot):
    return [robot.positions[name] for name in ARM]


def test_a_motion_stops_on_its_path_and_nothing_is_commanded_until_the_node_is_active_again(client, robot):
    start, end = np.array(here(robot)), np.array([1.5, -0.7])
    sent = execute(client, swing(ARM, start.tolist(), end.tolist(), duration=12.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.1)
    assert change(client, Transition.TRANSITION_DEACTIVATE)
    done = client.node.get_clock().now().nanoseconds
    sent.wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.name == "NotActiveError"
    commands = all_commands(robot)
    # None after the transition, though the node holds the robot when it is active.
    assert max(time_from_message(message.header.stamp) for _, message in commands) <= done
    path = end - start
    rows = np.array([[command[name] for name in ARM] for command, _ in commands])
    fractions = (rows - start) @ path / (path @ path)
    np.testing.assert_allclose(rows, start + fractions[:, None] * path, atol=1e-9)
    assert 0.0 < fractions[-1] < 0.99
    assert (np.diff(fractions) >= -1e-12).all()
    last = commands[-1][1]
    assert np.abs(last.velocity).max() < 1e-3  # it came to rest
    with pytest.raises(NotActiveError):
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
    refused = execute(client, swing(ARM, here(robot), end.tolist(), duration=1.0))
    refused.wait()
    assert refused.result.error.name == "NotActiveError"
    for transition in (
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
    ):
        assert change(client, transition)
        assert not all_commands(robot)
    assert change(client, Transition.TRANSITION_ACTIVATE)
    again = execute(client, swing(ARM, here(robot), end.tolist(), duration=0.5))
    again.wait()
    assert again.status == GoalStatus.STATUS_SUCCEEDED, again.result.error
    np.testing.assert_allclose(here(robot), end, atol=1e-6)
