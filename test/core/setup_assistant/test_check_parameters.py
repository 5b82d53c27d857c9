"""The ranges that grippers may be commanded in, by a file of node parameters, are within the limits of their joints."""

import pytest
from loaded_cells import loaded
from running import DEMO, ROOT

from robot_cell_planner.commands.main import main
from robot_cell_planner.setup_assistant.check_parameters import LOWER, UPPER, parameter_findings

FINGER = "gripper/finger_joint"
HEAD = "/**/execution_node:\n  ros__parameters:\n"


def found(tmp_path, *lines, head=HEAD, cell="demo"):
    file = tmp_path / "nodes.yaml"
    file.write_text(head + "".join(f"    {line}\n" for line in lines))
    return list(parameter_findings(loaded(cell)[0], file))


@pytest.mark.parametrize("name", [FINGER, "finger_joint"])
def test_a_range_beyond_the_limits_of_the_joint_is_a_warning(tmp_path, name):
    (finding,) = found(tmp_path, f"gripper_joint: {name}", "gripper_lower: -0.001", "gripper_upper: 0.08")
    assert finding.text == (
        f"nodes.yaml: gripper joint {name} may be commanded from -0.001 to 0.08 m, and its limits are 0 to 0.042 m"
    )
    assert "Set gripper_lower to 0 and gripper_upper to 0.042 " in finding.remedy
    assert found(tmp_path, f"gripper_joint: {name}", "gripper_lower: 0.01", "gripper_upper: 0.042") == []


def test_the_default_range_counts(tmp_path):
    (finding,) = found(tmp_path, f"gripper_joint: {FINGER}")
    assert f"from {LOWER:g} to {UPPER:g} m" in finding.text


def test_each_of_several_grippers_is_checked(tmp_path):
    joints = "gripper_joints: [left_gripper/finger_joint, right_gripper/finger_joint]"
    findings = found(tmp_path, joints, "gripper_upper: 0.05", cell="two_arms")
    assert [finding.text.split()[3] for finding in findings] == [
        "left_gripper/finger_joint",
        "right_gripper/finger_joint",
    ]
    assert found(tmp_path, joints, "gripper_upper: 0.042", cell="two_arms") == []


def test_a_joint_that_the_cell_does_not_have_is_a_warning(tmp_path):
    (finding,) = found(tmp_path, "gripper_joint: gripper/finger_jiont", "gripper_upper: 0.042")
    assert f"nearest: {FINGER}" in finding.text


def test_parameters_of_other_nodes_and_files_without_any_are_left_out(tmp_path):
    other = HEAD.replace("execution", "planning")
    assert found(tmp_path, f"gripper_joint: {FINGER}", head=other) == []
    assert found(tmp_path, head="# nothing\n") == []
    (finding,) = found(tmp_path, "gripper_joint: [")
    assert finding.topic == "parameters"


def test_the_command_reads_the_file_beside_the_cell_or_another(tmp_path, capsys):
    two_arms = ROOT / "config" / "two_arms"
    assert main(["check", str(two_arms / "cell.yaml")]) == 0
    assert "gripper joint" not in capsys.readouterr().out
    (tmp_path / "others.yaml").write_text(HEAD + f"    gripper_joint: {FINGER}\n")
    assert main(["check", str(DEMO), "--params", str(tmp_path / "others.yaml")]) == 0
    assert f"warning parameters: others.yaml: gripper joint {FINGER} may be" in capsys.readouterr().out
