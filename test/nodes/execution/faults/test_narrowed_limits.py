"""The limits of the robot become narrower while it moves, with the real nodes: the motion, which was validated against
others, stops."""

import numpy as np
import pytest
from action_goals import execute, move
from action_msgs.msg import GoalStatus
from fake_robot import swing
from motion_faults import ARM, FAR, HOME, PAN, SLOW, check_error, check_stop, start_at, wait_for
from narrower_limits import own_limits_again, with_limit
from recorded import positions, velocities

from robot_cell_planner.msg import MotionRequest
from robot_cell_planner.nodes.client.client import make_goal

pytestmark = pytest.mark.alone

NARROWER = [
    ("velocity", "max_velocity", 0.1),
    ("acceleration", "max_acceleration", 0.02),
    ("jerk", "max_jerk", 0.01),
    ("position", "min_position", -2.3),
]


@pytest.fixture(autouse=True)
def own_limits(client, at_home):
    yield
    client.apply(own_limits_again())


@pytest.mark.parametrize(("quantity", "name", "limit"), NARROWER)
def test_a_motion_beyond_a_narrower_limit_stops(client, robot, quantity, name, limit):
    start_at(client, robot)
    sent = execute(client, swing(ARM, HOME, FAR, duration=SLOW, samples=301))
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.003)
    revision = client.apply(with_limit(PAN, name, limit))
    error = check_error(sent.wait(), "TrajectoryLimitError", "look-ahead", PAN, quantity, f"{limit:g}")
    numbers = {value.name: value for value in error.values}
    broken = numbers[f"{quantity} of {PAN}"]
    assert broken.limit == limit
    assert broken.value < limit if quantity == "position" else abs(broken.value) > limit
    assert numbers["revision"].value == revision
    assert 0.0 < numbers["time reached"].value < SLOW
    p = check_stop(robot)
    if quantity == "position":
        assert p.min() > limit


def test_a_move_plans_again_within_the_narrower_limits_if_requested(client, robot):
    limit, slower = 0.3, 0.2
    start_at(client, robot)
    request = MotionRequest(goal=make_goal([dict(zip(ARM, FAR, strict=True))]))
    sent = move(client, request, speed_scale=slower, replan=True)
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.03)
    client.apply(with_limit(PAN, "max_velocity", limit))
    sent.wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    assert sent.result.record.replans == 1
    robot.wait_for_rest(ARM)
    commands = robot.taken()
    assert positions(commands, ARM)[-1] == pytest.approx(FAR, abs=1e-9)
    after = np.abs(velocities(commands, [PAN])[len(commands) // 2 :])
    assert after.max() < limit * slower * 1.01
