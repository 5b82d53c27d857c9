"""Robots attached to other robots: changes keep their poses, they move with their parents, and files and differences
preserve them."""

import re

import msgspec
import numpy as np
import pytest

from robot_cell_planner.errors import (
    FileError,
    FrameCycleError,
    InvalidRequestError,
    NotSupportedError,
    RobotCellError,
    UnknownNameError,
)
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.io.scene_import.imported import Imported, moved, with_prefix
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.diff import apply_difference, difference
from robot_cell_planner.scene.model_changes import Remove, Replace
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, Detach, Move, SetBasePose, SetJoints, SetTouch

TRACK = """<robot name="track"><link name="track"/><link name="carriage"/>
<joint name="slide" type="prismatic"><parent link="track"/><child link="carriage"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="1" effort="1000"/></joint></robot>"""
ARM = """<robot name="arm"><link name="base"/><link name="tip"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0.2 0 0.4"/>
  <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="2" effort="100"/></joint></robot>"""
SRDF = """<robot name="arm"><group name="arm"><chain base_link="base" tip_link="tip"/></group></robot>"""
CELL = """format: robot_cell/1
robots:
  arm: {urdf: arm.urdf, srdf: arm.srdf, attached_to: plate, base_pose: {position: [0, 0, 0.1], rpy: [0, 0, 0.5]}}
  track: {urdf: track.urdf, base_pose: {position: [1, 0, 0]}}
  other: {urdf: arm.urdf, srdf: arm.srdf, prefix: other_, base_pose: {position: [0, 3, 0]}}
tools: {gripper: {collisions: [{type: box, size: [0.1, 0.1, 0.1]}], attached_to: other_arm}}
bodies:
  plate: {collisions: [{type: box, size: [0.4, 0.4, 0.02]}], attached_to: carriage, pose: {position: [0, 0, 0.2]}}
  part: {collisions: [{type: box, size: [0.1, 0.1, 0.1]}], attached_to: tip}
frames: {mark: {attached_to: gripper}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stack")
    texts = {"arm.urdf": ARM, "arm.srdf": SRDF, "track.urdf": TRACK, "cell.yaml": CELL}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def scene(folder):
    return Scene(*load_cell(folder / "cell.yaml"))


def apply(scene, *changes):
    return apply_changes(scene, changes, world_pose)


def world(scene, frame):
    return world_pose(scene.cell, scene.state, frame)


def assert_same_place(a, b):
    distance, angle = a.distance_to(b)
    assert distance < 1e-9
    assert angle < 1e-7


def test_the_file_puts_the_arm_on_the_plate_of_the_carriage(scene):
    expected = Pose((1.0, 0.0, 0.2)) @ Pose.from_rpy((0.0, 0.0, 0.1), (0.0, 0.0, 0.5))
    assert_same_place(world(scene, "base"), expected)
    along = apply(scene, SetJoints({"slide": 0.7}))
    for frame in ("base", "tip", "part"):
        assert_same_place(world(along, frame), Pose((0.0, 0.7, 0.0)) @ world(scene, frame))
    assert_same_place(world(along, "other_base"), world(scene, "other_base"))


@pytest.mark.parametrize("parent", ["carriage", "plate", "other_tip", "track"])
def test_attaching_in_place_and_detaching_keep_the_pose_in_the_world(scene, parent):
    here = apply(scene, SetJoints({"slide": 0.4, "other_turn": 0.8, "turn": -0.3}))
    attached = apply(here, Attach("arm", parent))
    assert attached.cell.robots["arm"].attached_to == parent
    detached = apply(attached, Detach("arm"))
    assert detached.cell.robots["arm"].attached_to == ""
    for found in (attached, detached):
        for frame in ("base", "tip", "part"):
            assert_same_place(world(found, frame), world(here, frame))
    # It now moves with its parent, or is static.
    move = SetJoints({"slide": -0.5, "other_turn": -1.0})
    before, after = world(attached, parent), world(apply(attached, move), parent)
    assert_same_place(world(apply(attached, move), "base"), after @ before.inverse() @ world(here, "base"))
    assert_same_place(world(apply(detached, move), "base"), world(here, "base"))


def test_poses_relative_to_other_frames_are_converted_to_the_parent(scene):
    pose = Pose.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    there = world(scene, "other_tip") @ pose
    for change in (
        Attach("arm", "carriage", pose, "other_tip"),
        Move("arm", pose.position, pose.quaternion, "other_tip"),
        SetBasePose("arm", pose.position, pose.quaternion, "other_tip"),
    ):
        found = apply(scene, change)
        assert_same_place(world(found, "base"), there)
        shifted = apply(found, SetJoints({"slide": 0.25}))
        assert_same_place(world(shifted, "base"), Pose((0.0, 0.25, 0.0)) @ there)


@pytest.mark.parametrize(
    ("changes", "error", "name"),
    [
        ([Attach("track", "tip")], FrameCycleError, "carriage"),
        ([Attach("plate", "tip")], FrameCycleError, "plate"),
        ([Attach("track", "part")], FrameCycleError, "part"),
        ([Attach("arm", "gripper")], NotSupportedError, "gripper"),
        ([Attach("arm", "mark")], NotSupportedError, "mark"),
        ([Attach("arm", "nowhere")], UnknownNameError, "nowhere"),
        ([Attach("arm", "tip")], FrameCycleError, "tip"),
        ([Detach("track")], InvalidRequestError, "track"),
        ([Attach("arm", "carriage", touch_links=("track",))], UnknownNameError, "arm"),
        ([SetTouch("arm", ("track",))], UnknownNameError, "arm"),
        ([Remove("plate")], InvalidRequestError, "arm"),
        ([Attach("arm", "carriage"), Remove("plate"), Remove("track")], InvalidRequestError, "arm"),
        ([Move("track", (0.0, 0.0, 0.0), None, "tip")], InvalidRequestError, "track"),
    ],
)
def test_invalid_changes_are_refused_with_a_name(scene, changes, error, name):
    with pytest.raises(error) as refused:
        apply(scene, *changes)
    assert name in refused.value.message or name in refused.value.subjects


def test_a_replaced_robot_stays_attached(scene):
    robot = msgspec.structs.replace(scene.cell.robots["arm"], attached_to="")
    new = RobotCell(robots=scene.cell.robots.__class__({"arm": robot}))
    found = apply(scene, Replace(new))
    assert found.cell.robots["arm"].attached_to == "plate"
    assert_same_place(world(found, "base"), world(scene, "base"))


def test_differences_lead_from_one_scene_to_the_other(scene):
    others = [
        apply(scene, Attach("arm", "carriage")),
        apply(scene, Detach("arm")),
        apply(scene, Detach("arm"), Attach("track", "tip"), SetJoints({"slide": 1.0})),
    ]
    for one in (scene, *others):
        for other in (scene, *others):
            found = apply_difference(one, difference(one, other))
            assert found == other
            assert found.cell.digest() == other.cell.digest()


def test_saved_attachments_are_loaded_unchanged(scene, folder):
    changed = apply(scene, Attach("arm", "other_tip"), SetJoints({"slide": 0.2, "other_turn": 1.1}))
    save_cell(folder / "saved.yaml", changed.cell, changed.state)
    assert load_cell(folder / "saved.yaml") == (changed.cell, changed.state)


def test_the_example_of_the_documentation(tmp_path, request):
    page = request.config.rootpath.joinpath("docs", "cell_file.md").read_text()
    (example,) = (text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "carriage" in text)
    rail = '<robot name="track"><group name="rail"><chain base_link="track" tip_link="carriage"/></group></robot>'
    texts = {"cell.yaml": f"format: robot_cell/1\n{example}", "track.urdf": TRACK, "track.srdf": rail, "arm.urdf": ARM}
    for name, text in {**texts, "arm.srdf": SRDF.replace('group name="arm"', 'group name="manipulator"')}.items():
        (tmp_path / name).write_text(text)
    cell, _ = load_cell(tmp_path / "cell.yaml")
    assert cell.group("arm_on_track").variables == ("slide", "turn")
    assert cell.tip_link("arm_on_track") == "tip"


def test_imported_attached_robots_are_moved_and_renamed(scene):
    origin = Pose.from_rpy((3.0, 2.0, 1.0), (0.1, 0.2, 0.3))
    found = with_prefix(moved(Imported(scene.cell, scene.state), origin), "new_")
    found.cell.check_state(found.state)
    for frame in ("carriage", "base", "part"):
        assert_same_place(world_pose(found.cell, found.state, f"new_{frame}"), origin @ world(scene, frame))


def test_a_loop_in_a_file_is_refused(folder):
    (folder / "loop.yaml").write_text(CELL.replace("track: {", "track: {attached_to: tip, "))
    with pytest.raises(FrameCycleError, match=r"loop\.yaml.*carriage"):
        load_cell(folder / "loop.yaml")
    (folder / "wrong.yaml").write_text(CELL.replace("attached_to: plate", "attached_to: 3"))
    with pytest.raises(FileError, match="attached_to"):
        load_cell(folder / "wrong.yaml")


def test_random_attachments_keep_poses_or_are_refused(scene):
    rng = np.random.default_rng(7)
    frames = ["carriage", "plate", "tip", "base", "other_tip", "part", "gripper", "mark", "track"]
    for _ in range(60):
        name, parent = rng.choice(["arm", "track", "other", "plate", "part"]), str(rng.choice(frames))
        before = {frame: world(scene, frame) for frame in ("base", "carriage", "other_tip", "part")}
        try:
            found = apply(scene, Attach(str(name), parent))
        except RobotCellError:
            continue
        for frame, pose in before.items():
            assert_same_place(world(found, frame), pose)
        scene = found
