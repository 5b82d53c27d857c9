"""An action of rclpy alone, without this project's nodes: a server that returns a stored result of planning.

Started by `benchmarks.request_node`, which compares it with a plan over ROS: python -m benchmarks.bare_action FILE
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.action import ActionServer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.nodes.client import CellClient
from robot_cell_planner.nodes.common.dds_profile import set_dds_profile

from .moveit import sender

NAME = "bare_action"


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


@contextmanager
def bare_action(client: CellClient, result: PlanMotion.Result, folder: Path) -> Iterator[Callable[[], float]]:
    """The server in a process of its own. Yields a function that returns the time of a goal until its result [ms]."""
    file = folder / "result"
    file.write_bytes(serialize_message(result))
    process = subprocess.Popen([sys.executable, "-m", __name__, str(file)])
    try:
        yield sender(client, PlanMotion, NAME, PlanMotion.Goal())
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
