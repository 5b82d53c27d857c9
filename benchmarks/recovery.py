"""Time until a cell moves again after one of its processes was killed while the robot moved.

tools/with_environment python -m benchmarks.recovery [--kills 20] [--only planning planning.worker ...]

The supervisor runs all nodes of the demo cell, and starts them again. A client moves the robot to and fro; during a
motion a process is killed (SIGKILL): a node, or a process that a node has started. The client then plans and executes
until a motion has begun. The targets take turns, so that each has run for a while when it is killed again.

Figures of each target: `error_s`, until the client had an error, if the motion did not succeed in spite of the kill;
`rest_s`, from the last command before the next motion until the joints were at rest; `moves_s`, from the kill until the
next motion had begun; whether the revision of the scene was kept. `load` is the load average of the machine at the
kills.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from robot_cell_planner.msg import (
    BodyModel,
    BodyState,
    Geometry,
    PlanningOptions,
    RobotCell,
    RobotCellState,
    SceneChange,
    Shape,
    StateRef,
)
from robot_cell_planner.nodes.client.client import CellClient, make_goal
from robot_cell_planner.nodes.common.node import reliable, sensor

from .memory import below, children
from .results import Results
from .scene_node import own_domain

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
PARAMETERS = CELL.parents[1] / "parameters.yaml"
NODES = ("scene", "kinematics", "collision", "planning", "execution", "simulated_robot")
# Processes of nodes by words of their command lines, the first that fits.
PARTS = {
    "resource_tracker": "tracker",
    "simulation.worker": "physics",
    "mesh.worker": "mesh_worker",
    "forkserver": "server",
}
WORKER = "planning.worker"  # forked from the server, and alike by its command line
MESHES = "scene.mesh_worker"
TARGETS = (*NODES, "planning.server", "planning.tracker", WORKER, "simulated_robot.physics", MESHES)
PLACES = ({"shoulder_pan_joint": 1.2}, {"shoulder_pan_joint": -0.4})
STILL = 0.002  # [rad/s]
SILENT = 0.2  # [s] between two messages, after which a change of position does not count as motion
GIVE_UP = 90.0  # [s]
WARM_UP_ATTEMPTS = 5
BEGUN = 0.1  # [s] after which a motion is under way


class Robot:
    """Times at which commands arrived and the joints moved, on the steady clock."""

    def __init__(self, client: CellClient) -> None:
        self._commanded: list[float] = []
        self._moved: list[float] = []
        self._positions: dict[str, tuple[float, float]] = {}
        self._client = client
        node = client.node
        client._made(lambda: node.create_subscription(JointState, "joint_states", self._take_states, sensor(10)))
        client._made(lambda: node.create_subscription(JointState, "joint_commands", self._take_command, reliable(100)))

    def _take_command(self, message: JointState) -> None:
        self._commanded.append(time.monotonic())

    def _take_states(self, message: JointState) -> None:
        now = time.monotonic()
        for name, position in zip(message.name, message.position, strict=True):
            before, then = self._positions.get(name, (position, -math.inf))
            if now - then < 0.02:
                continue
            if now - then < SILENT and abs(position - before) > STILL * (now - then):
                self._moved.append(now)
            self._positions[name] = (position, now)

    def rest(self, until: float) -> float:
        """Seconds from the last command before a moment until the joints moved for the last time before it; 0 if they
        were at rest by then."""
        commands = [moment for moment in self._commanded if moment < until]
        moved = [moment for moment in self._moved if moment < until]
        return max(max(moved, default=-math.inf) - max(commands, default=math.inf), 0.0)

    def forget(self) -> None:
        """Discard what has been received."""
        self._commanded, self._moved = [], []


class Motion:
    """A motion from the position of the robot, planned and executed in a thread of its own.

    moving: set when it has begun, or has failed. sent_at: when the plan was sent. ended_at, error: how it ended.
    """

    def __init__(self, client: CellClient, place: dict[str, float], begun: float = 0.0) -> None:
        self.moving = threading.Event()
        self.sent_at = self.ended_at = math.inf
        self.error: Exception | None = None
        self._begun = begun
        self.thread = threading.Thread(target=self._run, args=(client, place), daemon=True)
        self.thread.start()

    def _run(self, client: CellClient, place: dict[str, float]) -> None:
        options = PlanningOptions(planner="RRTConnect", seed=1)
        try:
            plan = client.plan_motion(make_goal([place]), start=StateRef(), options=options)
            self.sent_at = time.monotonic()
            client.execute(plan.trajectory, progress=self._follow)
        except Exception as error:
            self.error = error
        self.ended_at = time.monotonic()
        self.moving.set()

    def _follow(self, feedback: Any) -> None:
        reached = feedback.progress.reached
        if reached.sec + 1e-9 * reached.nanosec > self._begun:
            self.moving.set()


def command_line(pid: int) -> str:
    """Of a process; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def processes(supervisor: int) -> dict[str, list[int]]:
    """The processes of a cell, by their role: a node, or a node and its part."""
    found: dict[str, list[int]] = {}
    by_parent = children()
    for pid in by_parent.get(supervisor, ()):
        line = command_line(pid)
        node = next((name for name in NODES if f"{name}_node" in line), None)
        if node is None:
            continue
        found.setdefault(node, []).append(pid)
        own = by_parent.get(pid, [])
        for part in below(pid, by_parent):
            line = command_line(part)
            kind = next((kind for words, kind in PARTS.items() if words in line), "other")
            kind = "worker" if kind == "server" and part not in own else kind
            found.setdefault(f"{node}.{kind}", []).append(part)
    return found


