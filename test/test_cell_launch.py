"""The launch file: all nodes start, reply, and end. Runs wherever launch_testing is installed."""

import os
import threading
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
from rcl_interfaces.srv import GetParameters
from tf2_msgs.msg import TFMessage

from robot_cell_planner.nodes.bringup.command_line import NODES
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.common.domain import reserve_domain
from robot_cell_planner.nodes.common.node import LATCHED

ROOT = Path(__file__).parents[1]
NAMESPACE, PREFIX = "/launched", "launched/"
DISCOVERY_TIMEOUT = 120.0  # s, for nodes to appear on a busy machine
DOMAIN = reserve_domain()
ENVIRONMENT = {"ROS_DOMAIN_ID": str(DOMAIN.number), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


# launch kills a program 10 s after Ctrl-C, which is short on a busy machine.
PATIENT_ENDS = [SetLaunchConfiguration(f"{signal}_timeout", "60") for signal in ("sigterm", "sigkill")]


@pytest.mark.launch_test
def generate_test_description():
    os.environ.update(ENVIRONMENT)
    cell = os.path.relpath(ROOT / "config" / "demo" / "cell.yaml")
    arguments = {"cell": cell, "namespace": NAMESPACE, "frame_prefix": PREFIX}
    cell = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(ROOT / "launch" / "cell.launch.py")), launch_arguments=arguments.items()
    )
    variables = [SetEnvironmentVariable(name, value) for name, value in ENVIRONMENT.items()]
    return LaunchDescription([*variables, *PATIENT_ENDS, cell, launch_testing.actions.ReadyToTest()])


class TestRunningCell(unittest.TestCase):
    def test_all_nodes_run_in_the_namespace_and_have_the_cell(self):
        with CellClient("launch_test_client", namespace=NAMESPACE, discovery_timeout=DISCOVERY_TIMEOUT) as client:
            for name in NODES:
                parameters = client.node.create_client(GetParameters, f"{NAMESPACE}/{name}_node/get_parameters")
                assert parameters.wait_for_service(timeout_sec=DISCOVERY_TIMEOUT), f"{name}_node did not appear"
            scene, _ = client.scene()
            assert scene.cell.name == "demo"

    def test_frames_have_the_prefix(self):
        with CellClient("launch_test_client", namespace=NAMESPACE, discovery_timeout=DISCOVERY_TIMEOUT) as client:
            frames, arrived = {}, threading.Event()

            def take(message):
                frames.update((entry.child_frame_id, entry.header.frame_id) for entry in message.transforms)
                arrived.set()

            client.node.create_subscription(TFMessage, "/tf_static", take, LATCHED)
            assert arrived.wait(DISCOVERY_TIMEOUT)
            assert frames
            assert all(name.startswith(PREFIX) for name in frames)
            assert all(name == "world" or name.startswith(PREFIX) for name in frames.values())


@launch_testing.post_shutdown_test()
class TestEndedCell(unittest.TestCase):
    def test_all_nodes_end_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[0, -2])
