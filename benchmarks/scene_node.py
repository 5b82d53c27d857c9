"""A scene node in a process of its own, a bare service beside it, and a client that calls one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import rclpy
from ament_index_python.packages import get_package_prefix
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from robot_cell_planner.nodes.common.domain import reserve_domain
from robot_cell_planner.srv import ApplyChanges

PACKAGE = "robot_cell_planner"
BARE = "bare/apply_changes"


@contextmanager
def own_domain() -> Iterator[None]:
    """A domain without other participants, for this process and those it starts."""
    domain = reserve_domain()
    os.environ["ROS_DOMAIN_ID"] = str(domain.number)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    try:
        yield
    finally:
        domain.close()


@contextmanager
def running(command: Sequence[str]) -> Iterator[int]:
    """Number of the process of a program that runs until the end of the block."""
    process = subprocess.Popen(command)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def processor_time(pid: int) -> float:
    """Time [s] that all threads of a process have spent on processors."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scene_node(cell_file: Path, journal_file: Path) -> list[str]:
    """Its command line."""
    program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, "scene_node")
    files = ["-p", f"cell_file:={cell_file}", "-p", f"journal_file:={journal_file}"]
    return [str(program), "--ros-args", *files, "--log-level", "warn"]


def bare_service() -> list[str]:
    """Command line of a service of the same type that does nothing: the minimum of a round trip."""
    return [sys.executable, "-m", "benchmarks.scene_node"]


class Caller:
    """Calls services from a node with one thread."""

    def __init__(self) -> None:
        rclpy.init()
        self.node = Node("benchmark")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}

    def call(self, kind: type, name: str, request: Any, timeout: float = 60.0) -> Any:
        """The reply.

        Raises:
            RuntimeError: it reports an error, or no reply arrived within `timeout` [s].
        """
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            if not self._clients[name].wait_for_service(120.0):
                raise RuntimeError(f"service {name} did not appear")
        future = self._clients[name].call_async(request)
        self._executor.spin_until_future_complete(future, timeout)
        reply = future.result()
        if reply is None or reply.error.code:
            raise RuntimeError(f"{name}: {'no reply' if reply is None else reply.error.message}")
        return reply

    def wait_for(self, kind: type, name: str, request: Any, attempts: int = 12) -> None:
        """Call until a reply arrives: on a busy computer the first replies of a new node can be lost."""
        for _ in range(attempts - 1):
            try:
                self.call(kind, name, request, 5.0)
            except RuntimeError:
                continue
            return
        self.call(kind, name, request)

    def timed(self, kind: type, name: str, request: Any) -> float:
        """Time until the reply has arrived [ms]."""
        start = perf_counter()
        self.call(kind, name, request)
        return 1e3 * (perf_counter() - start)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()


def serve_bare() -> None:
    """Answer every request at once with a reply as large as that to a small change."""
    rclpy.init()
    node = Node("bare")
    node.create_service(ApplyChanges, BARE, lambda request, response: response)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        return


if __name__ == "__main__":
    serve_bare()
