"""Four robots and 40 bodies, compared with one of the robots and the same bodies: `make bench AREA=four_robots`.

Four arms stand around a point, each facing it, with 40 boxes of 0.06 m to 0.16 m between and around them; the cell of
one robot has the western arm alone. The benchmark measures a check of a random state of all joints, a scene change (one
body is moved, and a checker is made and used), and whole requests, timed and certified: motions of one arm between
random free configurations, and of all four arms together. Times are of the processor.
"""

from __future__ import annotations

import sys
from math import pi
from time import process_time

import msgspec
import numpy as np
from frozendict import frozendict

from robot_cell_planner import (
    CollisionChecker,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    RobotCell,
    RobotCellState,
    plan_motion,
)
from robot_cell_planner.errors import PlanningError
from robot_cell_planner.io.cell_file.reader import read_cell
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.state import BodyState

from .results import FOLDER, Results

BASES = {
    "west": Pose((-0.9, 0.0, 0.0)),
    "east": Pose.from_rpy((0.9, 0.0, 0.0), (0.0, 0.0, pi)),
    "north": Pose.from_rpy((0.0, 0.9, 0.0), (0.0, 0.0, -pi / 2)),
    "south": Pose.from_rpy((0.0, -0.9, 0.0), (0.0, 0.0, pi / 2)),
}
BODIES = 40
STATES, CHANGES = 2000, 40
ONE = "west/manipulator"
LIMIT = 50_000  # [states]


def cell_of(names: tuple[str, ...], seed: int) -> tuple[RobotCell, RobotCellState]:
    """Arms by name, and the bodies, which are the same whatever the arms."""
    entries = [
        f"  {name}: {{urdf: urdf/arm.urdf.xacro, srdf: config/demo/arm.srdf, limits: config/demo/joint_limits.yaml, "
        f"prefix: {name}/, base_pose: {{position: {list(pose.position)}, quaternion: {list(pose.quaternion)}}}}}"
        for name, pose in ((name, BASES[name]) for name in names)
    ]
    root = str(FOLDER.parents[1])
    text = "\n".join(["format: robot_cell/1", "name: arms", "robots:", *entries])
    cell, state = read_cell(text, root, ResourceRoots(folders=(root,)))
    rng = np.random.default_rng(seed)
    bodies, placed = {}, {}
    while len(bodies) < BODIES:
        size, place = rng.uniform(0.06, 0.16, 3), rng.uniform((-1.6, -1.6, 0.1), (1.6, 1.6, 1.5))
        if min(np.linalg.norm(place[:2] - base.position[:2]) for base in BASES.values()) < 0.35:
            continue  # no body at the base of an arm
        name = f"body{len(bodies)}"
        bodies[name] = RigidBody(name, (Shape(Box(tuple(size.tolist()))),))
        placed[name] = BodyState(pose=Pose(tuple(place.tolist())))
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies))
    return cell, msgspec.structs.replace(state, bodies=frozendict(placed))


class Cell:
    """A cell, and random configurations of it."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        self.cell, self.state = cell_of(names, seed)
        self.group = "+".join(f"{name}/manipulator" for name in names)
        self.checker = CollisionChecker(self.cell, self.state, self.cell.group(self.group).variables)
        self.alone = []
        for name in names:
            cell, state = cell_of((name,), seed)
            self.alone.append(CollisionChecker(cell, state, cell.group(f"{name}/manipulator").variables))
        self.rng = np.random.default_rng(seed)
        limits = [self.cell.variables[name].limits for name in self.checker.variables]
        self.lower = np.array([max(limit.lower, -pi) for limit in limits])
        self.upper = np.array([min(limit.upper, pi) for limit in limits])

    def random(self) -> np.ndarray:
        return self.rng.uniform(self.lower, self.upper)

    def free(self) -> dict[str, float]:
        """Return random free joint values of all arms, each of them free by itself among the bodies."""
        while True:
            q = np.concatenate([self._free_alone(checker) for checker in self.alone])
            if not self.checker.in_collision(q):
                return dict(zip(self.checker.variables, q.tolist(), strict=True))

    def _free_alone(self, checker: CollisionChecker) -> np.ndarray:
        lower, upper = (bounds[: len(checker.variables)] for bounds in (self.lower, self.upper))  # equal arms
        while checker.in_collision(q := self.rng.uniform(lower, upper)):
            pass
        return q


def state_checks(cell: Cell) -> float:
    """Return the median time of a check of a state [us]."""
    times = []
    for _ in range(STATES):
        q = cell.random()
        began = process_time()
        cell.checker.in_collision(q)
        times.append(process_time() - began)
    return 1e6 * float(np.median(times))


def scene_changes(cell: Cell) -> float:
    """Return the median time from a moved body to the first check [ms]."""
    times = []
    for index in range(CHANGES):
        name = f"body{index % BODIES}"
        pose = Pose((*cell.rng.uniform(-1.5, 1.5, 2).tolist(), 1.6))
        state = cell.state.with_body(name, msgspec.structs.replace(cell.state.bodies[name], pose=pose))
        began = process_time()
        CollisionChecker(cell.cell, state, cell.checker.variables).in_collision(cell.checker.default)
        times.append(process_time() - began)
    return 1e3 * float(np.median(times))


def requests(cell: Cell, group: str, count: int) -> tuple[list[float], int]:
    """Return the times of the requests that were solved [ms], and how many are certified as a whole."""
    times, proven = [], 0
    for number in range(-1, count):  # the first one is not counted: it loads and compiles
        state = cell.state.with_configuration(cell.free())
        for _ in range(1000):
            goal = cell.free()
            goal = {name: goal[name] for name in cell.cell.group(group).variables}
            end = {**state.configuration, **goal}
            if not cell.checker.in_collision(np.array([end[name] for name in cell.checker.variables])):
                break
        options = PlanningOptions(seed=max(number, 0), state_limit=LIMIT)
        began = process_time()
        try:
            plan = plan_motion(cell.cell, state, MotionRequest(Goals((goal,)), group, options=options))
        except PlanningError:
            continue
        if number >= 0:
            times.append(1e3 * (process_time() - began))
            proven += plan.certified_fraction == 1.0
    return times, proven


def main(count: int = 20, seed: int = 1) -> None:
    results = Results("four_robots", seed)
    one, four = Cell(("west",), seed), Cell(tuple(BASES), seed)
    for name, measure in (("state check, us", state_checks), ("scene change, ms", scene_changes)):
        figures = {"one": measure(one), "four": measure(four)}
        for cell, value in figures.items():
            results.add(f"{cell}.{name}", value)
        results.add(f"growth.{name.partition(',')[0]}", figures["four"] / figures["one"])
    results.add("requests", count)
    for key, cell, group in (("one", one, ONE), ("four.one arm", four, ONE), ("four.all arms", four, four.group)):
        times, proven = requests(cell, group, count)
        results.add(f"{key}.requests solved", len(times))
        results.add(f"{key}.requests proven", proven)
        if times:
            results.add(f"{key}.request, median, ms", float(np.median(times)))
            results.add(f"{key}.request, p95, ms", float(np.percentile(times, 95)))
        results.finish()  # those of all arms together take long


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
