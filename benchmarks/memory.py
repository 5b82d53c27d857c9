"""Memory and descriptors of the nodes and their workers under mixed requests: whether they remain constant.

tools/with_environment python -m benchmarks.memory [--minutes 60] [--seed 1]

Scene, kinematics, collision and planning nodes serve a client that plans, plans along lines, checks, certifies, solves
inverse kinematics, changes the scene (new bodies among the changes), sends requests that fail and cancels requests. A
figure is the slope of a straight line through the private memory of a process after the warm-up. Workers are replaced
now and then, since some planners react late to a cancellation: figures of the workers of a node together are of those
that exist, and those of single workers are of the ones that lived for long.
"""

from __future__ import annotations

import argparse
import collections
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Duration

from robot_cell_planner import srv
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.msg import (
    BodyModel,
    BodyState,
    CollisionOptions,
    Geometry,
    IkOptions,
    JointPath,
    PlanningOptions,
    RobotCell,
    RobotCellState,
    SceneChange,
    Shape,
    StateRef,
)
from robot_cell_planner.nodes.client.client import CellClient, make_goal, make_pose_target, state_with_joints

from .results import Results
from .scene_node import PACKAGE, own_domain

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
NODES = ("scene", "kinematics", "collision", "planning")
WARM_UP = 0.3  # of the time
SAMPLE_EVERY = 20  # requests
SAMPLES_OF_A_LIFE = 20  # fewer do not show whether a worker grows
MEGA = 1e6
MOST_BODIES = 6


@dataclass
class Use:
    """Usage of a process: private memory [bytes] and descriptors."""

    memory: int
    descriptors: int


def use_of(pid: int) -> Use | None:
    """The usage of a process now; None if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    private = sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return Use(private, descriptors)


def children() -> dict[int, list[int]]:
    """Processes by their parents."""
    found: dict[int, list[int]] = collections.defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError, IndexError):
                parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
                found[parent].append(int(entry))
    return found


def below(pid: int, by_parent: dict[int, list[int]]) -> list[int]:
    """All descendants of a process."""
    found = [pid]
    for known in found:
        found.extend(by_parent.get(known, ()))
    return found[1:]


@dataclass
class Record:
    """Samples of the nodes and of their workers together, by name: hours, requests, megabytes, descriptors."""

    nodes: dict[str, int]
    samples: dict[str, list[tuple[float, int, float, int]]] = field(
        default_factory=lambda: collections.defaultdict(list)
    )

    lives: dict[int, list[tuple[float, int, float]]] = field(default_factory=lambda: collections.defaultdict(list))

    def sample(self, hours: float, requests: int) -> None:
        """Sample all processes."""
        by_parent = children()
        for name, pid in self.nodes.items():
            groups = {name: [pid], f"{name}.workers": below(pid, by_parent)}
            for group, pids in groups.items():
                found = {pid: use for pid in pids if (use := use_of(pid)) is not None}
                uses = list(found.values())
                if group != name:
                    for pid, use in found.items():
                        self.lives[pid].append((hours, requests, use.memory / MEGA))
                if uses:
                    memory = sum(use.memory for use in uses) / MEGA
                    self.samples[group].append((hours, requests, memory, sum(use.descriptors for use in uses)))

    def report(self, results: Results) -> None:
        """Add figures."""
        for name, samples in self.samples.items():
            rows = np.array(samples)
            late = rows[rows[:, 0] >= WARM_UP * rows[-1, 0]]
            per_hour = np.polyfit(late[:, 0], late[:, 2], 1)[0] if len(late) > 2 else math.nan
            per_request = np.polyfit(late[:, 1], late[:, 2], 1)[0] if len(late) > 2 else math.nan
            results.add(f"{name}.after_warm_up_mb", float(late[0, 2]))
            results.add(f"{name}.at_end_mb", float(late[-1, 2]))
            results.add(f"{name}.growth_mb_per_hour", float(per_hour))
            results.add(f"{name}.growth_mb_per_1000_requests", float(1e3 * per_request))
            results.add(f"{name}.descriptors_after_warm_up", float(late[0, 3]))
            results.add(f"{name}.descriptors_at_end", float(late[-1, 3]))
        slopes = [_slope(np.array(life)) for life in self.lives.values() if len(life) >= SAMPLES_OF_A_LIFE]
        if slopes:
            results.add("single_workers", float(len(slopes)))
            results.add("single_workers.growth_mb_per_1000_requests_median", float(1e3 * np.median(slopes)))
            results.add("single_workers.growth_mb_per_1000_requests_worst", float(1e3 * np.max(slopes)))
        results.add("single_workers.largest_mb", max(row[2] for life in self.lives.values() for row in life))


def _slope(rows: np.ndarray) -> float:
    """Megabytes for each request to all nodes, in the later part of a worker's life."""
    late = rows[int(WARM_UP * len(rows)) :]
    return float(np.polyfit(late[:, 1], late[:, 2], 1)[0])


