"""Certified motions and the planners on them: completeness, speed.

    make bench AREA=motions                                  spheres, edges, completeness, plans: six arms, some minutes
    make bench AREA=motions PROBLEMS=FILE [OPTIONS="--every 5 --seeds 3 --only plans"]

Correctness of certificates: `make bench AREA=audit`, which shares no code with the library.
Completeness: see `motion_completeness`.
Speed: medians of the processor time of this thread, which depends less on the load of the machine; the sampled check
uses the same kernels, every 1/32 rad. Plans: see `motion_plans`; problems whose ends collide or are beyond limits are
not counted.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np

from robot_cell_planner.collision.certification._kernels.schedule import FREE, certify_straight, check_boxes
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.sphere_model.report import prepare_sphere_models

from .motion_cells import KINDS, ROBOTS, cell_with
from .motion_completeness import completeness
from .motion_free_states import free_states
from .motion_plans import certified_search, problems_of_arms
from .planning_problems import by_robot, read_problems
from .results import Results

SEED = 1
IN_A_CELL, IN_A_PROBLEM = 150, 40  # random motions


def sphere_models(results: Results) -> None:
    """Spheres of each arm, and the time to read them from disk or compute them."""
    for name in ROBOTS:
        cell, state = cell_with(name, "held", SEED)
        report = prepare_sphere_models(cell)
        results.add(f"cover.{name}.spheres", report.spheres)
        results.add(f"cover.{name}.seconds_s", report.seconds)
        checker = CollisionChecker(cell, state, group="")
        MotionCertifier(checker)
        began = perf_counter()
        MotionCertifier(checker).packed()
        results.add(f"cover.{name}.certifier_ms", 1e3 * (perf_counter() - began))


def edges(results: Results) -> None:
    """Edges of one radian: certified, and sampled every 1/32 rad with the same kernels."""
    for name in ROBOTS:
        cell, state = cell_with(name, "tool", SEED)
        checker = CollisionChecker(cell, state, group="")
        certifier = MotionCertifier(checker)
        scene, work = certifier.packed()
        rng = np.random.default_rng(SEED)
        proven: list[float] = []
        sampled: list[float] = []
        for _ in range(4000):
            start = rng.uniform(-2.5, 2.5, len(checker.variables))
            step = rng.normal(size=len(start))
            end = start + step / np.abs(step).max()
            middles = start + (np.arange(32)[:, None] + 0.5) / 32.0 * (end - start)
            nothing, facts = np.zeros_like(middles), np.zeros(3)
            began = thread_time()
            clear = check_boxes(scene.address, work.address, middles, nothing, facts).max() == 0.0
            middle = thread_time()
            free = certify_straight(scene.address, work.address, start, end, COARSE, facts) == FREE
            ended = thread_time()
            if clear and free:
                sampled.append(middle - began)
                proven.append(ended - middle)
        results.add(f"edge.{name}.certified_us", 1e6 * float(np.median(proven)))
        results.add(f"edge.{name}.sampled_us", 1e6 * float(np.median(sampled)))
        results.add(f"edge.{name}.ratio", float(np.median(proven) / np.median(sampled)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=Path, help="file of planning problems, instead of those made here")
    parser.add_argument("--every", type=int, default=1, help="take every n-th problem")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("completeness", "free_states", "plans"), help="this part alone")
    options = parser.parse_args()
    area = f"motions_{options.problems.stem}" if options.problems else "motions"
    alone = options.only in ("completeness", "free_states")
    results = Results(f"{area}_{options.only}" if alone else area, SEED)
    if options.only is None and not options.problems:
        sphere_models(results)
        edges(results)
    if options.only in (None, "completeness"):
        if options.problems:
            made = read_problems(options.problems)[:: options.every]
            cells = [CollisionChecker(problem.cell, problem.state, problem.joints) for problem in made]
            completeness(results, options.problems.stem, cells, IN_A_PROBLEM)
        else:
            for name in ROBOTS:
                cells = [CollisionChecker(*cell_with(name, kind, SEED), group="") for kind in KINDS]
                completeness(results, name, cells, IN_A_CELL)
    if options.only in (None, "free_states") and not options.problems:
        for name in ROBOTS:
            free_states(results, name)
    if options.only in (None, "plans"):
        made = read_problems(options.problems) if options.problems else problems_of_arms(ROBOTS, 3)
        for robot, problems in by_robot(made[:: options.every]).items():
            certified_search(results, robot, problems, options.seeds)
    results.finish()


if __name__ == "__main__":
    main()
