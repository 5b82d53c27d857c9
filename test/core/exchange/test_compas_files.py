"""Files of compas_fab: poses are checked against closed formulas; export and import preserve a cell."""

import copy
import json
import math

import numpy as np
import pytest
from frozendict import frozendict
from msgspec.structs import replace
from sources import ROOT

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError
from robot_cell_planner.exchange import export_compas, import_compas
from robot_cell_planner.exchange.compas import data
from robot_cell_planner.exchange.compas.meshes import triangles
from robot_cell_planner.exchange.compas.shapes import _polyhedron
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, Shape, Sphere
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.model.sources import ModelSources

DEMO = ROOT / "config" / "demo" / "cell.yaml"


def wrapped(dtype, fields):
    return {"dtype": dtype, "data": fields, "guid": "00000000-0000-0000-0000-000000000000"}


def frame(point=(0.0, 0.0, 0.0), xaxis=(1.0, 0.0, 0.0), yaxis=(0.0, 1.0, 0.0)):
    return {"point": list(point), "xaxis": list(xaxis), "yaxis": list(yaxis)}


def frame_object(*arguments):
    return wrapped("compas.geometry/Frame", frame(*arguments))


def box_mesh(size=0.1):
    """A cube whose faces have four corners, as in COMPAS."""
    corners = [(x, y, z) for x in (0, size) for y in (0, size) for z in (0, size)]
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    vertices = {str(i): dict(zip("xyz", map(float, corner), strict=True)) for i, corner in enumerate(corners)}
    return wrapped("compas.datastructures/Mesh", {"vertex": vertices, "face": dict(enumerate(faces))})


def mesh_item(mesh):
    fields = {"filename": "", "scale": [1.0, 1.0, 1.0], "attr": {}, "meshes": [mesh]}
    return {"geometry": {"shape": wrapped("compas_robots.model/MeshDescriptor", fields), "attr": {}}, "origin": None}


def joint(name, parent, child, origin, kind="revolute"):
    return {
        "name": name,
        "type": kind,
        "parent": {"link": parent},
        "child": {"link": child},
        "origin": frame(origin),
        "axis": {"x": 0.0, "y": 0.0, "z": 1.0, "attr": {}},
        "limit": {"effort": 10.0, "velocity": 1.0, "lower": -3.0, "upper": 3.0, "attr": {}},
        "mimic": None,
    }


CELL = wrapped(
    "compas_fab.robots/RobotCell",
    {
        "robot_model": {
            "name": "arm",
            "joints": [joint("j1", "base", "upper", (0, 0, 0.5)), joint("j2", "upper", "tip", (1.0, 0, 0))],
            "links": [
                {"name": "base", "visual": [], "collision": [mesh_item(box_mesh())]},
                {"name": "upper", "visual": [], "collision": []},
                {"name": "tip", "visual": [], "collision": [mesh_item(box_mesh())]},
            ],
            "materials": [],
            "attr": {},
            "_scale_factor": 1.0,
        },
        "robot_semantics": {
            "groups": {"main": {"links": ["base", "upper", "tip"], "joints": ["j1", "j2"]}},
            "main_group_name": "main",
            "disabled_collisions": [["base", "tip"]],
            "group_states": {"main": {"home": {"j1": "0", "j2": "0.5"}}},
        },
        "tool_models": {
            "gripper": {
                "name": "gripper",
                "joints": [],
                "links": [{"name": "hand", "visual": [], "collision": [mesh_item(box_mesh())]}],
                "frame": frame((0, 0, 0.2), (0, 1, 0), (0, 0, 1)),
            }
        },
        "rigid_body_models": {
            "part": wrapped(
                "compas_fab.robots/RigidBody",
                {"visual_meshes": [], "collision_meshes": [box_mesh(100.0)], "native_scale": 0.001},
            )
        },
    },
)
STATE = wrapped(
    "compas_fab.robots/RobotCellState",
    {
        "robot_base_frame": frame_object((1, 2, 3)),
        "robot_configuration": wrapped(
            "compas_robots/Configuration",
            {"joint_values": [0.3, -1.1], "joint_types": [0, 0], "joint_names": ["j1", "j2"]},
        ),
        "tool_states": {
            "gripper": wrapped(
                "compas_fab.robots/ToolState",
                {
                    "frame": None,
                    "attached_to_group": "main",
                    "touch_links": ["tip"],
                    "attachment_frame": frame_object((0, 0.1, 0), (0, 0, 1), (1, 0, 0)),
                    "configuration": None,
                },
            )
        },
        "rigid_body_states": {
            "part": wrapped(
                "compas_fab.robots/RigidBodyState",
                {
                    "frame": None,
                    "attached_to_link": None,
                    "attached_to_tool": "gripper",
                    "touch_links": [],
                    "attachment_frame": frame_object((0.01, 0.02, 0.03), (0, 0, 1), (1, 0, 0)),
                },
            )
        },
    },
)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "given.json").write_text(json.dumps(CELL))
    (tmp_path / "given.state.json").write_text(json.dumps(STATE))
    return tmp_path