@dataclass
class Trials:
    """Results of the kills of a target."""

    error: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    never: int = 0
    revisions_lost: int = 0

    def report(self, target: str, results: Results) -> None:
        """Add figures."""
        for name, values in (("error_s", self.error), ("rest_s", self.rest), ("moves_s", self.moves)):
            if values:
                results.add(f"{target}.{name}_median", float(np.median(values)))
                results.add(f"{target}.{name}_worst", max(values))
        results.add(f"{target}.kills", len(self.load))
        results.add(f"{target}.kills_without_error", len(self.load) - len(self.error))
        results.add(f"{target}.revisions_lost", self.revisions_lost)
        results.add(f"{target}.never_moved_again", self.never)
        results.add(f"{target}.load_median", float(np.median(self.load)))


class Attack:
    """Kills processes of a cell while its robot moves."""

    def __init__(self, client: CellClient, supervisor: int, folder: Path) -> None:
        self._client = client
        self._supervisor = supervisor
        self._folder = folder
        self._robot = Robot(client)
        self._rng = random.Random(1)
        self._place = 0
        self._meshes = 0
        self.trials: dict[str, Trials] = {}

    def warm_up(self) -> None:
        """Move to and fro, until both motions have succeeded. Raises RuntimeError after several failures."""
        for _ in PLACES:
            for _ in range(WARM_UP_ATTEMPTS):
                motion = self._motion()
                if motion.error is None and self._ended(motion):
                    break
                print(f"  {motion.error}", flush=True)
            else:
                raise RuntimeError(f"the robot did not move in {WARM_UP_ATTEMPTS} attempts; see --log")

    def _motion(self, begun: float = 0.0) -> Motion:
        """A motion to the other place; returns when it has begun, or has failed."""
        self._place = 1 - self._place
        motion = Motion(self._client, PLACES[self._place], begun)
        motion.moving.wait(GIVE_UP)
        return motion

    @staticmethod
    def _ended(motion: Motion) -> bool:
        motion.thread.join(GIVE_UP)
        return motion.error is None

    def kill(self, target: str) -> None:
        """Kill a process, one of those if there are several of the kind, and record the recovery."""
        if target == MESHES:
            self._read_mesh()
        revision = self._client.scene()[1]
        motion = self._moving()
        pids = processes(self._supervisor).get(target, [])
        trials = self.trials.setdefault(target, Trials())
        if not pids:
            print(f"  {target}: there is none", flush=True)
            self._ended(motion)
            return
        with suppress(ProcessLookupError):
            os.kill(self._rng.choice(pids), signal.SIGKILL)
        killed = time.monotonic()
        trials.load.append(os.getloadavg()[0])
        self._record(trials, motion, killed, target)
        trials.revisions_lost += self._client.scene()[1] != revision

    def _moving(self) -> Motion:
        """A motion that is under way."""
        while True:
            self._robot.forget()
            motion = self._motion(BEGUN)
            if motion.error is None and motion.thread.is_alive():
                return motion
            print(f"  before the kill: {motion.error}", flush=True)

    def _record(self, trials: Trials, motion: Motion, killed: float, target: str) -> None:
        """Record the end of a motion, and the beginning of the next."""
        lines: list[str] = []
        if not self._ended(motion):
            trials.error.append(motion.ended_at - killed)
            lines.append(f"{motion.ended_at - killed:.2f}: {motion.error}"[:200])
        sent_at, moves = math.inf, math.nan
        while math.isnan(moves) and time.monotonic() - killed < GIVE_UP:
            motion = self._motion()
            sent_at = min(sent_at, motion.sent_at)
            if motion.error is None and motion.moving.is_set():
                moves = time.monotonic() - killed
            else:
                lines.append(f"{time.monotonic() - killed:.2f}: {motion.error}"[:200])
        rest = self._robot.rest(sent_at)
        trials.rest.append(rest)
        if math.isnan(moves):
            trials.never += 1
        else:
            trials.moves.append(moves)
        print(f"  {target}: rest {rest:.2f} moves {moves:.2f}", *lines[:6], sep="\n      ", flush=True)
        self._ended(motion)

    def _read_mesh(self) -> None:
        """Have the scene node read a mesh that it has not read before, for which it starts a process."""
        self._meshes += 1
        path = self._folder / f"mesh_{self._meshes}.obj"
        size = random.SystemRandom().uniform(0.01, 0.1)  # different from those of other runs, too
        corners = ((0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size))
        lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {f}" for f in ("1 3 2", "1 2 4", "1 4 3", "2 3 4")]
        path.write_text("\n".join(lines) + "\n")
        shape = Shape(geometry=Geometry(type=Geometry.MESH, mesh_uri=path.as_uri()))
        state = BodyState(name="tetrahedron")
        state.pose.position.z, state.pose.orientation.w = 2.0, 1.0
        change = SceneChange(
            operation=SceneChange.ADD,
            models=RobotCell(bodies=[BodyModel(name="tetrahedron", collision=[shape])]),
            states=RobotCellState(bodies=[state]),
        )
        self._client.apply(change, dry_run=True)


