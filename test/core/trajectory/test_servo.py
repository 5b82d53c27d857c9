"""Servo: properties of the motion for commanded velocities and poses."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded_cells import loaded

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.servo import VelocityFollower
from robot_cell_planner.trajectory.servo_frames import (
    FrameServo,
    FrameServoOptions,
    TargetTracker,
    collision_fraction,
    probed_positions,
)

ROOT = Path(__file__).parents[3]
PERIOD = 0.004
LIMITS = MotionLimits(
    ("a", "b"),
    np.array([-1.0, -np.inf]),
    np.array([0.5, np.inf]),
    np.array([2.0, 1.0]),
    np.array([8.0, 4.0]),
    np.array([90.0, 300.0]),
)
commands = st.lists(st.tuples(st.floats(-9.0, 9.0), st.floats(-9.0, 9.0), st.integers(1, 120)), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(commands, st.floats(-1.0, 0.5), st.lists(st.floats(0.0005, 0.02), min_size=1, max_size=5))
def test_no_sequence_of_commands_breaks_a_limit(sequence, start, periods):
    follower = VelocityFollower(LIMITS, np.array([start, 0.0]))
    before, tick = follower.state, 0
    for first, second, count in sequence:
        for _ in range(count):
            period = periods[tick % len(periods)]
            tick += 1
            after = follower.step(np.array([first, second]), period)
            assert (after.positions >= LIMITS.lower - 1e-9).all()
            assert (after.positions <= LIMITS.upper + 1e-9).all()
            assert (np.abs(after.velocities) <= LIMITS.velocity * (1 + 1e-9)).all()
            assert (np.abs(after.accelerations) <= LIMITS.acceleration * (1 + 1e-9)).all()
            change = np.abs(after.accelerations - before.accelerations)
            assert (change <= LIMITS.jerk * period * (1 + 1e-6) + 1e-9).all()
            before = after


def test_a_position_limit_is_approached_smoothly_and_reached():
    follower = VelocityFollower(LIMITS, np.array([-1.0, 0.0]))
    states = [follower.step(np.array([9.0, 0.0]), PERIOD) for _ in range(2500)]
    assert states[-1].positions[0] == pytest.approx(0.5, abs=1e-3)
    # The deceleration never increases after it has begun: the emergency stop is not used.
    speeds = np.array([state.velocities[0] for state in states])
    falling = speeds[speeds.argmax() :]
    assert (np.diff(falling) <= 1e-9).all()
    assert min(state.accelerations[0] for state in states) > -0.9 * LIMITS.acceleration[0]


def test_without_a_command_it_comes_to_rest_exactly():
    follower = VelocityFollower(LIMITS, np.zeros(2))
    for _ in range(100):
        follower.step(np.array([0.3, -0.7]), PERIOD)
    assert not follower.state.at_rest
    for _ in range(400):
        follower.step(np.zeros(2), PERIOD)
    assert follower.state.at_rest
    resting = follower.state.positions
    assert (follower.step(np.zeros(2), PERIOD).positions == resting).all()


def test_a_joint_beyond_a_limit_may_return_but_not_move_further():
    follower = VelocityFollower(LIMITS, np.array([0.6, 0.0]))
    for _ in range(50):
        assert follower.step(np.array([1.0, 0.0]), PERIOD).positions[0] <= 0.6 + 1e-9
    for _ in range(500):
        follower.step(np.array([-1.0, 0.0]), PERIOD)
    assert follower.state.positions[0] < 0.5


def test_the_prediction_equals_the_motion():
    follower = VelocityFollower(LIMITS, np.zeros(2))
    requested = np.array([0.2, -0.8])
    for _ in range(30):
        follower.step(requested, PERIOD)
    ahead = follower.predicted(requested, 0.1, 7)
    assert (ahead[0] == follower.state.positions).all()
    for _ in range(25):
        follower.step(requested, PERIOD)
    for _ in range(400):
        follower.step(np.zeros(2), PERIOD)
    np.testing.assert_allclose(ahead[-1], follower.state.positions, atol=1e-6)


@pytest.mark.parametrize("damping", [-0.1, np.nan, np.inf])
def test_an_invalid_damping_is_refused(damping):
    with pytest.raises(InvalidRequestError, match="damping of servo is"):
        FrameServoOptions(damping=damping)


@pytest.mark.parametrize("positions", [[0.0], [0.0, np.nan]])
def test_an_invalid_start_is_refused(positions):
    with pytest.raises(InvalidRequestError):
        VelocityFollower(LIMITS, np.array(positions))


OPTIONS = FrameServoOptions()
READY = {"shoulder_pan_joint": 0.0, "shoulder_lift_joint": -1.4, "elbow_joint": 1.6}


@pytest.fixture(scope="module")
def arm():
    cell, state = loaded()
    group = cell.group("")
    return cell, state, MotionLimits.of([cell.variables[name] for name in group.variables])


def frame_servo(arm, options=OPTIONS):
    cell, state, limits = arm
    servo = FrameServo(cell, state, cell.tip_link(""), limits, options)
    model = cell_model(cell, state)
    return servo, VelocityFollower(limits, model.values(state, limits.variables))


def test_a_twist_moves_the_frame_straight_along_it(arm):
    servo, follower = frame_servo(arm)
    begin = servo.pose(follower.state.positions)
    twist = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0])
    for _ in range(250):
        follower.step(servo.command(follower.state.positions, twist).velocities, PERIOD)
    end = servo.pose(follower.state.positions)
    way = end[:3, 3] - begin[:3, 3]
    assert 0.03 < way[2] < 0.05
    assert np.linalg.norm(way[:2]) < 1e-3
    np.testing.assert_allclose(end[:3, :3], begin[:3, :3], atol=2e-3)


def test_the_speed_decreases_continuously_to_a_stop_at_a_singularity(arm):
    servo, follower = frame_servo(arm)
    base = servo.pose(np.zeros_like(follower.state.positions))[:3, 3]
    outward = servo.pose(follower.state.positions)[:3, 3] - base
    direction = np.array([1.0, 0.0, 0.0]) if abs(outward[0]) > abs(outward[1]) else np.array([0.0, 1.0, 0.0])
    found = None
    for sign in (1.0, -1.0):
        servo, follower = frame_servo(arm)
        twist = np.concatenate((sign * 0.2 * direction, np.zeros(3)))
        shares, values = [], []
        for _ in range(4000):
            command = servo.command(follower.state.positions, twist)
            follower.step(command.velocities, PERIOD)
            shares.append(command.singularity_fraction)
            values.append(command.smallest_singular_value)
        if min(shares) < 0.05:
            found = follower, twist, np.array(shares), np.array(values)
            break
    assert found is not None, "the arm was never near a singularity"
    follower, twist, shares, values = found
    assert np.abs(np.diff(shares)).max() < 0.1
    assert values.min() > 0.5 * OPTIONS.stop_below
    assert np.abs(follower.state.velocities).max() < 0.02
    back = servo.command(follower.state.positions, -twist)
    assert back.singularity_fraction == 1.0
    assert np.abs(back.velocities).max() > 0.01


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e154, 1e300])
def test_a_twist_of_any_size_makes_finite_velocities_next_to_a_singularity(arm, size):
    servo, follower = frame_servo(arm)
    everywhere = FrameServoOptions(slow_below=1e9)  # every configuration counts as near
    nearby, _ = frame_servo(arm, everywhere)
    for axis in range(6):
        twist = np.zeros(6)
        twist[axis] = size
        for each in (servo, nearby):
            command = each.command(follower.state.positions, twist)
            assert np.isfinite(command.velocities).all()
            assert 0.0 <= command.singularity_fraction <= 1.0
        if size > 1.0:
            assert servo.command(follower.state.positions, twist).velocities.any()


def test_a_moving_target_is_followed_within_the_stated_error(arm):
    servo, follower = frame_servo(arm)
    tracker = TargetTracker(OPTIONS)
    begin = servo.pose(follower.state.positions)
    radius, rate, sampling = 0.03, 1.0, 0.02
    errors = []
    for tick in range(2500):
        time = tick * PERIOD
        if tick % round(sampling / PERIOD) == 0:
            target = begin.copy()
            target[:3, 3] += [0.0, radius * np.sin(rate * time), radius * (np.cos(rate * time) - 1.0)]
            tracker.take(target, time)
        truth = begin[:3, 3] + [0.0, radius * np.sin(rate * time), radius * (np.cos(rate * time) - 1.0)]
        frame = servo.pose(follower.state.positions)
        errors.append(np.linalg.norm(frame[:3, 3] - truth))
        tracking = tracker.track_pose(frame, time)
        follower.step(servo.command(follower.state.positions, tracking.twist).velocities, PERIOD)
    # The bound of the control law plus the delay of the joints.
    bound = 1.5 * radius * rate**2 * sampling / OPTIONS.gain
    assert max(errors[1250:]) < bound + 0.001
    # Without the velocity of the target, the error would be speed / gain.
    assert bound + 0.001 < 0.5 * radius * rate / OPTIONS.gain


def test_a_static_target_is_reached(arm):
    servo, follower = frame_servo(arm)
    tracker = TargetTracker(OPTIONS)
    target = servo.pose(follower.state.positions)
    target[:3, 3] += [0.02, -0.03, 0.05]
    tracker.take(target, 0.0)
    for tick in range(1500):
        tracking = tracker.track_pose(servo.pose(follower.state.positions), tick * PERIOD)
        follower.step(servo.command(follower.state.positions, tracking.twist).velocities, PERIOD)
    assert tracking.position_error < 1e-4
    assert tracking.orientation_error < 1e-3


PAIR, OTHER = ("hand", "table"), ("elbow", "wall")


@pytest.mark.parametrize(
    ("now", "ahead", "share"),
    [
        ({}, {}, 1.0),
        ({PAIR: 0.2}, {PAIR: 0.1}, 1.0),
        ({PAIR: 0.1}, {PAIR: 0.05}, 0.5),
        ({PAIR: 0.1}, {PAIR: -0.01}, 0.0),
        ({PAIR: 0.1}, {PAIR: 0.001}, 0.0),  # no endless creeping
        ({}, {PAIR: 0.05}, 0.5),  # at first beyond the maximum distance of the search
        ({PAIR: 0.01}, {PAIR: 0.05}, 1.0),  # away from it
        ({OTHER: 0.001, PAIR: 0.1}, {OTHER: 0.001, PAIR: 0.08}, 0.8),  # along one object, towards another
    ],
)
def test_only_approaching_pairs_slow_the_motion(now, ahead, share):
    assert collision_fraction(now, ahead, 0.1) == pytest.approx(share)


@pytest.mark.parametrize("stop", [0.0, 0.01])
@pytest.mark.parametrize("decrease", [9e-5, 1e-6, 1e-9])
@pytest.mark.parametrize("gap", [1e-4, 5e-5, 0.0, -0.02])
def test_a_motion_towards_an_object_at_the_stop_distance_stops_however_slow_it_is(stop, decrease, gap):
    """The step of the probe does not depend on the speed."""
    now, ahead = {PAIR: stop + gap}, {PAIR: stop + gap - decrease}
    assert collision_fraction(now, ahead, 0.1, stop, {PAIR: stop + gap - 1e-3}) == 0.0


@pytest.mark.parametrize("noise", [-9e-7, 0.0, 9e-7])
@pytest.mark.parametrize("gap", [1e-3, 5e-5, 2e-6, -1e-4, -0.02])
def test_a_motion_along_an_object_or_away_from_it_is_not_stopped_by_rounding(gap, noise):
    now = {PAIR: gap}
    assert collision_fraction(now, {PAIR: gap + noise}, 0.1, probed={PAIR: gap + noise}) == 1.0
    away = {PAIR: gap + 1e-3}
    assert collision_fraction(now, {PAIR: gap + noise}, 0.1, probed=away) == 1.0


@pytest.mark.parametrize(("steps", "fraction"), [(0.0, 1.0), (19.0, 1.0), (20.0, 0.0), (80.0, 0.0)])
def test_a_pair_that_comes_into_contact_before_the_first_prediction_stops_the_motion(steps, fraction):
    """It is as far away at the first prediction as now, but on the other side."""
    now, probed = {PAIR: 0.01}, {PAIR: 0.0095}
    assert collision_fraction(now, {PAIR: 0.01}, 0.1, probed=probed, steps=steps) == fraction
    assert collision_fraction(now, {}, 0.1, probed=probed, steps=steps) == fraction
    assert collision_fraction(now, {PAIR: 0.01}, 0.1, probed=now, steps=steps) == 1.0


def test_a_motion_missed_by_the_probe_does_not_cross_the_stop_distance():
    """For example, a motion along a curved or not quite parallel surface."""
    assert collision_fraction({PAIR: 5e-5}, {PAIR: 1e-5}, 0.1, probed={PAIR: 5e-5}) == 1.0
    assert collision_fraction({PAIR: 5e-5}, {PAIR: -1e-5}, 0.1, probed={PAIR: 5e-5}) == 0.0


def test_a_slow_motion_far_from_an_object_is_not_slowed():
    assert collision_fraction({PAIR: 0.05}, {PAIR: 0.05 - 9e-5}, 0.1, probed={PAIR: 0.049}) == 1.0


def test_the_probe_is_a_step_of_the_fastest_joint_at_any_speed():
    start = np.array([0.3, -0.2])
    for speed in (1e-9, 1.0):
        np.testing.assert_allclose(probed_positions(start, np.array([-1.0, 0.5]) * speed) - start, [-1e-3, 5e-4])
    np.testing.assert_array_equal(probed_positions(start, np.zeros(2)), start)