def about_z(angle, position):
    matrix = np.eye(4)
    matrix[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    matrix[:3, 3] = position
    return matrix


def axes(position, x, y, z):
    matrix = np.eye(4)
    matrix[:3, :3] = np.array([x, y, z]).T
    matrix[:3, 3] = position
    return matrix


def test_a_body_on_a_tool_is_attached_to_its_tcf(files):
    made = import_compas(files / "given.json", files / "cell", files / "given.state.json")
    base = about_z(0.0, (1, 2, 3))
    tip = base @ about_z(0.3, (0, 0, 0.5)) @ about_z(-1.1, (1, 0, 0))
    mounted = axes((0, 0.1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0))
    tcf = axes((0, 0, 0.2), (0, 1, 0), (0, 0, 1), (1, 0, 0))
    grasp = axes((0.01, 0.02, 0.03), (0, 0, 1), (1, 0, 0), (0, 1, 0))
    transforms = WorldTransforms(made.cell, made.state)
    for name, expected in (
        ("tip", tip),
        ("gripper", tip @ mounted),
        ("gripper/tcp", tip @ mounted @ tcf),
        ("part", tip @ mounted @ tcf @ grasp),
    ):
        np.testing.assert_allclose(transforms.matrix(name), expected, atol=1e-12, err_msg=name)


def test_semantics_limits_and_units(files):
    made = import_compas(files / "given.json", files / "cell", files / "given.state.json")
    robot = made.cell.robot
    assert robot.groups["main"].tip_link == "tip"
    assert robot.named_state("main", "home") == {"j1": 0.0, "j2": 0.5}
    assert [(pair.first, pair.second) for pair in robot.disabled_pairs] == [("base", "tip")]
    assert robot.variables["j1"].limits.upper == 3.0
    assert made.cell.workpieces_of_tool(made.state, "gripper") == ("part",)
    checker = CollisionChecker(made.cell, made.state, ("j1", "j2"))
    # The base's cube ends at z 3.1; the part is a cube of 0.1 m, although its mesh is in millimetres.
    assert checker.report([0.3, -1.1]).pairs == ()
    assert load_cell(files / "cell" / "cell.yaml") == (made.cell, made.state)


def test_a_cell_without_its_state_has_the_default_state(files):
    made = import_compas(files / "given.json", files / "cell")
    assert made.state == made.cell.default_state()
    with pytest.raises(FileError, match="not to be overwritten"):
        import_compas(files / "given.json", files / "cell")


def test_cell_and_state_in_one_file(files):
    (files / "both.json").write_text(json.dumps({"cell": CELL, "start": STATE}))
    both = import_compas(files / "both.json", files / "one")
    assert both.state.configuration == {"j1": 0.3, "j2": -1.1}


def changed(value, path, new):
    value = copy.deepcopy(value)
    inner = value["data"]
    for key in path[:-1]:
        inner = inner[key]
        inner = inner.get("data", inner) if isinstance(inner, dict) else inner
    inner[path[-1]] = new
    return value


@pytest.mark.parametrize(
    "path, new, message",
    [
        (("robot_model", "_scale_factor"), 1000.0, "scaled by 1000"),
        (("robot_model", "joints"), 3, r"Expected `array`, got `int` - at `\$.robot_model.joints`"),
        (("tool_models", "gripper", "frame"), frame((0, 0, 0), (1, 0, 0), (2, 0, 0)), "TCF of gripper"),
        (("rigid_body_models", "part", "collision_meshes"), [wrapped("m", {"vertex": {}, "face": {}})], "no face"),
        (("robot_model", "links", 0, "name"), 1, "name"),
    ],
)
def test_unsupported_content_is_refused_with_its_name(files, path, new, message):
    (files / "given.json").write_text(json.dumps(changed(CELL, path, new)))
    with pytest.raises(FileError, match=message):
        import_compas(files / "given.json", files / "cell", files / "given.state.json")
    assert sorted(path.name for path in files.iterdir()) == ["given.json", "given.state.json"]


@pytest.mark.parametrize(
    "path, new, message",
    [
        (("rigid_body_states", "part", "attached_to_tool"), "claw", "unknown tool claw"),
        (("rigid_body_states", "part", "attached_to_link"), "tip", "to a link and a tool"),
        (("tool_states",), {}, "no tool gripper"),
        (("robot_configuration", "joint_values"), [1.0], "1 values for 2 joints"),
    ],
)
def test_states_that_do_not_match_are_refused_with_the_name(files, path, new, message):
    (files / "given.state.json").write_text(json.dumps(changed(STATE, path, new)))
    with pytest.raises(FileError, match=message):
        import_compas(files / "given.json", files / "cell", files / "given.state.json")


def test_a_file_that_is_no_json_is_refused_with_what_is_expected(tmp_path):
    (tmp_path / "cell.yaml").write_text("name: demo\n")
    with pytest.raises(FileError, match=r"cell\.yaml: JSON is malformed: .*; expected a JSON file of compas_fab"):
        import_compas(tmp_path / "cell.yaml", tmp_path / "out")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"dtype": "compas.geometry/Frame"}', "[" * 5000, '{"a": NaN}'])
