"""A motion whose speed cannot be changed stops with that error instead of moving on."""

import numpy as np
import pytest
from test_controller_motion import Case
from test_many_changes_of_speed import LIMITS, LINE

from robot_cell_planner.errors import StopRequestedError, TrajectoryError
from robot_cell_planner.nodes.motion.channels import Channel
from robot_cell_planner.nodes.motion.command_stream import CommandStream
from robot_cell_planner.nodes.motion.controller_motion import ControllerMotion
from robot_cell_planner.nodes.motion.motion import Phase
from robot_cell_planner.nodes.servo.channel import ServoChannel
from robot_cell_planner.trajectory.sampler import SamplerOptions

PERIOD = 0.004
ERROR = TrajectoryError("Ruckig cannot time a motion")


def impossible(*_):
    raise ERROR


@pytest.mark.parametrize("change", [CommandStream.stop, lambda stream, channel: stream.set_scale(channel, 0.0)])
def test_of_the_stream(clock, stream, monkeypatch, change):
    channel = Channel(("joint",), "owner", LINE, 1.0, SamplerOptions(), lambda: None, limits=LIMITS)
    for _ in range(1000):
        channel.play(clock.now, round(clock.now * 1e9), 0.1)
        clock.now += PERIOD
    assert channel.last.velocities[0] > 0.01
    monkeypatch.setattr(channel.sampler, "changed", impossible)
    change(stream, channel)
    for _ in range(1000):
        channel.play(clock.now, round(clock.now * 1e9), 0.1)
        clock.now += PERIOD
    assert channel.violation is ERROR
    assert channel.last.velocities[0] == 0.0
    assert channel.has_come_to_its_end(clock.now)


def test_a_motion_that_has_ended_keeps_its_end(clock, stream, monkeypatch):
    channel = Channel(("joint",), "owner", LINE, 1.0, SamplerOptions(), lambda: None, limits=LIMITS)
    channel.play(0.0, 0, 0.1)
    channel.ended_at = 1.0
    monkeypatch.setattr(channel.sampler, "changed", impossible)
    stream.set_scale(channel, 0.5)
    assert channel.violation is None


def test_servo_names_the_error_of_its_next_command(monkeypatch):
    channel = ServoChannel(("joint",), "owner", LIMITS, np.array([0.0]))
    channel.play(0.0, 0, 0.1)
    monkeypatch.setattr(channel.follower, "step", impossible)
    channel.play(PERIOD, round(PERIOD * 1e9), 0.1)
    assert isinstance(channel.violation, TrajectoryError)
    assert "no next command: Ruckig cannot time a motion" in str(channel.violation)


def test_of_controllers(monkeypatch):
    case = Case(monkeypatch)
    monkeypatch.setattr(case.motion._sampler, "changed", impossible)
    stop = StopRequestedError("stopped")
    case.motion.stop(stop)
    assert case.motion.error is stop
    assert [goal.cancelled for goal in case.goals] == [True]


@pytest.mark.parametrize("change", [ControllerMotion.pause, lambda motion: motion.set_global_scale(0.5)])
def test_of_controllers_at_another_speed(monkeypatch, change):
    """It would go on at full speed, reported as paused or as slower."""
    case = Case(monkeypatch)
    monkeypatch.setattr(case.motion._sampler, "changed", impossible)
    change(case.motion)
    assert case.motion.error is ERROR
    assert case.motion.phase is Phase.STOPPING
    assert [goal.cancelled for goal in case.goals] == [True]
