"""The live viewer over DDS: its page shows the state of the nodes, and its controls act through the nodes."""

import re

import numpy as np
import pytest
from running import DEMO
from viewer_page import Page, object_positions, port_of

from robot_cell_planner.msg import SceneChange


@pytest.fixture(scope="module")
def viewer(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    return start_node("viewer_node")


@pytest.fixture
def page(viewer):
    with Page(port_of(viewer)) as page:
        page.wait_for_text("revision")
        yield page


def test_scene_changes_appear_and_acts_change_the_scene(page, client):
    page.set("new body", "crate")
    page.press("Add")
    page.wait_for_text("Add: revision")
    scene, _ = client.scene()
    assert scene.state.bodies["crate"].pose.position == pytest.approx((0.5, 0.0, 0.5))
    page.wait_for(
        lambda page: np.linalg.norm(object_positions(page) - (0.5, 0.0, 0.5), axis=1).min() < 1e-6, "the crate"
    )
    page.press("Add")
    page.wait_for(lambda page: re.search(r"<b [^>]*>Add: [^<]*crate", page.texts()), "the error of the scene node")
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="crate"))
    page.wait_for(
        lambda page: np.linalg.norm(object_positions(page) - (0.5, 0.0, 0.5), axis=1).min() > 1e-6, "no crate"
    )


def test_ten_browsers_show_the_same_and_none_disturbs_another(viewer, client):
    pages = [Page(port_of(viewer)) for _ in range(10)]
    for page in pages:
        page.wait_for(lambda page: len(object_positions(page)), "the objects")
    for page in pages[::2]:
        page.close()
    revision = client.apply(SceneChange(operation=SceneChange.HIDE, name="post"))
    for page in pages[1::2]:
        page.wait_for_text(f"revision {revision}")
    shown = [object_positions(page) for page in pages[1::2]]
    assert all(np.array_equal(shown[0], other) for other in shown)
    client.apply(SceneChange(operation=SceneChange.SHOW, name="post"))
    for page in pages[1::2]:
        page.close()


def test_a_killed_viewer_does_not_disturb_the_nodes(client, viewer):
    viewer.kill()
    revision = client.apply(SceneChange(operation=SceneChange.HIDE, name="post"))
    assert client.scene()[1] == revision


def test_a_viewer_without_acts_has_no_buttons(start_node):
    with Page(port_of(start_node("viewer_node", namespace="another", acts=False))) as page:
        page.wait_for_text("no cell received yet")
        assert not [each for each in page.elements.values() if each.get("type") == "GuiButtonMessage"]
