"""Bad files and bad requests end in their named error; the scene stays as it was and the node goes on."""

import random
import threading

import numpy as np
import pytest
from bad_input import CHANGES, REQUESTS, fill
from geometry_msgs.msg import Pose
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.errors import InternalError, RobotCellError
from robot_cell_planner.msg import BodyModel, BodyState, Configuration, Geometry, SceneChange, Shape

GENERATED = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("roots")


@pytest.fixture(scope="module")
def files(folder):
    return fill(folder)


@pytest.fixture(scope="module")
def scene_node(start_node, files, folder):
    limits = {"max_changes": 50, "max_shapes": 40, "max_models": 30}
    return start_node("scene_node", cell_file=DEMO, resource_folders=f"[{folder}]", **limits)


@pytest.fixture
def untouched(scene_node, client):
    """The scene is the same after the test, and the node alive."""
    before = client.scene()
    yield
    assert client.scene() == before
    assert scene_node.process.poll() is None


def expect(client, kind, call):
    """The error that a call ends in."""
    with pytest.raises(RobotCellError) as caught:
        client.call_service(*call)
    error = caught.value
    assert type(error) is kind, f"{type(error).__name__}: {error}"
    assert error.message
    assert error.stage


@pytest.mark.parametrize("case", CHANGES)
def test_changes(untouched, client, case):
    change, kind = CHANGES[case]
    expect(client, kind, (srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request(changes=[change])))


@pytest.mark.parametrize("case", REQUESTS)
def test_requests(untouched, client, case):
    *call, kind = REQUESTS[case]
    expect(client, kind, call)


def test_files(untouched, client, files):
    wrong = []
    for uri, kind in files.items():
        try:
            client.call_service(srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(uri=uri, dry_run=True))
        except RobotCellError as error:
            if type(error) is not kind:
                wrong.append(f"{uri[:60]}: {type(error).__name__}, expected {kind.__name__}: {error}")
        else:
            wrong.append(f"{uri[:60]}: was read")
    assert not wrong, "\n".join(wrong)
    assert len(files) > 150


NUMBERS = [0.0, -1.0, 1.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf")]
NAMES = [
    "",
    "world",
    "bin",
    "workpiece",
    "gripper",
    "gripper/tcp",
    "tool0",
    "place",
    "manipulator",
    "x" * 5000,
    "\x7f",
    "elbow_joint",
    "ünïcode",
    "a/b",
    "../..",
    "%n%s",
    "NaN",
    "0",
]


def random_change(rng):
    """Any operation, with fields of any kind in it."""
    change = SceneChange(operation=rng.randrange(16))
    for field in ("name", "attach_to", "relative_to"):
        if rng.random() < 0.5:
            setattr(change, field, rng.choice(NAMES))
    for field in ("touch_links", "touch_bodies"):
        if rng.random() < 0.2:
            setattr(change, field, rng.choices(NAMES, k=rng.randrange(4)))
    change.pose = random_pose(rng)
    if rng.random() < 0.3:
        names = rng.choices(NAMES, k=rng.randrange(3))
        change.configuration = Configuration(joint_names=names, positions=rng.choices(NUMBERS, k=rng.randrange(3)))
    if rng.random() < 0.4:
        body = BodyModel(name=rng.choice(NAMES), density=rng.choice(NUMBERS))
        for shape in body.collision:
            shape.geometry.dimensions = rng.choices(NUMBERS, k=rng.randrange(5))
        change.models.bodies = [body]
    if rng.random() < 0.4:
        change.states.bodies = [BodyState(name=rng.choice(NAMES), attached_to=rng.choice(NAMES), pose=random_pose(rng))]
    return change


def random_pose(rng):
    pose = Pose()
    if rng.random() < 0.5:
        setattr(pose.position, rng.choice("xyz"), rng.choice(NUMBERS))
    if rng.random() < 0.3:
        setattr(pose.orientation, rng.choice("xyzw"), rng.choice(NUMBERS))
    return pose


def test_generated_changes(untouched, client):
    rng, refused = random.Random(11), []
    for _ in range(GENERATED):
        changes = [random_change(rng) for _ in range(rng.randint(1, 3))]
        request = srv.ApplyChanges.Request(changes=changes, dry_run=True)
        try:
            client.call_service(srv.ApplyChanges, "scene/apply_changes", request)
        except RobotCellError as error:
            refused.append(error)
    assert not [error for error in refused if isinstance(error, InternalError)]
    assert len(refused) > GENERATED // 2


def test_other_requests_are_served_while_a_mesh_is_read(untouched, client, folder):
    """A surface of some 200,000 triangles, which takes seconds, before a change that is refused at once."""
    heights = np.random.default_rng().random((320, 320))  # never read before
    rows, columns = np.meshgrid(*map(np.arange, heights.shape), indexing="ij")
    corners = (rows * heights.shape[1] + columns + 1)[:-1, :-1].ravel()
    beside = corners + heights.shape[1]
    faces = np.vstack(
        (np.column_stack((corners, corners + 1, beside)), np.column_stack((corners + 1, beside + 1, beside)))
    )
    vertices = "".join(f"v {x} {y} {z:.6f}\n" for x, y, z in zip(rows.flat, columns.flat, heights.flat, strict=True))
    triangles = "".join(f"f {a} {b} {c}\n" for a, b, c in faces.tolist())
    (folder / "surface.obj").write_text(vertices + triangles)
    surface = Geometry(type=Geometry.MESH, mesh_uri=str(folder / "surface.obj"), mesh_use=Geometry.EXACT)
    change = SceneChange(operation=SceneChange.ADD)
    change.models.bodies = [BodyModel(name="surface", collision=[Shape(geometry=surface)])]
    adding = client.node.create_client(srv.ApplyChanges, "scene/apply_changes")
    assert adding.wait_for_service(60.0)
    replies, is_added = [], threading.Event()

    def on_added(future):
        replies.append(future.result().error.message)
        is_added.set()

    request = srv.ApplyChanges.Request(changes=[change, SceneChange(operation=99)])
    adding.call_async(request).add_done_callback(on_added)
    for _ in range(2):  # the node may have received the first one before the mesh
        client.scene()
    replies.append("scene")
    assert is_added.wait(120)
    assert replies[0] == "scene"
    assert "changes[1]" in replies[1]
