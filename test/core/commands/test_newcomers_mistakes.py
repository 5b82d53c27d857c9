"""Common mistakes: each is reported with the message in docs/mistakes.md."""

import re
from pathlib import Path

import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.trajectory.timing import TimingOptions

CODE = re.compile(r"(`+)(.*)\1")
PAGE = Path(__file__).parents[3] / "docs" / "mistakes.md"
LINK = '<link name="l{0}">{1}</link>'
SHAPE = '<collision><origin xyz="0 0 0.1"/><geometry><box size="0.05 0.05 0.15"/></geometry></collision>'
JOINT = (
    '<joint name="j{0}" type="revolute"><parent link="l{0}"/><child link="l{1}"/><origin xyz="0 0 0.2"/>'
    '<axis xyz="{2}"/><limit lower="-2" upper="2" effort="9" velocity="1"/></joint>'
)
AXES = ("0 0 1", "0 1 0", "1 0 0", "0 1 0", "1 0 0", "0 0 1")
SRDF = """<robot name="arm"><group name="arm"><chain base_link="l0" tip_link="l6"/></group>
<group_state name="up" group="arm"><joint name="j0" value="0"/></group_state>
<disable_collisions link1="l1" link2="l9" reason="Never"/></robot>"""
CELL = """format: robot_cell/1
name: mine
robots:
  arm: {urdf: arm.urdf, srdf: arm.srdf}
bodies:
  table:
    collisions: [{type: box, size: [1, 1, 0.1]}]
    pose: {position: [0, 0, -0.3]}
"""


def urdf(shape=SHAPE):
    links = "".join(LINK.format(index, shape) for index in range(7))
    joints = "".join(JOINT.format(index, index + 1, axis) for index, axis in enumerate(AXES))
    return f'<robot name="arm">{links}{joints}</robot>'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a valid robot description and cell file."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("arm.urdf", urdf()), ("arm.srdf", SRDF), ("cell.yaml", CELL)):
        (tmp_path / name).write_text(text)
    return tmp_path


def edited(old, new):
    """Return a mistake: the check of the cell file after a change."""

    def check(folder):
        assert old in CELL
        (folder / "cell.yaml").write_text(CELL.replace(old, new))
        assert main(["check", "cell.yaml"]) in (0, 1)

    return check


def planned(goals, cell=CELL, **options):
    """Return a mistake: a planning request with goals, and options of the timing."""

    def plan(folder):
        (folder / "cell.yaml").write_text(cell)
        loaded = load_cell("cell.yaml")
        try:
            print(*plan_motion(*loaded, MotionRequest(goals, timing=TimingOptions(**options))).warnings)
        except RobotCellError as error:
            print(error)

    return plan


def misspelt_path(folder):
    assert main(["new", "arn.urdf"]) == 1


def unknown_package(folder):
    mesh = '<collision><geometry><mesh filename="package://my_arm/meshes/link.stl"/></geometry></collision>'
    (folder / "arm.urdf").write_text(urdf(mesh))
    assert main(["new", "arm.urdf"]) == 1


def forgotten_argument(folder):
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (folder / "arm.urdf.xacro").write_text(f'{head}<link name="$(arg model)"/></robot>')
    assert main(["new", "arm.urdf.xacro"]) == 1


def outside(folder):
    (folder / "cells").mkdir()
    (folder / "cells" / "cell.yaml").write_text(CELL.replace("arm.urdf", "../arm.urdf"))
    assert main(["check", "cells/cell.yaml"]) == 1


def description_as_cell(folder):
    assert main(["plan", "arm.urdf", "--joint", "j0=1"]) == 1


def no_shapes(folder):
    (folder / "arm.urdf").write_text(urdf(""))
    assert main(["check", "cell.yaml"]) == 0


SLACK = FrameTarget(pose=Pose((0.3, 0.0, 0.9)), tolerance_angle=5.0)
RAISED = CELL.replace("-0.3]", "0.2]")
MISTAKES = {
    "a misspelt path": misspelt_path,
    "a package that is not sourced": unknown_package,
    "a description outside of the cell's folder": outside,
    "a path of Windows": edited("urdf: arm.urdf", "urdf: urdf\\arm.urdf"),
    "a forgotten xacro argument": forgotten_argument,
    "a misspelt key": edited("srdf:", "srfd:"),
    "a key of another format": edited("{position: [0, 0, -0.3]}", "{orientation: [0, 0, 0, 1]}"),
    "a tab in YAML": edited("    pose", "\tpose"),
    "a file of another kind": description_as_cell,
    "no SRDF": edited(", srdf: arm.srdf", ""),
    "links without collision shapes": no_shapes,
    "a start in collision": planned(Goals(joint_goals=({"j0": 1.0},)), RAISED),
    "degrees for radians": planned(Goals(joint_goals=({"j0": 90.0},))),
    "degrees in an orientation": edited("-0.3]", "-0.3], rpy: [180, 0, 0]"),
    "degrees in a tolerance of a target": planned(Goals(targets=(SLACK,))),
    "a size in millimetres": edited("[1, 1, 0.1]", "[1200, 800, 40]"),
    "a speed in mm/s": planned(Goals(joint_goals=({"j0": 0.1},)), tool_speed=250.0),
    "a misspelt joint": planned(Goals(joint_goals=({"J0": 1.0},))),
    "a misspelt name in a touch list": edited("-0.3]}", "-0.3]}\n    touch_bodies: [am]"),
    "a pose in millimetres": planned(Goals(targets=(FrameTarget(pose=Pose((300.0, 0.0, 500.0))),))),
}


def rows():
    """Return the message of each mistake, from the table of the page."""
    cells = (line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| "))
    return {mistake: CODE.fullmatch(output.strip())[2] for mistake, output, _ in cells if mistake != "Mistake"}


def test_the_page_has_all_mistakes():
    assert list(rows()) == list(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_reported_as_on_the_page(mistake, folder, capsys):
    MISTAKES[mistake](folder)
    output = " ".join("".join(capsys.readouterr()).split())
    begin = 0
    for part in rows()[mistake].split("..."):
        found = output.find(part.strip(), begin)
        assert found >= 0, f"{part!r} is not in {output}"
        begin = found + len(part.strip())
