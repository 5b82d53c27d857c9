"""Joints of controllers that a motion does not move are held where the controllers hold them now."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.errors import ExecutionError
from robot_cell_planner.nodes.motion import controller_drive
from robot_cell_planner.nodes.motion.controller_drive import ControllerDrive

JOINTS = ("shoulder", "elbow")
HELD = 0.7  # position of the elbow [rad]


class Controller:
    """A controller that has published its state once. fresh: whether that is not long ago."""

    def __init__(self, node, action):
        self.action = self.name = action
        self.is_ready, self.fresh = True, True
        self.last_state = SimpleNamespace(joints=JOINTS, reference=np.array([0.0, HELD]))

    @property
    def state(self):
        return self.last_state if self.fresh else None


@pytest.fixture
def drive(monkeypatch):
    monkeypatch.setattr(controller_drive, "ControllerClient", Controller)
    node = SimpleNamespace(get_clock=lambda: None)
    return ControllerDrive(node, ("arm",), None, SimpleNamespace(rate=5.0, now=lambda: 7.0))


def shares(drive, *joints):
    """The shares of a motion that begins."""
    found = []

    def make(given, *_, **__):
        found.extend(given)
        return SimpleNamespace(send=lambda: None, phase=None)

    drive.start(make, None, SimpleNamespace(joints=joints))
    return found


def test_joints_that_are_not_moved_stay_where_their_controller_holds_them(drive):
    (share,) = shares(drive, "shoulder")
    assert share.joints == ("shoulder",)
    assert share.standing == {"elbow": HELD}


def test_no_motion_begins_if_it_is_unknown_where_its_controller_holds_other_joints(drive):
    """The robot may have been moved by other means since: the joints would jump."""
    drive._controllers[0].fresh = False
    with pytest.raises(ExecutionError, match=r"arm has not published its state for 0\.5 s") as caught:
        shares(drive, "shoulder")
    assert caught.value.subjects == ("arm", "elbow")
    (share,) = shares(drive, *JOINTS)
    assert share.standing == {}


def test_waits_for_the_begin_of_goals_are_on_the_clock_of_motions(drive):
    """A simulation may be faster than real time; goals for a later time would begin late."""
    assert (drive.rate, drive.now()) == (5.0, 7.0)
