"""Notebooks show the page that is written to files, in a frame that cannot access the notebook."""

from html.parser import HTMLParser

from loaded_cells import loaded
from sources import ROOT

from robot_cell_planner import Goals, MotionRequest, OfflineCell, plan_motion, show
from robot_cell_planner.viewer.page import page
from robot_cell_planner.viewer.plans import plan_details, plan_recording
from robot_cell_planner.viewer.recording import Moment, Recording

DEMO = ROOT / "config" / "demo" / "cell.yaml"


class Frames(HTMLParser):
    """Collects the attributes of all elements."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def frame(value):
    ((tag, attributes),) = Frames(value._repr_html_()).found
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    return attributes


def test_a_state_is_shown():
    cell, state = loaded()
    found = frame(show(cell, state, title='a "title" <b>', height=300))
    assert found["srcdoc"] == page(cell, Recording((Moment(0.0, state),)), 'a "title" <b>')
    assert "height: 300px" in found["style"]


def test_a_plan_is_shown():
    cell, state = loaded()
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"elbow_joint": 1.0},))))
    expected = page(cell, plan_recording(state, plan), **plan_details(cell, state, plan))
    assert frame(show(cell, state, plan))["srcdoc"] == expected


def test_a_cell_shows_its_present_state():
    with OfflineCell.load(DEMO) as cell:
        before = frame(cell)["srcdoc"]
        cell.move("to the side", joints={"shoulder_pan_joint": 0.5})
        after = frame(cell)["srcdoc"]
    assert before != after
    assert after == page(cell.cell, Recording((Moment(0.0, cell.state),)))
