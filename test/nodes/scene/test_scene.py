"""The scene node through its real interfaces: revisions, named errors, TF, scene monitors, and a kill."""

import threading

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose
from loaded_cells import loaded
from rclpy.task import Future
from running import DEMO, RunningNode
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from robot_cell_planner import srv
from robot_cell_planner.errors import (
    DuplicateNameError,
    FrameCycleError,
    InvalidRequestError,
    RevisionConflictError,
    RobotCellError,
    StaleStateError,
    UnknownNameError,
)
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.msg import (
    BodyModel,
    BodyState,
    Configuration,
    Geometry,
    RobotCellState,
    SafetyMargin,
    SceneChange,
    Shape,
)
from robot_cell_planner.nodes.common import scene_monitor
from robot_cell_planner.nodes.common.node import LATCHED, reliable
from robot_cell_planner.nodes.common.scene_monitor import SceneMonitor
from robot_cell_planner.nodes.conversions.models import ModelReader

C = SceneChange


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return tmp_path_factory.mktemp("scene") / "scene.journal"


@pytest.fixture(scope="module")
def scene_node(start_node, journal):
    return start_node("scene_node", cell_file=DEMO, journal_file=journal)


def sphere(name, x=0.0, radius=0.1):
    change = C(operation=C.ADD)
    change.models.bodies = [
        BodyModel(name=name, collision=[Shape(geometry=Geometry(type=Geometry.SPHERE, dimensions=[radius]))])
    ]
    change.states.bodies = [BodyState(name=name, pose=Pose(position=Point(x=x)))]
    return change


def test_the_cell_arrives_as_the_file_has_it(scene_node, client):
    scene, revision = client.scene()
    cell, state = loaded()
    assert revision == 1
    assert scene.cell == cell
    assert scene.state == state


def test_changes_are_atomic_and_revisions_gapless(scene_node, client):
    _, before = client.scene()
    assert client.apply(sphere("one"), sphere("two", 0.5)) == before + 1
    with pytest.raises(UnknownNameError) as caught:
        client.apply(C(operation=C.HIDE, name="one"), C(operation=C.HIDE, name="oen"))
    assert "nearest: one" in str(caught.value)
    assert caught.value.partial.revision == before + 1
    scene, revision = client.scene()
    assert revision == before + 1
    assert not scene.state.bodies["one"].hidden
    assert client.apply(C(operation=C.HIDE, name="one"), dry_run=True) == before + 1


def test_a_body_of_a_message_that_is_probably_in_millimetres_is_a_warning(scene_node, client):
    client.apply(sphere("in_mm", radius=50.0))
    size = "100 x 100 x 100 m"
    assert scene_node.wait_for(f"scene/apply_changes: body in_mm is {size} large; is its size in mm")
    client.apply(C(operation=C.REMOVE, name="in_mm"))


def test_undo_and_updates_since_a_revision(scene_node, client):
    scene, revision = client.scene()
    client.apply(sphere("short_lived"))
    reply = client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request(since_revision=revision))
    assert reply.is_update
    assert [body.name for body in reply.update.models.bodies] == ["short_lived"]
    client.call_service(srv.UndoChanges, "scene/undo", srv.UndoChanges.Request())
    assert client.scene()[0] == scene
    whole = client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request(since_revision=10**9))
    assert not whole.is_update


