"""Batches of planning requests: speed by number of processes, and whether plans equal those of single requests.

    make bench AREA=batch            [--count 400]

Motions of the demonstration's arm between random free configurations, one by one in this process, then on 1, 2, ...
processes up to the number of processors. The figures of a busy computer are not meaningful.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.workers.batch import PlanningJob, PlanningOutcome, local_executor, plan_many

from .results import Results

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
SEED = 1


def made_jobs(count: int) -> list[PlanningJob]:
    """Motions from the state of the cell to random free configurations."""
    cell, state = load_cell(CELL)
    checker = CollisionChecker(cell, state, group="")
    rng = np.random.default_rng(SEED)
    jobs: list[PlanningJob] = []
    while len(jobs) < count:
        q = rng.uniform(-2.0, 2.0, len(checker.variables))
        if not checker.in_collision(q):
            goal = dict(zip(checker.variables, q.tolist(), strict=True))
            options = PlanningOptions(seed=len(jobs), state_limit=100_000)
            jobs.append(PlanningJob(cell, state, MotionRequest(Goals(joint_goals=(goal,)), options=options)))
    return jobs


def content(outcome: PlanningOutcome) -> bytes:
    """All of an outcome except times."""
    if outcome.error is not None:
        return str(outcome.error).encode()
    return plan_to_json(replace(outcome.plan, times=()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    jobs = made_jobs(parser.parse_args().count)
    results = Results("batch", SEED)
    plan_motion(*jobs[0])
    began = perf_counter()
    alone: list[bytes] = []
    for job in jobs:
        try:
            outcome = PlanningOutcome((plan_motion(*job),))
        except RobotCellError as error:
            outcome = PlanningOutcome(error=error)
        alone.append(content(outcome))
    one_by_one = perf_counter() - began
    results.add("batch.count", len(jobs))
    results.add("batch.one_by_one_s", one_by_one)
    for workers in range(1, len(os.sched_getaffinity(0)) + 1):
        with local_executor(workers) as executor:
            list(plan_many(jobs[: 16 * workers], executor, chunk=4))  # the processes have the cell from here on
            began = perf_counter()
            found = [content(outcome) for outcome in plan_many(jobs, executor)]
            taken = perf_counter() - began
        results.add(f"batch.{workers}_processes_s", taken)
        results.add(f"batch.{workers}_processes_speedup", one_by_one / taken)
        results.add(f"batch.{workers}_processes_different", sum(a != b for a, b in zip(alone, found, strict=True)))
    results.finish()


if __name__ == "__main__":
    main()
