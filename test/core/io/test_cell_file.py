"""Cell files: their content, round trips, and mistakes that are refused with file, line and key."""

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import event, given, settings
from hypothesis import strategies as st
from robots import ROBOTS
from strategies import bodies, body_states, dictionaries, frames, joint_values, names, poses, tool_states

from robot_cell_planner.errors import (
    DuplicateNameError,
    FileError,
    FrameCycleError,
    GeometryError,
    LimitExceededError,
    ModelError,
    NotSupportedError,
    ResourceError,
    RobotCellError,
    StateError,
    UnknownNameError,
)
from robot_cell_planner.io.cell_file.cell_file import load_cell, load_state, save_cell, save_state
from robot_cell_planner.io.cell_file.reader import read_cell
from robot_cell_planner.io.cell_file.writer import cell_entries
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.common.serialisation import dump_yaml, to_json
from robot_cell_planner.model.bodies import PairMargin
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Cylinder, Mesh, MeshUse
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import RobotCellState

ARM = """<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 1"/>
  <axis xyz="0 1 0"/><limit lower="0.5" upper="2" velocity="1" effort="1"/></joint></robot>"""
SRDF = """<robot name="arm"><group name="manipulator"><chain base_link="base" tip_link="lower"/></group>
<group_state name="home" group="manipulator"><joint name="shoulder" value="0.25"/><joint name="elbow" value="1"/>
</group_state></robot>"""
GRIPPER = """<robot name="gripper" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="reach" default="0.1"/>
<link name="palm"/><link name="jaw"/><joint name="jaw_joint" type="prismatic"><parent link="palm"/><child link="jaw"/>
<origin xyz="0 0 $(arg reach)"/><limit lower="0" upper="0.05" velocity="1" effort="1"/></joint></robot>"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def tetrahedron_stl():
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in (corners[i] for i in face))
        + "endloop\nendfacet\n"
        for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    )
    return f"solid part\n{facets}endsolid part\n"


CELL = """format: robot_cell/1
name: test cell
robots:
  arm:
    urdf: robots/arm.urdf
    srdf: robots/arm.srdf
    limits: robots/limits.yaml
    base_pose: {position: [1, 0, 0], rpy: [0, 0, 1.5707963267948966]}
tools:
  gripper:
    urdf: robots/gripper.urdf.xacro
    xacro_arguments: {reach: 0.2}
    tcp: {position: [0, 0, 0.3]}
    tcp_link: jaw
    attached_to: manipulator
    pose: {position: [0, 0, 0.01]}
    touch_links: [lower]
    configuration: {jaw_joint: 0.02}
  spindle:
    collisions: [{type: cylinder, radius: .05, length: .3, pose: {position: [0, 0, .15]}}]
    mass: 2.0
    tcp: {position: [0, 0, .3]}
    hidden: true
bodies:
  table:
    collisions:
    - {type: box, size: [1.2, 0.8, 0.05], rgba: [1, 0.5, 0, 1], name: top}
    density: 1e3
  part:
    collisions: [{type: mesh, uri: meshes/part.obj, scale: 0.001, use: exact}]
    visuals: [{type: sphere, radius: 0.01}]
    inertial: {mass: 0.1, inertia: [1, 0, 0, 1, 0, 1]}
    attached_to: gripper
    pose: {position: [0, 0, 0.3]}
    touch_links: [gripper/jaw]
    touch_bodies: [table]
frames:
  corner: {attached_to: table, pose: {position: [0.6, 0.4, 0]}}
  place: {attached_to: upper, relative_to: corner, pose: {position: [0, 0, 0.1]}}
collision:
  ignore_groups: {fence: [table, base]}
  margins: {"*": 1e-3, part: 0.0}
  pair_margins: [{first: table, second: lower, margin: 0.01}]
state:
  named: {manipulator: home}
  configuration: {shoulder: 0.5}