def test_other_texts_are_refused(tmp_path, text):
    (tmp_path / "given.json").write_text(text)
    with pytest.raises(FileError, match=r"given\.json"):
        import_compas(tmp_path / "given.json", tmp_path / "cell")


def test_faces_with_five_corners_keep_their_area():
    angles = 2 * np.pi * np.arange(5) / 5
    vertex = {str(i): data.Point(math.cos(a), math.sin(a), 0.0) for i, a in enumerate(angles)}
    found = triangles(data.MeshData(vertex, {"0": [0, 1, 2, 3, 4]}), "pentagon")
    corners = found.vertices[found.faces]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    assert area == pytest.approx(2.5 * math.sin(2 * math.pi / 5))


def test_reasons_of_disabled_pairs_are_listed():
    cell, state = load_cell(DEMO)
    reasons = {pair.reason for pair in cell.robot.disabled_pairs if pair.reason}
    assert reasons
    lines = [line for line in export_compas(cell, state).left_out if line.startswith("reason ")]
    assert len(lines) == len(reasons)
    for reason in reasons:
        first = next(pair for pair in cell.robot.disabled_pairs if pair.reason == reason)
        assert any(f"reason {reason!r} of" in line and f"{first.first} - {first.second}" in line for line in lines)
    robot = replace(cell.robot, disabled_pairs=tuple(replace(p, reason="") for p in cell.robot.disabled_pairs))
    without = replace(cell, robots=frozendict({robot.name: robot}))
    assert not any(line.startswith("reason ") for line in export_compas(without, state).left_out)


@pytest.mark.parametrize("srdf", ["<robot name='chain'/>", ""])
def test_links_that_are_not_checked_here_are_not_checked_in_compas_fab(srdf):
    """A bracket on the second of three links: without an SRDF, neighbours at a joint are not checked either."""
    shape = (Shape(Box((0.1, 0.1, 0.1))),)
    links = frozendict({name: Link(name, collisions=shape) for name in ("first", "bracket", "second", "third")})
    limits = JointLimits(-1.0, 1.0, 1.0)
    joints = (
        Joint("mount", JointKind.FIXED, "second", "bracket"),
        Joint("one", JointKind.REVOLUTE, "first", "second", limits=limits),
        Joint("two", JointKind.REVOLUTE, "second", "third", limits=limits),
    )
    mechanism = Mechanism("chain", links, frozendict({each.name: each for each in joints}))
    robot = Robot("chain", mechanism, sources=ModelSources(srdf=srdf))
    cell = RobotCell(robots=frozendict({"chain": robot}))
    exported = json.loads(export_compas(cell, cell.default_state()).cell)["data"]["robot_semantics"]
    at_joints = [["bracket", "first"], ["bracket", "third"], ["first", "second"], ["second", "third"]]
    expected = [["bracket", "second"], *([] if srdf else at_joints)]
    assert exported["disabled_collisions"] == sorted(expected)


