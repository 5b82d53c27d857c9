"""`robot_cell new` writes a cell that can be used for planning; `robot_cell check` reports problems of a cell."""

import json
import subprocess
import sys

import pytest
from robots import MANIPULATORS

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.cell_warnings import links_without_collision_shapes
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest

ARM = """<robot name="two arms &amp; odd name" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="reach" default="0.3"/>
  <link name="base"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  {links}
</robot>"""
LINK = """<link name="l{i}">{shape}</link>
<joint name="j{i}" type="revolute"><parent link="{parent}"/><child link="l{i}"/><axis xyz="{axis}"/>
<origin xyz="0 0 $(arg reach)"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""
SHAPE = '<collision><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision>'
AXES = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "0 0 1")


def write_arm(folder, shape=SHAPE):
    (folder / "urdf").mkdir(parents=True)
    links = "".join(
        LINK.format(i=i, parent=f"l{i - 1}" if i else "base", axis=axis, shape=shape) for i, axis in enumerate(AXES)
    )
    path = folder / "urdf" / "arm.urdf.xacro"
    path.write_text(ARM.format(links=links))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("new")
    path = write_arm(folder / "somewhere")
    assert main(["new", str(path), "reach:=0.25", "--folder", str(folder / "cell"), "--samples", "200"]) == 0
    return folder / "cell"


def test_a_new_cell_can_be_planned_for(made):
    names = {path.name for path in made.iterdir()}
    assert {"cell.yaml", "joint_limits.yaml", "report.md", "two_arms_odd_name.srdf", "two_arms_odd_name.urdf"} <= names
    cell, state = load_cell(made / "cell.yaml")
    assert cell.robot.mechanism.joints["j3"].origin.position == (0.0, 0.0, 0.25)
    assert not CollisionChecker(cell, state).report().in_collision
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"j0": 1.0, "j1": -0.5},))))
    assert plan.trajectory is not None
    assert any("acceleration limits of all joints" in text for text in plan.warnings)


def test_a_new_cell_of_an_sdf_file_has_its_robot(tmp_path):
    link = "<link name='l{0}'><collision name='c'><pose>0 0 0.1 0 0 0</pose>{1}</collision></link>"
    box = "<geometry><box><size>0.05 0.05 0.18</size></box></geometry>"
    joint = (
        "<joint name='j{0}' type='revolute'><parent>l{0}</parent><child>l{1}</child><axis><xyz>{2}</xyz>"
        "<limit><lower>-2</lower><upper>2</upper></limit></axis><pose relative_to='l{0}'>0 0 0.25 0 0 0</pose></joint>"
    )
    parts = [link.format(i, box) for i in range(5)]
    parts += [joint.format(i, i + 1, axis) for i, axis in enumerate(AXES[:4])]
    path = tmp_path / "arm.sdf"
    path.write_text(f"<sdf version='1.8'><model name='arm'>{''.join(parts)}</model></sdf>")
    assert main(["new", str(path), "--folder", str(tmp_path / "cell"), "--samples", "50"]) == 0
    beside = (tmp_path / "beside.yaml", "format: robot_cell/1\nname: arm\nrobots: {arm: {urdf: arm.sdf}}\n")
    beside[0].write_text(beside[1])
    robots = [load_cell(file)[0].robot for file in (tmp_path / "cell" / "cell.yaml", beside[0])]
    assert robots[0].groups["manipulator"].variables == ("j0", "j1", "j2", "j3")
    assert robots[0].mechanism.links["l3"] == robots[1].mechanism.links["l3"]


def test_new_replaces_nothing_unless_requested(made, capsys):
    path = made.parent / "somewhere" / "urdf" / "arm.urdf.xacro"
    given = ["new", str(path), "--folder", str(made), "--samples", "20"]
    assert main(given) == 1
    assert "exists" in capsys.readouterr().err


def test_check_lists_drafts_with_a_remedy(made, capsys):
    assert main(["check", str(made / "cell.yaml"), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["level"] for finding in findings} == {"warning", "draft"}  # no masses; assumed limits
    assert all(finding["remedy"] for finding in findings)


def test_check_fails_for_a_start_in_collision_and_names_the_pair(made, capsys):
    text = (made / "cell.yaml").read_text()
    box = "bodies:\n  wall: {collisions: [{type: box, size: [0.1, 0.1, 3.0]}], touch_links: [base]}\n"
    (made / "wall.yaml").write_text(text + box)
    assert main(["check", str(made / "wall.yaml")]) == 1
    out = capsys.readouterr().out
    assert "is in collision" in out
    assert "wall" in out


def test_links_without_collision_shapes_are_reported_by_check_and_in_plans(tmp_path, capsys):
    visual = SHAPE.replace("collision", "visual")
    path = write_arm(tmp_path, visual)
    assert main(["new", str(path), "--folder", str(tmp_path / "cell"), "--samples", "20"]) == 0
    assert "6 links have no collision shapes" in capsys.readouterr().out
    cell, state = load_cell(tmp_path / "cell" / "cell.yaml")
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"j0": 1.0},))))
    assert any("6 links have no collision shapes" in text for text in plan.warnings)


@pytest.mark.parametrize(
    ("visual", "inertial", "is_marker"),
    [
        ('<box size="0.01 0.02 0.01"/>', "", True),
        ('<sphere radius="0.01"/>', "", True),
        ('<cylinder radius="0.01" length="0.02"/>', "", True),
        ('<box size="0.01 0.021 0.01"/>', "", False),
        ('<sphere radius="0.011"/>', "", False),
        ('<box size="0.01 0.01 0.01"/>', '<inertial><mass value="0.1"/>INERTIA</inertial>', False),
    ],
)
def test_markers_of_frames_need_no_collision_shapes(tmp_path, visual, inertial, is_marker):
    """A small primitive without mass shows where a frame is; what is larger or has mass is a part."""
    inertial = inertial.replace("INERTIA", '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>')
    (tmp_path / "arm.urdf").write_text(
        f"""<robot name="arm"><link name="base">{SHAPE}</link><link name="tip"><visual><geometry>{visual}</geometry>
