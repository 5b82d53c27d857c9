"""Whole planning requests by the default planner, from the search to the validated trajectory.

    make bench AREA=request                                      families made here, for a UR5 and a Panda
    make bench AREA=request PROBLEMS=FILE [OPTIONS="--every 3 --planner RRTConnect --engine bullet"]

Each problem has a cell of its own. The first request in it builds the data of its collision checks (figures that end
with `_new`); the second one, with another seed, uses them. Times are of the processor, those of stages of the clock.
All paths are checked at 1/1000 rad by the engine coal, and at 1/50 rad by another one.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time

import numpy as np

from robot_cell_planner import Plan, plan_motion
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.request import MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.timing import TimingOptions

from .planning import UNSOLVABLE, collides, goals_of
from .planning_problems import FAMILIES, Problem, by_robot, own_problems, read_problems
from .results import Results

LIMIT = 300_000  # [states]
COARSE = 0.02  # [rad]
COUNT = 8  # problems of each family
SEED = 1
NEW, AGAIN = TURNS = ("_new", "")  # ends of the names of figures
DEFAULTS = PlanningOptions(state_limit=LIMIT)


@dataclass
class Figures:
    """Times of the requests of a robot."""

    problems: int = 0
    colliding: int = 0
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # [ms]
    stages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # [ms], of the second requests
    proven: int = 0


def request_of(problem: Problem, seed: int, options: PlanningOptions = DEFAULTS) -> MotionRequest:
    options = replace(options, seed=seed)
    return MotionRequest(
        goals_of(problem), problem.group, joints=problem.joints, options=options, timing=TimingOptions()
    )


def planned(problem: Problem, seed: int, options: PlanningOptions = DEFAULTS) -> Plan:
    return plan_motion(problem.cell, problem.state, request_of(problem, seed, options))


def measure(problem: Problem, figures: Figures, options: PlanningOptions) -> None:
    """Plan in a new cell and again; a problem without a solution in the exact model does not count.

    The paths are checked afterwards: the check between both would empty the caches of the processor.
    """
    plans: list[tuple[str, Plan]] = []
    for seed, turn in enumerate(TURNS, start=SEED):
        request = request_of(problem, seed, options)
        began = process_time()
        try:
            plan = plan_motion(problem.cell, problem.state, request)
        except UNSOLVABLE:
            break
        except RobotCellError as error:
            print(f"not solved: {problem.name}, seed {seed}: {error}", flush=True)
        else:
            figures.times[turn].append(1e3 * (process_time() - began))
            plans.append((turn, plan))
        figures.problems += turn == NEW
    for turn, plan in plans:
        figures.colliding += collides(problem, plan.path) or _collides_for(options.engine, problem, plan)
        figures.proven += turn == AGAIN and plan.certified_fraction >= 1.0
        for entry in plan.times if turn == AGAIN else ():
            figures.stages[entry.stage].append(1e3 * entry.seconds)


def _collides_for(engine: str, problem: Problem, plan: Plan) -> bool:
    """Whether another engine than coal, which is slower, finds a collision on a path."""
    if engine == DEFAULTS.engine:
        return False
    checker = CollisionChecker(problem.cell, problem.state, problem.joints, engine=engine)
    return bool(checker.in_collision_batch(densify(plan.path, COARSE)[0]).any())


def report(results: Results, robot: str, figures: Figures) -> None:
    prefix = f"request.{robot}"
    results.add(f"{prefix}.problems", figures.problems)
    results.add(f"{prefix}.colliding", figures.colliding)
    results.add(f"{prefix}.proven", figures.proven)
    for turn in TURNS:
        times = figures.times[turn]
        results.add(f"{prefix}.solved_share{turn}", len(times) / max(figures.problems, 1))
        if times:
            results.add(f"{prefix}.whole_median_ms{turn}", float(np.median(times)))
            results.add(f"{prefix}.whole_p95_ms{turn}", float(np.percentile(times, 95)))
    for stage, times in figures.stages.items():
        results.add(f"{prefix}.{stage}_median_ms", float(np.median(times)))
        results.add(f"{prefix}.{stage}_p95_ms", float(np.percentile(times, 95)))


def problems_of(file: Path | None, every: int) -> dict[str, Sequence[Problem]]:
    """Return the problems by robot."""
    if file is not None:
        problems = read_problems(file)[::every]
        return dict(by_robot(problems))
    return {
        arm: [problem for family in FAMILIES for problem in own_problems(arm, family, COUNT, SEED)]
        for arm in ("ur5", "panda")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path, help="a file of problems, instead of the families made here")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th problem")
    parser.add_argument("--planner", default=DEFAULTS.planner)
    parser.add_argument("--engine", default=DEFAULTS.engine)
    arguments = parser.parse_args()
    options = replace(DEFAULTS, planner=arguments.planner, engine=arguments.engine)
    names = [arguments.problems.stem] if arguments.problems else []
    names += [name for name in (options.planner, options.engine) if name not in (DEFAULTS.planner, DEFAULTS.engine)]
    results = Results("_".join(("request", *names)), SEED)
    for robot, problems in problems_of(arguments.problems, arguments.every).items():
        figures = Figures()
        measure(problems[0], Figures(), options)  # loads and compiles
        for problem in problems[1:]:
            measure(problem, figures, options)
        report(results, robot, figures)
    results.finish()


if __name__ == "__main__":
    main()
