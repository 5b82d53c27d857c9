"""The replay page is self-contained, works offline, and equals the recording."""

from __future__ import annotations

import json
import re

import msgspec
import numpy as np
import pytest
from loaded_cells import loaded
from recordings import ATTACHED_AT, MOMENTS, demo_cell, small_recording

from robot_cell_planner.errors import FileError, StateError
from robot_cell_planner.io.mesh.loading import load_mesh
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.viewer import Moment, Recording, write_html
from robot_cell_planner.viewer.appearance import Surface, coarsened, surfaces
from robot_cell_planner.viewer.packing import unpack
from robot_cell_planner.viewer.page import page

NAMESPACES = {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}  # identifiers, which are not fetched
TITLE = "A <b>demo</b> & more"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    cell, state = demo_cell()
    recording = small_recording(state)
    target = tmp_path_factory.mktemp("replay") / "deep" / "replay.html"
    path = write_html(target, cell, recording, TITLE)
    return cell, recording, path.read_text(encoding="utf-8")


def contents(text: str, element: str) -> str:
    match = re.search(rf'<script type="[^"]*" id="{element}">(.*?)</script>', text, re.DOTALL)
    assert match, f"the page has no element {element}"
    return match[1]


def poses(text: str, replay: dict, frame: str) -> np.ndarray:
    """The track of a frame as stored in the page: (n, 7)."""
    entry = next(entry for entry in (*replay["objects"], *replay["tool_points"]) if entry["frame"] == frame)
    return unpack(contents(text, "block"), entry["track"]).reshape(-1, 7)


def test_the_page_has_no_external_links(recorded):
    _, _, text = recorded
    assert set(re.findall(r"""https?://[^\s"'`)<>]+""", text)) <= NAMESPACES
    assert not re.search(r"""<(?:link|script|img|iframe)[^>]*\s(?:src|href)\s*=""", text)
    assert not re.search(r"""(?:@import|\burl\()""", text.split("</style>")[0])
    assert "{{" not in text.split("<script")[0]


def test_the_page_is_small(recorded):
    assert len(recorded[2].encode()) < 5_000_000


def test_names_cannot_break_the_page(recorded):
    _, recording, text = recorded
    replay = json.loads(contents(text, "replay"))
    assert replay["segments"][1]["name"] == recording.segments[1].name
    assert replay["title"] == TITLE
    assert "<title>A &lt;b&gt;demo&lt;/b&gt; &amp; more</title>" in text


def test_times_and_segments_begin_at_zero(recorded):
    _, recording, text = recorded
    replay = json.loads(contents(text, "replay"))
    times = unpack(contents(text, "block"), replay["times"])
    assert len(times) == MOMENTS
    np.testing.assert_allclose(times, [moment.time - 3.0 for moment in recording.moments], atol=1e-6)
    borders = [(segment["start"], segment["end"]) for segment in replay["segments"]]
    np.testing.assert_allclose(borders, [(0.0, 0.4), (0.4, times[-1])], atol=1e-6)
    assert replay["summary"] == {"verdict": "as it should be"}


@pytest.mark.parametrize("frame", ["wrist_3_link", "gripper/left_finger", "gripper/tcp", "workpiece", "shoulder_link"])
def test_poses_are_those_recorded(recorded, frame):
    cell, recording, text = recorded
    track = poses(text, json.loads(contents(text, "replay")), frame)
    assert len(track) == MOMENTS
    for row, moment in zip(track, recording.moments, strict=True):
        pose = WorldTransforms(cell, moment.state).pose(frame)
        np.testing.assert_allclose(row[:3], pose.position, atol=1e-6)
        assert abs(np.dot(row[3:], pose.quaternion)) == pytest.approx(1.0, abs=1e-6)


