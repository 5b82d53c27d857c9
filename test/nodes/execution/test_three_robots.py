"""Three robots that clients move at the same time, in any combination."""

import numpy as np
import pytest
from action_goals import EXECUTE, FOLLOW, action_client, execute, follow
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import FakeRobot, FakeValidator, swing

from robot_cell_planner.action import ExecuteTrajectory

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
    return start_node(
        "execution_node",
        independent_robots="[left/, middle/, right/]",
        command_fields="[position, velocity]",
        # Wide enough for a robot whose process a busy machine holds up.
        joint_state_timeout=1.5,
        joint_state_lost_after=3.0,
        path_tolerance=5.0,
        goal_tolerance=1e-9,
        goal_time=120.0,
        validation_timeout=120.0,
    )


@pytest.fixture(autouse=True)
def at_rest(client, robot):
    for kind, name in ((ExecuteTrajectory, EXECUTE), (FollowJointTrajectory, FOLLOW)):
        action_client(client, kind, name)
    robot.heal()
    for _ in range(100):  # commands and states of the motion before may still be on their way
        robot.forget_commands()
        sent = execute(client, swing(ALL, [robot.positions[joint] for joint in ALL], np.zeros(len(ALL)))).wait()
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            break
    else:
        raise AssertionError(sent.result.error.message)
    robot.forget_commands()


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
