"""Certified motions and the planners on them: soundness, completeness, speed.

    make bench AREA=motions                                  covers, edges, soundness, plans: six arms, some minutes
    tools/with_environment python -m benchmarks.motions --only soundness --motions 20000      half an hour
    tools/with_environment python -m benchmarks.motions --problems FILE [--every 5] [--seeds 3]

Soundness: random motions that were certified free, half of them ending just before something or decided by exact
distances, are looked at again by coal's distances, in steps that these allow, and at most 1/1000 rad near contact.
Completeness: see `motion_completeness`.
Speed: medians of the processor's time of this thread, which a busy machine does not stretch as much; the sampled check
has the same kernels, and looks every 1/32 rad. Plans: see `motion_plans`; problems whose ends collide or are beyond
limits count for nobody.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.motions.certifier import COARSE, MotionCertifier, Verdict
from robot_cell_planner.collision.motions.schedule import FREE, certify_straight, look_at_boxes
from robot_cell_planner.collision.spheres.report import cover_cell
from robot_cell_planner.planning.speed_bounds import speed_bounds

from .motion_cells import KINDS, ROBOTS, cell_with
from .motion_completeness import completeness
from .motion_plans import native, problems_of_arms, requests
from .planning_problems import read_problems
from .results import Results

Floats = NDArray[np.float64]
SEED = 1
FINE = 1e-3  # [rad]
MARGINS = (0.0, 0.0, 0.005, 0.02)
FAR = 0.2  # [m] beyond which a distance need not be known
IN_A_CELL, IN_A_PROBLEM = 150, 40  # random motions
TOLERANCE = 2e-5  # [m]: touching, and what coal's distances are off


def smallest_gap(checker: CollisionChecker, bounds: Floats, start: Floats, end: Floats) -> float:
    """The smallest gap beyond the margins of the cell on a motion, by steps that cannot skip a contact but within
    1/1000 rad [m]."""
    way = np.abs(end - start)
    speed, finest = float(way @ bounds), FINE / max(float(way.max()), 1e-9)
    place, least = 0.0, math.inf
    while True:
        found = checker.distance(start + place * (end - start), max_distance=FAR)
        gap = found.distance - found.margin if found.first else FAR - 0.05
        least = min(least, gap)
        if place >= 1.0:
            return least
        place = min(1.0, place + max(finest, 0.9 * gap / max(speed, 1e-9)))


def soundness(results: Results, motions: int) -> None:
    """Certified motions of all arms and kinds of cells, held against coal."""
    counts = dict.fromkeys(Verdict, 0)
    broken = by_balls = done = near = roomy = roomy_by_balls = 0
    share = -(-motions // (len(ROBOTS) * len(KINDS)))
    for number, (name, kind) in enumerate((name, kind) for name in ROBOTS for kind in KINDS):
        cell, state = cell_with(name, kind, SEED + number)
        checker = CollisionChecker(cell, state, group="")
        certifier, bounds = MotionCertifier(checker), speed_bounds(checker)
        rng = np.random.default_rng(SEED + number)
        checked = 0
        for _ in range(50 * share):
            if checked == share:
                break
            start = rng.uniform(-2.5, 2.5, len(checker.variables))
            step = rng.normal(size=len(start))
            end = start + step * (rng.uniform(0.05, 1.0) / np.abs(step).max())
            margin = MARGINS[int(rng.integers(len(MARGINS)))]
            found = certifier.certify(start, end, margin)
            counts[found.verdict] += 1
            if found.verdict is Verdict.COLLIDING and found.place > 0.05:
                end = start + 0.995 * found.place * (end - start)
                found = certifier.certify(start, end, margin)
                near += found.free
            elif checked % 2 and not found.exact_states:
                continue  # so that half of them are near something
            if not found.free:
                continue
            checked += 1
            by_balls += found.exact_states == 0
            broken += smallest_gap(checker, bounds, start, end) < margin - TOLERANCE
            if checked % 5 == 0 and certifier.certify(start, end, 0.025).free:
                roomy += 1
                roomy_by_balls += certifier.quickly_free(start, end)
        done += checked
        print(f"    {name} {kind}: {checked} certified motions looked at", flush=True)
    results.add("soundness.motions", done)
    results.add("soundness.near_something", near)
    results.add("soundness.colliding", broken)
    results.add("soundness.by_balls_alone_share", by_balls / max(done, 1))
    results.add("completeness.25mm_by_balls_share", roomy_by_balls / max(roomy, 1))
    results.add("completeness.undecided_share", counts[Verdict.UNDECIDED] / sum(counts.values()))


def covers(results: Results) -> None:
    """Balls of each arm, and the time to read them from disk or make them."""
    for name in ROBOTS:
        cell, state = cell_with(name, "held", SEED)
        report = cover_cell(cell)
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
            clear = look_at_boxes(scene.address, work.address, middles, nothing, facts).max() == 0.0
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
    parser.add_argument("--motions", type=int, default=2_400, help="certified motions to look at again")
    parser.add_argument("--only", choices=("soundness", "completeness", "plans"), help="this part alone")
    options = parser.parse_args()
    area = f"motions_{options.problems.stem}" if options.problems else "motions"
    alone = options.only in ("soundness", "completeness")
    results = Results(f"{area}_{options.only}" if alone else area, SEED)
    if options.only is None and not options.problems:
        covers(results)
        edges(results)
    if options.only == "soundness" or (options.only is None and not options.problems):
        soundness(results, options.motions)
    if options.only in (None, "completeness"):
        if options.problems:
            made = read_problems(options.problems)[:: options.every]
            cells = [CollisionChecker(problem.cell, problem.state, problem.joints) for problem in made]
            completeness(results, options.problems.stem, cells, IN_A_PROBLEM)
        else:
            for name in ROBOTS:
                cells = [CollisionChecker(*cell_with(name, kind, SEED), group="") for kind in KINDS]
                completeness(results, name, cells, IN_A_CELL)
    if options.only in (None, "plans"):
        made = read_problems(options.problems) if options.problems else problems_of_arms(ROBOTS, 3)
        native(results, made[:: options.every], options.seeds)
        for planner in ("Automatic", "RRTConnect"):
            requests(results, made[:: options.every], planner)
    results.finish()


if __name__ == "__main__":
    main()
