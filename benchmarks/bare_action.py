"""An action of rclpy alone, without this project's nodes: a server that returns a stored result of planning.

Started by `benchmarks.request_node`, which compares it with a plan over ROS: python -m benchmarks.bare_action FILE
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.nodes.common.dds_profile import set_dds_profile

NAME = "bare_action"
LIMIT = 30.0  # [s]


def serve(file: Path) -> None:
    """Serve the action until the process is killed."""
    set_dds_profile()
    rclpy.init()
    node = Node(NAME)
    result = deserialize_message(file.read_bytes(), PlanMotion.Result)

    def execute(goal: Any) -> PlanMotion.Result:
        goal.succeed()
        return result

    server = ActionServer(node, PlanMotion, NAME, execute)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    executor.spin()
    server.destroy()


class BareAction:
    """The server in a process of its own, and a client of a node that is spun elsewhere."""

    def __init__(self, node: Node, result: PlanMotion.Result, folder: Path) -> None:
        file = folder / "result"
        file.write_bytes(serialize_message(result))
        self._process = subprocess.Popen([sys.executable, "-m", __name__, str(file)])
        self._client = ActionClient(node, PlanMotion, NAME)
        if not self._client.wait_for_server(LIMIT):
            self.stop()
            raise RuntimeError(f"action {NAME} is not available within {LIMIT:g} s")

    def call(self) -> float:
        """Return the time from sending a goal to its result [s]."""
        arrived = threading.Event()
        began = perf_counter()

        def request_result(future: Any) -> None:
            future.result().get_result_async().add_done_callback(lambda _: arrived.set())

        self._client.send_goal_async(PlanMotion.Goal()).add_done_callback(request_result)
        if not arrived.wait(LIMIT):
            raise RuntimeError(f"action {NAME} has no result within {LIMIT:g} s")
        return perf_counter() - began

    def stop(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
