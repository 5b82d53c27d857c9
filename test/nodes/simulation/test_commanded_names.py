"""Names in command messages: those of other joints are reported once, and the rest of the message counts."""

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.simulation.commanded_names import MAX_REPORTED, CommandedNames
from robot_cell_planner.simulation.joint_names import JointNames

NAMES = JointNames(
    ("elbow", "finger", "thumb", "a/claw", "b/claw"),
    ("elbow", "finger", "a/claw", "b/claw"),
    {"elbow": "elbow", "finger": "hand/finger", "hand/finger": "hand/finger", "a/claw": "a/claw", "b/claw": "b/claw"},
    {"elbow": "elbow", "finger": "finger", "hand/finger": "finger", "a/claw": "a/claw", "b/claw": "b/claw"},
    {"claw": ("a/claw", "b/claw")},
)


def test_names_of_other_joints_are_reported_once_and_do_not_hold_up_the_rest():
    reports = []
    names = CommandedNames(NAMES, reports.append)
    for _ in range(3):
        assert names.published(("hand/finger", "hand/fingr", "elbow")) == ("finger", "hand/fingr", "elbow")
    assert names.published(("thumb",)) == ("thumb",)
    assert len(reports) == 2
    assert "'hand/fingr' does not exist; nearest: hand/finger" in reports[0]
    assert "joint thumb is a mimic joint, which follows another one; these values are ignored" in reports[1]


def test_a_short_name_of_several_joints_is_refused():
    with pytest.raises(InvalidRequestError, match="joint claw is ambiguous; use one of a/claw, b/claw"):
        CommandedNames(NAMES, print).published(("elbow", "claw"))


def test_endless_different_names_are_neither_kept_nor_compared(monkeypatch):
    reports, compared = [], []
    unknown = JointNames.unknown
    monkeypatch.setattr(JointNames, "unknown", lambda *given: compared.append(given) or unknown(*given))
    names = CommandedNames(NAMES, reports.append)
    for number in range(MAX_REPORTED + 10):
        assert names.published((f"joint_{number}", "elbow")) == (f"joint_{number}", "elbow")
    assert len(reports) == len(compared) == MAX_REPORTED
