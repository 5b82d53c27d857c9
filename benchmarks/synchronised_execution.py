"""Two robots that follow one trajectory, each simulated by a process of its own.

    make bench AREA=synchronised_execution           [--seconds 60]

Both arms of config/two_arms have topics of their own (`left/joint_states`, `left/joint_commands`) and move alike, back
and forth. The benchmark compares the commands of both arms by their stamps, and the measured positions: at the times of
the states of the right arm, the left arm's position is interpolated, and the difference divided by the speed is the
time by which one arm is ahead of the other. It contains the jitter of both simulations.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from robot_cell_planner import load_cell
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.msg import ExecutionOptions
from robot_cell_planner.nodes.client import CellClient
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.common.polled_subscription import PolledSubscription
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions, stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory

from .kinematics_node import node
from .results import FOLDER, Results
from .scene_node import own_domain, running

Floats = NDArray[np.float64]
CELL_FILE = FOLDER.parents[1] / "config" / "two_arms" / "cell.yaml"
SIDES = ("left", "right")
KINDS = ("joint_commands", "joint_states")
JOINT = "shoulder_pan_joint"
SWING = 0.6  # [rad]
COMMAND_RATE, STATE_RATE = 250.0, 250.0  # [Hz]
SPEED = 0.3  # fraction of the velocity limits
FASTEST = 0.7  # of the highest speed: samples at which times are compared
KEPT = 2000  # messages of a topic between two reads
ONE_ARM = """format: robot_cell/1
name: {side}_arm
robots:
  {side}:
    urdf: package://robot_cell_planner/urdf/arm.urdf.xacro
    limits: package://robot_cell_planner/config/demo/joint_limits.yaml
    prefix: {side}/
state:
  configuration: {values}
"""


def swings(cell: RobotCell, state: RobotCellState, seconds: float) -> Trajectory:
    """Both arms back and forth, for at least a time [s]."""
    variables = cell.group("both").variables
    limits = MotionLimits.of([cell.variables[name] for name in variables])
    start = np.array([state.configuration[name] for name in variables])
    away = start + np.array([SWING if name.endswith(JOINT) else 0.0 for name in variables])
    options = TimingOptions(period=0.02, velocity_scale=SPEED)
    once = stop_at_waypoints(np.array([start, away, start]), limits, options).trajectory.duration
    path = np.array([start, *([away, start] * int(np.ceil(seconds / once)))])
    return stop_at_waypoints(path, limits, options).trajectory


@contextmanager
def suite(state: RobotCellState, folder: Path) -> Iterator[None]:
    """Run the nodes of the cell in a domain of their own, and a simulation of each arm."""
    topics = "robot_topics:=[left/, right/]"
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        for name in ("scene_node", "planning_node"):
            stack.enter_context(running(node(name, f"cell_file:={CELL_FILE}", topics)))
        wide = ("path_tolerance:=0.5", "command_fields:=[position, velocity]", f"command_rate:={COMMAND_RATE}")
        stack.enter_context(running(node("execution_node", topics, *wide)))
        for side in SIDES:
            file = folder / f"{side}.yaml"
            values = {name: value for name, value in state.configuration.items() if name.startswith(f"{side}/")}
            file.write_text(ONE_ARM.format(side=side, values=values))
            own = (f"cell_file:={file}", f"robot_topics:=[{side}/]", f"rate:={STATE_RATE}")
            stack.enter_context(running([*node("simulated_robot_node", *own), "-r", f"__node:={side}_simulation"]))
        yield


class Listener:
    """Stamps [s] and positions [rad] of the joint that moves, on one topic."""

    def __init__(self, client: CellClient, topic: str) -> None:
        self._topic = PolledSubscription(client.node, JointState, topic, reliable(KEPT))
        self._rows: list[tuple[float, float]] = []

    def read(self) -> None:
        for message in self._topic.take():
            names = [name.rpartition("/")[2] for name in message.name]
            stamp = message.header.stamp
            self._rows.append((stamp.sec + 1e-9 * stamp.nanosec, message.position[names.index(JOINT)]))

    def taken(self) -> tuple[Floats, Floats]:
        """Return what was read since the last call, in the order of the stamps."""
        rows, self._rows = sorted(self._rows), []
        times, positions = np.array(rows).reshape(-1, 2).T
        return times, positions


@contextmanager
def reading(listeners: Iterable[Listener]) -> Iterator[None]:
    """Read all topics every second until the end of the block."""
    listeners, ended = list(listeners), Event()

    def run() -> None:
        while not ended.wait(1.0):
            for listener in listeners:
                listener.read()

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for listener in listeners:
            listener.read()


def measure(results: Results, seconds: float, folder: Path) -> None:
    """Move both arms, and compare them."""
    cell, state = load_cell(CELL_FILE)
    trajectory = swings(cell, state, seconds)
    with ExitStack() as stack:
        stack.enter_context(suite(state, folder))
        client = stack.enter_context(CellClient("benchmark", discovery_timeout=120.0))
        client.wait_until_ready(240.0)
        topics = {(side, kind): Listener(client, f"{side}/{kind}") for side in SIDES for kind in KINDS}
        with reading(topics.values()):
            Event().wait(3.0)  # discovery
        for listener in topics.values():
            listener.taken()
        with reading(topics.values()):
            record = client.execute(trajectory_to_message(trajectory), ExecutionOptions()).record
        received = {key: listener.taken() for key, listener in topics.items()}
    results.add("seconds", trajectory.duration)
    results.add("command_period_ms", 1e3 / COMMAND_RATE)
    results.add("late_commands", record.late_commands)
    results.add("max_tracking_error_rad", record.max_tracking_error)
    compare_commands(results, *(received[side, "joint_commands"] for side in SIDES))
    compare_states(results, *(received[side, "joint_states"] for side in SIDES))


def compare_commands(results: Results, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> None:
    """Commands of both arms with the same stamp."""
    common, first, second = np.intersect1d(left[0], right[0], return_indices=True)
    results.add("commands", len(left[0]))
    results.add("commands_without_one_of_the_other_arm", len(left[0]) + len(right[0]) - 2 * len(common))
    start = left[1][first[0]], right[1][second[0]]
    difference = (left[1][first] - start[0]) - (right[1][second] - start[1])
    results.add("largest_difference_of_commands_rad", float(np.abs(difference).max()))


def compare_states(results: Results, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> None:
    """Measured positions of both arms at the same time."""
    times, moved = right[0], right[1] - right[1][0]
    inside = (times > left[0][0]) & (times < left[0][-1])
    times, moved = times[inside], moved[inside]
    other = np.interp(times, left[0], left[1] - left[1][0])
    speed = np.gradient(moved, times)
    fast = np.abs(speed) > FASTEST * np.abs(speed).max()
    ahead = (other - moved)[fast] / speed[fast]
    results.add("states_compared", int(fast.sum()))
    results.add("left_ahead_median_ms", 1e3 * float(np.median(ahead)))
    for quantile, name in ((0.5, "median"), (0.99, "p99"), (1.0, "largest")):
        results.add(f"apart_{name}_ms", 1e3 * float(np.quantile(np.abs(ahead), quantile)))
    results.add("apart_largest_rad", float(np.abs(other - moved).max()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to move")
    options = parser.parse_args()
    results = Results("synchronised_execution", 0)
    with TemporaryDirectory() as folder:
        measure(results, options.seconds, Path(folder))
    results.finish()


if __name__ == "__main__":
    main()
