"""The launch file for ros2_control, with substitutes for the programs of ros2_control: the simulated robot is started,
and moves as the controllers command it. Runs wherever launch_testing is installed."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

import pytest

pytest.importorskip(
    "launch_testing", reason="launch_testing is not installed: it comes with a ROS 2 installation, not with its wheels"
)

import launch_testing
import launch_testing.actions
import launch_testing.asserts
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable, SetLaunchConfiguration
from launch.launch_description_sources import PythonLaunchDescriptionSource
from sensor_msgs.msg import JointState

from robot_cell_planner.nodes.client.client import CellClient, make_goal
from robot_cell_planner.nodes.common.domain import reserve_domain

ROOT = Path(__file__).parents[1]
STAND_INS = ROOT / "test" / "support" / "ros2_control"
PROGRAMS = {
    "controller_manager": ("ros2_control_node", "spawner"),
    "robot_state_publisher": ("robot_state_publisher",),
}
TIMEOUT = 120.0  # [s] for nodes to appear on a busy machine
DOMAIN = reserve_domain()
NAMESPACE = "/line_1"


def prefix_of_stand_ins():
    """An installation with only the substitutes, in front of installed ones."""
    prefix = Path(tempfile.mkdtemp(prefix="stand_ins_"))
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    for package, programs in PROGRAMS.items():
        (index / package).touch()
        (prefix / "share" / package).mkdir()
        folder = prefix / "lib" / package
        folder.mkdir(parents=True)
        for program in programs:
            shutil.copy(STAND_INS / program, folder / program)
    return prefix


# launch kills a program 10 s after Ctrl-C, which is short on a busy machine.
PATIENT_ENDS = [SetLaunchConfiguration(f"{signal}_timeout", "60") for signal in ("sigterm", "sigkill")]


@pytest.mark.launch_test
def generate_test_description():
    environment = {
        "ROS_DOMAIN_ID": str(DOMAIN.number),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "AMENT_PREFIX_PATH": f"{prefix_of_stand_ins()}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}",
    }
    os.environ.update(environment)
    cell = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(ROOT / "launch" / "ros2_control.launch.py")),
        launch_arguments={
            "cell": str(ROOT / "config" / "demo" / "cell.yaml"),
            "namespace": NAMESPACE,
            "frame_prefix": "line_1/",
        }.items(),
    )
    variables = [SetEnvironmentVariable(name, value) for name, value in environment.items()]
    return LaunchDescription([*variables, *PATIENT_ENDS, cell, launch_testing.actions.ReadyToTest()])


class TestRunningCell(unittest.TestCase):
    def test_arm_and_gripper_move_through_the_controllers(self):
        with CellClient("launch_test_client", namespace=NAMESPACE, discovery_timeout=TIMEOUT) as client:
            robot = {}
            client.node.create_subscription(
                JointState, "robot/joint_states", lambda m: robot.update(zip(m.name, m.position, strict=True)), 10
            )
            plan = client.plan_motion(make_goal([{"shoulder_pan_joint": -0.9}]))
            client.execute(plan.trajectory)
            assert client.move_gripper(0.02).reached_goal
            client.settled_simulation(timeout=TIMEOUT)
            assert abs(robot["shoulder_pan_joint"] + 0.9) < 0.005
            assert abs(robot["finger_joint"] - 0.02) < 0.002


@launch_testing.post_shutdown_test()
class TestEndedCell(unittest.TestCase):
    def test_all_programs_end_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[0, -2])