BAD_CHANGES = {
    "unknown operation": (lambda: C(operation=99), InvalidRequestError, "operation 99"),
    "no name": (lambda: C(operation=C.REMOVE), InvalidRequestError, "name is empty"),
    "surplus field": (lambda: C(operation=C.HIDE, name="bin", attach_to="tool0"), InvalidRequestError, "attach_to"),
    "surplus pose": (
        lambda: C(operation=C.ATTACH_IN_PLACE, name="workpiece", attach_to="tool0", pose=_raised()),
        InvalidRequestError,
        "pose is not used by ATTACH_IN_PLACE",
    ),
    "surplus states": (
        lambda: C(operation=C.HIDE, name="bin", states=RobotCellState(bodies=[BodyState(name="bin")])),
        InvalidRequestError,
        "states is not used by HIDE",
    ),
    "a name twice": (lambda: sphere("bin"), DuplicateNameError, "bin"),
    "name of a link": (lambda: sphere("tool0"), DuplicateNameError, "tool0"),
    "reserved name": (lambda: sphere("world"), InvalidRequestError, "world"),
    "negative size": (lambda: sphere("neg", radius=-1.0), InvalidRequestError, "radius"),
    "infinite size": (lambda: sphere("inf", radius=float("inf")), InvalidRequestError, "radius"),
    "NaN place": (lambda: sphere("nan", x=float("nan")), InvalidRequestError, "position"),
    "zero quaternion": (
        lambda: C(operation=C.ATTACH, name="workpiece", attach_to="tool0", pose=_zero_quaternion()),
        InvalidRequestError,
        "quaternion",
    ),
    "a cycle": (lambda: C(operation=C.ATTACH_IN_PLACE, name="bin", attach_to="place"), FrameCycleError, "loop"),
    "unknown carrier": (
        lambda: C(operation=C.ATTACH_IN_PLACE, name="bin", attach_to="toolO"),
        UnknownNameError,
        "tool0",
    ),
    "not attached": (lambda: C(operation=C.DETACH, name="bin"), InvalidRequestError, "not attached"),
    "joint twice": (
        lambda: C(
            operation=C.SET_JOINTS,
            configuration=Configuration(joint_names=["elbow_joint", "elbow_joint"], positions=[0.0, 1.0]),
        ),
        InvalidRequestError,
        "more than once",
    ),
    "short positions": (
        lambda: C(operation=C.SET_JOINTS, configuration=Configuration(joint_names=["elbow_joint"], positions=[])),
        InvalidRequestError,
        "1 joint names and 0 positions",
    ),
    "infinite joint": (
        lambda: C(
            operation=C.SET_JOINTS,
            configuration=Configuration(joint_names=["elbow_joint"], positions=[float("inf")]),
        ),
        InvalidRequestError,
        "elbow_joint",
    ),
}


def _raised():
    pose = Pose()
    pose.position.z = 0.1
    return pose


def _zero_quaternion():
    pose = Pose()
    pose.orientation.w = 0.0
    return pose


@pytest.mark.parametrize("case", BAD_CHANGES)
def test_bad_changes_get_their_named_error(scene_node, client, case):
    make, kind, words = BAD_CHANGES[case]
    before = client.scene()
    with pytest.raises(kind) as caught:
        client.apply(make())
    assert words in str(caught.value)
    assert client.scene() == before


def test_an_empty_list_and_a_wrong_revision_are_refused(scene_node, client):
    with pytest.raises(InvalidRequestError, match="empty"):
        client.apply()
    request = srv.ApplyChanges.Request(changes=[sphere("late")], expected_revision=10**6)
    with pytest.raises(RevisionConflictError):
        client.call_service(srv.ApplyChanges, "scene/apply_changes", request)


def gather(client, kind, topic, qos, enough):
    """Messages of a topic until `enough(messages)`."""
    messages, done = [], threading.Event()

    def take(message):
        messages.append(message)
        if enough(messages):
            done.set()

    subscription = client.node.create_subscription(kind, topic, take, qos)
    assert done.wait(120), f"{topic}: {len(messages)} messages arrived"
    client.node.destroy_subscription(subscription)
    return messages


