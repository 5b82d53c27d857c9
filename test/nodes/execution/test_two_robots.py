"""Two robots with topics of their own: one trajectory moves both in one time base, and an event that stops one stops
both, each on its path."""

import numpy as np
import pytest
from action_goals import EXECUTE, action_client, execute
from action_msgs.msg import GoalStatus
from fake_robot import FakeRobot, FakeValidator, swing
from recorded import stamps

from robot_cell_planner.action import ExecuteTrajectory
from robot_cell_planner.errors import FeedbackLostError
from robot_cell_planner.nodes.common.robot_topics import name_inside

pytestmark = pytest.mark.alone

SIDES = ("left", "right")
OWN = ("shoulder", "elbow")
JOINTS = tuple(f"{side}/{joint}" for side in SIDES for joint in OWN)
FINGERS = tuple(f"{side}_gripper/finger" for side in SIDES)
END = dict(zip(JOINTS, (0.5, -0.3, -0.4, 0.2), strict=True))


@pytest.fixture(scope="module")
def robots(client):
    return {side: FakeRobot(client.node, (*OWN, f"{side}_gripper/finger"), f"{side}/") for side in SIDES}


@pytest.fixture(scope="module")
def validator(client):
    return FakeValidator(client.node, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, robots, validator):
    return start_node(
        "execution_node",
        robot_topics="[left/, right/]",
        command_fields="[position, velocity]",
        gripper_joints=f"[{', '.join(FINGERS)}]",
        gripper_upper=0.04,
        # Wide enough for a robot whose process a busy machine holds up.
        joint_state_timeout=1.5,
        joint_state_lost_after=3.0,
        path_tolerance=5.0,
        goal_tolerance=1e-9,
        goal_time=120.0,
        gripper_goal_tolerance=1e-9,
        gripper_goal_time=30.0,
        gripper_start_timeout=20.0,
        stall_timeout=2.0,
    )


@pytest.fixture(autouse=True)
def at_rest(client, robots):
    action_client(client, ExecuteTrajectory, EXECUTE)
    for robot in robots.values():
        robot.heal()
    for _ in range(100):  # commands and states of the motion before may still be on their way
        for robot in robots.values():
            robot.forget_commands()
        sent = execute(client, swing(JOINTS, here(robots), np.zeros(4))).wait()
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            break
    else:
        raise AssertionError(sent.result.error.message)
    for robot in robots.values():
        robot.forget_commands()


def here(robots):
    return [robots[side].positions[joint] for side in SIDES for joint in OWN]


def fractions(commands, side):
    """How far along its path a robot was commanded to be, 0 to 1 (n,); its commands have to be on it."""
    end = np.array([END[f"{side}/{joint}"] for joint in OWN])
    rows = np.array([[command[joint] for joint in OWN] for command, _ in commands])
    found = rows @ end / (end @ end)
    np.testing.assert_allclose(rows, found[:, None] * end, atol=1e-9)
    return found


def by_stamp(robots):
    """The fraction of its path that each robot has reached, at each stamp that both have."""
    commands = {side: robot.taken() for side, robot in robots.items()}
    found = {side: dict(zip(stamps(sent), fractions(sent, side), strict=True)) for side, sent in commands.items()}
    common = sorted(set(found["left"]) & set(found["right"]))
    missing = {side: len(values) - len(common) for side, values in found.items()}
    return {side: np.array([values[stamp] for stamp in common]) for side, values in found.items()}, missing


def test_both_get_their_own_joints_at_the_same_time(client, robots):
    sent = execute(client, swing(JOINTS, np.zeros(4), list(END.values()), duration=1.0)).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    for robot in robots.values():
        robot.wait_for_rest(OWN)
        assert all("/" not in name.replace("_gripper/", "") for _, message in robot.commands for name in message.name)
    found, missing = by_stamp(robots)
    # Every command of one has one of the other with the same stamp, at the same point of the trajectory.
    assert missing == {"left": 0, "right": 0}
    assert len(found["left"]) > 100
    np.testing.assert_allclose(found["left"], found["right"], atol=1e-9)
    assert found["left"][-1] == pytest.approx(1.0)


def test_silence_of_one_robot_stops_both_on_their_paths(client, robots):
    goal = execute(client, swing(JOINTS, np.zeros(4), list(END.values()), duration=8.0, samples=401))
    robots["left"].wait_for(lambda command: command["shoulder"] > 0.02)
    robots["right"].silent = True
    sent = goal.wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.code == FeedbackLostError.code
    found, _ = by_stamp(robots)
    np.testing.assert_allclose(found["left"], found["right"], atol=1e-9)
    assert 0.0 < found["left"][-1] < 1.0
    assert (np.diff(found["left"]) >= -1e-12).all()
    for robot in robots.values():
        robot.silent = False


def test_each_gripper_has_its_action(client, robots):
    result = client.move_gripper(0.03, tool="right_gripper")
    assert result.reached_goal
    for _ in range(1000):  # the last command may still be on its way, or may have arrived before
        if robots["right"].positions["right_gripper/finger"] == 0.03:
            break
        robots["right"].run_for(1)
    assert robots["right"].positions["right_gripper/finger"] == 0.03
    assert robots["left"].positions["left_gripper/finger"] == 0.0


@pytest.mark.parametrize("name", ["elbow", "right_gripper/finger"])
def test_only_bare_names_get_the_prefix(name):
    assert name_inside("right/", name) == (name if "/" in name else "right/elbow")


@pytest.mark.parametrize("topics", ["[left]", "[left/, left/]"])
def test_prefixes_that_do_not_fit_are_refused(start_node, topics):
    node = start_node("kinematics_node", robot_topics=topics)
    assert node.wait() != 0
    assert "robot_topics" in node.output
