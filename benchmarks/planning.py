"""Planning in joint space compared with peers: success, times, lengths and states checked by family.

    make bench AREA=planning                                     families made here, for a UR5 and a Panda
    tools/with_environment python -m benchmarks.planning --problems FILE [--every 3] [--seeds 3] [--peers gestalt]
        [--planner RRTConnect] [--runs runs.csv]

Each path is checked again at 1/1000 rad of the fastest joint. Ours plans, simplifies and verifies; the time of peers
holds their planning and simplification. All take turns on each problem, so that a busy moment affects all of them.
`--runs` writes a table of all single runs, to be plotted or compared.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import (
    GoalInCollisionError,
    JointLimitError,
    MPStartStateInCollisionError,
    RobotCellError,
    StartBeyondLimitsError,
)
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.plan import path_length
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.search.registry import PLANNERS

from .planning_peers import PEERS, Planner, quiet
from .planning_problems import FAMILIES, Problem, own_problems, read_problems
from .results import Results

SEED = 1
FINE = 0.001  # [rad]
# Errors that make a problem unsolvable with the exact model: they are printed, and the problem is not counted.
UNSOLVABLE = (MPStartStateInCollisionError, StartBeyondLimitsError, GoalInCollisionError, JointLimitError)
OURS = "ours"
DEFAULT_PLANNER = PlanningOptions().planner


class Row(NamedTuple):
    """One run, a line of the table of `--runs`; what was not measured is None."""

    planner: str
    family: str
    problem: str
    seed: int
    solved: bool
    total_ms: float | None = None
    length: float | None = None
    states: int | None = None
    proven: float | None = None


@dataclass
class Runs:
    """Results of one planner on a family."""

    tried: int = 0
    total: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    simplify: list[float] = field(default_factory=list)
    verify: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)
    states: list[float] = field(default_factory=list)
    certified_fraction: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)  # our time to the peer's, of the same problem and seed
    colliding: int = 0
    rows: list[Row] = field(default_factory=list)


def goals_of(problem: Problem) -> Goals:
    return Goals(joint_goals=tuple(dict(zip(problem.joints, goal, strict=True)) for goal in problem.goals))


def request_of(problem: Problem, seed: int, planner: str) -> MotionRequest:
    options = PlanningOptions(seed=seed, planner=planner)
    return MotionRequest(goals_of(problem), group=problem.group, joints=problem.joints, options=options, timing=None)


def collides(problem: Problem, path: NDArray[np.float64]) -> bool:
    """Whether a path does at 1/1000 rad."""
    checker = CollisionChecker(problem.cell, problem.state, problem.joints)
    return bool(checker.in_collision_batch(densify(path, FINE)[0]).any())


def warm_up(problem: Problem, planner: str) -> None:
    """Plan once before anything is measured, so that kernels are compiled."""
    try:
        plan_motion(problem.cell, problem.state, request_of(problem, 0, planner))
    except RobotCellError as error:
        print(f"not solved: {problem.name}: {error}", flush=True)


def run_ours(problem: Problem, seed: int, planner: str, runs: Runs) -> float | None:
    """Plan once; seconds that it took, or None. Errors that make the problem unsolvable are raised."""
    runs.tried += 1
    start = perf_counter()
    try:
        plan = plan_motion(problem.cell, problem.state, request_of(problem, seed, planner))
    except UNSOLVABLE:
        raise
    except RobotCellError as error:
        print(f"not solved: {problem.name}, seed {seed}: {error}", flush=True)
        runs.rows.append(Row(planner, problem.family, problem.name, seed, solved=False))
        return None
    runs.total.append(perf_counter() - start)
    times = {entry.stage: entry.seconds for entry in plan.times}
    runs.search.append(times.get("search", 0.0))
    runs.simplify.append(times.get("simplify", 0.0))
    runs.verify.append(times.get("verify", 0.0))
    runs.length.append(plan.path_length)
    runs.states.append(plan.states_checked)
    runs.certified_fraction.append(plan.certified_fraction)
    runs.colliding += collides(problem, plan.path)
    figures = (1e3 * runs.total[-1], plan.path_length, plan.states_checked, plan.certified_fraction)
    runs.rows.append(Row(planner, problem.family, problem.name, seed, True, *figures))
    return runs.total[-1]


def run_peer(problem: Problem, seed: int, name: str, planner: Planner, runs: Runs) -> float | None:
    """Plan once with a peer; seconds that it took, or None."""
    runs.tried += 1
    start = perf_counter()
    with quiet():
        path = planner(seed)
    elapsed = perf_counter() - start
    if path is None:
        runs.rows.append(Row(name, problem.family, problem.name, seed, solved=False))
        return None
    runs.total.append(elapsed)
    runs.length.append(path_length(path))
    runs.rows.append(Row(name, problem.family, problem.name, seed, True, 1e3 * elapsed, runs.length[-1]))
    runs.colliding += collides(problem, path)
    return elapsed


def measure(problems: Sequence[Problem], seeds: int, planner: str, peers: Sequence[str]) -> dict[tuple[str, str], Runs]:
    """Runs by planner and family."""
    found: dict[tuple[str, str], Runs] = defaultdict(Runs)
    warm_up(problems[0], planner)
    for problem in problems:
        with quiet():
            others = {name: made for name in peers if (made := PEERS[name](problem)) is not None}
        try:
            for seed in range(seeds):
                ours = run_ours(problem, seed, planner, found[OURS, problem.family])
                for name, call in others.items():
                    theirs = run_peer(problem, seed, name, call, found[name, problem.family])
                    if ours is not None and theirs is not None:
                        found[name, problem.family].ratio.append(ours / theirs)
        except UNSOLVABLE as error:
            found[OURS, problem.family].tried -= 1
            print(f"unsolvable with the exact model: {problem.name}: {error}", flush=True)
    return found


def report(results: Results, found: dict[tuple[str, str], Runs]) -> None:
    """Success, medians and 95th percentiles, by planner and family, then over all families."""
    names = list(dict.fromkeys(name for name, _ in found))
    for name in names:
        families = [family for other, family in found if other == name]
        for family in [*families, "all"]:
            runs = [found[name, family]] if family != "all" else [found[name, other] for other in families]
            _add(results, f"{name}.{family.replace(' ', '_')}", runs)
    for name in names[1:]:
        if not any(found[name, family].total for other, family in list(found) if other == name):
            continue
        ours, theirs = (results[f"{which}.all.total_ms_median"] for which in (OURS, name))
        results.add(f"ratio.median_to_{name}", ours / theirs)
        pairs = [value for (other, _), runs in found.items() if other == name for value in runs.ratio]
        results.add(f"ratio.paired_to_{name}_median", float(np.median(pairs)))


def _add(results: Results, prefix: str, runs: Sequence[Runs]) -> None:
    solved = sum(len(entry.total) for entry in runs)
    results.add(f"{prefix}.problems_x_seeds", float(sum(entry.tried for entry in runs)))
    results.add(f"{prefix}.solved", float(solved))
    if not solved:
        return
    for quantity in ("search", "simplify", "verify", "total"):
        values = np.concatenate([getattr(entry, quantity) for entry in runs]) * 1e3
        if len(values):
            results.add(f"{prefix}.{quantity}_ms_median", float(np.median(values)))
            results.add(f"{prefix}.{quantity}_ms_p95", float(np.percentile(values, 95)))
    results.add(f"{prefix}.length_median", float(np.median(np.concatenate([entry.length for entry in runs]))))
    states = np.concatenate([entry.states for entry in runs])
    if len(states):
        results.add(f"{prefix}.states_median", float(np.median(states)))
        results.add(f"{prefix}.states_p95", float(np.percentile(states, 95)))
        results.add(
            f"{prefix}.proven_mean", float(np.mean(np.concatenate([entry.certified_fraction for entry in runs])))
        )
    results.add(f"{prefix}.colliding_at_1_1000_rad", float(sum(entry.colliding for entry in runs)))


def write_runs(path: Path, rows: Sequence[Row]) -> None:
    """Write a table of runs as CSV, with a line of names."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
    print(f"written: {path}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path, help="a file of problems, instead of the families made here")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th problem")
    parser.add_argument("--count", type=int, default=5, help="problems of each family that are made")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each problem")
    parser.add_argument("--planner", default=DEFAULT_PLANNER, choices=list(PLANNERS), help="ours")
    parser.add_argument("--runs", type=Path, help="file for a table of all runs (CSV)")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS), help="which of them")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.problems:
        problems = read_problems(options.problems)[:: options.every]
        names = [options.problems.stem]
    else:
        arms = ("ur5", "panda")
        problems = [p for arm in arms for family in FAMILIES for p in own_problems(arm, family, options.count, SEED)]
        names = []
    names += [options.planner] * (options.planner != DEFAULT_PLANNER)
    results = Results("_".join(("planning", *names)), SEED)
    found = measure(problems, options.seeds, options.planner, options.peers)
    report(results, found)
    results.finish()
    if options.runs:
        write_runs(options.runs, [row for runs in found.values() for row in runs.rows])


if __name__ == "__main__":
    main()