"""


def fill(folder):
    for name, text in {
        "cell.yaml": CELL,
        "robots/arm.urdf": ARM,
        "robots/arm.srdf": SRDF,
        "robots/limits.yaml": "joint_limits: {elbow: {max_acceleration: 7}}",
        "robots/gripper.urdf.xacro": GRIPPER,
        "meshes/part.obj": TETRAHEDRON,
    }.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path):
    return fill(tmp_path)


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def loaded(folder):
    return load_cell(folder / "cell.yaml")


def test_robots(loaded):
    cell, state = loaded
    assert cell.name == "test cell"
    assert cell.robot.variables["elbow"].limits.acceleration == 7.0
    assert cell.group().variables == ("shoulder", "elbow")
    assert state.base_poses["arm"] == Pose.from_rpy((1.0, 0.0, 0.0), (0.0, 0.0, math.pi / 2))
    assert state.configuration == {"shoulder": 0.5, "elbow": 1.0}


def test_tools(loaded):
    cell, state = loaded
    gripper, spindle = cell.tools["gripper"], cell.tools["spindle"]
    assert gripper.mechanism.joints["jaw_joint"].origin.position == (0.0, 0.0, 0.2)
    assert (gripper.tcp.position, gripper.tcp_link) == ((0.0, 0.0, 0.3), "jaw")
    assert state.tools["gripper"].attached_to == "manipulator"
    assert state.tools["gripper"].configuration == {"jaw_joint": 0.02}
    assert state.tools["gripper"].touch_links == ("lower",)
    assert spindle.mechanism.links["body"].inertial.mass == 2.0
    assert spindle.mechanism.links["body"].collisions[0].geometry == Cylinder(0.05, 0.3)
    assert state.tools["spindle"].hidden


def test_bodies(loaded, folder):
    cell, state = loaded
    table, part = cell.bodies["table"], cell.bodies["part"]
    assert table.collisions[0].geometry == Box((1.2, 0.8, 0.05))
    assert (table.collisions[0].name, table.collisions[0].rgba) == ("top", (1.0, 0.5, 0.0, 1.0))
    assert table.inertial.mass == pytest.approx(48.0)
    mesh = part.collisions[0].geometry
    assert isinstance(mesh, Mesh)
    assert (mesh.path, mesh.scale, mesh.use) == (str(folder / "meshes/part.obj"), (0.001,) * 3, MeshUse.EXACT)
    assert part.inertial.mass == 0.1
    assert state.bodies["part"].attached_to == "gripper"
    assert state.bodies["part"].touch_bodies == ("table",)


def test_collision_settings(loaded):
    settings_read = loaded[0].collision
    assert settings_read.ignore_groups == {"fence": ("table", "base")}
    assert settings_read.margins == {"*": 0.001, "part": 0.0}
    assert settings_read.pair_margins == (PairMargin("table", "lower", 0.01),)


def test_poses_relative_to_other_frames_are_resolved_where_the_object_is_attached(loaded):
    cell, state = loaded
    assert cell.frames["place"].attached_to == "upper"
    position, angle = Placements(placements(cell, state)).world("place").distance_to(Pose((0.6, 0.4, 0.1)))
    assert position < 1e-12
    assert angle < 1e-12


def test_bodies_and_tools_may_be_written_relative_to_frames_too(folder):
    text = CELL.replace("attached_to: gripper\n", "attached_to: gripper\n    relative_to: place\n")
    cell, state = read_cell(text, str(folder), ResourceRoots(folders=(str(folder),)))
    where = Placements(placements(cell, state))
    assert where.between("place", "part").distance_to(Pose((0.0, 0.0, 0.3)))[0] < 1e-12
    assert state.bodies["part"].attached_to == "gripper"


@pytest.mark.parametrize("name", ["again.yaml", "again.json", "again.yml"])
def test_saved_cells_are_loaded_unchanged(folder, loaded, name):
    save_cell(folder / name, *loaded)
    again = load_cell(folder / name)
    assert again == loaded
    assert [to_json(value) for value in again] == [to_json(value) for value in loaded]
    text = (folder / name).read_text()
    assert "robots/arm.urdf" in text
    assert "<robot" not in text


def test_changed_or_missing_files_are_saved_as_text(folder, loaded):
    (folder / "robots/arm.urdf").write_text(ARM.replace("0 0 1", "0 0 2"))
    (folder / "robots/limits.yaml").unlink()
    cell, state = loaded
    save_cell(folder / "again.yaml", cell, state)
    again, state_again = load_cell(folder / "again.yaml")
    assert state_again == state
    assert again.robot.mechanism == cell.robot.mechanism
    assert again.robot.groups == cell.robot.groups
    assert again.tools == cell.tools
    assert "urdf_text: |" in (folder / "again.yaml").read_text()


def test_a_cell_saved_elsewhere_leads_to_the_same_meshes(folder, loaded, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    save_cell(elsewhere / "cell.yaml", *loaded)
    with pytest.raises(ResourceError):
        load_cell(elsewhere / "cell.yaml")
    cell, state = load_cell(elsewhere / "cell.yaml", ResourceRoots(folders=(str(folder),)))
    assert state == loaded[1]
    before, after = (c.bodies["part"].collisions[0].geometry for c in (loaded[0], cell))
    assert (before.path, before.digest, before.scale) == (after.path, after.digest, after.scale)


def test_the_digest_of_a_cell_depends_on_the_content_of_files_and_not_on_their_paths(folder, loaded, tmp_path_factory):
    copies = [tmp_path_factory.mktemp("copy") / "cell" for _ in range(2)]
    for copy in copies:
        shutil.copytree(folder, copy)
    cell, state = load_cell(copies[0] / "cell.yaml")
    assert (cell.digest(), state.digest()) == (loaded[0].digest(), loaded[1].digest())
    assert cell.digest_with_places() != loaded[0].digest_with_places()
    mesh = next(copies[1].glob("**/*.obj"))
    mesh.write_text(mesh.read_text().replace("v 1 0 0", "v 1.001 0 0"))
    assert load_cell(copies[1] / "cell.yaml")[0].digest() != cell.digest()


def test_a_cell_without_state_is_saved_at_its_start(folder, loaded):
    cell, _ = loaded
    text = save_cell("", cell)
    assert not {"state:", "attached_to: gripper"} & set(map(str.strip, text.splitlines()))
    again, state = read_cell(text, str(Path.cwd()), ResourceRoots(folders=(str(folder),)))
    assert state == again.default_state()


def test_saving_does_not_overwrite_unless_requested(folder, loaded):
    save_cell(folder / "again.yaml", *loaded, overwrite=False)
    with pytest.raises(FileError, match="exists"):
        save_cell(folder / "again.yaml", *loaded, overwrite=False)
    with pytest.raises(FileError, match=r"expected \.yaml"):
        save_cell(folder / "again.txt", *loaded)


def test_requests_read_and_write_below_the_roots_only(folder, loaded):
    roots = ResourceRoots(folders=(str(folder),))
    assert load_cell("cell.yaml", roots, confined=True) == loaded
    save_cell("again.yaml", *loaded, roots, confined=True)
    save_state("state.yaml", loaded[1], roots, confined=True)
    assert load_state("state.yaml", roots, confined=True) == loaded[1]
    for name in ("../out.yaml", "/tmp/out.yaml", "file:///tmp/out.yaml", "package://none/out.yaml"):
        for call in (
            lambda name=name: load_cell(name, roots, confined=True),
            lambda name=name: save_cell(name, *loaded, roots, confined=True),
            lambda name=name: save_state(name, loaded[1], roots, confined=True),
            lambda name=name: load_state(name, roots, confined=True),
        ):
            with pytest.raises(ResourceError):
                call()


quick = settings(max_examples=40, deadline=None)
NO_MESH = bodies.filter(lambda body: not any(isinstance(s.geometry, Mesh) for s in (*body.collisions, *body.visuals)))


@st.composite
def scenes(draw):
    """Cells of bodies and frames without attachments, and a state of each."""
    found = draw(st.lists(NO_MESH | frames, max_size=5, unique_by=lambda thing: thing.name))
    cell = RobotCell(
        bodies=frozendict({b.name: b for b in found if hasattr(b, "collisions")}),
        frames=frozendict(
            {f.name: type(f)(f.name, "world", f.pose) for f in found if not hasattr(f, "collisions")},
        ),
    )
    state = {
        name: type(s := draw(body_states))(s.pose, "", s.touch_links, s.touch_bodies, s.hidden) for name in cell.bodies
    }
    return cell, RobotCellState(bodies=frozendict(state))


@quick
@given(scenes())
def test_any_bodies_and_frames_are_saved_to_the_last_bit(scene):
    again = read_cell(dump_yaml(cell_entries(*scene, ".")))
    assert [to_json(value) for value in again] == [to_json(value) for value in scene]


@quick
@given(
    dictionaries(names, poses),
    dictionaries(names, joint_values),
    dictionaries(names, tool_states),
    dictionaries(names, body_states),
)
def test_any_state_is_saved_and_loaded_unchanged(tmp_path_factory, base_poses, configuration, tools, body_values):
    state = RobotCellState(base_poses, configuration, tools, body_values)
    path = tmp_path_factory.getbasetemp() / "state.yaml"
    save_state(path, state)
    assert to_json(load_state(path)) == to_json(state)


def test_a_robot_of_a_package(tmp_path):
    (tmp_path / "cell.yaml").write_text(
        "format: robot_cell/1\nrobots: {panda: {"
        "urdf: package://example-robot-data/robots/panda_description/urdf/panda.urdf,"
        f"srdf: file://{ROBOTS}/panda_description/srdf/panda.srdf, prefix: left_, meshes: exact}}}}"
    )
    cell, state = load_cell(tmp_path / "cell.yaml")
    assert cell.group().variables[0] == "left_panda_joint1"
    shapes = [shape.geometry for link in cell.robot.mechanism.links.values() for shape in link.collisions]
    assert {mesh.use for mesh in shapes if isinstance(mesh, Mesh)} == {MeshUse.EXACT}
    save_cell(tmp_path / "again.yaml", cell, state)
    assert load_cell(tmp_path / "again.yaml") == (cell, state)


def test_the_same_in_another_process(folder):
    program = (
        "import sys\nfrom robot_cell_planner.io.cell_file.cell_file import load_cell\n"
        "from robot_cell_planner.io.common.serialisation import to_json\n"
        "sys.stdout.buffer.write(b''.join(map(to_json, load_cell(sys.argv[1]))))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program, str(folder / "cell.yaml")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {b"".join(map(to_json, load_cell(folder / "cell.yaml")))}


def replaced(old, new):
    assert old in CELL
    return CELL.replace(old, new, 1)


MISTAKES = {
    "no format": (replaced("format: robot_cell/1", ""), FileError, "lacks 'format'"),
    "another format": (replaced("robot_cell/1", "robot_cell/2"), FileError, "1: format: is 'robot_cell/2'"),
    "unknown top key": (replaced("bodies:", "body:"), FileError, "nearest: bodies"),
    "unknown key": (replaced("density:", "densty:"), FileError, "bodies.table.densty: key 'densty' does not exist"),
    "text for number": (replaced("radius: .05", "radius: wide"), FileError, "20: tools.spindle.collisions"),
    "NaN": (replaced("radius: .05", "radius: .nan"), FileError, "finite"),
    "infinite": (replaced("density: 1e3", "density: 1e999"), FileError, "bodies.table.density: is inf"),
    "huge integer": (replaced("density: 1e3", f"density: 1{'0' * 400}"), FileError, "finite"),
    "negative size": (replaced("[1.2, 0.8, 0.05]", "[1.2, -0.8, 0.05]"), FileError, "box size y is -0.8"),
    "two numbers": (replaced("[1.2, 0.8, 0.05]", "[1.2, 0.8]"), FileError, "expected 3"),
    "flag for number": (replaced("radius: .05", "radius: true"), FileError, "expected a number"),
    "text for flag": (replaced("hidden: true", "hidden: yes"), FileError, "expected true or false"),
    "list for mapping": (replaced("tcp_link: jaw", "tcp_link: [jaw]"), FileError, "expected text"),
    "mapping for list": (replaced("touch_links: [lower]", "touch_links: lower"), FileError, "expected a list"),
    "unknown shape": (replaced("type: sphere", "type: torus"), FileError, "expected one of box, sphere"),
    "no shapes": (
        replaced("    visuals: [{type: sphere, radius: 0.01}]\n", "").replace(
            "    collisions: [{type: mesh, uri: meshes/part.obj, scale: 0.001, use: exact}]\n", ""
        ),
        FileError,
        "no shape",
    ),
    "unknown use": (replaced("use: exact", "use: fast"), FileError, "expected one of hull, exact, decomposition"),
    "mass twice": (replaced("density: 1e3", "density: 1e3\n    mass: 2"), FileError, "expected one of them"),
    "no mass": (replaced("mass: 2.0", "mass: 0"), FileError, "mass is 0"),
    "two orientations": (
        replaced("rpy: [0", "quaternion: [0, 0, 0, 1], rpy: [0"),
        FileError,
        "both rpy and quaternion",
    ),
    "no rotation": (replaced("rpy: [0, 0, 1.5707963267948966]", "quaternion: [0, 0, 0, 0]"), FileError, "length 0"),
    "negative margin": (replaced("margin: 0.01", "margin: -1"), FileError, "safety margin"),
    "world": (replaced("  table:\n", "  world:\n"), FileError, 'named "world"'),
    "odd name": (replaced("  table:\n", "  ta;ble:\n"), FileError, "letters, digits"),
    "name twice": (replaced("  part:\n", "  base:\n"), DuplicateNameError, "'base' names a link of arm and a body"),
    "key twice": (replaced("  part:\n", "  table:\n"), FileError, "'table' twice"),
    "frame like a tool": (replaced("  corner:", "  gripper/tcp:"), DuplicateNameError, "tool centre point"),
    "unknown group": (replaced("attached_to: manipulator", "attached_to: manipulatr"), UnknownNameError, "manipulator"),
    "unknown carrier": (replaced("attached_to: gripper", "attached_to: griper"), UnknownNameError, "griper"),
    "unknown reference": (replaced("relative_to: corner", "relative_to: korner"), UnknownNameError, "corner"),
    "unknown joint": (replaced("shoulder: 0.5", "sholder: 0.5"), UnknownNameError, "shoulder"),
    "unknown tool joint": (replaced("jaw_joint: 0.02", "jaw: 0.02"), UnknownNameError, "jaw_joint"),
    "unknown state": (replaced("{manipulator: home}", "{manipulator: hone}"), UnknownNameError, "home"),
    "unknown tcp link": (replaced("tcp_link: jaw", "tcp_link: claw"), ModelError, "claw"),
    "loop": (
        replaced("attached_to: table, pose", "attached_to: place, pose").replace(
            "attached_to: upper, relative_to: corner", "attached_to: corner"
        ),
        FrameCycleError,
        "corner -> place|place -> corner",
    ),
    "loop of references": (replaced("attached_to: table, pose", "relative_to: place, pose"), FrameCycleError, "loop"),
    "two tools": (replaced("    hidden: true\n", "    attached_to: manipulator\n"), StateError, "both attached"),
    "missing urdf": (replaced("robots/arm.urdf", "robots/none.urdf"), ResourceError, "none.urdf"),
    "urdf outside": (replaced("robots/arm.urdf", "../arm.urdf"), ResourceError, "allowed folders"),
    "missing mesh": (replaced("meshes/part.obj", "meshes/none.obj"), ResourceError, "none.obj"),
    "mesh of another kind": (replaced("meshes/part.obj", "robots/arm.urdf"), GeometryError, ".obj"),
    "not a mesh": (
        replaced("use: exact}]", "use: exact}]\n    density: 1")
        .replace("    inertial: {mass: 0.1, inertia: [1, 0, 0, 1, 0, 1]}\n", "")
        .replace("meshes/part.obj", "meshes/bad.obj"),
        GeometryError,
        "bad.obj",
    ),
    "srdf of another robot": (replaced("robots/arm.srdf", "robots/other.srdf"), FileError, "other.srdf:1"),
    "cut off": (CELL[:300], FileError, "not well-formed|lacks"),
    "a list": ("- 1", FileError, "expected a mapping"),
    "a text": ("hello", FileError, "expected a mapping"),
    "empty": ("", FileError, "lacks 'format'"),
    "a tag": (replaced("mass: 2.0", "mass: !!python/object:os.system 2"), FileError, "tag"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_refused_with_their_location(folder, case):
    text, kind, expected = MISTAKES[case]
    (folder / "robots/other.srdf").write_text(
        '<robot name="x"><group name="manipulator"><joint name="q"/></group></robot>'
    )
    (folder / "meshes/bad.obj").write_text("v 0 0 x\nf 1 1 1")
    (folder / "cell.yaml").write_text(text)
    with pytest.raises(kind, match=expected) as caught:
        load_cell(folder / "cell.yaml")
    assert type(caught.value) is kind
    assert str(folder) in caught.value.message
    if kind is FileError:
        assert any(f"{name}:" in caught.value.message for name in ("cell.yaml", "other.srdf"))


def test_a_mistake_is_found_at_its_line(folder):
    for old, new in (("margin: 0.01", "margin: x"), ("use: exact", "use: x"), ("[0.6, 0.4, 0]", "[0.6, x, 0]")):
        text = replaced(old, new)
        line = next(number for number, line in enumerate(text.splitlines(), 1) if new in line)
        (folder / "cell.yaml").write_text(text)
        with pytest.raises(FileError, match=rf"cell\.yaml:{line}: "):
            load_cell(folder / "cell.yaml")


def test_missing_files(tmp_path):
    for name in ("none.yaml", "."):
        with pytest.raises(FileError):
            load_cell(tmp_path / name)
    with open(tmp_path / "huge.yaml", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(LimitExceededError):
        load_cell(tmp_path / "huge.yaml")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_damage_ends_in_a_named_error(shared_folder, data):
    """A byte of the cell file is changed, or a part of it is removed or repeated."""
    text = CELL.replace("robots/gripper.urdf.xacro", "robots/gripper.urdf").encode()
    (shared_folder / "robots/gripper.urdf").write_text(GRIPPER.replace("$(arg reach)", "0.2"))
    at, length = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(1, 40))
    damage = data.draw(st.sampled_from(["change", "cut", "repeat"]))
    if damage == "change":
        text = text[:at] + data.draw(st.binary(min_size=1, max_size=3)) + text[at + 1 :]
    elif damage == "cut":
        text = text[:at] + text[at + length :]
    else:
        text = text[: at + length] + text[at:]
    (shared_folder / "cell.yaml").write_bytes(text)
    try:
        load_cell(shared_folder / "cell.yaml")
    except RobotCellError as error:
        event(type(error).__name__)
    else:
        event("still a cell")


def test_a_robot_without_description_cannot_be_saved(loaded):
    cell, state = loaded
    robot = msgspec.structs.replace(cell.robot, sources=type(cell.robot.sources)())
    bare = msgspec.structs.replace(cell, robots=frozendict(arm=robot))
    with pytest.raises(NotSupportedError, match="arm"):
        save_cell("", bare, state)


def test_inertia_from_density_is_that_of_the_mesh(folder):
    text = replaced("    inertial: {mass: 0.1, inertia: [1, 0, 0, 1, 0, 1]}\n", "    density: 6e9\n")
    (folder / "cell.yaml").write_text(text)
    inertial = load_cell(folder / "cell.yaml")[0].bodies["part"].inertial
    assert inertial.mass == pytest.approx(1.0)
    np.testing.assert_allclose(inertial.pose.position, (0.00025,) * 3)


def test_the_examples_of_the_documentation(tmp_path):
    text = Path(__file__).parents[3].joinpath("docs/cell_file.md").read_text()
    cell_text, _, limits_text = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    chain = '<chain base_link="base_link" tip_link="tool0"/>'
    for name, content in {
        "cell.yaml": cell_text,
        "joint_limits.yaml": limits_text,
        "ur10.srdf": f'<robot name="ur10"><group name="manipulator">{chain}</group>'
        '<group_state name="home" group="manipulator"><joint name="elbow_joint" value="1"/></group_state></robot>',
        "gripper.urdf.xacro": GRIPPER.replace("jaw_joint", "finger_joint"),
        "part.stl": tetrahedron_stl(),
        "workshop.sdf": '<sdf version="1.9"><world name="w"><model name="wall"><link name="l"><collision name="c">'
        "<geometry><box><size>1 1 1</size></box></geometry></collision></link></model></world></sdf>",
    }.items():
        (tmp_path / name).write_text(content)
    cell, state = load_cell(tmp_path / "cell.yaml")
    assert list(cell.bodies) == ["table", "part", "shop/wall::l"]
    assert state.configuration["elbow_joint"] == 1.2
    assert cell.robot.variables["elbow_joint"].limits.upper == pytest.approx(math.radians(150))


UNITS = """format: robot_cell/1
native_scale: {unit}
tools:
  pin: {{collisions: [{{type: cylinder, radius: {a}, length: {b}}}], density: 8, tcp: {{position: [0, {a}, {b}]}}}}