class Load:
    """Sends one request after the other, of random kinds."""

    def __init__(self, client: CellClient, seed: int) -> None:
        self.client = client
        self.rng = random.Random(seed)
        self.scene, self.revision = client.scene()
        group = self.scene.cell.robot.group()
        self.joints = group.variables
        variables = self.scene.cell.variables
        self.ranges = [(variables[name].limits.lower / 2, variables[name].limits.upper / 2) for name in self.joints]
        self.bodies: list[str] = []
        self.added = 0
        self.counts: collections.Counter[str] = collections.Counter()

    def configuration(self) -> dict[str, float]:
        return {name: self.rng.uniform(*bounds) for name, bounds in zip(self.joints, self.ranges, strict=True)}

    def path(self, rows: int) -> JointPath:
        values = [value for _ in range(rows) for value in self.configuration().values()]
        return JointPath(joint_names=list(self.joints), positions=values)

    def start(self) -> StateRef:
        home = self.scene.cell.robot.group().variables
        values = self.scene.state.configuration
        return state_with_joints({name: values[name] for name in home})

    def options(self) -> PlanningOptions:
        planner = self.rng.choice(("", "", "RRTConnect", "PRM", "KPIECE1"))
        return PlanningOptions(
            planner=planner, seed=self.rng.randrange(10**6), state_limit=20_000, time_limit=Duration(sec=20)
        )

    def plan(self) -> None:
        self.client.plan_motion(make_goal([self.configuration()]), start=self.start(), options=self.options())

    def plan_named(self) -> None:
        self.client.plan_motion(
            make_goal(["home"]), start=state_with_joints(self.configuration()), options=self.options()
        )

    def cancelled(self) -> None:
        goal = make_goal([self.configuration()])
        options = self.options()
        options.improvement_states, options.state_limit = -1, 10**8

        self.client.plan_motion(goal, start=self.start(), options=options, timeout=0.4)

    def line(self) -> None:
        target = make_pose_target("above_pick")
        target.pose.position.x += self.rng.uniform(-0.03, 0.03)
        target.pose.position.z += self.rng.uniform(0.0, 0.05)
        start = self.client.plan_motion(make_goal([make_pose_target("above_pick")]), start=self.start())
        names, values = start.path.joint_names, start.path.positions
        end = dict(zip(names, values[-len(names) :], strict=True))
        self.client.plan_cartesian(target, start=state_with_joints(end))

    def check(self) -> None:
        request = srv.CheckStates.Request(configurations=self.path(100), options=CollisionOptions(full_report=True))
        self.client.call_service(srv.CheckStates, "collision/check_states", request)

    def clearance(self) -> None:
        request = srv.ComputeClearance.Request(configurations=self.path(5))
        self.client.call_service(srv.ComputeClearance, "collision/compute_clearance", request)

    def certify(self) -> None:
        request = srv.CertifyMotion.Request(path=self.path(2))
        self.client.call_service(srv.CertifyMotion, "collision/certify_motion", request)

    def inverse(self) -> None:
        target = make_pose_target("above_pick")
        target.pose.position.x += self.rng.uniform(-0.2, 0.2)
        request = srv.InverseKinematics.Request(targets=[target], options=IkOptions())
        self.client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)

    def fail(self) -> None:
        beyond = dict.fromkeys(self.joints, 40.0)
        goal = self.rng.choice((make_goal([beyond]), make_goal(["nowhere"])))
        self.client.plan_motion(goal, start=self.start())

    def add_body(self) -> None:
        if len(self.bodies) >= MOST_BODIES:
            name = self.bodies.pop(0)
            self.client.apply(SceneChange(operation=SceneChange.REMOVE, name=name))
        self.added += 1
        name = f"obstacle_{self.added}"
        size = [round(self.rng.uniform(0.02, 0.1), 4) for _ in range(3)]
        shape = Shape(geometry=Geometry(type=Geometry.BOX, dimensions=size))
        state = BodyState(name=name)
        state.pose.position.x, state.pose.position.y = self.rng.uniform(0.9, 1.3), self.rng.uniform(-0.8, 0.8)
        state.pose.position.z = self.rng.uniform(1.2, 1.6)
        self.client.apply(
            SceneChange(
                operation=SceneChange.ADD,
                models=RobotCell(bodies=[BodyModel(name=name, collision=[shape])]),
                states=RobotCellState(bodies=[state]),
            )
        )
        self.bodies.append(name)

    def move_body(self) -> None:
        change = SceneChange(operation=SceneChange.MOVE, name="workpiece")
        change.pose.position.x, change.pose.position.y = self.rng.uniform(0.5, 0.7), -0.42
        change.pose.position.z, change.pose.orientation.w = 0.726, 1.0
        self.client.apply(change)

    def one(self) -> None:
        """Send a request; that it fails is part of the load."""
        kinds: tuple[tuple[float, Callable[[], None]], ...] = (
            (0.20, self.plan),
            (0.05, self.plan_named),
            (0.05, self.cancelled),
            (0.05, self.line),
            (0.20, self.check),
            (0.10, self.clearance),
            (0.10, self.certify),
            (0.10, self.inverse),
            (0.05, self.fail),
            (0.04, self.add_body),
            (0.06, self.move_body),
        )
        weights, calls = zip(*kinds, strict=True)
        call = self.rng.choices(calls, weights)[0]
        try:
            call()
        except RobotCellError as error:
            self.counts[error.name] += 1
        else:
            self.counts[call.__name__] += 1