def with_meshes(parameters: Path, folder: Path) -> Path:
    """A file of parameters by which the scene node may read meshes below a folder."""
    text = parameters.read_text()
    own = "/**/scene_node:\n  ros__parameters:\n"
    changed = folder / "parameters.yaml"
    changed.write_text(text.replace(own, f"{own}    resource_folders: ['{folder}']\n"))
    return changed


def run(results: Results, kills: int, targets: Sequence[str], log: Path, parameters: Path) -> None:
    """Kill each target some times; the results are reported also if that is interrupted."""
    with own_domain(), log.open("w") as output, tempfile.TemporaryDirectory() as folder:
        given = with_meshes(parameters, Path(folder))
        command = ["robot_cell", "--cell", str(CELL), "--params", str(given)]
        supervisor = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            with CellClient("recovery", discovery_timeout=120.0) as client:
                attack = Attack(client, supervisor.pid, Path(folder))
                attack.warm_up()
                try:
                    for number in range(kills):
                        print(f"round {number + 1} of {kills}, load {os.getloadavg()[0]:.1f}", flush=True)
                        for target in targets:
                            attack.kill(target)
                finally:
                    for target, trials in attack.trials.items():
                        if trials.load:
                            trials.report(target, results)
        finally:
            supervisor.send_signal(signal.SIGINT)
            supervisor.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=20, help="of each target")
    parser.add_argument("--only", nargs="+", default=TARGETS, metavar="TARGET", help=f"of: {', '.join(TARGETS)}")
    parser.add_argument("--params", type=Path, default=PARAMETERS, help="parameters of the nodes")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="file for the output of the nodes")
    arguments = parser.parse_args()
    results = Results("recovery", 1)
    try:
        run(results, arguments.kills, arguments.only, arguments.log, arguments.params)
    finally:
        results.finish(update=set(arguments.only) != set(TARGETS))


if __name__ == "__main__":
    main()
