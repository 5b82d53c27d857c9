"""Motions from the live viewer's page: planned, previewed, executed and stopped by the nodes, whose errors it shows."""

import numpy as np
import pytest
from fake_robot import FakeRobot
from moveit_requests import CELL, JOINTS, LEFT
from running import DEMO
from viewer_page import Page, port_of

pytestmark = pytest.mark.alone

HOME, AWAY = "home", "folded"


def values(name):
    """Positions of the joints in a named state."""
    return np.array([CELL.robot.named_states[f"manipulator/{name}"][joint] for joint in JOINTS])


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, JOINTS)
    robot.put(**dict(zip(JOINTS, LEFT, strict=True)))
    return robot


@pytest.fixture(scope="module")
def viewer(start_node, robot, client):
    start_node("scene_node", cell_file=DEMO)
    for name in ("collision_node", "kinematics_node", "planning_node"):
        start_node(name)
    start_node(
        "execution_node",
        command_fields="[position, velocity]",
        joint_state_timeout=1.5,
        joint_state_lost_after=5.0,
        monitor_timeout=20.0,
        max_joint_step=9.0,
        path_tolerance=5.0,
    )
    client.scene()
    client.wait_until_ready()
    return start_node("viewer_node", port=0)


@pytest.fixture
def page(viewer):
    with Page(port_of(viewer)) as page:
        page.wait_for(lambda page: HOME in page.element("named state").get("options", ()), "the named states")
        yield page


def plan(page, name):
    page.set("named state", name)
    page.press("Plan to the named state")
    page.wait_for_output(r"Plan to the named state: \d+ waypoints in \d+ ms")


# Each test begins where the one before has left the robot.


def test_a_plan_is_previewed_and_executed(page, robot):
    plan(page, HOME)
    page.press("Preview")
    page.wait_for_output("Preview: the preview is running")
    page.press("Execute")
    page.wait_for_output("Execute: the motion has ended")
    robot.wait_for_rest(JOINTS)  # which receives its last commands later than they were sent
    assert [robot.positions[joint] for joint in JOINTS] == pytest.approx(values(HOME), abs=2e-3)


def test_a_motion_is_stopped(page, robot):
    begin, end = np.array([robot.positions[joint] for joint in JOINTS]), values(AWAY)

    def moved():
        """The fraction of the path."""
        here = np.array([robot.positions[joint] for joint in JOINTS])
        return float(np.abs(here - begin).max() / np.abs(end - begin).max())

    plan(page, AWAY)
    page.press("Execute")
    robot.wait_for(lambda _: moved() > 0.02)
    page.press("Stop")
    page.wait_for_output("Stop: the motion of viewer is stopped")
    page.wait_for_output(r"<b [^>]*>Execute: [^<]*stop")
    robot.wait_for_rest(JOINTS)
    assert 0.02 < moved() < 0.9


def test_errors_of_the_nodes_are_shown(page, robot):
    plan(page, HOME)
    robot.put(**{JOINTS[0]: robot.positions[JOINTS[0]] + 0.5})
    page.press("Execute")
    page.wait_for_output(r"<b [^>]*>Execute: [^<]*start")
    page.set("drag a target", True)
    page.wait_for(lambda page: page.nodes["/target"]["visible"], "the handle")
    page.drag("/target", (4.0, 0.0, 0.5), (1.0, 0.0, 0.0, 0.0))
    page.press("Plan to the target")
    page.wait_for_output(r"<b [^>]*>Plan to the target: [^<]*reach")
    page.set("drag a target", False)
