"""Commands of a channel of the command stream after a gap of the stream, and after its time was set."""

import numpy as np
import pytest

from robot_cell_planner.nodes.execution.parameters import PARAMETERS
from robot_cell_planner.nodes.motion.channels import Channel
from robot_cell_planner.nodes.servo.channel import ServoChannel
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

LONGEST_GAP = 0.1
PERIOD = 0.004
SECOND = 1_000_000_000


def line(start, end, duration=2.0):
    """A trajectory on a straight line, at one speed from its beginning on."""
    times, positions = np.array([0.0, duration]), np.array([[start], [end]])
    return Trajectory(("joint",), times, positions, np.full((2, 1), (end - start) / duration))


def channel(trajectory):
    return Channel(("joint",), "owner", trajectory, 1.0, SamplerOptions(), lambda: None)


def play(played, begin, end):
    for now in np.arange(begin, end, PERIOD):
        played.play(float(now), round(now * SECOND), LONGEST_GAP)
    return float(now)


LIMITS = MotionLimits(("a", "b"), *(np.array([v, v]) for v in (-3.0, 3.0)), *map(np.array, ([2, 3], [4, 6], [40, 60])))
PATH = np.array([[-1.0, -0.3], [1.0, 0.4], [-0.5, 0.6], [0.2, -0.8]])


@pytest.mark.parametrize("method", [TimingMethod.SMOOTH, TimingMethod.STOP_AT_WAYPOINTS])
@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_after_a_gap_it_rests_until_it_is_resumed_and_resumes_within_limits(method, fraction):
    """Jerk, acceleration and velocity by differences of the commands, which are for evenly spaced times."""
    trajectory = time_path(PATH, LIMITS, TimingOptions(method=method, period=PERIOD)).trajectory
    played = Channel(("a", "b"), "owner", trajectory, 1.0, SamplerOptions(), lambda: None, limits=LIMITS)
    now = play(played, 0.0, fraction * trajectory.duration)
    before, now = played.last, now + 1.1
    now = play(played, now, now + 0.2)
    assert np.array_equal(played.last.positions, before.positions)
    assert played.awaits_resume
    assert not played.last.velocities.any()
    played.sampler.set_scale(1.0, now)
    samples = []
    while not played.has_come_to_its_end(now) and len(samples) < 3000:
        now += PERIOD
        played.play(now, round(now * SECOND), LONGEST_GAP)
        samples.append(played.last)
    assert played.violation is None
    assert played.last.positions == pytest.approx(PATH[-1])
    velocities = np.array([sample.velocities for sample in samples])
    assert (np.abs(velocities) <= LIMITS.velocity * (1 + 1e-3)).all()
    assert (np.abs(np.diff(velocities, axis=0)) <= LIMITS.acceleration * PERIOD * (1 + 0.01)).all()
    assert (np.abs(np.diff(velocities, 2, axis=0)) <= LIMITS.jerk * PERIOD**2 * (1 + 0.03)).all()
    positions = np.array([sample.positions for sample in samples])
    assert (np.abs(np.diff(positions, 3, axis=0)) <= LIMITS.jerk * PERIOD**3 * (1 + 0.03)).all()


def test_a_gap_below_the_longest_is_made_up_for():
    played = channel(line(0.0, 1.0))
    now = play(played, 0.0, 0.5) + 0.09
    played.play(now, round(now * SECOND), LONGEST_GAP)
    assert played.last.positions == pytest.approx([0.5 * now])


@pytest.mark.parametrize("gap, goes_over", [(0.05, True), (0.6, False)])
def test_a_successor_due_in_a_gap_begins_only_if_the_robot_continued(gap, goes_over):
    played, successor = channel(line(0.0, 1.0)), channel(line(0.25, 2.0))
    now = play(played, 0.0, 0.48)
    successor.begins = 0.5
    played.successor = successor, played.sampler.time_scaling
    assert not played.hands_over(now, LONGEST_GAP)
    assert played.hands_over(now + gap, LONGEST_GAP) is goes_over


def test_servo_is_at_rest_after_a_gap():
    limits = MotionLimits(("joint",), *(np.array([value]) for value in (-9.0, 9.0, 1.0, 5.0, 50.0)))
    played = ServoChannel(("joint",), "owner", limits, np.zeros(1))
    played.follow(np.array([0.5]), 10.0)
    now = play(played, 0.0, 0.5)
    before = played.last
    assert before.velocities[0] > 0.4
    now += 0.6
    played.play(now, round(now * SECOND), LONGEST_GAP)
    assert np.array_equal(played.last.positions, before.positions)
    assert not played.last.velocities.any()


def test_commands_are_found_after_the_time_of_messages_was_set_back():
    played = channel(line(0.0, 1.0))
    now = play(played, 0.0, 0.5)
    for index in range(1, 50):
        played.play(now + index * PERIOD, index * SECOND // 250, LONGEST_GAP)
    at = played.at(25 * SECOND // 250)
    assert at.positions == pytest.approx([0.5 * (now + 25 * PERIOD)])


def test_simulated_joints_bridge_gaps_after_which_commands_go_on_as_if_there_had_been_none():
    """Otherwise they would turn back meanwhile, and be far from where they are commanded."""
    longest = next(parameter.default for parameter in PARAMETERS if parameter.name == "max_command_gap")
    assert SimulationOptions().extrapolate_for >= longest