</visual>{inertial}</link><joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint></robot>"""
    )
    robot = load_robot("arm", tmp_path / "arm.urdf")
    assert links_without_collision_shapes(robot.mechanism) == (() if is_marker else ("tip",))


def test_a_gripper_is_added_as_a_tool(tmp_path, capsys):
    gripper = tmp_path / "gripper" / "gripper.urdf"
    gripper.parent.mkdir()
    box = '<origin xyz="0 0 0.1"/><geometry><box size="0.01 0.02 0.06"/></geometry>'
    finger = f'<link name="{{0}}"><collision>{box}</collision></link>'
    joint = (
        '<joint name="{0}_joint" type="prismatic"><parent link="palm"/><child link="{0}"/><axis xyz="{1} 0 0"/>'
        '<limit lower="0" upper="0.04" effort="1" velocity="1"/>{2}</joint>'
    )
    mimic = '<mimic joint="left_finger_joint"/>'
    fingers = (("left_finger", 1, ""), ("right_finger", -1, mimic))
    parts = [finger.format(n) + joint.format(n, x, m) for n, x, m in fingers]
    gripper.write_text(f'<robot name="g"><link name="palm"/>{"".join(parts)}</robot>')
    path = write_arm(tmp_path / "arm")
    # A plate is fixed to the flange, beside the chain to the tip; the tool overlaps it at all configurations.
    plate = '<link name="plate"><collision><geometry><box size="0.02 0.02 0.3"/></geometry></collision></link>'
    fixed = '<joint name="{0}_joint" type="fixed"><parent link="l5"/><child link="{0}"/></joint>'
    added = f'{plate}<link name="tool0"/>{fixed.format("plate")}{fixed.format("tool0")}'
    path.write_text(path.read_text().replace("</robot>", f"{added}</robot>"))
    given = ["new", str(path), "--add", str(gripper), "--folder", str(tmp_path / "cell"), "--samples", "20"]
    assert main([*given, "--at", "nowhere"]) == 1
    capsys.readouterr()
    assert main([*given, "--at", "tool0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(group["name"], group["to"]) for group in found["groups"]] == [("manipulator", "tool0")]
    assert {path.name for path in (tmp_path / "cell").iterdir()} == set(found["files"])
    assert {finding["level"] for finding in found["findings"]} == {"warning", "draft"}
    cell, state = load_cell(tmp_path / "cell" / "cell.yaml")
    tool = cell.tools["gripper"]
    assert state.tools["gripper"].attached_to == "manipulator"
    assert state.tools["gripper"].touch_links == ("tool0", "l5", "l4", "plate")
    assert dict(state.tools["gripper"].configuration) == {"left_finger_joint": 0.04}
    assert tool.tcp.position == pytest.approx((0.0, 0.0, 0.12), abs=1e-4)  # 10 mm behind the ends, at 0.13 m


@pytest.mark.parametrize(
    "given, status",
    [
        (["new", "none.urdf"], 1),
        (["new", "none.urdf", "x"], 2),
        (["new", str(MANIPULATORS["ur10"]), "--samples", "0"], 2),
        (["new"], 2),
        (["check", "none.yaml"], 1),
        (["check"], 2),
        (["--help"], 0),
        (["new", "--help"], 0),
        (["--version"], 0),
    ],
)
def test_the_exit_status_distinguishes_kinds_of_failure(given, status, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(given) == status
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["new", "check"])
def test_warnings_are_printed_once_as_findings(command, made, tmp_path):
    words = (
        ["new", str(write_arm(tmp_path)), "--samples", "10"] if command == "new" else ["check", str(made / "cell.yaml")]
    )
    program = [sys.executable, "-m", "robot_cell_planner.commands.main", *words]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count("moving links without mass") == 1
