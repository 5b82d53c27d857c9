"""Three robots that clients move at the same time, in any combination."""

import numpy as np
import pytest
from action_goals import follow
from action_msgs.msg import GoalStatus
from fake_robot import FakeRobot, FakeValidator, swing
from independent_robots import bring_to_zero, start_execution, wait_for_actions

pytestmark = pytest.mark.alone

ROBOTS = ("left", "middle", "right")
JOINTS = {name: (f"{name}/shoulder", f"{name}/elbow") for name in ROBOTS}
ALL = tuple(joint for joints in JOINTS.values() for joint in joints)
FAR = np.array([1.0, -0.6])
LONG = 60.0  # [s] of a motion that does not end by itself during a test


@pytest.fixture(scope="module")
def robot(client):
    """All robots, on the same topics."""
    return FakeRobot(client.node, ALL, period=0.02)


@pytest.fixture(scope="module")
def validator(client):
    return FakeValidator(client.node, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, robot, validator):
    return start_execution(start_node, *ROBOTS)


@pytest.fixture(autouse=True)
def at_rest(client, robot):
    wait_for_actions(client)
    robot.heal()
    bring_to_zero(client, robot, ALL)


def long_motion(*names):
    joints = tuple(joint for name in names for joint in JOINTS[name])
    return swing(joints, np.zeros(len(joints)), np.tile(FAR, len(names)), duration=LONG, samples=61)


def goes_on(robot, name, sent, by=1e-4):
    """Wait until a robot has been commanded further along its path; its goal must not end before."""
    joint = JOINTS[name][0]
    until = robot.positions[joint] + by
    while robot.positions[joint] < until:
        assert not sent.done.is_set(), sent.result
        robot.run_for(1)


def cancel(sent):
    sent.cancel()
    assert sent.wait().status == GoalStatus.STATUS_CANCELED


def test_goals_in_quick_succession_replace_each_other(client, robot):
    """Each of several goals that arrive while the one before waits to take over gets its turn at once."""
    goals = [follow(client, long_motion("left"))]
    goes_on(robot, "left", goals[0])
    for _ in range(4):
        goals.append(follow(client, long_motion("left")))
    for goal in goals[:-1]:
        assert goal.wait().status == GoalStatus.STATUS_ABORTED
        assert "replaced by a newer goal" in goal.result.error_string, goal.result.error_string
    goes_on(robot, "left", goals[-1])
    cancel(goals[-1])