def test_a_cell_is_the_same_after_export_and_import(tmp_path):
    cell, state = load_cell(DEMO)
    files = export_compas(cell, state, tmp_path / "demo.json", tmp_path / "demo.state.json")
    made = import_compas(tmp_path / "demo.json", tmp_path / "cell", tmp_path / "demo.state.json")
    first, second = WorldTransforms(cell, state), WorldTransforms(made.cell, made.state)
    for name in (*cell.robot.mechanism.links, *cell.bodies, *(tool.tcp_frame for tool in cell.tools.values())):
        np.testing.assert_allclose(first.matrix(name), second.matrix(name), atol=1e-9, err_msg=name)
    group = cell.group()
    assert made.cell.group(group.name) == group
    assert made.cell.robot.named_states == cell.robot.named_states
    assert any("named frames" in line for line in files.left_out)
    one, other = (CollisionChecker(*each, group.variables) for each in ((cell, state), (made.cell, made.state)))
    rng = np.random.default_rng(3)
    lower = np.array([max(cell.variables[v].limits.lower, -3.0) for v in group.variables])
    upper = np.array([min(cell.variables[v].limits.upper, 3.0) for v in group.variables])
    states = rng.uniform(lower, upper, (300, len(group.variables)))
    # Round bodies are enclosed by polyhedra, up to 0.12 % of their radius larger.
    assert np.mean(one.in_collision_batch(states) == other.in_collision_batch(states)) >= 0.99


@pytest.mark.parametrize("shape", [Sphere(0.1), Cylinder(0.1, 0.4), Capsule(0.1, 0.4), Cone(0.1, 0.4), Box((1, 2, 3))])
def test_polyhedra_enclose_round_shapes_closely(shape):
    """Support of the shape and of the polyhedron in many directions."""
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    around = np.hypot(directions[:, 0], directions[:, 1])
    match shape:
        case Sphere(radius):
            support = np.full(len(directions), radius)
        case Cylinder(radius, length):
            support = radius * around + 0.5 * length * np.abs(directions[:, 2])
        case Capsule(radius, length):
            support = radius + 0.5 * length * np.abs(directions[:, 2])
        case Cone(radius, length):
            support = np.maximum(0.5 * length * directions[:, 2], radius * around - 0.5 * length * directions[:, 2])
        case Box(size):
            support = 0.5 * np.abs(directions) @ np.array(size)
    found = (_polyhedron(shape).vertices @ directions.T).max(axis=0)
    assert (found - support).min() > -1e-9
    assert (found - support).max() < 0.01 * 0.1


def test_a_frame_with_other_lengths_is_a_pose():
    pose = data.Frame((1.0, 2.0, 3.0), (0.0, 2.0, 0.0), (-1.0, 5.0, 0.0)).pose()
    assert pose.distance_to(Pose.from_rpy((1, 2, 3), (0, 0, math.pi / 2))) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_commands(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(["import", "given.json", "--state", "given.state.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"][0] == "cell.yaml"
    assert main(["export", "given_cell/cell.yaml", "--output", "back.json"]) == 0
    assert "wrote back.json and back.state.json" in capsys.readouterr().out
    assert main(["import", "back.json", "--state", "back.state.json", "--folder", "again"]) == 0
    again, given = load_cell("again/cell.yaml"), load_cell("given_cell/cell.yaml")
    assert again[1].bodies["part"].attached_to == given[1].bodies["part"].attached_to == "gripper/tcp"
    assert main(["import", "none.json"]) == 1
