"""A motion whose speed is changed continually retains only the last changes."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.nodes.motion.channels import Channel
from robot_cell_planner.nodes.motion.controller_motion import ControllerMotion, ControllerOptions
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

LIMITS = MotionLimits(("joint",), *(np.array([value]) for value in (-9.0, 9.0, 2.0, 5.0, 50.0)))
LINE = Trajectory(("joint",), np.array([0.0, 30.0, 60.0]), np.array([[0.0], [2.0], [4.0]]))
CHANGES, PERIOD = 100, 0.1  # and the time between them [s]


@pytest.mark.parametrize("late", [False, True])
def test_of_the_stream(clock, stream, monkeypatch, late):
    """late: the computation of each change takes longer than the stream waits for it."""
    channel = Channel(("joint",), "owner", LINE, 0.5, SamplerOptions(), lambda: None, limits=LIMITS)
    channel.play(0.0, 0, 0.1)
    sampler = channel.sampler
    if late:

        def changed(scale, start, computed=sampler.changed):
            clock.now = max(clock.now, start + 1e-3)
            return computed(scale, start)

        monkeypatch.setattr(sampler, "changed", changed)
    for number in range(CHANGES):
        clock.now += PERIOD
        before = sampler.sample(clock.now)
        stream.set_scale(channel, 0.45 + 0.05 * (number % 2))
        if not late:
            assert sampler.sample(clock.now).parameter == before.parameter
    # A change in several steps has more pieces than a direct one.
    assert len(sampler.time_scaling.starts) <= 400
    assert sampler.time_scaling.starts[0] >= clock.now - 1.5


def test_of_a_controller(clock):
    one = np.ones(1)
    goal = MotionGoal("owner", ("joint",), LINE, SimpleNamespace(path=one), limits=None)
    motion = ControllerMotion(
        (),
        lambda: round(clock.now * 1e9),
        ControllerOptions(0.2, SamplerOptions(), 1.0),
        lambda: None,
        goal,
        JointFeedback(10.0),
        global_scale=0.5,
        timeouts=FeedbackTimeouts(1.0, 1.0, 1.0),
        on_done=lambda: None,
    )
    motion.send()
    whole = motion._sampler.time_scaling
    for number in range(CHANGES):
        clock.now += PERIOD
        motion.set_global_scale(0.45 + 0.05 * (number % 2))
        whole = whole.changed(motion.scale, clock.now + 0.2, 4.0, 40.0)
        recent = np.linspace(clock.now - 1.0, clock.now + 1.0, 20)
        # Times of messages are whole nanoseconds.
        found = motion._sampler.time_scaling.derivatives(recent)
        np.testing.assert_allclose(found, whole.derivatives(recent), atol=1e-6)
    assert motion._sampler.time_scaling.starts[0] >= clock.now - 6.0 > whole.starts[0]
