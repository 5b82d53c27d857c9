"""A new cell reports defects of a description that its copy does not have any more, and takes arguments of xacro."""

import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.setup_assistant.cell_setup import NewCellOptions, new_cell
from robot_cell_planner.setup_assistant.finding import WARNING
from robot_cell_planner.setup_assistant.options import DraftOptions

BOX = "<collision><geometry><box {0}/></geometry></collision>"
DESCRIPTION = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="reach" default="0.4"/>
<link name="base">{0}{1}</link><link name="tip">{1}</link>
<joint name="turn" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 $(arg reach)"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""
MISSING = '<visual><geometry><mesh filename="gone.stl"/></geometry></visual>'
SOFT = '<safety_controller k_velocity="1" soft_lower_limit="-0.5" soft_upper_limit="0.5"/></joint>'


@pytest.fixture
def make(tmp_path):
    def made(visual="", box='size="0.1 0.1 0.1"', arguments=(), joint="</joint>"):
        text = DESCRIPTION.format(visual, BOX.format(box)).replace("</joint>", joint)
        (tmp_path / "arm.urdf.xacro").write_text(text)
        options = NewCellOptions(xacro_arguments=dict(arguments), draft=DraftOptions(samples=50))
        return new_cell(tmp_path / "arm.urdf.xacro", tmp_path / "cell", options)

    return made


def texts(made, part):
    return [finding.text for finding in made.findings if part in finding.text and finding.level == WARNING]


def test_arguments_that_the_xacro_file_does_not_have_are_findings(make, tmp_path):
    (text,) = texts(make(arguments={"raech": "0.5"}), "xacro argument")
    assert "'raech' does not exist; nearest: reach" in text
    assert "raech" in (tmp_path / "cell" / "report.md").read_text()


def test_known_arguments_are_no_findings(make):
    assert not texts(make(arguments={"reach": "0.5"}), "xacro argument")


def test_visuals_that_are_not_copied_are_findings(make):
    made = make(visual=MISSING)
    assert "arm.urdf" in made.files
    assert len(texts(made, "gone.stl")) == 1


def test_defects_that_the_copy_has_are_found_once(make):
    assert len(texts(make(box='size="0.1 0.1 0.1" mass="1"'), "attribute 'mass'")) == 1


def test_soft_limits_that_the_copy_has_are_found_once(make):
    assert len(texts(make(joint=SOFT), "soft limits")) == 1


GRIPPER = """<robot name="gripper" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="size" default="0.1"/>
<link name="palm"><collision><geometry><box size="$(arg size) 0.1 0.1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize("inside", [True, False], ids=["referred to", "copied"])
def test_arguments_of_an_added_gripper(tmp_path, inside):
    """They are those of its own xacro file, and the new cell has the gripper that they describe."""
    (tmp_path / "arm.urdf.xacro").write_text(DESCRIPTION.format("", BOX.format('size="0.1 0.1 0.1"')))
    (tmp_path / "gripper.xacro").write_text(GRIPPER)
    if inside:
        (tmp_path / "package.xml").write_text("<package><name>parts</name></package>")
    command = ["new", str(tmp_path / "arm.urdf.xacro"), "reach:=0.5", "--add", str(tmp_path / "gripper.xacro")]
    command += ["--folder", str(tmp_path / "cell"), "--samples", "50", "--add-argument"]
    assert main([*command, "size:=0.25"]) == 0
    cell, _ = load_cell(tmp_path / "cell" / "cell.yaml")
    assert cell.tools["gripper"].mechanism.links["palm"].collisions[0].geometry.size == (0.25, 0.1, 0.1)
    assert cell.robot.mechanism.joints["turn"].origin.position[2] == 0.5
    assert bool(cell.tools["gripper"].sources.xacro_arguments) == inside
    assert main([*command, "reach:=0.25", "--overwrite"]) == 0
    assert "'reach'" in (tmp_path / "cell" / "report.md").read_text()


def test_arguments_without_an_added_gripper_are_refused(tmp_path, capsys):
    assert main(["new", "arm.urdf", "--add-argument", "size:=0.25"]) == 2
    assert "--add" in capsys.readouterr().err
    assert main(["new", "arm.urdf", "--add", "gripper.xacro", "--add-argument", "size=0.25"]) == 2
    assert "Invalid value for '--add-argument': 'size=0.25' is no xacro argument" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["new", "arm.urdf"], ["import", "."]])
def test_a_folder_that_is_given_like_an_argument_names_its_option(command, capsys):
    assert main([*command, "out"]) == 2
    assert "'out' is no xacro argument, expected name:=value; --folder says where to write" in capsys.readouterr().err
