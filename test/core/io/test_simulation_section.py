"""The section `simulation` of a cell file."""

import pytest
from frozendict import frozendict

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.cell_file.simulation_section import load_simulated_robot
from robot_cell_planner.model.simulated_robot import ComputedTorque, JointDrive, PidControl, SimulatedRobot
from robot_cell_planner.model.simulated_sensors import CameraSensor, ForceTorqueSensor, JointTorqueSensor

HEAD = "format: robot_cell/1\n"


def written(folder, text):
    path = folder / "cell.yaml"
    path.write_text(HEAD + text)
    return path


def test_controllers_and_drives_are_read(tmp_path):
    text = """
simulation:
  controllers: {"*": computed_torque, elbow: {type: pid, bandwidth: 60, integral_time: 0.5}}
  drives: {elbow: {friction: 4, backlash: 1e-3}}
  unknown_bodies: [load]
"""
    path = written(tmp_path, text)
    assert load_simulated_robot(path) == SimulatedRobot(
        frozendict({"*": ComputedTorque(), "elbow": PidControl(bandwidth=60.0, integral_time=0.5)}),
        frozendict({"elbow": JointDrive(friction=4.0, backlash=1e-3)}),
        ("load",),
    )
    load_cell(path)


def test_sensors_are_read(tmp_path):
    text = """
simulation:
  sensors:
    hand: {type: camera, frame: flange, width: 64, height: 48, rate: 5}
    wrist: {type: force_torque, frame: flange}
    torques: {type: joint_torque, joints: manipulator}
"""
    path = written(tmp_path, text)
    assert load_simulated_robot(path).sensors == {
        "hand": CameraSensor("flange", 64, 48, rate=5.0),
        "wrist": ForceTorqueSensor("flange"),
        "torques": JointTorqueSensor("manipulator"),
    }
    load_cell(path)


def test_a_file_without_the_section_has_the_defaults(tmp_path):
    assert load_simulated_robot(written(tmp_path, "")) == SimulatedRobot()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("controller: {}", "'controller'.*controllers"),
        ("controllers: {a: perfect}", "'perfect' does not exist; there are motor, pid"),
        ("controllers: {a: {type: pid, gain: 1}}", "'gain' of controller pid"),
        ("controllers: {a: {type: pid, bandwidth: .inf}}", "bandwidth of PidControl is inf"),
        ("controllers: {a: {type: pid, bandwidth: fast}}", "bandwidth"),
        ("sensors: {a: {type: camera}}", "frame of sensor a is missing"),
        ("drives: {a: {inertia: 1}}", "'inertia'"),
        ("drives: {a: {backlash: -1}}", "backlash of a drive is -1.0, expected 0 to 0.5"),
    ],
)
def test_invalid_settings_are_refused_with_their_line(tmp_path, text, words):
    path = written(tmp_path, f"simulation:\n  {text}\n")
    for read in (load_simulated_robot, load_cell):
        with pytest.raises(FileError, match=f"cell.yaml:3.*{words}"):
            read(path)