bodies:
  block: {{collisions: [{{type: box, size: [{a}, {b}, {c}]}}], pose: {{position: [0, {c}, 0]}}}}
  ball: {{collisions: [{{type: sphere, radius: {a}}}]}}
  cone: {{collisions: [{{type: cone, radius: {b}, length: {c}, pose: {{position: [{a}, {b}, {c}], rpy: [0, 1, 0]}}}}]}}
  part: {{collisions: [{{type: mesh, uri: part.stl, scale: [{a}, {b}, {c}]}}], density: 8}}
  hand: {{collisions: [{{type: triangles, vertices: [[0, 0, {a}], [0, {b}, 0], [{c}, 0, 0]], faces: [[0, 1, 2]]}}]}}
frames: {{corner: {{attached_to: block, pose: {{position: [{a}, {b}, {c}]}}}}}}
collision: {{margins: {{block: {a}}}, pair_margins: [{{first: block, second: cone, margin: {b}}}]}}
"""


def test_lengths_in_other_units(tmp_path):
    (tmp_path / "part.stl").write_text(tetrahedron_stl())
    roots = ResourceRoots().with_folder(str(tmp_path))

    def read(unit):
        # Halves and quarters, so that conversions are exact.
        lengths = {name: length / unit for name, length in {"a": 0.25, "b": 0.5, "c": 1.75}.items()}
        return read_cell(UNITS.format(unit=unit, **lengths), str(tmp_path), roots)

    assert read(0.25) == read(1.0)
    for unit in (0.0, -1.0, ".nan"):
        with pytest.raises(FileError, match="native_scale"):
            read_cell(UNITS.format(unit=unit, a=1, b=1, c=1), str(tmp_path), roots)


def test_models_in_units_of_their_own(tmp_path):
    """The unit of a body or tool applies to its shapes and its tool centre point, not to its pose in the cell."""
    (tmp_path / "part.stl").write_text(tetrahedron_stl())
    roots = ResourceRoots().with_folder(str(tmp_path))

    def read(whole, own, key):
        length, place, of_file = f"{1.0 / own:g}", f"{0.5 / whole:g}", 1.0
        shape = f"pose: {{position: [{length}, 0, 0], rpy: [0, 1, 0]}}"
        mesh = f"{{type: mesh, uri: part.stl, scale: {of_file / own:g}}}"
        text = f"""format: robot_cell/1
