"""The live viewer: latency from joint_states to its page, and its processor share with 0, 1 and 10 browsers.

    make bench AREA=viewer           [tools/with_environment python -m benchmarks.viewer --seconds 5]

The scene node and the viewer node are processes of their own. A browser is a connection that reads the messages to the
page, without drawing them. The latency is the time from a message in which a joint has moved to the arrival of the
poses of its links; it includes up to one period of the parameter refresh_rate.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.nodes.common.node import reliable

from .execution import CELL_FILE, PACKAGE, spent_by
from .results import Results
from .scene_node import own_domain

# The page reader of the tests.
sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "support"))
from viewer_page import Page, object_positions

JOINT = "shoulder_pan_joint"
STEP = 0.2  # [rad] by which the joint moves from one measurement of the latency to the next
RATE = 250.0  # [Hz] of joint_states while processor shares are measured
SAMPLES = 100
SECONDS = 20.0
TIMEOUT = 60.0  # [s]
SEED = 1


@contextmanager
def started(name: str, *parameters: str) -> Iterator[subprocess.Popen[str]]:
    """A node of the package, whose output can be read."""
    program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, f"{name}_node")
    arguments = [part for parameter in parameters for part in ("-p", parameter)]
    process = subprocess.Popen(
        [str(program), "--ros-args", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT)


def port_in(process: subprocess.Popen[str]) -> int:
    """Port of the page, which the viewer node prints when it is ready."""
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if found:
            threading.Thread(target=process.stdout.read, daemon=True).start()  # so that the node can go on printing
            return int(found[1])
    raise RuntimeError("the viewer node has ended")


class Robot:
    """Publishes joint states."""

    def __init__(self) -> None:
        rclpy.init()
        self.node = Node("benchmark")
        self._publisher = self.node.create_publisher(JointState, "joint_states", reliable(10))
        _, state = load_cell(CELL_FILE)
        self._positions = dict(state.configuration)
        self._start = self._positions[JOINT]

    def publish(self, offset: float) -> None:
        """Publish the start with one joint moved [rad]."""
        self._positions[JOINT] = self._start + offset
        message = JointState(name=list(self._positions), position=list(self._positions.values()))
        message.header.stamp = self.node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def move(self, seconds: float) -> None:
        """Move at RATE for that long."""
        begin = time.monotonic()
        for count in range(round(RATE * seconds)):
            self.publish(0.5 * math.sin(count / RATE))
            time.sleep(max(begin + (count + 1) / RATE - time.monotonic(), 0.0))


def latency(robot: Robot, page: Page, index: int) -> float:
    """Time from a message with a moved joint to its poses on the page [ms]."""
    before = object_positions(page)
    begin = time.perf_counter()
    robot.publish(STEP * (1 + index % 2))
    page.wait_for(lambda page: not np.array_equal(object_positions(page), before), "the motion", TIMEOUT)
    found = 1e3 * (time.perf_counter() - begin)
    time.sleep(0.1)  # the rest of the update
    return found


def latencies(results: Results, robot: Robot, port: int) -> None:
    with Page(port) as page:
        page.wait_for(lambda page: len(object_positions(page)), "the objects", TIMEOUT)
        found = [latency(robot, page, index) for index in range(SAMPLES + 5)][5:]
    results.add("latency_median_ms", float(np.median(found)))
    results.add("latency_p95_ms", float(np.quantile(found, 0.95)))


def shares(results: Results, robot: Robot, port: int, pid: int, seconds: float) -> None:
    for browsers in (0, 1, 10):
        pages = [Page(port) for _ in range(browsers)]
        for page in pages:
            page.wait_for(lambda page: len(object_positions(page)), "the objects", TIMEOUT)
        robot.move(2.0)
        before, began = spent_by({"viewer": pid})["viewer"], time.monotonic()
        seen = [page.messages for page in pages]
        robot.move(seconds)
        passed = time.monotonic() - began
        results.add(
            f"processor_{browsers}_browsers_percent", 100.0 * (spent_by({"viewer": pid})["viewer"] - before) / passed
        )
        for page, count in zip(pages[:1], seen, strict=False):
            results.add(f"messages_{browsers}_browsers_per_s", (page.messages - count) / passed)
        for page in pages:
            page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each processor share is measured")
    wanted = parser.parse_args()
    results = Results("viewer", SEED)
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        stack.enter_context(started("scene", f"cell_file:={CELL_FILE}"))
        viewer = stack.enter_context(started("viewer", "port:=0"))
        port, robot = port_in(viewer), Robot()
        latencies(results, robot, port)
        shares(results, robot, port, viewer.pid, wanted.seconds)
        rclpy.shutdown()
    if wanted.seconds >= SECONDS:
        results.finish()


if __name__ == "__main__":
    main()
