"""Streaming: regularity of commands while the robot moves, the simulation runs and planning keeps its workers busy.

    make bench AREA=execution        [tools/with_environment python -m benchmarks.execution --seconds 10]

The nodes are processes of their own, and so is the subscriber of joint_commands: it records when each command was
stamped and when it arrived. Intervals between stamps are the execution node's own; those between arrivals also contain
the delays of the subscriber.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from numpy.typing import NDArray
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.nodes.client.client import CellClient, make_goal
from robot_cell_planner.nodes.common.ending_signals import interrupt_on_signals
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions, stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory

from .results import Results
from .scene_node import own_domain, processor_time, running

CELL_FILE = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
PACKAGE = "robot_cell_planner"
RATE = 500.0  # [Hz]
SECONDS = 60.0
SWING = {"shoulder_pan_joint": 0.4, "wrist_3_joint": 0.8}  # [rad] from the start and back again
AWAY = {"shoulder_pan_joint": 1.2}
GAP = 2.0  # periods; a longer interval is a gap
SPEED = 0.3  # of the velocity limits: the simulation shares two cores with the planning and lags behind
WARM_UP = 20  # plans, in which all workers have been used
NICENESS = 10  # of planning, the default of the planning node
SEED = 1
ROBOT_NODES = ("scene", "planning", "execution", "simulated_robot")
PARAMETERS = {
    "execution": (f"command_rate:={RATE}", "command_fields:=[position, velocity]"),
    "planning": ("workers:=2",),
}


def node(name: str) -> list[str]:
    """Command line of a node of the package."""
    program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, f"{name}_node")
    given = (f"cell_file:={CELL_FILE}", *PARAMETERS.get(name, ()))
    arguments = [part for parameter in given for part in ("-p", parameter)]
    return [str(program), "--ros-args", *arguments, "--log-level", "warn"]


def swings(seconds: float) -> Trajectory:
    """Back and forth from the start of the cell, for that long at least."""
    cell, state = load_cell(CELL_FILE)
    variables = cell.group().variables
    limits = MotionLimits.of([cell.variables[name] for name in variables])
    start = np.array([state.configuration[name] for name in variables])
    away = start + np.array([SWING.get(name, 0.0) for name in variables])
    options = TimingOptions(period=0.02, velocity_scale=SPEED)
    once = stop_at_waypoints(np.array([start, away, start]), limits, options).trajectory.duration
    path = np.array([start, *([away, start] * int(np.ceil(seconds / once)))])
    return stop_at_waypoints(path, limits, options).trajectory


class Listener:
    """Records every command that arrives, until it is interrupted; then writes the times to a file."""

    def __init__(self) -> None:
        self.stamps, self.arrivals = array("q"), array("d")
        interrupt_on_signals()  # also as a job in the background of a shell
        rclpy.init()
        self.node = Node("listener")
        self.node.create_subscription(JointState, "joint_commands", self._take, reliable(1000))

    def _take(self, message: JointState) -> None:
        self.arrivals.append(time.monotonic())
        self.stamps.append(message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec)

    def run(self, file: Path) -> None:
        # Interrupted while it takes a message, rclpy raises an error of its own.
        with suppress(KeyboardInterrupt, ExternalShutdownException, RuntimeError):
            rclpy.spin(self.node)
        np.savez(file, stamps=np.array(self.stamps), arrivals=np.array(self.arrivals))


def keep_planning() -> None:
    """Request one plan after the other, until interrupted; with the niceness of the workers, as part of the load."""
    os.nice(NICENESS)
    with CellClient("keeps_planning") as client:
        try:
            while True:
                try:
                    client.plan_motion(make_goal([AWAY]))
                except RobotCellError as error:
                    print(error, file=sys.stderr)
        except KeyboardInterrupt:
            return


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    parents: dict[int, int] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found = [pid]
    for member in found:
        found += [child for child, parent in parents.items() if parent == member]
    return found


def shares(pids: dict[str, int], since: dict[str, float], seconds: float) -> dict[str, float]:
    """Percent of one core that each family took since then."""
    return {name: 100.0 * (spent - since[name]) / seconds for name, spent in spent_by(pids).items()}


def spent_by(pids: dict[str, int]) -> dict[str, float]:
    """Time on processors [s] of each family."""
    spent = {}
    for name, pid in pids.items():
        spent[name] = 0.0
        for member in family(pid):
            try:
                spent[name] += processor_time(member)
            except OSError:
                continue
    return spent


def add_intervals(results: Results, name: str, intervals: NDArray[np.float64]) -> None:
    """Figures of intervals [s] between commands."""
    for quantile, label in ((0.5, "median"), (0.99, "p99"), (0.999, "p999"), (1.0, "longest")):
        results.add(f"{name}_interval_{label}_ms", 1e3 * float(np.quantile(intervals, quantile)))
    gaps = intervals[intervals > GAP / RATE]
    results.add(f"{name}_gaps", len(gaps))
    results.add(f"{name}_gaps_sum_ms", 1e3 * float(gaps.sum()))


@contextmanager
def helper(*arguments: str) -> Iterator[int]:
    """This module as another process."""
    with running([sys.executable, "-m", "benchmarks.execution", *arguments]) as pid:
        yield pid


def measure(results: Results, seconds: float, folder: Path) -> None:
    """Move for that long, and report the intervals of the commands."""
    trajectory, heard = swings(seconds), folder / "heard.npz"
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        pids = {name: stack.enter_context(running(node(name))) for name in ROBOT_NODES}
        client = stack.enter_context(CellClient("benchmark", discovery_timeout=120.0))
        client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request(), timeout=10.0, retries=5)
        for _ in range(WARM_UP):
            client.plan_motion(make_goal([AWAY]))
        stack.enter_context(helper("--keep-planning"))
        with helper("--listen", str(heard)):
            while client.node.count_subscribers("joint_commands") < 2:  # the simulated robot is the other one
                time.sleep(0.1)
            began, since = time.monotonic(), spent_by(pids)
            record = client.execute(trajectory_to_message(trajectory)).record
            taken = shares(pids, since, time.monotonic() - began)
        times = np.load(heard)
        stamps = times["stamps"]
        results.add("seconds_s", 1e-9 * float(stamps[-1] - stamps[0]))
        results.add("commands_sent", record.commands)
        results.add("commands_heard", len(stamps))
        add_intervals(results, "sent", np.diff(stamps) * 1e-9)
        add_intervals(results, "heard", np.diff(times["arrivals"]))
        results.add("late_commands", record.late_commands)
        results.add("largest_tracking_error_rad", record.max_tracking_error)
        for name, share in taken.items():
            results.add(f"processor_{name}_percent", share)


def main() -> None:
    """Measure and write; or be one of the processes that take part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to move")
    parser.add_argument("--listen", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep-planning", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.listen:
        Listener().run(wanted.listen)
    elif wanted.keep_planning:
        keep_planning()
    else:
        results = Results("execution", SEED)
        with TemporaryDirectory() as folder:
            measure(results, wanted.seconds, Path(folder))
        if wanted.seconds >= SECONDS:
            results.finish()


if __name__ == "__main__":
    main()
