"""Both arms planned together: `python -m benchmarks.both_arms [problems] [seed]`.

Problems of families that were not used for tuning, for two UR10, two Pandas, and a UR10 beside a Panda on a rail:

- crossing: both tools begin in front of their robots, one on each side, and end on the other one's side;
- shelf: a rack of boards stands between the robots, and both tools go from one board to another;
- meeting: the tools meet in front of each other, 0.25 m apart, at a random place between the robots.

Each problem is planned by the default planner and, in the same run, by OMPL's RRTConnect with coal's checks alone and
by gestalt_motion_planner, without the rail, where it is installed. All paths are checked at 1/1000
rad by coal. Times are of the processor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from time import process_time

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from robot_cell_planner import (
    CollisionChecker,
    FrameTarget,
    Goals,
    IkOptions,
    MotionRequest,
    PlanningOptions,
    Pose,
    RobotCell,
    RobotCellState,
    TargetMode,
    inverse_kinematics,
    plan_motion,
)
from robot_cell_planner.errors import PlanningError, RobotCellError
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.robot import CompositeGroup, PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.setup_assistant.draft import draft_robot

from .arms import FILES, GROUP, on_rail
from .planning_peers import PEERS, Planner, quiet
from .planning_problems import Problem as ArmProblem
from .results import Results

replace = msgspec.structs.replace
Floats = NDArray[np.float64]
SIDES = ("left", "right")
BOTH = "both"
# Arms on the left and on the right, and the distance of their bases [m].
CELLS = {
    "two_ur10": ("ur10", "ur10", 1.7),
    "two_panda": ("panda", "panda", 1.1),
    "ur10_rail_panda": ("ur10", "rail panda", 1.4),
}
FAMILIES = ("crossing", "shelf", "meeting")
PLANNERS = {"native": ("Automatic", True), "ompl": ("RRTConnect", False)}
LIMIT = 300_000  # [states]
STEP = 0.001  # [rad]
TRIES = 20_000
BOARDS = (0.15, 0.55, 0.95)  # [m] heights


@dataclass(frozen=True)
class Problem:
    """A start state, and joint values to reach."""

    state: RobotCellState
    goal: dict[str, float]


@lru_cache(maxsize=8)
def arm(name: str, side: str) -> Robot:
    """An arm whose names begin with a side."""
    rail, _, arm_name = name.rpartition(" ")
    uri, base, tip = FILES[arm_name]
    found = load_robot(side, uri, prefix=f"{side}/")
    drafted = draft_robot(load_robot(side, uri)).robot.disabled_pairs
    pairs = tuple(replace(pair, first=f"{side}/{pair.first}", second=f"{side}/{pair.second}") for pair in drafted)
    mechanism = on_rail(found.mechanism, 2.0) if rail else found.mechanism
    base, tip = (mechanism.root if rail else f"{side}/{base}"), f"{side}/{tip}"
    variables = tuple(v for joint in mechanism.chain(base, tip) for v in joint.variables)
    name = f"{side}/{GROUP}"
    group = PlanningGroup(name, variables, base_link=base, tip_link=tip)
    return replace(found, mechanism=mechanism, disabled_pairs=pairs, groups=frozendict({name: group}))


def cell_of(name: str, family: str) -> tuple[RobotCell, RobotCellState]:
    """Two robots that face each other along x, and the rack of a family between them."""
    first, second, distance = CELLS[name]
    robots = dict(zip(SIDES, (arm(first, "left"), arm(second, "right")), strict=True))
    bodies, placed = {}, {}
    if family == "shelf":
        boards = tuple(Shape(Box((0.4, 0.9, 0.02)), Pose((0.0, 0.0, height))) for height in BOARDS)
        posts = tuple(Shape(Box((0.04, 0.04, 1.0)), Pose((0.0, y, 0.5))) for y in (-0.43, 0.43))
        bodies["rack"] = RigidBody("rack", (*boards, *posts))
        placed["rack"] = BodyState()
    group = CompositeGroup(BOTH, tuple(f"{side}/{GROUP}" for side in SIDES))
    cell = RobotCell(name, frozendict(robots), bodies=frozendict(bodies), groups=frozendict({BOTH: group}))
    poses = {
        "left": Pose((-distance / 2, 0.0, 0.0)),
        "right": Pose.from_rpy((distance / 2, 0.0, 0.0), (0.0, 0.0, np.pi)),
    }
    state = replace(cell.default_state(), bodies=frozendict(placed), base_poses=frozendict(poses))
    fixed = {v: cell.variables[v].limits for v in cell.variables if v not in cell.group(BOTH).variables}
    state = state.with_configuration({v: 0.5 * (limits.lower + limits.upper) for v, limits in fixed.items()})
    return cell, state


class Sampler:
    """Random free configurations of both arms whose tools are at the places of a family."""

    def __init__(self, cell: RobotCell, state: RobotCellState, generator: np.random.Generator) -> None:
        self.cell, self.state, self.generator = cell, state, generator
        self.names = cell.group(BOTH).variables
        self.checker = CollisionChecker(cell, state, self.names)
        limits = [cell.variables[name].limits for name in self.names]
        self.lower = np.array([max(limit.lower, -np.pi) for limit in limits])
        self.upper = np.array([min(limit.upper, np.pi) for limit in limits])

    def near(self, family: str, side: float) -> dict[str, float]:
        """Both tools at a place of a family; side: sign of y of the left tool."""
        for _ in range(TRIES):
            targets = {}
            for name, sign in zip(SIDES, (side, -side), strict=True):
                x = (-1.0 if name == "left" else 1.0) * self.generator.uniform(0.1, 0.25)
                y, z = sign * self.generator.uniform(0.1, 0.35), self.generator.uniform(0.3, 0.8)
                if family == "shelf":
                    z = self.generator.choice(BOARDS[:2]) + 0.2
                yaw = 0.0 if name == "left" else np.pi
                targets[name] = self.target(Pose.from_rpy((x, y, z), (0.0, np.pi / 2, yaw)))
            found = self.solved(targets)
            if found is not None:
                return found
        raise RuntimeError(f"no {family} configuration in {TRIES} tries")

    def meeting(self) -> dict[str, float]:
        """The tools face each other, 0.25 m apart."""
        for _ in range(TRIES):
            x, y = self.generator.uniform(-0.1, 0.1), self.generator.uniform(-0.35, 0.35)
            z = self.generator.uniform(0.3, 0.8)
            left = Pose.from_rpy((x - 0.125, y, z), (0.0, np.pi / 2, 0.0))
            right = Pose.from_rpy((x + 0.125, y, z), (0.0, np.pi / 2, np.pi))
            found = self.solved({"left": self.target(left), "right": self.target(right)})
            if found is not None:
                return found
        raise RuntimeError(f"no meeting in {TRIES} tries")

    def target(self, pose: Pose) -> FrameTarget:
        """A pose of the tool, turned about its axis at random."""
        turn = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, self.generator.uniform(-np.pi, np.pi)))
        return FrameTarget(pose=pose @ turn, mode=TargetMode.ROBOT)

    def solved(self, targets: dict[str, FrameTarget]) -> dict[str, float] | None:
        """A random free solution for both tools; None if there is none."""
        found: dict[str, float] = {}
        for side, target in targets.items():
            group = f"{side}/{GROUP}"
            start = dict(zip(self.names, self.generator.uniform(self.lower, self.upper).tolist(), strict=True))
            state = self.state.with_configuration(start)
            try:
                solutions = inverse_kinematics(self.cell, state, target, group, IkOptions(max_solutions=8)).solutions
            except RobotCellError:
                return None
            chosen = solutions[self.generator.integers(len(solutions))]
            found |= dict(zip(self.cell.group(group).variables, chosen.tolist(), strict=True))
        q = np.array([found[name] for name in self.names])
        return None if self.checker.in_collision(q) else found


def problems(name: str, family: str, count: int, seed: int) -> Iterator[tuple[RobotCell, Problem]]:
    """Problems of a family."""
    cell, state = cell_of(name, family)
    sampler = Sampler(cell, state, np.random.default_rng(seed))
    for _ in range(count):
        start = sampler.near("crossing" if family == "meeting" else family, 1.0)
        goal = sampler.meeting() if family == "meeting" else sampler.near(family, -1.0)
        yield cell, Problem(state.with_configuration(start), goal)


def gestalt(cell: RobotCell, problem: Problem, family: str) -> Planner | None:
    """Return gestalt_motion_planner for a problem; None where it is not installed."""
    joints = cell.group(BOTH).variables
    goal = tuple(problem.goal[joint] for joint in joints)
    with quiet():
        return PEERS["gestalt"](ArmProblem(family, family, BOTH, joints, cell, problem.state, (goal,)))


def collides(cell: RobotCell, problem: Problem, path: Floats) -> bool:
    checker = CollisionChecker(cell, problem.state, cell.group(BOTH).variables)
    counts = np.maximum(1, np.ceil(np.abs(np.diff(path, axis=0)).max(axis=1) / STEP).astype(int))
    rows = [
        a + (b - a) * s for a, b, n in zip(path[:-1], path[1:], counts, strict=True) for s in np.linspace(0.0, 1.0, n)
    ]
    return bool(checker.in_collision_batch(np.array(rows)).any())


def main(count: int = 20, seed: int = 1) -> None:
    results = Results("both_arms", seed)
    for name in CELLS:
        for family in FAMILIES:
            times: dict[str, list[float]] = {planner: [] for planner in (*PLANNERS, "gestalt")}
            solved, colliding, proven = dict.fromkeys(times, 0), dict.fromkeys(times, 0), 0
            # The first problem is not counted: it loads and compiles.
            for number, (cell, problem) in enumerate(problems(name, family, count + 1, seed), start=-1):
                peer = gestalt(cell, problem, family) if name != "ur10_rail_panda" else None
                if peer is not None:
                    began = process_time()
                    with quiet():
                        path = peer(max(number, 0))
                    if number >= 0 and path is not None:
                        times["gestalt"].append(1e3 * (process_time() - began))
                        solved["gestalt"] += 1
                        colliding["gestalt"] += collides(cell, problem, path)
                for planner, (named, certify) in PLANNERS.items():
                    options = PlanningOptions(seed=max(number, 0), planner=named, state_limit=LIMIT, certify=certify)
                    request = MotionRequest(Goals((problem.goal,)), BOTH, options=options, timing=None)
                    began = process_time()
                    try:
                        plan = plan_motion(cell, problem.state, request)
                    except PlanningError:
                        continue
                    if number < 0:
                        continue
                    times[planner].append(1e3 * (process_time() - began))
                    solved[planner] += 1
                    proven += planner == "native" and plan.certified_fraction == 1.0
                    colliding[planner] += collides(cell, problem, plan.path)
            key = f"{name}.{family}"
            results.add(f"{key}.problems", count)
            results.add(f"{key}.native.proven", proven)
            for planner in [planner for planner in times if planner in PLANNERS or times[planner]]:
                results.add(f"{key}.{planner}.solved", solved[planner])
                results.add(f"{key}.{planner}.colliding", colliding[planner])
                if times[planner]:
                    results.add(f"{key}.{planner}.median_ms", float(np.median(times[planner])))
                    results.add(f"{key}.{planner}.p95_ms", float(np.percentile(times[planner], 95)))
    results.finish()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
