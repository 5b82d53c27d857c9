"""An obstacle obstructs the path of a moving robot, with the real nodes: the robot stops before it, or avoids it."""

import json

import numpy as np
import pytest
from action_goals import execute, move
from action_msgs.msg import GoalStatus
from case_files import LOOK_AHEAD, case_of, check_reproduced, file_with
from fake_robot import swing
from geometry_msgs.msg import Point, Pose
from motion_faults import (
    ARM,
    BLOCKED_AT,
    CELL,
    FAR,
    FINGER,
    HOME,
    PAN,
    SLOW,
    STATE,
    check_error,
    check_stop,
    in_the_way,
    obstacle,
    put,
    start_at,
    to_and_fro,
    wait_for,
)
from recorded import TORN, positions, velocities

from robot_cell_planner.cases import open_case
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.msg import MotionRequest, SceneChange
from robot_cell_planner.nodes.client.client import make_goal

pytestmark = pytest.mark.alone

OPEN = STATE.tools["gripper"].configuration[FINGER]  # position of the fingers [m]
SPEED = 0.2  # scale of moves whose goal is the far place


@pytest.fixture
def box(client):
    """A box away from the path; it is removed after the test."""
    client.apply(obstacle(), put("box", Pose(position=Point(x=0.0, y=0.0, z=3.0))))
    yield
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="box"))


def blocked(client, robot, change, subjects):
    """A slow motion whose path becomes obstructed; it stops before the obstacle."""
    start_at(client, robot)
    sent = execute(client, swing(ARM, HOME, FAR, duration=SLOW, samples=301))
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.003)
    revision = client.apply(*change)
    error = check_error(sent.wait(), "CollisionAheadError", "look-ahead", *subjects)
    numbers = {value.name: value.value for value in error.values}
    assert numbers["revision"] == revision
    assert 0.0 < numbers["time reached"] < numbers["time of the collision"] < SLOW
    p = check_stop(robot)
    scene, _ = client.scene()
    checker = CollisionChecker(scene.cell, scene.state, ARM)
    assert not checker.in_collision_batch(np.array([[value, *HOME[1:]] for value in p[::10]])).any()
    assert checker.in_collision(np.array([BLOCKED_AT, *HOME[1:]]))
    return error


def test_an_object_that_is_moved_onto_the_path(client, robot, box):
    blocked(client, robot, [put("box", in_the_way())], ["box"])


def test_an_object_that_is_added(client, robot, case_folder, start_mismatch):
    """The motion and the collision ahead become cases."""
    error = blocked(client, robot, [obstacle(), put("box", in_the_way())], ["box"])
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="box"))
    ahead = file_with(case_folder, LOOK_AHEAD, lambda answer: "box" in json.dumps(answer["report"]["collisions"]))
    motion = case_of(case_folder, error)
    with open_case(motion) as case:
        assert case.request.interruption.stage == "look-ahead"
    check_reproduced(motion, "CollisionAheadError", "look-ahead", "box")
    check_reproduced(ahead, "not valid", "box")


def test_an_object_that_was_hidden(client, robot, box):
    client.apply(SceneChange(operation=SceneChange.HIDE, name="box"), put("box", in_the_way()))
    blocked(client, robot, [SceneChange(operation=SceneChange.SHOW, name="box")], ["box"])


def test_an_object_that_is_attached_to_the_robot(client, robot, box):
    """The attached object would collide with a pillar that the gripper alone would not touch."""
    pillar = obstacle(0.05)
    pillar.models.bodies[0].name = "pillar"
    client.apply(pillar, put("pillar", in_the_way(beyond=0.135)))
    hanging = Pose(position=Point(z=0.25))
    attach = SceneChange(operation=SceneChange.ATTACH, name="box", attach_to="gripper", pose=hanging)
    blocked(client, robot, [attach], ["box", "pillar"])
    client.apply(SceneChange(operation=SceneChange.DETACH, name="box"))
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="pillar"))


@pytest.fixture
def closed(client, robot):
    """The gripper is closed, and a small box stands where only an open finger would collide."""
    beside = obstacle(0.02)
    client.apply(beside, put("box", in_the_way(outwards=0.037)))
    robot.put(**{FINGER: 0.0})
    yield
    robot.put(**{FINGER: OPEN})
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="box"))


def test_a_gripper_that_opens_during_the_motion(client, robot, closed):
    """By its own driver: no command and no change of the scene announces it."""
    start_at(client, robot)
    sent = execute(client, swing(ARM, HOME, FAR, duration=SLOW, samples=301))
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.003)
    robot.put(**{FINGER: OPEN})
    check_error(sent.wait(), "CollisionAheadError", "look-ahead", "finger", "box")
    assert check_stop(robot).min() > BLOCKED_AT


def test_an_object_that_is_not_ahead_does_not_stop_it(client, robot, box):
    start_at(client, robot)
    sent = execute(client, to_and_fro(1, duration=6.0))
    wait_for(robot, sent, lambda command: command[PAN] < BLOCKED_AT - 0.25)
    client.apply(put("box", in_the_way()))
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED
    check_stop(robot)


def request_to(configuration):
    return MotionRequest(goal=make_goal([dict(zip(ARM, configuration, strict=True))]))


def test_a_move_leaves_the_contact_that_it_begins_in(client, robot, box):
    start_at(client, robot)
    request = request_to(FAR)
    request.start.min_revision = client.apply(put("box", in_the_way(beyond=0.06, at=HOME)))
    check_error(move(client, request, speed_scale=SPEED).wait(), "MPStartStateInCollisionError", "start", "box")
    request.options.max_start_correction = 0.1
    sent = move(client, request, speed_scale=SPEED).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    warnings = sent.result.validation.warnings
    assert any("begins in contact" in text and "box" in text and "and leaves it" in text for text in warnings)
    robot.wait_for_rest(ARM)
    assert positions(robot.taken(), ARM)[-1] == pytest.approx(FAR, abs=1e-9)


def slow_move(client, robot, change, **options):
    start_at(client, robot)
    sent = move(client, request_to(FAR), speed_scale=SPEED, **options)
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.03)
    client.apply(*change)
    return sent


def test_a_move_stops_before_an_object_on_its_path(client, robot, box):
    sent = slow_move(client, robot, [put("box", in_the_way())]).wait()
    check_error(sent, "CollisionAheadError", "look-ahead", "box")
    check_stop(robot)


def test_a_move_plans_a_path_around_it_if_requested(client, robot, box):
    sent = slow_move(client, robot, [put("box", in_the_way())], replan=True).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    assert sent.result.record.replans == 1
    robot.wait_for_rest(ARM)
    commands = robot.taken()
    assert positions(commands, ARM)[-1] == pytest.approx(FAR, abs=1e-9)
    scene, _ = client.scene()
    checker = CollisionChecker(scene.cell, scene.state, ARM)
    assert not checker.in_collision_batch(positions(commands, ARM)[::10]).any()
    # Neither the stop nor the new beginning is a jump.
    fastest = max(CELL.variables[joint].limits.velocity for joint in ARM)
    assert np.abs(np.diff(positions(commands, ARM), axis=0)).max() < TORN * SPEED * fastest * 1.01
    assert np.abs(velocities(commands, ARM)).max() < SPEED * fastest * 1.01
