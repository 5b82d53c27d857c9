"""How soon a cell moves again after one of its processes was killed while the robot moved.

tools/with_environment python -m benchmarks.recovery [--kills 5] [--only planning ...]

The supervisor runs all nodes of the demo cell, and starts them again. A client moves the robot to and fro; in the midst
of a motion a process is killed (SIGKILL), and the client plans and executes again until a motion has begun. Told are
the time until the client had an error, until the robot stood, and until the new motion moved, and whether the revision
of the scene was kept.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.msg import PlanningOptions, StateRef
from robot_cell_planner.nodes.client import CellClient, goal_of
from robot_cell_planner.nodes.node import sensor

from .memory import below, children
from .results import Results
from .scene_node import own_domain

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
PARAMETERS = CELL.parents[1] / "parameters.yaml"
NODES = ("scene", "kinematics", "collision", "planning", "execution", "simulated_robot")
PLACES = ({"shoulder_pan_joint": 1.2}, {"shoulder_pan_joint": -0.4})
STILL = 0.002  # [rad/s]
GIVE_UP = 90.0  # [s]


class Robot:
    """What joint_states say: when the joints last moved."""

    def __init__(self, client: CellClient) -> None:
        self.moved_at = 0.0
        self._positions: dict[str, tuple[float, float]] = {}
        client._made(lambda: client.node.create_subscription(JointState, "joint_states", self._take, sensor(10)))

    def _take(self, message: JointState) -> None:
        now = time.monotonic()
        for name, position in zip(message.name, message.position, strict=True):
            before, then = self._positions.get(name, (position, 0.0))
            if now - then < 0.02:
                continue
            if abs(position - before) > STILL * (now - then) and then:
                self.moved_at = now
            self._positions[name] = (position, now)


def process_of(supervisor: int, node: str) -> int:
    """The process of a node, by its command line."""
    for pid in children().get(supervisor, ()):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if f"{node}_node".encode() in line:
            return pid
    raise ProcessLookupError(node)


def go(client: CellClient, place: dict[str, float], moving: threading.Event | None = None) -> None:
    """Plan a motion from where the robot is, and execute it. moving: set when it has come some way."""
    plan = client.plan_motion(
        goal_of(joint_goals=[place]), start=StateRef(), options=PlanningOptions(planner="RRTConnect", seed=1)
    )

    def watch(feedback: Any) -> None:
        reached = feedback.progress.reached
        if moving is not None and reached.sec + 1e-9 * reached.nanosec > 0.1:
            moving.set()

    client.execute(plan.trajectory, progress=watch)


class Motion:
    """A motion in a thread of its own; told is when it ended, and how."""

    def __init__(self, client: CellClient, place: dict[str, float]) -> None:
        self.moving = threading.Event()
        self.ended_at = 0.0
        self.error: RobotCellError | None = None
        self.thread = threading.Thread(target=self._run, args=(client, place), daemon=True)
        self.thread.start()

    def _run(self, client: CellClient, place: dict[str, float]) -> None:
        try:
            go(client, place, self.moving)
        except RobotCellError as error:
            self.error = error
        self.ended_at = time.monotonic()
        self.moving.set()


def recover(client: CellClient, robot: Robot, supervisor: int, node: str, worker: bool) -> tuple[float, ...]:
    """Kill a process while the robot moves. Seconds until the error, until rest, and until the next motion moves."""
    for place in PLACES:  # one of them is where it is already
        motion = Motion(client, place)
        motion.moving.wait(GIVE_UP)
        if motion.thread.is_alive():
            break
    pid = process_of(supervisor, node)
    pids = below(pid, children()) if worker else [pid]
    for each in pids:
        os.kill(each, signal.SIGKILL)
    killed = time.monotonic()
    errors: list[str] = []
    motion.thread.join(GIVE_UP)
    told = motion.ended_at - killed if motion.error else float("nan")
    if motion.error:
        errors.append(f"{told:.1f}: {motion.error}")
    moved, rest = float("nan"), robot.moved_at - killed
    while time.monotonic() - killed < GIVE_UP:
        began = time.monotonic()
        motion = Motion(client, PLACES[0] if place is PLACES[1] else PLACES[1])
        motion.moving.wait(GIVE_UP)
        if motion.error is None:
            moved = time.monotonic() - killed
            motion.thread.join(GIVE_UP)
            break
        errors.append(f"{time.monotonic() - killed:.1f}: {motion.error}"[:200])
        time.sleep(max(0.1 - (time.monotonic() - began), 0.0))
    print(f"  {node}: error {told:.2f} rest {rest:.2f} moves {moved:.2f}", *errors[:6], sep="\n      ", flush=True)
    return told, rest, moved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[*NODES, "planning.workers", "simulated_robot.workers"])
    parser.add_argument("--params", type=Path, default=PARAMETERS, help="parameters of the nodes")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="file for the output of the nodes")
    arguments = parser.parse_args()
    results = Results("recovery", 1)
    with own_domain(), arguments.log.open("w") as log:
        command = ["robot_cell", "--cell", str(CELL), "--params", str(arguments.params)]
        supervisor = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            with CellClient("recovery", patience=120.0) as client:
                measure(results, client, supervisor.pid, arguments.kills, arguments.only)
        finally:
            supervisor.send_signal(signal.SIGINT)
            supervisor.wait(60)
    results.finish()


def measure(results: Results, client: CellClient, supervisor: int, kills: int, targets: list[str]) -> None:
    """Kill each process some times; figures of each."""
    robot = Robot(client)
    for place in PLACES:
        while True:
            try:
                go(client, place)
                break
            except RobotCellError as error:  # a busy computer
                print(f"  {error}", flush=True)
    for target in targets:
        node, _, workers = target.partition(".")
        revision = client.scene()[1]
        rows = []
        for _ in range(kills):
            rows.append(recover(client, robot, supervisor, node, bool(workers)))
            time.sleep(6.0)  # a process that ends soon after its start, time and again, is given up
        for name, values in zip(("error", "rest", "moves"), np.array(rows).T, strict=True):
            finite = values[np.isfinite(values)]
            if len(finite):
                results.add(f"{target}.{name}_s_median", float(np.median(finite)))
                results.add(f"{target}.{name}_s_worst", float(finite.max()))
        results.add(f"{target}.revision_kept", float(client.scene()[1] == revision))
        results.add(f"{target}.never_moved_again", float(np.isnan(np.array(rows)[:, 2]).sum()))


if __name__ == "__main__":
    main()
