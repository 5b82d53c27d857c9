"""The live view shows the results of the library, and only browsers of this computer may use it."""

from __future__ import annotations

import queue
import socket
import threading
import urllib.request
from concurrent.futures import Future
from pathlib import Path

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from recordings import demo_cell
from viewer_page import Page
from websockets.exceptions import InvalidStatus

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import GeometryError, ResourceError
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning import Goals, MotionRequest, plan_motion
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.model_changes import Remove
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory import TimingOptions
from robot_cell_planner.viewer.appearance import visible_objects
from robot_cell_planner.viewer.live.act_panel import ActPanel
from robot_cell_planner.viewer.live.marks import CONTACTS
from robot_cell_planner.viewer.live.meshes import LAYERS
from robot_cell_planner.viewer.live.panel import LABELS, Panel
from robot_cell_planner.viewer.live.server import start_server
from robot_cell_planner.viewer.live.view import LiveView, PlanShown
from robot_cell_planner.viewer.overlays import PairMark
from robot_cell_planner.viewer.triangles import sphere_rows

LISTEN = "0A"  # state of a socket in /proc/net/tcp
CELL, STATE = demo_cell()
COLLIDING = STATE.with_configuration({"shoulder_lift_joint": 0.3})


@pytest.fixture
def server():
    server = start_server(0, "test")
    yield server
    server.stop()


@pytest.fixture
def shown(server):
    view = LiveView(server)
    panel = Panel(server, view)
    with Page(server.get_port()) as page:
        yield view, panel, page


def poses(page):
    """World poses (7,) of the objects that the page shows, sorted."""
    found = [
        (*each["position"], *each["wxyz"])
        for name, each in list(page.nodes.items())
        if name.startswith("/objects/") and name.count("/") == 2 and each["visible"] and "position" in each
    ]
    return np.array(sorted(found))


def expected_poses(state):
    transforms = WorldTransforms(CELL, state)
    frames = [item.frame for item in visible_objects(CELL) if not _hidden(state, item.frame)]
    rows = [(*(pose := transforms.pose(frame)).position, *np.roll(pose.quaternion, 1)) for frame in frames]
    return np.array(sorted(rows))


def _hidden(state, frame):
    return frame in state.bodies and state.bodies[frame].hidden


def test_objects_have_the_poses_of_forward_kinematics(shown):
    view, _, page = shown
    hidden = STATE.with_body("post", msgspec.structs.replace(STATE.bodies["post"], hidden=True))
    for state in (STATE, STATE.with_configuration({"shoulder_pan_joint": 0.4, "elbow_joint": 1.1}), hidden):
        view.show(CELL, state, 1)
        expected = expected_poses(state)
        page.wait_for(
            lambda page, expected=expected: (
                len(found := poses(page)) == len(expected) and np.abs(found - expected).max() < 1e-6
            ),
            "the poses",
        )


def test_colliding_pairs_have_names_depth_and_contacts(shown):
    view, panel, page = shown
    view.show(CELL, COLLIDING, 7)
    view.check()
    panel.refresh()
    report = CollisionChecker(CELL, COLLIDING).report()
    assert report.pairs
    for pair in report.pairs:
        text = f"{pair.first} \N{EN DASH} {pair.second}: {1e3 * pair.depth:.1f} mm deep"
        page.wait_for(lambda page, text=text: text in page.labels() and text in page.texts(), text)
    points = np.array(
        [point for pair in report.pairs for c in pair.contacts for point in (c.point_first, c.point_second)]
    )
    (lines,) = (each for each in page.nodes.values() if each.get("type") == "LineSegmentsMessage")
    np.testing.assert_allclose(lines["points"].reshape(-1, 3), points, atol=1e-6)
    page.wait_for_text("revision 7")
    view.show(CELL, STATE, 8)
    view.check()
    panel.refresh()
    closest = CollisionChecker(CELL, STATE).distance()
    text = f"{closest.first} \N{EN DASH} {closest.second}: {1e3 * closest.distance:.1f} mm"
    page.wait_for(lambda page: page.labels() == [text], text)


