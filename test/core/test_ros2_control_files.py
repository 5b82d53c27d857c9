"""The files for ros2_control are consistent with each other, the demonstration cell and the nodes."""

import re
from pathlib import Path

import pytest
import yaml
from loaded_cells import loaded
from lxml import etree

from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro
from robot_cell_planner.simulation.commands import read_command

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config" / "ros2_control"
DESCRIPTION = ROOT / "urdf" / "arm_with_gripper.urdf.xacro"
LAUNCH = (ROOT / "launch" / "ros2_control.launch.py").read_text()
COMMANDS, STATES = re.search(r'COMMANDS, STATES = "(.*?)", "(.*?)"', LAUNCH).groups()


GRIPPERS = {
    "gripper.yaml": "parallel_gripper_action_controller/GripperActionController",
    "gripper_jazzy.yaml": "position_controllers/GripperActionController",
}


def parameters_of(name):
    """A file of parameters, by the names of the nodes, which may have any namespace."""
    given = yaml.safe_load((CONFIG / name).read_text())
    assert all(key.startswith("/**/") for key in given)
    return {key.removeprefix("/**/"): value for key, value in given.items()}


@pytest.fixture(scope="module", params=GRIPPERS)
def controllers(request):
    """The parameters of all controllers, with each of the gripper controllers."""
    arm, gripper = map(parameters_of, ("controllers.yaml", request.param))
    manager = gripper.pop("controller_manager")["ros__parameters"]
    assert manager["gripper_controller"]["type"] == GRIPPERS[request.param]
    arm["controller_manager"]["ros__parameters"].update(manager)
    return arm | gripper


@pytest.fixture(scope="module")
def hardware():
    arguments = {"joint_commands_topic": COMMANDS, "joint_states_topic": STATES}
    return etree.fromstring(expand_xacro(DESCRIPTION, arguments).encode()).find("ros2_control")


@pytest.fixture(scope="module")
def cell():
    return loaded()[0]


def test_every_controller_has_a_type_and_is_started(controllers):
    manager = controllers["controller_manager"]["ros__parameters"]
    typed = {name for name, value in manager.items() if isinstance(value, dict) and "type" in value}
    spawned = set(re.findall(r'"(\w+)"', re.search(r"CONTROLLERS = \((.*?)\)", LAUNCH).group(1)))
    assert spawned == typed == {"joint_state_broadcaster"} | (set(controllers) - {"controller_manager"})


def test_controllers_move_the_joints_of_group_and_tool_through_interfaces_that_the_hardware_has(
    controllers, hardware, cell
):
    arm = controllers["joint_trajectory_controller"]["ros__parameters"]
    assert tuple(arm["joints"]) == cell.group().variables
    assert set(arm["joints"]) == {name for name, value in arm["constraints"].items() if isinstance(value, dict)}
    gripper = controllers["gripper_controller"]["ros__parameters"]["joint"]
    assert gripper in [variable.name for variable in cell.tools["gripper"].mechanism.variables]
    joints = {joint.get("name"): joint for joint in hardware.findall("joint")}
    assert set(joints) == {*arm["joints"], gripper}
    for name, joint in joints.items():
        commands = {interface.get("name") for interface in joint.findall("command_interface")}
        states = {interface.get("name") for interface in joint.findall("state_interface")}
        assert commands == {"position"}
        assert states == {"position", "velocity", "effort"}, "all states that the simulated robot reports"
        if name in arm["joints"]:
            assert set(arm["command_interfaces"]) <= commands
            assert set(arm["state_interfaces"]) <= states


def test_controllers_and_the_simulated_robot_have_the_same_rate(controllers):
    rate = float(re.search(r"RATE = (\S+)", LAUNCH).group(1))
    assert controllers["controller_manager"]["ros__parameters"]["update_rate"] == rate


def test_the_gripper_controller_is_that_of_the_distribution():
    chosen = dict(re.findall(r'"(\w+)": "(gripper_\w+\.yaml)"', LAUNCH))
    assert chosen == {"jazzy": "gripper_jazzy.yaml"}
    assert re.search(r'GRIPPER = "gripper.yaml"', LAUNCH)


def test_hardware_and_simulated_robot_share_topics_that_no_other_node_uses(hardware):
    parameters = {parameter.get("name"): parameter.text for parameter in hardware.findall("hardware/param")}
    assert parameters["joint_commands_topic"] == COMMANDS
    assert parameters["joint_states_topic"] == STATES
    assert {COMMANDS, STATES}.isdisjoint({"joint_commands", "joint_states"})


def test_the_simulated_robot_accepts_commands_of_the_hardware(hardware):
    """One name for each joint of the block, one position for each joint with a position command interface."""
    names = [joint.get("name") for joint in hardware.findall("joint")]
    starts = [
        float(joint.findtext("command_interface[@name='position']/param[@name='initial_value']"))
        for joint in hardware.findall("joint")
        if joint.find("command_interface[@name='position']") is not None
    ]
    command, problems = read_command(names, starts, [], [], names)
    assert not problems
    assert set(command.positions) == set(names)


def test_the_block_is_retained_and_readable_in_a_cell():
    robot = load_robot("arm", str(DESCRIPTION))
    block = next(text for text in robot.mechanism.blocks if text.lstrip().startswith("<ros2_control"))
    assert "JointStateTopicSystem" in block


def test_the_execution_node_is_a_client_of_the_controller_that_is_started(controllers):
    parameters = parameters_of("parameters.yaml")["execution_node"]["ros__parameters"]
    assert parameters["mode"] == "controller"
    (name,) = parameters["controller_actions"]
    controller, _, action = name.rpartition("/")
    assert controller in controllers
    assert action == "follow_joint_trajectory"
    assert not parameters.get("gripper_joint")
