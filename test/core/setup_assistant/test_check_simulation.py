"""`robot_cell check` finds what a simulation refuses of the section `simulation`."""

import shutil

import pytest
from sources import ROOT

from robot_cell_planner import OfflineCell
from robot_cell_planner.errors import SimulationError, UnknownNameError
from robot_cell_planner.setup_assistant.check_file import check_cell_file


@pytest.fixture
def with_section(tmp_path):
    """Writes the demonstration's cell with another section `simulation`."""
    shutil.copytree(ROOT / "urdf", tmp_path / "urdf")
    shutil.copytree(ROOT / "config" / "demo", tmp_path / "config" / "demo")
    (tmp_path / "package.xml").write_text("<package><name>cell</name></package>")
    file = tmp_path / "config" / "demo" / "cell.yaml"
    rest = file.read_text().split("\nsimulation:")[0]

    def write(section):
        file.write_text(f"{rest}\nsimulation: {section}\n")
        return file

    return write


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("{controllers: {manipulatr: pid}}", "`controllers`: joint, group, robot or tool 'manipulatr' does not exist"),
        ("{drives: {elbow: {friction: 1.0}}}", "`drives`: joint, group, robot or tool 'elbow' does not exist"),
        ("{unknown_bodies: [workpeice]}", "`unknown_bodies`: body 'workpeice' does not exist; nearest: workpiece"),
        ("{sensors: {c: {type: camera, frame: abov_pick}}}", "sensor c: frame 'abov_pick' does not exist"),
        ("{sensors: {t: {type: joint_torque, joints: arn}}}", "sensor t: joint, group, robot or tool 'arn' does not"),
        ("{controllers: {world: pid}}", "`controllers`: joint, group, robot or tool 'world' does not exist"),
        ("{drives: {elbow_joint: {backlash: 0.01}}}", "`controllers`: the drive of joint elbow_joint has armature,"),
        (
            "{controllers: {'*': pid, elbow_joint: motor}, drives: {'*': {time_constant: 0.01}}}",
            "`controllers`: the drive of joint elbow_joint has armature,",
        ),
        (
            "{controllers: {shoulder_pan_joint: pid}, drives: {arm: {armature: 0.1}}}",
            "`controllers`: the drives of joints shoulder_lift_joint, elbow_joint, ",
        ),
        (
            "{controllers: {manipulator: {type: cartesian_impedance, frame: no_frame}}}",
            "`controllers`: frame 'no_frame' does not exist",
        ),
        ("{controllers: {elbow_joint: cartesian_impedance}}", "`controllers`: cartesian_impedance needs a frame"),
        (
            "{controllers: {gripper: {type: cartesian_impedance, frame: tool0}}}",
            "`controllers`: cartesian_impedance of",
        ),
        ("{sensors: {f: {type: force_torque, frame: table}}}", "sensor f: table is not attached to a joint or mount"),
    ],
)
def test_what_a_simulation_refuses_is_found(with_section, section, text):
    file = with_section(section)
    (found,) = (finding for finding in check_cell_file(file) if finding.topic == "simulation")
    assert found.text.startswith(text)
    with OfflineCell.load(file) as cell, pytest.raises((UnknownNameError, SimulationError)) as refused:
        cell.simulation.step(0.01)
    assert found.text.endswith(refused.value.message)


@pytest.mark.parametrize("name", ["'*'", "arm", "manipulator", "elbow_joint", "gripper", "finger_joint"])
def test_names_that_a_simulation_accepts_are_not_found(with_section, name):
    file = with_section(f"{{controllers: {{{name}: pid}}, sensors: {{f: {{type: force_torque, frame: gripper}}}}}}")
    assert [finding for finding in check_cell_file(file) if finding.topic == "simulation"] == []
    with OfflineCell.load(file) as cell:
        cell.simulation.step(0.01)


def test_drives_with_controllers_that_can_have_them_are_not_found(with_section):
    file = with_section("{controllers: {arm: computed_torque}, drives: {arm: {backlash: 0.001, armature: 0.1}}}")
    assert [finding for finding in check_cell_file(file) if finding.topic == "simulation"] == []
    with OfflineCell.load(file) as cell:
        cell.simulation.step(0.01)