def test_a_colliding_pair_without_contact_points_does_not_hide_the_others(shown):
    view, _, page = shown
    contact = PairMark("a", "b", "a in b", (((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),), True)
    view.marks.show_pairs(CONTACTS, [contact, PairMark("a", "c", "a in c", (), True)])
    page.wait_for(lambda page: page.labels() == ["a in b"], "the contact")


def test_a_picked_object_shows_near_objects(shown):
    view, panel, page = shown
    view.show(CELL, COLLIDING, 1)
    view.pick("forearm_link")
    view.check()
    panel.refresh()
    partner = CollisionChecker(CELL, COLLIDING).clearances(names=("forearm_link",))[0]
    page.wait_for_text("<b>forearm_link</b>")
    page.wait_for_text(f"{partner.first} \N{EN DASH} {partner.second}")


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_are_drawn_and_hidden(shown, layer):
    view, _, page = shown
    cell = msgspec.structs.replace(CELL, collision=msgspec.structs.replace(CELL.collision, margins={"*": 0.01}))
    view.show(cell, STATE, 1)
    page.wait_for(lambda page: any(name.endswith("/visual") for name in page.nodes), "the cell")
    page.set(LABELS[layer], True)
    count = len(view.meshes.frames)
    page.wait_for(lambda page: [each["visible"] for each in _layer(page, layer)] == [True] * count, layer)
    page.set(LABELS[layer], False)
    page.wait_for(lambda page: [each["visible"] for each in _layer(page, layer)] == [False] * count, layer)


def _layer(page, layer):
    """The frames of a layer: /objects/<number>/<layer>."""
    return [each for name, each in page.nodes.items() if name.endswith(f"/{layer}") and name.count("/") == 3]


def test_the_page_is_updated_while_spheres_are_computed(shown, monkeypatch):
    view, panel, page = shown
    begun, computed = threading.Event(), threading.Event()

    def slow(shapes):
        begun.set()
        assert computed.wait(120.0)
        if any(isinstance(shape.geometry, Box) for shape in shapes):
            raise GeometryError("no spheres of boxes")
        return sphere_rows(shapes)

    monkeypatch.setattr("robot_cell_planner.viewer.live.view.sphere_rows", slow)
    view.show(CELL, STATE, 1)
    page.set(LABELS["spheres"], True)
    assert begun.wait(120.0)
    moved = STATE.with_configuration({"shoulder_pan_joint": 0.4})
    view.show(CELL, moved, 2)
    expected = expected_poses(moved)
    page.wait_for(
        lambda page: len(found := poses(page)) == len(expected) and np.abs(found - expected).max() < 1e-6, "the poses"
    )
    panel.refresh()
    page.wait_for_text("computing the spheres of")
    computed.set()
    page.wait_for(lambda page: len(_layer(page, "spheres")) == len(view.meshes.frames), "the spheres")
    tries = threading.Event()
    while view.progress:
        tries.wait(0.01)
    panel.refresh()
    page.wait_for_text("no spheres of boxes")
    assert "computing the spheres of" not in page.texts()
    problems = view.problems
    assert problems
    # An object that cannot be drawn is reported once while it exists.
    view.show(msgspec.structs.replace(CELL, name="another"), STATE, 3)
    assert view.problems == problems
    view.show(msgspec.structs.replace(CELL, bodies=frozendict()), STATE, 4)
    assert all("bin" not in problem for problem in view.problems)
    assert len(view.problems) < len(problems)


def test_a_plan_is_coloured_by_speed_and_by_certificate(shown):
    view, panel, page = shown
    plan = plan_motion(
        CELL, STATE, MotionRequest(Goals(joint_goals=({"shoulder_pan_joint": 0.3},)), timing=TimingOptions())
    )
    view.show(CELL, STATE, 1)
    view.show_plan(PlanShown(CELL, STATE, plan))
    panel.refresh()
    lines = page.wait_for(
        lambda page: [each for name, each in page.nodes.items() if name.startswith("/marks/speed/")], "the path"
    )
    points = lines[0]["points"].reshape(-1, 2, 3)
    tip = WorldTransforms(CELL, STATE).pose(CELL.tools["gripper"].tcp_frame).position
    np.testing.assert_allclose(points[0, 0], tip, atol=1e-5)
    view.certify(view.plan)
    page.wait_for(lambda page: any(name.startswith("/marks/certificate/") for name in page.nodes), "the certificate")
    page.wait_for_text(plan.planner)
    view.show_failure("planning/plan_motion: no path <b>")
    panel.refresh()
    page.wait_for_text("no path &lt;b&gt;")


def test_names_cannot_break_the_page(shown):
    view, panel, page = shown
    view.show(msgspec.structs.replace(CELL, name="<img src=x onerror=alert(1)>"), STATE, 1)
    panel.refresh()
    page.wait_for_text("&lt;img src=x onerror=alert(1)&gt;")
    assert "<img" not in page.texts()


@pytest.mark.parametrize(
    "origin",
    ["http://example.com", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "http://localhost.example.com:{port}"],
)
def test_pages_of_other_origins_are_refused(server, origin):
    with pytest.raises(InvalidStatus, match="403"):
        Page(server.get_port(), origin=origin.format(port=server.get_port()))


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_page_is_served(server, name):
    address = f"http://{name}:{server.get_port()}"
    with urllib.request.urlopen(f"http://127.0.0.1:{server.get_port()}") as reply:
        assert b"<title>" in reply.read()
    with Page(server.get_port(), origin=address) as page:
        page.wait_for(lambda page: page.messages, "anything")


def test_other_computers_cannot_reach_it(server):
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {row[1] for row in rows if row[3] == LISTEN}
    port = f"{server.get_port():04X}"
    assert {each for each in addresses if each.endswith(f":{port}")} == {f"0100007F:{port}"}


def test_the_page_cannot_be_shared_on_the_internet(server, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a tunnel is opened")

    monkeypatch.setattr("viser._viser.ViserTunnel", refuse)
    with Page(server.get_port()) as page:
        page.send(type="ShareUrlRequest")
        page.wait_for(lambda page: page.messages, "anything")
    assert server.request_share_url() is None


def test_an_occupied_port_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ResourceError, match=f"port {port} of 127.0.0.1 cannot be used"):
            start_server(port, "test")


class Recorded:
    """Callbacks of the view that record their calls."""

    def __init__(self):
        self.calls = []
        self._changed = threading.Condition()

    def __getattr__(self, name):
        def call(*arguments, **keywords):
            with self._changed:
                self.calls.append((name, *arguments, *keywords.values()))
                self._changed.notify_all()
            return ({"elbow_joint": 1.0},) if name == "solve" else "done"

        return call

    def wait_for(self, *call):
        """Wait for a call, which is made by a thread of the server."""
        with self._changed:
            assert self._changed.wait_for(lambda: call in self.calls, 120.0), f"{call} is not in {self.calls}"


def test_callbacks_are_called_with_the_values_of_the_page(server):
    view, acts = LiveView(server), Recorded()
    panel = ActPanel(server, view, acts, plan_timeout=0.0)
    view.show(CELL, STATE, 1)
    panel.refresh()
    with Page(server.get_port()) as page:
        page.wait_for(lambda page: page.element("body").get("options"), "the dropdowns")
        page.set("drag a target", True)
        page.wait_for(lambda page: page.nodes["/target"]["visible"], "the handle")
        page.drag("/target", (0.4, 0.1, 0.5), (1.0, 0.0, 0.0, 0.0))
        page.wait_for_text("1 solutions without collision")
        page.press("Plan to the target")
        page.wait_for_text("Plan to the target: done")
        page.set("body", "post")
        page.press("Hide")
        page.wait_for_text("Hide: done")
        page.press("Add")
        page.wait_for_text("Add: done")
        page.press("Stop")
        page.wait_for_text("Stop: done")
        acts.wait_for("solve", "manipulator", target := Pose((0.4, 0.1, 0.5)))
    assert [call for call in acts.calls if call[0] != "solve"] == [
        ("plan_to_pose", "manipulator", target),
        ("set_hidden", "post", True),
        ("add", "box", Box((0.1, 0.1, 0.1)), Pose((0.5, 0.0, 0.5))),
        ("stop",),
    ]


class Blocked:
    """Callbacks of the view of which `remove` waits for a node that does not reply, and `stop` does not."""

    def __init__(self):
        self.replied, self.stopped = threading.Event(), threading.Event()

    def remove(self, name):
        self.replied.wait(120.0)
        return "done"

    def stop(self):
        self.stopped.set()
        return "done"


def test_stop_does_not_wait_for_threads_of_the_server(server, monkeypatch):
    view, acts = LiveView(server), Blocked()
    monkeypatch.setattr(server.gui, "_thread_executor", Later())
    ActPanel(server, view, acts)
    view.show(CELL, STATE, 1)
    with Page(server.get_port()) as page:
        page.press("Stop")
        assert acts.stopped.wait(60.0)


def test_a_second_change_of_the_scene_waits_for_the_first(server):
    view, acts = LiveView(server), Blocked()
    panel = ActPanel(server, view, acts)
    view.show(CELL, STATE, 1)
    panel.refresh()
    with Page(server.get_port()) as page:
        page.press("Remove")
        page.wait_for_text("Remove …")
        page.press("Remove")
        page.wait_for_text("Remove: wait for the end of the previous request")
        acts.replied.set()


def without(body):
    scene = apply_changes(Scene(CELL, STATE), [Remove(body)], world_pose)
    return scene.cell, scene.state


def test_an_act_after_the_removal_of_its_body_is_not_of_another_body(server):
    view, acts = LiveView(server), Recorded()
    panel = ActPanel(server, view, acts)
    view.show(CELL, STATE, 1)
    panel.refresh()
    with Page(server.get_port()) as page:
        page.set("body", "post")
        page.press("Remove")
        page.wait_for_text("Remove: done")
        for revision in (2, 3):
            view.show(*without("post"), revision)
            panel.refresh()
            page.press("Remove")
            page.wait_for_text("Remove: choose a body first")
    assert acts.calls == [("remove", "post")]


def test_a_target_in_a_cell_without_robots_is_an_error_on_the_page(server):
    view = LiveView(server)
    panel = ActPanel(server, view, Recorded())
    cell = RobotCell(bodies=frozendict(post=CELL.bodies["post"]))
    view.show(cell, cell.default_state(), 1)
    panel.refresh()
    with Page(server.get_port()) as page:
        page.set("drag a target", True)
        page.wait_for_text("drag a target: request: cell ")


def test_a_state_that_cannot_be_checked_has_no_verdict(server, monkeypatch):
    view = LiveView(server)
    view.show(CELL, STATE, 1)
    view.check()
    assert view.checks is not None
    moved = STATE.with_configuration({"elbow_joint": 1.0})

    def fail(*_):
        raise GeometryError("a shape is damaged")

    with monkeypatch.context() as patch:
        patch.setattr("robot_cell_planner.viewer.live.view.check_state", fail)
        view.show(CELL, moved, 2)
        for _ in range(2):
            with pytest.raises(GeometryError):
                view.check()
            assert view.checks is None
    view.check()
    assert view.checks is not None


def test_a_picked_body_that_is_removed_does_not_end_the_checks(server):
    view = LiveView(server)
    view.show(CELL, STATE, 1)
    view.pick("post")
    view.check()
    view.show(*without("post"), 2)
    view.check()
    assert view.picked == ""
    assert view.checks is not None


class Later:
    """An executor that never makes submitted calls, like a thread without processor time."""

    def submit(self, *_):
        return Future()


def test_a_plan_is_for_the_pose_of_the_handle_also_before_ik_has_ended(server, monkeypatch):
    view, acts = LiveView(server), Recorded()
    ActPanel(server, view, acts, plan_timeout=0.0).refresh()
    view.show(CELL, STATE, 1)
    with Page(server.get_port()) as page:
        page.set("drag a target", True)
        page.wait_for(lambda page: page.nodes["/target"]["visible"], "the handle")
        monkeypatch.setattr(server.scene, "_thread_executor", Later())
        page.drag("/target", (0.4, 0.1, 0.5), (1.0, 0.0, 0.0, 0.0))
        page.press("Plan to the target")
        page.wait_for_text("Plan to the target: done")
    assert acts.calls == [("plan_to_pose", "", Pose((0.4, 0.1, 0.5)))]


class Held:
    """An executor that makes submitted calls on release, like threads without processor time until then."""

    def __init__(self):
        self._calls = queue.Queue()

    def submit(self, call, *arguments):
        self._calls.put(lambda: call(*arguments))
        return Future()

    def release(self, count):
        """Make a number of calls after all of them were submitted."""
        for call in [self._calls.get(timeout=120.0) for _ in range(count)]:
            call()


def test_a_late_callback_does_not_reset_the_handle(server, monkeypatch):
    """The handle was switched off and on before it was dragged, and the callbacks of the switch are made later."""
    view, acts, target = LiveView(server), Recorded(), Pose((0.4, 0.1, 0.5))
    ActPanel(server, view, acts, plan_timeout=0.0).refresh()
    view.show(CELL, STATE, 1)
    with Page(server.get_port()) as page:
        page.set("drag a target", True)
        page.wait_for(lambda page: page.nodes["/target"]["visible"], "the handle")
        late = Held()
        with monkeypatch.context() as patched:
            patched.setattr(server.gui, "_thread_executor", late)
            page.set("drag a target", False)
            page.set("drag a target", True)
            page.drag("/target", target.position, (1.0, 0.0, 0.0, 0.0))
            acts.wait_for("solve", "", target)
            late.release(2)
        page.press("Plan to the target")
        page.wait_for_text("Plan to the target: done")
    assert acts.calls[-1] == ("plan_to_pose", "", target)
