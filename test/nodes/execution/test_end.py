"""Signals end the execution node, whatever they interrupt."""

import signal

import pytest
from running import RunningNode

from robot_cell_planner import srv
from robot_cell_planner.nodes.client.client import CellClient

# A second signal arrives while the first one is handled, in code that holds a lock of rclpy.
SECOND = """
import os, signal
from rclpy.node import Node
inner = Node.destroy_node
def interrupted(self):
    os.kill(os.getpid(), signal.{name})
    inner(self)
Node.destroy_node = interrupted
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_second_signal_does_not_keep_the_first_from_ending_the_node(domain, name):
    namespace = name.lower()
    node = RunningNode("execution_node", domain, before=SECOND.format(name=name), namespace=namespace)
    try:
        with CellClient("test_client", namespace=f"/{namespace}", discovery_timeout=60.0) as client:
            client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        node.process.send_signal(signal.Signals[name])
        assert node.wait(60) == 0
    finally:
        node.process.kill()
    assert "Traceback" not in node.output
