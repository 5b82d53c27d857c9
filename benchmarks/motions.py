"""Certified motions and the native planner: soundness, completeness, speed.

    make bench AREA=motions                                  covers, soundness and speed, on six arms
    tools/with_environment python -m benchmarks.motions --problems FILE [--every 5] [--seeds 3] [--motions 20000]

Soundness: random motions that were certified free, half of them ending just before something, are looked at again by
coal's distances, in steps that these allow, and at most 1/1000 rad near contact. Speed: medians of the processor's time
of this thread, which a busy machine does not stretch as much; the sampled check has the same kernels, and looks every
1/32 rad. With a file of problems the native planner is run on it, and OMPL's RRTConnect with the certificates as its
motion validator; problems whose ends collide or are beyond limits count for nobody.
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
from robot_cell_planner.planning.joint_space import plan_motion
from robot_cell_planner.planning.native import NativeOptions, NativePlanner
from robot_cell_planner.planning.path_tools import densify
from robot_cell_planner.planning.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.space import joint_space, values_beyond
from robot_cell_planner.planning.speed_bounds import speed_bounds
from robot_cell_planner.planning.subspace import subspace_of

from .motion_cells import KINDS, ROBOTS, cell_with
from .planning import UNSOLVABLE
from .planning_problems import Problem, read_problems
from .results import Results

Floats = NDArray[np.float64]
SEED = 1
FINE = 1e-3  # [rad]
MARGINS = (0.0, 0.0, 0.005, 0.02)
FAR = 0.2  # [m] beyond which a distance need not be known
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


def native(results: Results, problems: list[Problem], seeds: int) -> None:
    """The native planner on problems whose ends the exact model finds free; every path is audited by coal."""
    times: dict[str, list[float]] = {}
    lengths: list[float] = []
    tried = solved = colliding = 0
    for problem in problems:
        checker = CollisionChecker(problem.cell, problem.state, problem.joints)
        start = np.array(problem.start)
        goals = [np.array(goal) for goal in problem.goals]
        goals = [goal for goal in goals if not checker.in_collision(goal)]
        space = joint_space(problem.cell, problem.state, problem.group, problem.joints)
        goals = [goal for goal in goals if not values_beyond(space, goal)]
        if checker.in_collision(start) or not goals:
            continue
        certifier = MotionCertifier(checker)
        for seed in range(seeds):
            began = thread_time()
            found = NativePlanner(certifier, subspace_of(space, ())).solve(start, goals, NativeOptions(seed=seed))
            took = thread_time() - began
            tried += 1
            if found.path is None:
                continue
            solved += 1
            times.setdefault(problem.family, []).append(1e3 * took)
            lengths.append(float(np.linalg.norm(np.diff(found.path, axis=0), axis=1).sum()))
            colliding += bool(checker.in_collision_batch(densify(found.path, FINE)[0]).any())
    results.add("native.tried", tried)
    results.add("native.solved", solved)
    results.add("native.paths_colliding", colliding)
    everything = np.concatenate([np.array(found) for found in times.values()])
    for family, found in (("all", everything), *times.items()):
        results.add(f"native.{family}.plan_and_shorten_median_ms", float(np.median(found)))
        results.add(f"native.{family}.plan_and_shorten_p95_ms", float(np.percentile(found, 95)))
    results.add("native.length_mean", float(np.mean(lengths)))


def with_ompl(results: Results, problems: list[Problem]) -> None:
    """OMPL's RRTConnect, its motions accepted where they are proven: search and simplification of whole requests."""
    took: list[float] = []
    proven: list[float] = []
    for problem in problems:
        goals = Goals(joint_goals=tuple(dict(zip(problem.joints, goal, strict=True)) for goal in problem.goals))
        request = MotionRequest(goals, problem.group, problem.joints, PlanningOptions(seed=SEED), timing=None)
        try:
            plan = plan_motion(problem.cell, problem.state, request)
        except UNSOLVABLE:
            continue
        stages = {stage.stage: stage.seconds for stage in plan.times}
        took.append(1e3 * (stages["search"] + stages.get("simplify", 0.0)))
        proven.append(plan.proven)
    results.add("ompl_rrtconnect.plan_and_simplify_median_ms", float(np.median(took)))
    results.add("ompl_rrtconnect.plan_and_simplify_p95_ms", float(np.percentile(took, 95)))
    results.add("ompl_rrtconnect.proven_share_mean", float(np.mean(proven)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=Path, help="file of planning problems")
    parser.add_argument("--every", type=int, default=1, help="take every n-th problem")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--motions", type=int, default=20_000, help="certified motions to look at again")
    options = parser.parse_args()
    results = Results("motions", SEED)
    covers(results)
    edges(results)
    soundness(results, options.motions)
    if options.problems:
        problems = read_problems(options.problems)[:: options.every]
        native(results, problems, options.seeds)
        with_ompl(results, problems)
    results.finish()


if __name__ == "__main__":
    main()
