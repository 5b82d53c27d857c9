"""`robot_cell check` finds the names in `simulation` with which a simulation does not start."""

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
    ],
)
def test_a_name_that_a_simulation_refuses_is_found(with_section, section, text):
    file = with_section(section)
    (found,) = (finding for finding in check_cell_file(file) if finding.topic == "simulation")
    assert found.text.startswith(text)
    with OfflineCell.load(file) as cell, pytest.raises((UnknownNameError, SimulationError)):
        cell.simulation.step(0.01)


@pytest.mark.parametrize("name", ["'*'", "arm", "manipulator", "elbow_joint", "gripper", "finger_joint"])
def test_names_that_a_simulation_accepts_are_not_found(with_section, name):
    file = with_section(f"{{controllers: {{{name}: pid}}, sensors: {{f: {{type: force_torque, frame: gripper}}}}}}")
    assert [finding for finding in check_cell_file(file) if finding.topic == "simulation"] == []
    with OfflineCell.load(file) as cell:
        cell.simulation.step(0.01)
