"""Obstructed paths of robots that clients move independently, with the real nodes: by a body, by a robot that is moved
by other means, or by the motion of the other robot. The motions are slow and last longer than any check."""

import numpy as np
import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import FakeRobot, swing
from geometry_msgs.msg import Point, Pose
from loaded_cells import loaded
from motion_faults import check_error, obstacle, put
from running import ROOT

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.msg import SceneChange

pytestmark = pytest.mark.alone

CELL_FILE = ROOT / "config" / "two_arms" / "cell.yaml"
CELL, STATE = loaded("two_arms")
SIDES = ("left", "right")
JOINTS = {side: CELL.group(f"{side}/manipulator").variables for side in SIDES}
BOTH = JOINTS["left"] + JOINTS["right"]
FINGERS = {f"{side}_gripper/finger_joint": 0.042 for side in SIDES}
# Both arms are stretched out, and swing past each other over the table, where they would collide in the middle.
SLOW = 120.0  # [s]
ARM = [-1.0, 1.0, -1.5707963267948966, -1.5707963267948966, -1.5707963267948966]  # all but the first joint
BEGIN, BEFORE, MIDDLE, END = ([pan, *ARM] for pan in (-1.2, -0.3, 0.0, 1.2))  # before: no collision
HORIZON = 45.0  # [s], more than a check takes on a busy machine
CHECKER = CollisionChecker(CELL, STATE, BOTH)


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, (*BOTH, *FINGERS), period=0.02)
    robot.put(**dict(zip(BOTH, [*BEGIN, *BEGIN], strict=True)), **FINGERS)
    return robot


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, robot):
    start_node("scene_node", cell_file=CELL_FILE)
    start_node("planning_node", resolution=0.005)
    start_node(
        "execution_node",
        independent_robots="[left/, right/]",
        command_fields="[position, velocity]",
        watch_horizon=HORIZON,
        # Wide enough for a robot, and for nodes, whose processes a busy machine holds up.
        joint_state_timeout=1.5,
        joint_state_lost_after=10.0,
        monitor_timeout=30.0,
        path_tolerance=5.0,
        goal_tolerance=1e-9,
        goal_time=120.0,
        validation_timeout=120.0,
    )
    client.scene(retries=30)  # a busy machine starts the nodes late
    client.set_speed_scale(1.0)


@pytest.fixture(autouse=True)
def at_begin(client, robot):
    """Both robots are put where their motions begin; a goal that does nothing succeeds once the nodes have received
    that."""
    robot.heal()
    robot.forget_commands()
    for _ in range(200):
        robot.put(**dict(zip(BOTH, [*BEGIN, *BEGIN], strict=True)))
        sent = execute(client, swing(BOTH, [*BEGIN, *BEGIN], [*BEGIN, *BEGIN], duration=0.1, samples=3)).wait()
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            robot.forget_commands()
            return
    raise AssertionError(sent.result.error.message)


def send(client, side, end=END):
    """A slow motion, past the middle unless it ends before."""
    return execute(client, swing(JOINTS[side], BEGIN, end, duration=SLOW, samples=301), owner=side)


def start(client, robot, side, end=END):
    """A slow motion that has begun."""
    sent = send(client, side, end)
    joint = JOINTS[side][0]
    while robot.positions[joint] < BEGIN[0] + 1e-4:
        assert not sent.done.is_set(), sent.result
        robot.run_for(1)
    return sent


def check_path(robot, side):
    """A robot was commanded along its path only, and is at rest before the middle."""
    robot.wait_for_rest(JOINTS[side])
    rows = [[command[joint] for joint in JOINTS[side]] for command, _ in robot.commands if JOINTS[side][0] in command]
    commands = np.array(rows)
    np.testing.assert_allclose(commands[:, 1:], np.tile(ARM, (len(commands), 1)), atol=1e-9)
    assert (np.diff(commands[:, 0]) >= -1e-12).all()
    assert BEGIN[0] <= commands[-1, 0] < MIDDLE[0]


def positions(robot):
    return np.array([robot.positions[joint] for joint in BOTH])


def test_a_body_on_the_path_stops_both(client, robot):
    box = Pose(position=Point(z=1.2))
    client.apply(obstacle(0.3), put("box", Pose(position=Point(z=4.0))))
    try:
        sent = {side: start(client, robot, side, BEFORE) for side in SIDES}
        client.apply(put("box", box))
        for side, goal in sent.items():
            error = check_error(goal.wait(), "CollisionAheadError", "look-ahead", "box")
            assert any(name.startswith(f"{side}") for name in error.subjects)
            check_path(robot, side)
    finally:
        client.apply(SceneChange(operation=SceneChange.REMOVE, name="box"))


def test_a_robot_that_is_moved_onto_the_path_stops_the_other(client, robot):
    sent = start(client, robot, "left")
    robot.stuck = set(JOINTS["right"])  # held by hand, not by commands
    for pan in np.linspace(BEGIN[0], MIDDLE[0], 13).tolist():
        robot.put(**{JOINTS["right"][0]: pan})
        robot.run_for(2)
    error = check_error(sent.wait(), "CollisionAheadError", "look-ahead", "left", "right")
    assert all(any(name.startswith(side) for name in error.subjects) for side in SIDES)
    check_path(robot, "left")
    assert CHECKER.in_collision(np.array([*MIDDLE, *MIDDLE]))
    assert not CHECKER.in_collision(positions(robot))


def test_motions_that_would_collide_are_stopped(client, robot):
    """The first motion whose check detects it stops; the other one too, unless its path is free then."""
    sent = {side: send(client, side) for side in SIDES}
    while not any(goal.done.is_set() for goal in sent.values()):
        robot.run_for(1)
    stopped = [side for side, goal in sent.items() if goal.done.is_set()]
    for side in stopped:
        check_error(sent[side], "CollisionAheadError", "look-ahead", "left", "right")
        check_path(robot, side)
    for side in set(SIDES) - set(stopped):
        sent[side].cancel()
        sent[side].wait()
    robot.wait_for_rest(BOTH)
    state, rows = dict(zip(BOTH, [*BEGIN, *BEGIN], strict=True)), []
    for command, _ in robot.taken():
        state.update({joint: value for joint, value in command.items() if joint in state})
        rows.append(list(state.values()))
    assert not CHECKER.in_collision_batch(np.array(rows[::10])).any()
