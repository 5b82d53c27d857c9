"""Setpoints remain within joint limits, follow commands within them exactly, and end at the last command."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.simulation.multibody.multibodies import JointModel
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.setpoints import VELOCITY_HEADROOM, Mode, Setpoint

STEP = 0.002
OPTIONS = SimulationOptions(time_step=STEP)
LIMITS = JointLimits(-2.0, 2.0, 1.5, 6.0, 60.0, 100.0)
FASTEST = VELOCITY_HEADROOM * LIMITS.velocity
HARDEST = OPTIONS.acceleration_factor * LIMITS.acceleration


def setpoint(start=0.0, limits=LIMITS):
    return Setpoint(JointModel("joint", "joint", "", True, (0.0, 0.0, 1.0), limits, start), OPTIONS)


def run(point, steps, first=0, command=None):
    """Positions after each step of a joint that follows its setpoint exactly."""
    positions = []
    for index in range(first, first + steps):
        if command is not None:
            command(point, index * STEP)
        point.advance((index + 1) * STEP, STEP, point.position)
        positions.append(point.position)
    return positions


def stream(rate, with_velocity=True, until=math.inf):
    """Commands for a sine within the limits, `rate` of them a second."""
    every = round(1.0 / (rate * STEP))

    def command(point, time):
        if round(time / STEP) % every == 0 and time < until:
            point.command_position(sine(time), sine(time, 1) if with_velocity else None, time)

    return command


def sine(time, order=0):
    """Amplitude 0.5 rad, at most 1 rad/s and 2 rad/s2; starts at rest."""
    return 0.5 * (1.0 - math.cos(2.0 * time)) if order == 0 else math.sin(2.0 * time)


@pytest.mark.parametrize(
    ("rate", "with_velocity", "tolerance"),
    [(500, True, 1e-5), (250, True, 2e-5), (125, True, 1e-4), (250, False, 2e-4), (125, False, 8e-4)],
)
def test_a_stream_within_the_limits_is_followed(rate, with_velocity, tolerance):
    positions = run(setpoint(), 1500, command=stream(rate, with_velocity))
    errors = [abs(position - sine((index + 1) * STEP)) for index, position in enumerate(positions)]
    assert max(errors[20:]) < tolerance


@pytest.mark.parametrize("rate", [250, 125, 50, 25])
def test_a_joint_stays_where_a_stream_brings_it_to_rest(rate):
    """The stream ends at rest after a constant deceleration of 5 rad/s2, which would take the joint back again."""
    every, end = round(1.0 / (rate * STEP)), 0.2

    def command(point, time):
        if round(time / STEP) % every == 0 and time <= end + 1e-9:
            left = end - time
            point.command_position(-2.5 * left * left, 5.0 * left if left > 1e-9 else 0.0, time)

    start = -2.5 * end * end
    point = setpoint(start)
    point.velocity = 5.0 * end
    positions = run(point, 300, command=command)
    arrived = round(end / STEP)
    assert max(abs(position) for position in positions[arrived:]) < 2e-4


@pytest.mark.parametrize("rate", [125, 50, 25])
def test_a_joint_whose_last_command_is_lost_does_not_turn_back_while_it_is_extrapolated(rate):
    every, end = round(1.0 / (rate * STEP)), 0.2

    def command(point, time):
        left = end - time
        if round(time / STEP) % every == 0 and left > 1e-9:
            point.command_position(-2.5 * left * left, 5.0 * left, time)

    point = setpoint(-2.5 * end * end)
    point.velocity = 5.0 * end
    last = end - every * STEP
    count = round((last + SimulationOptions().extrapolate_for) / STEP) - 1
    positions = run(point, count, command=command)
    assert all(after >= before - 1e-9 for before, after in pairwise(positions[count // 2 :]))
    assert abs(positions[-1]) < 2e-4


@pytest.mark.parametrize("rate", [250, 125, 50])
@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9])
def test_a_stream_turns_within_its_period_and_rests_if_it_breaks_off_there(rate, fraction):
    """Commands along a parabola, of which the last one comes a fraction of a period before its peak."""
    period = round(1.0 / (rate * STEP)) * STEP
    peak = 10 * period + fraction * period

    def command(point, time):
        if round(time / STEP) % round(period / STEP) == 0 and time < peak:
            point.command_position(-2.5 * (time - peak) ** 2, -5.0 * (time - peak), time)

    point = setpoint(-2.5 * peak**2)
    point.velocity = 5.0 * peak
    end = 11 * period
    until_end = run(point, round(end / STEP), command=command)
    assert until_end[-1] == pytest.approx(-2.5 * (end - peak) ** 2, abs=1e-9)
    later = run(point, round((OPTIONS.extrapolate_for - period) / STEP) - 1, first=round(end / STEP))
    # It brakes from the speed that it has got since the peak.
    speed = 5.0 * (end - peak)
    assert min(later) >= until_end[-1] - speed**2 / (2.0 * HARDEST) - speed * STEP - 1e-9
    assert max(later) <= 1e-9


@pytest.mark.parametrize("lost", [1, 2, 5])
def test_commands_that_are_lost_at_the_turn_of_a_sinusoid_leave_the_joint_near(lost):
    turn, period = math.pi / 2.0, 0.008

    def command(point, time):
        if not turn - 0.5 * lost * period < time <= turn + 0.5 * lost * period:
            stream(125)(point, time)

    positions = run(setpoint(), 1500, command=command)
    away = max(abs(p - sine((i + 1) * STEP)) for i, p in enumerate(positions[20:], 20))
    assert away < 0.5 * 2.0 * ((lost + 1) * period) ** 2 + 1e-5  # what it would have turned back


def test_commands_for_the_past_and_the_near_future_are_followed_as_well():
    for shift in (-0.004, 0.004):

        def command(point, time, shift=shift):
            if round(time / STEP) % 2 == 0:
                point.command_position(sine(time + shift), sine(time + shift, 1), time + shift)

        positions = run(setpoint(sine(shift)), 1500, command=command)
        assert max(abs(p - sine((i + 1) * STEP)) for i, p in enumerate(positions[20:], 20)) < 5e-5


# The change of the acceleration in the longer gap is unknown: a cubic term, with a jerk of 4 rad/s3.
@pytest.mark.parametrize(("gap", "tolerance"), [(0.054, 1e-4), (0.09, 4.0 * 0.092**3 / 6.0)])
def test_a_gap_in_the_stream_is_bridged(gap, tolerance):
    def command(point, time):
        if not 1.0 < time < 1.0 + gap:
            stream(500)(point, time)

    positions = run(setpoint(), 1500, command=command)
    assert max(abs(p - sine((i + 1) * STEP)) for i, p in enumerate(positions[20:], 20)) < tolerance


def test_a_stream_that_breaks_off_ends_at_its_last_command():
    point = setpoint()
    positions = run(point, 1000, command=stream(250, until=0.8))
    last = sine(0.796)
    assert positions[-1] == pytest.approx(last, abs=1e-12)
    assert point.velocity == 0.0
    speed = sine(0.796, 1)
    assert max(positions) < last + speed * (OPTIONS.extrapolate_for + 2 * STEP) + speed**2 / (2.0 * HARDEST)


def test_a_far_command_is_reached_without_passing_it():
    point = setpoint()
    point.command_position(1.0, None, 0.0)
    positions = run(point, 1000)
    assert max(positions) <= 1.0 + 1e-9
    assert positions[-1] == pytest.approx(1.0, abs=1e-9)
    # As fast as a joint can that starts and ends at rest.
    shortest = 1.0 / FASTEST + FASTEST / HARDEST
    arrival = next(index for index, position in enumerate(positions) if position > 1.0 - 1e-6) * STEP
    assert shortest - 0.01 < arrival < shortest + 0.05


def test_the_setpoint_of_a_blocked_joint_stays_near_and_returns_at_once():
    point = setpoint()
    point.command_position(1.0, None, 0.0)
    for index in range(1000):
        point.advance((index + 1) * STEP, STEP, 0.1)
        assert point.before - 0.1 <= OPTIONS.following_window * FASTEST + 1e-12
    point.command_position(0.0, None, 2.0)
    positions = run(point, 150, first=1000)
    assert positions[-1] < 0.1


def test_velocity_commands_expire():
    point = setpoint()
    point.command_velocity(0.5, 0.0)
    run(point, round(OPTIONS.command_timeout / STEP))
    assert point.velocity == pytest.approx(0.5)
    positions = run(point, 200, first=round(OPTIONS.command_timeout / STEP))
    assert point.velocity == 0.0
    assert positions[-1] == positions[-50]


def test_effort_commands_expire_and_the_joint_is_held():
    point = setpoint()
    point.command_effort(500.0, 0.0)
    assert point.effort == LIMITS.effort
    for index in range(round(OPTIONS.command_timeout / STEP) + 2):
        point.advance((index + 1) * STEP, STEP, 0.01 * index)
    assert point.mode is Mode.POSITION
    held = point.position
    run(point, 100, first=round(OPTIONS.command_timeout / STEP) + 2)
    assert point.position == held


def test_limits_of_effort_never_exceed_the_motor():
    point = setpoint()
    for limit, expected in ((40.0, 40.0), (400.0, 100.0), (0.0, 100.0)):
        point.limit_effort(limit)
        assert point.effort_limit == expected


commands = st.lists(
    st.tuples(
        st.sampled_from(["position", "guided", "velocity"]),
        st.floats(-10.0, 10.0),
        st.floats(-5.0, 5.0),
        st.floats(-0.05, 0.05),
        st.integers(1, 60),
    ),
    min_size=1,
    max_size=12,
)


def steps_of(entries):
    """Yield the setpoint after each step, and its velocity before."""
    point = setpoint()
    step = 0
    for kind, position, velocity, shift, pause in entries:
        time = step * STEP + shift
        if kind == "velocity":
            point.command_velocity(velocity, time)
        else:
            point.command_position(position, velocity if kind == "guided" else None, time)
        for _ in range(pause):
            before = point.velocity
            point.advance((step + 1) * STEP, STEP, point.position)
            step += 1
            yield point, before


@settings(max_examples=60, deadline=None)
@given(commands)
def test_no_command_moves_a_joint_beyond_the_limits(entries):
    for point, before in steps_of(entries):
        assert LIMITS.lower <= point.position <= LIMITS.upper
        assert abs(point.velocity) <= FASTEST * (1 + 1e-9)
        at_limit = point.position in (LIMITS.lower, LIMITS.upper)
        assert at_limit or abs(point.velocity - before) <= HARDEST * STEP * (1 + 1e-9)


@pytest.mark.parametrize("velocity", [1.5, -1.5, 0.3])
@pytest.mark.parametrize("start", [0.0, 1.7, 1.99])
def test_a_velocity_command_brakes_for_a_limit_with_the_acceleration_of_the_joint(velocity, start):
    point, change = setpoint(math.copysign(start, velocity)), 0.0
    end = math.copysign(2.0, velocity)
    for index in range(4000):
        before = point.velocity
        point.command_velocity(velocity, index * STEP)
        point.advance((index + 1) * STEP, STEP, point.position)
        assert abs(point.position) <= 2.0
        if abs(point.velocity) < abs(before):
            change = max(change, abs(point.velocity - before))
    assert point.position == pytest.approx(end, abs=1e-9)
    assert point.velocity == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < change <= LIMITS.acceleration * STEP * (1.0 + 1e-6)


@settings(max_examples=100, deadline=None)
@given(commands)
def test_no_command_brakes_harder_than_the_joint_follows_commands_even_at_its_limits(entries):
    for point, before in steps_of(entries):
        assert LIMITS.lower <= point.position <= LIMITS.upper
        assert abs(point.velocity - before) <= HARDEST * STEP * (1 + 1e-6)


@pytest.mark.parametrize("last", [1.7, 1.9, 1.95])
def test_a_stream_that_breaks_off_before_a_limit_is_not_extrapolated_into_it_at_full_speed(last):
    def command(point, time):
        if 1.4 * time <= last and round(time / STEP) % 4 == 0:
            point.command_position(1.4 * time, 1.4, time)

    point, change = setpoint(), 0.0
    for index in range(1500):
        before = point.velocity
        run(point, 1, first=index, command=command)
        change = max(change, abs(point.velocity - before))
        assert point.position <= 2.0
    assert change <= HARDEST * STEP * (1.0 + 1e-6)
    assert point.position == pytest.approx(last, abs=1.4 * 4 * STEP)