def test_tf_agrees_with_the_kinematics_of_the_state(scene_node, client):
    static = gather(client, TFMessage, "/tf_static", LATCHED, lambda m: True)[-1]
    names, values = ("elbow_joint", "shoulder_pan_joint"), (0.4, -0.8)
    publisher = client.node.create_publisher(JointState, "joint_states", 10)
    message = JointState(name=list(names), position=list(values))
    stop = threading.Event()

    def keep_publishing():
        while not stop.wait(0.02):
            message.header.stamp = client.node.get_clock().now().to_msg()
            publisher.publish(message)

    thread = threading.Thread(target=keep_publishing)
    thread.start()
    try:
        wait = srv.WaitForState.Request(min_joint_stamp=client.node.get_clock().now().to_msg(), joint_names=list(names))
        wait.timeout.sec = 20
        client.call_service(srv.WaitForState, "scene/wait_for_state", wait)
        moving = gather(client, TFMessage, "/tf", reliable(100), lambda m: len(m) > 2)[-1]
    finally:
        stop.set()
        thread.join()
        client.node.destroy_publisher(publisher)
    scene, _ = client.scene()
    truth = WorldTransforms(scene.cell, scene.state.with_configuration(dict(zip(names, values, strict=True))))
    transforms = [*static.transforms, *moving.transforms]
    children = [entry.child_frame_id for entry in transforms]
    assert len(set(children)) == len(children)
    assert {"tool0", "gripper/tcp", "gripper/left_finger", "workpiece", "bin", "place", "base_link"} <= set(children)
    for entry in transforms:
        expected = truth.between(entry.header.frame_id, entry.child_frame_id)
        moved, turned = entry.transform.translation, entry.transform.rotation
        np.testing.assert_allclose([moved.x, moved.y, moved.z], expected.position, atol=1e-9)
        np.testing.assert_allclose([turned.x, turned.y, turned.z, turned.w], expected.quaternion, atol=1e-9)


def test_robot_descriptions_are_latched(scene_node, client):
    urdf = gather(client, String, "robot_description", LATCHED, lambda m: True)[0].data
    srdf = gather(client, String, "robot_description_semantic", LATCHED, lambda m: True)[0].data
    assert "<robot" in urdf
    assert "manipulator" in srdf


def test_a_wait_that_times_out_reports_its_reason(scene_node, client):
    request = srv.WaitForState.Request(min_revision=10**6)
    request.timeout.nanosec = 200_000_000
    with pytest.raises(StaleStateError) as caught:
        client.call_service(srv.WaitForState, "scene/wait_for_state", request)
    assert caught.value.values[0].limit == 10**6
    request = srv.WaitForState.Request(min_joint_stamp=Time(sec=2**31 - 1), joint_names=["elbow_joint"])
    request.timeout.nanosec = 200_000_000
    with pytest.raises(StaleStateError, match="elbow_joint"):
        client.call_service(srv.WaitForState, "scene/wait_for_state", request)


def test_a_late_scene_monitor_equals_the_scene_node_and_follows_it(scene_node, client):
    client.apply(sphere("early_bird"))
    monitor = SceneMonitor(client.node, ModelReader(NO_ROOTS))
    caught_up = threading.Event()

    def check():
        if monitor.revision >= target[0]:
            caught_up.set()

    target = [client.scene()[1]]
    monitor.on_change(check)
    check()
    assert caught_up.wait(120)
    for step in range(20):
        caught_up.clear()
        target[0] = client.apply(C(operation=C.MOVE, name="early_bird", pose=Pose(position=Point(z=0.1 * step))))
        check()
        assert caught_up.wait(120)
    margins = C(operation=C.SET_COLLISION)
    margins.models.collision.margins = [SafetyMargin(name="early_bird", margin=0.02)]
    caught_up.clear()
    target[0] = client.apply(margins)
    check()
    assert caught_up.wait(120)
    assert monitor.scene.cell.collision.margins["early_bird"] == 0.02
    scene, revision = client.scene()
    assert (monitor.scene, monitor.revision) == (scene, revision)


def test_a_scene_monitor_requests_what_it_missed_when_the_service_is_discovered_later(scene_node, client, monkeypatch):
    monkeypatch.setattr(scene_monitor, "ASKED_AGAIN", 0.05)
    client.apply(sphere("patient_bird"))
    monitor = SceneMonitor(client.node, ModelReader(NO_ROOTS))
    begun, tried, caught_up = threading.Event(), threading.Event(), threading.Event()

    def is_ready():
        tried.set()
        return False

    monitor.on_change(lambda: caught_up.set() if monitor.revision >= target else begun.set())
    target = 10**9
    assert begun.wait(120)
    monkeypatch.setattr(monitor._client, "service_is_ready", is_ready)
    monitor.revision = -1  # as if it had missed updates
    target = client.apply(C(operation=C.MOVE, name="patient_bird", pose=Pose(position=Point(z=0.5))))
    assert tried.wait(120)
    monkeypatch.undo()
    assert caught_up.wait(120)