native_scale: {whole}
bodies:
  part:
    {key}
    collisions: [{{type: box, size: [{length}, {length}, {length}], {shape}}}, {mesh}]
    inertial: {{mass: 2, pose: {{position: [0, {length}, 0]}}, inertia: [1, 0, 0, 1, 0, 1]}}
    pose: {{position: [{place}, 0, 0]}}
tools:
  spindle:
    {key}
    collisions: [{{type: cylinder, radius: {length}, length: {length}}}]
    density: 2
    tcp: {{position: [0, 0, {length}]}}
    pose: {{position: [{place}, 0, 0]}}
"""
        return read_cell(text, str(tmp_path), roots)

    expected = read(1.0, 1.0, "hidden: false")
    assert read(0.25, 0.25, "hidden: false") == expected
    for whole, own in ((1.0, 0.25), (0.25, 1.0), (0.5, 0.125)):
        assert read(whole, own, f"native_scale: {own}") == expected
    for unit in (0, -1, ".inf"):
        with pytest.raises(FileError, match=r"tools\.spindle\.native_scale"):
            read(1.0, 1.0, f"native_scale: {unit}")


MISSPELT = {
    "bodies: {a: {colisions: [{type: sphere, radius: 1}]}}": "key 'colisions' does not exist; nearest: collisions",
    "bodies: {a: {collisions: [{tpye: sphere, radius: 1}]}}": "bodies.a.collisions[0]: lacks 'type'; is 'tpye' meant",
    "bodies: {a: {collisions: [{type: sphere, raduis: 1}]}}": "nearest: radius",
    "bodies: {a: {collisions: [{type: box, sizes: [1, 1, 1]}]}}": "nearest: size",
    "bodies: {a: {collisions: [{type: mesh, url: a.stl}]}}": "nearest: uri",
    "bodies: {a: {collisions: [{type: sphere, radius: 1, poses: {}}]}}": "nearest: pose",
    "bodies: {a: {colisions: []}}": "nearest: collisions",
    "bodies: {a: {inertail: {mass: 1}}}": "nearest: inertial",
    "bodies: {a: {collisions: [{type: sphere, radius: 1}], inertial: {mas: 1}}}": "nearest: mass",
    "bodies: {a: {collisions: [{type: sphere, radius: 1}], pose: {positon: [1, 0, 0]}}}": "nearest: position",
    "tools: {t: {colisions: [{type: sphere, radius: 1}]}}": "nearest: collisions",
    "tools: {t: {udrf: t.urdf}}": "nearest: urdf",
    "robots: {r: {udrf: r.urdf}}": "nearest: urdf",
    "frames: {f: {attach_to: world}}": "nearest: attached_to",
    "robtos: {}\nstate: {named: {arm: home}}": "nearest: robots",
    "state: {name: {arm: home}}": "nearest: named",
    "collision: {ignored_groups: {}}": "nearest: ignore_groups",
}


@pytest.mark.parametrize("text", MISSPELT)
def test_a_misspelt_key_is_reported_rather_than_a_missing_one(text):
    with pytest.raises(FileError) as caught:
        read_cell(f"format: robot_cell/1\n{text}\n")
    assert MISSPELT[text] in caught.value.message