@contextmanager
def running(node: str) -> Iterator[int]:
    """Number of a node's process that runs until the end of the block."""
    program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, f"{node}_node")
    cell = ["-p", f"cell_file:={CELL}"] if node in ("scene", "simulated_robot") else []
    process = subprocess.Popen(
        [str(program), "--ros-args", *cell, "--log-level", "error"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--series", type=Path, help="file for all samples")
    arguments = parser.parse_args()
    results = Results("memory", arguments.seed)
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        nodes = {node: stack.enter_context(running(node)) for node in NODES}
        client = stack.enter_context(CellClient("memory", discovery_timeout=120.0))
        load, record = Load(client, arguments.seed), Record(nodes)
        began, requests = time.monotonic(), 0
        while (seconds := time.monotonic() - began) < 60.0 * arguments.minutes:
            if requests % SAMPLE_EVERY == 0:
                record.sample(seconds / 3600.0, requests)
            load.one()
            requests += 1
        record.sample(seconds / 3600.0, requests)
    results.add("minutes", arguments.minutes)
    results.add("requests", float(requests))
    for name, count in sorted(load.counts.items()):
        results.add(f"requests.{name.replace(' ', '_')}", float(count))
    record.report(results)
    if arguments.series:
        arguments.series.write_text(repr(dict(record.samples)))
    results.finish()


if __name__ == "__main__":
    sys.exit(main())