def test_a_scene_monitor_repeats_requests_whose_replies_are_lost(scene_node, client, monkeypatch):
    monkeypatch.setattr(scene_monitor, "ASKED_AGAIN", 0.05)
    client.apply(sphere("late_bird"))
    monitor = SceneMonitor(client.node, ModelReader(NO_ROOTS))
    behind, missed, caught_up, lost = threading.Event(), threading.Event(), threading.Event(), []
    send = monitor._client.call_async

    def losing(request):
        if len(lost) < 2:
            lost.append(Future())
            return lost[-1]
        return send(request)

    def check():
        behind.set()
        if missed.is_set() and monitor.revision >= target:
            caught_up.set()

    monitor.on_change(check)
    assert behind.wait(120)
    monkeypatch.setattr(monitor._client, "call_async", losing)
    monitor.revision = -1  # as if it had missed updates
    target = client.apply(C(operation=C.MOVE, name="late_bird", pose=Pose(position=Point(z=0.5))))
    missed.set()
    check()
    assert caught_up.wait(120)
    assert len(lost) == 2
    assert monitor.revision >= target


def test_a_killed_node_restores_revision_and_state(scene_node, client, journal, domain, start_node):
    for step in range(5):
        client.apply(C(operation=C.MOVE, name="workpiece", pose=Pose(position=Point(x=0.1 * step, z=2.0))))
    before = client.scene()
    scene_node.kill()
    start_node("scene_node", cell_file=DEMO, journal_file=journal)
    assert client.scene() == before


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"cell_file": "/does/not/exist.yaml"}, ["/does/not/exist.yaml"]),
        ({"cell_file": DEMO, "tf_rate": -5.0}, ["tf_rate", "-5", "1 to 1000"]),
        ({"cell_file": DEMO, "revisions_kept": "many"}, ["revisions_kept", "many", "int"]),
        ({"cell_file": DEMO, "resource_packages": "[nonsense]"}, ["resource_packages", "name=folder"]),
        ({"cell_file": DEMO, "follow_frames": "[nonsense]"}, ["follow_frames", "object=frame"]),
    ],
)
def test_a_node_that_cannot_start_reports_why_in_one_line(domain, parameters, words):
    node = RunningNode("scene_node", domain, namespace="other", **parameters)
    assert node.wait() == 1
    assert all(word in node.output for word in words), node.output
    assert len(node.output.strip().splitlines()) == 1, node.output


def test_a_malformed_cell_file_names_file_and_place(domain, tmp_path):
    path = tmp_path / "cell.yaml"
    path.write_text(DEMO.read_text().replace("radius: 0.24", "radius: -0.24"))
    node = RunningNode("scene_node", domain, namespace="other", cell_file=path)
    assert node.wait() == 1
    assert "cell.yaml" in node.output
    assert len(node.output.strip().splitlines()) == 1, node.output


def test_files_outside_of_the_roots_are_refused(scene_node, client, tmp_path):
    secret = tmp_path / "secret.yaml"
    secret.write_text(DEMO.read_text())
    for uri in (str(secret), f"file://{secret}", "../../../etc/passwd", "package://nonsense/cell.yaml"):
        with pytest.raises(RobotCellError):
            client.call_service(srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(uri=uri))
        with pytest.raises(RobotCellError):
            client.call_service(srv.LoadState, "scene/load_state", srv.LoadState.Request(uri=uri))
        with pytest.raises(RobotCellError):
            client.call_service(srv.SaveCell, "scene/save_cell", srv.SaveCell.Request(uri=uri, overwrite=True))
    assert secret.read_text() == DEMO.read_text()


def test_a_cell_is_saved_as_text_and_merged_with_a_prefix(scene_node, client):
    text = client.call_service(srv.SaveCell, "scene/save_cell", srv.SaveCell.Request()).text
    assert text.startswith("format: robot_cell/1")
    before, _ = client.scene()
    request = srv.LoadCell.Request(uri="config/ur10/cell.yaml", mode=srv.LoadCell.Request.MERGE, prefix="b_")
    request.dry_run = True
    reply = client.call_service(srv.LoadCell, "scene/load_cell", request)
    assert "b_workpiece" in reply.names
    assert client.scene()[0] == before