def test_objects_at_rest_are_written_once(recorded):
    replay = json.loads(contents(recorded[2], "replay"))
    rows = {entry["frame"]: entry["track"]["count"] // 7 for entry in replay["objects"]}
    assert {frame for frame, count in rows.items() if count == 1} == {
        "base_link",
        "floor",
        "pedestal",
        "table",
        "post",
        "bin",
    }


def test_orientations_never_jump_to_the_other_sign(recorded):
    _, _, text = recorded
    replay = json.loads(contents(text, "replay"))
    for entry in replay["objects"]:
        track = poses(text, replay, entry["frame"])
        if entry["frame"] != "workpiece":  # whose pose in the gripper changes abruptly
            assert np.all(np.sum(track[1:, 3:] * track[:-1, 3:], axis=1) > 0.9)


def test_attaching_is_an_event(recorded):
    _, recording, text = recorded
    (event,) = json.loads(contents(text, "replay"))["events"]
    assert event["text"] == "workpiece attached to gripper/palm"
    assert event["time"] == pytest.approx(recording.moments[ATTACHED_AT].time - 3.0)


def test_joints_carry_values_and_limits(recorded):
    cell, recording, text = recorded
    joints = {joint["name"]: joint for joint in json.loads(contents(text, "replay"))["joints"]}
    assert list(joints) == [*cell.variables, "finger_joint"]
    values = unpack(contents(text, "block"), joints["shoulder_pan_joint"]["values"])
    expected = [moment.state.configuration["shoulder_pan_joint"] for moment in recording.moments]
    np.testing.assert_allclose(values, expected, atol=1e-6)
    limits = cell.variables["elbow_joint"].limits
    assert (joints["elbow_joint"]["lower"], joints["elbow_joint"]["upper"]) == (limits.lower, limits.upper)


def test_hidden_objects_disappear_and_return():
    cell, state = demo_cell()
    hidden = state.with_body("post", msgspec.structs.replace(state.bodies["post"], hidden=True))
    text = page(cell, Recording((Moment(0.0, state), Moment(1.0, hidden), Moment(2.0, state))))
    objects = {entry["frame"]: entry["shown"] for entry in json.loads(contents(text, "replay"))["objects"]}
    assert objects["post"] == [[0, True], [1, False], [2, True]]
    assert objects["table"] == []


def test_meshes_keep_their_pose_and_colours():
    cell, _ = loaded("ur10")
    mesh = cell.robot.mechanism.links["wrist_3_link"].visuals[0].geometry
    vertices = np.concatenate([surface.vertices[np.unique(surface.faces)] for surface in surfaces(mesh)])
    data = load_mesh(mesh)
    np.testing.assert_allclose(vertices.min(axis=0), data.vertices.min(axis=0), atol=1e-9)
    np.testing.assert_allclose(vertices.max(axis=0), data.vertices.max(axis=0), atol=1e-9)
    assert sum(len(surface.faces) for surface in surfaces(mesh)) >= len(data.faces)
    assert surfaces(mesh)[0].rgba is not None


def test_fine_meshes_are_drawn_coarser():
    u, v = np.meshgrid(np.linspace(0.0, 1.0, 201), np.linspace(0.0, 1.0, 201), indexing="ij")
    vertices = np.stack([u, v, 0.1 * np.sin(7.0 * u)], axis=-1).reshape(-1, 3)
    corner = (np.arange(200)[:, None] * 201 + np.arange(200)).ravel()
    halves = ([corner, corner + 201, corner + 1], [corner + 1, corner + 201, corner + 202])
    faces = np.concatenate([np.stack(half, axis=-1) for half in halves])
    coarse = coarsened(Surface(vertices, faces.astype(np.int32)), max_triangles=5_000)
    assert 500 < len(coarse.faces) <= 5_000
    assert np.abs(np.ptp(coarse.vertices, axis=0) - np.ptp(vertices, axis=0)).max() < 0.02


def test_same_recording_same_page(recorded):
    cell, recording, text = recorded
    assert page(cell, recording, TITLE) == text


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    cell, state = demo_cell()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match=r"file/replay\.html"):
        write_html(tmp_path / "file" / "replay.html", cell, Recording((Moment(0.0, state),)))


def test_a_state_of_another_cell_is_refused():
    cell, _ = demo_cell()
    with pytest.raises(StateError, match="arm"):
        page(cell, Recording((Moment(0.0, RobotCellState()),)))
