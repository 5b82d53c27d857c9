"""When a servo session that has been stopped ends."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts, RobotTimeout
from robot_cell_planner.nodes.servo import session as servo_session
from robot_cell_planner.nodes.servo.session import ServoSession

JOINTS = ("shoulder", "elbow")
LOST_AFTER = 2.0  # [s]
STOP = np.array([0.5, 0.2])


class Stopped:
    """A session whose commands have come to rest at STOP, with measurements of the test."""

    def __init__(self, monkeypatch):
        self._now, self._stamp = 1000.0, 0
        monkeypatch.setattr(servo_session, "time", SimpleNamespace(monotonic=lambda: self._now))
        session = self._session = ServoSession.__new__(ServoSession)
        session.task = SimpleNamespace(joints=JOINTS)
        session.channel = SimpleNamespace(last=SimpleNamespace(positions=STOP))
        session._node = SimpleNamespace(parameters={"goal_tolerance": 1e-3, "goal_time": 100.0})
        session._stream = SimpleNamespace(commanded_at=lambda channel, stamp: SimpleNamespace(positions=STOP))
        session._feedback = JointFeedback(jump=10.0)
        session._settling = RobotTimeout()
        session._timeouts = FeedbackTimeouts(0.25, LOST_AFTER, 2.0)

    def has_arrived(self, seconds, **measured):
        """Whether the session may end, some time [s] after the last measurement and a new one of some joints."""
        for _ in range(round(seconds / 0.02)):
            self._now += 0.02
            self._session._feedback.start_poll(self._now)
        self._stamp += round(seconds * 1e9)
        names, values = list(measured), list(measured.values())
        self._session._feedback.update(names, values, [], [], self._stamp, self._now)
        return self._session.has_arrived()


@pytest.fixture
def stopped(monkeypatch):
    return Stopped(monkeypatch)


def test_it_waits_until_the_robot_has_arrived(stopped):
    assert not stopped.has_arrived(0.1, shoulder=0.45, elbow=0.2)
    assert not stopped.has_arrived(LOST_AFTER - 0.1, elbow=0.2)  # the other one is late
    assert stopped.has_arrived(0.1, shoulder=0.5, elbow=0.2)


@pytest.mark.parametrize("measured", [{}, {"elbow": 0.2}])
def test_it_does_not_wait_for_measurements_that_are_lost(stopped, measured):
    assert not stopped.has_arrived(0.1, shoulder=0.45, elbow=0.2)
    assert stopped.has_arrived(LOST_AFTER + 0.1, **measured)
