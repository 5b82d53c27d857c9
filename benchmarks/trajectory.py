"""Figures of timing: 2,000 paths of five arms, smooth traversal compared with stopping at each waypoint and, where
installed, with TOPP-RA and gestalt_motion_planner's smoothen_path.

Everything is checked at ten times the sampling: limits, distance to the path, and, for paths in the cell of the
demonstration, collisions. TOPP-RA times the geometry of the smooth motion without a jerk limit: a lower bound.

    python -m benchmarks.trajectory [paths of each arm]
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.trajectory.blended import SmoothOptions, smooth
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimedMotion, TimingOptions, stop_at_waypoints

from .arms import GROUP, arm
from .collision_peers import GROUP as PEER
from .planning_peers import gestalt_cell
from .planning_problems import Problem
from .results import Results

Array = NDArray[np.float64]
SEED = 1
ARMS = ("ur5", "ur10", "panda", "xarm7", "demo")
DEMO = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
PATHS = 400
IN_CELL = 100
WITH_TOPPRA = 100
WITH_GESTALT = 40
PANDA_READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
PERIOD = 0.004
TOLERANCE = 0.1
CHECK_STEP = 0.005
TIMED_POINTS = 10


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PATHS
    results = Results("trajectory", SEED)
    rng = np.random.default_rng(SEED)
    ratios: list[float] = []
    limit_use, deviation = 0.0, 0.0
    lower: list[tuple[float, float, float]] = []
    for name in ARMS:
        limits = _limits(name)
        own: list[float] = []
        for index in range(count):
            path = _path(rng, limits)
            stopping = stop_at_waypoints(path, limits, TimingOptions(period=PERIOD))
            motion = smooth(path, limits, TimingOptions(period=PERIOD), SmoothOptions(TOLERANCE))
            own.append(motion.curve.duration / stopping.curve.duration)
            limit_use = max(limit_use, _limit_use(motion, limits))
            deviation = max(deviation, _deviation(motion, path))
            if index < WITH_TOPPRA // len(ARMS) and find_spec("toppra") is not None:
                bound = _toppra(motion, limits)
                lower.append((stopping.curve.duration, motion.curve.duration, bound))
        ratios += own
        results.add(f"{name}_smooth_to_stopping_median", float(np.median(own)))
    results.add("paths", len(ratios))
    results.add("smooth_to_stopping_median", float(np.median(ratios)))
    results.add("smooth_to_stopping_p95", float(np.percentile(ratios, 95)))
    results.add("smooth_to_stopping_max", max(ratios))
    results.add("largest_share_of_a_limit_used", limit_use)
    results.add("largest_distance_from_the_path_rad", deviation)
    if lower:
        table = np.array(lower)
        results.add("toppra_paths", len(lower))
        results.add("toppra_to_stopping_median", float(np.median(table[:, 2] / table[:, 0])))
        results.add("smooth_to_toppra_median", float(np.median(table[:, 1] / table[:, 2])))
    _in_cell(results, rng)
    _gestalt(results)
    _speed(results, rng)
    results.finish()


def _limits(name: str) -> MotionLimits:
    cell = arm(name)
    return MotionLimits.of([cell.variables[joint] for joint in cell.group(GROUP).variables])


def _path(rng: np.random.Generator, limits: MotionLimits, points: int = 0) -> Array:
    """A random walk of 3 to 12 waypoints, whose steps are 0.1 to 1 rad of the joint that moves most."""
    count = points or int(rng.integers(3, 13))
    size = float(np.exp(rng.uniform(np.log(0.1), np.log(1.0))))
    lower, upper = np.maximum(limits.lower, -3.0), np.minimum(limits.upper, 3.0)
    path = [rng.uniform(lower, upper)]
    while len(path) < count:
        step = rng.normal(size=len(lower))
        path.append(np.clip(path[-1] + step * size / np.abs(step).max(), lower, upper))
    return np.array(path)


def _fine_times(motion: TimedMotion) -> Array:
    return np.append(np.arange(0.0, motion.curve.duration, PERIOD / 10), motion.curve.duration)


def _limit_use(motion: TimedMotion, limits: MotionLimits) -> float:
    times = _fine_times(motion)
    rates = (limits.velocity, limits.acceleration, limits.jerk)
    return max(float((np.abs(motion.curve.evaluate(times, k)) / rate).max()) for k, rate in enumerate(rates, 1))


def _deviation(motion: TimedMotion, path: Array) -> float:
    """The largest joint distance between the corners and the motion."""
    return float(np.abs(motion.curve.evaluate(motion.passing_times) - path).max())


def _toppra(motion: TimedMotion, limits: MotionLimits) -> float:
    """Duration by TOPP-RA of the same geometry within velocity and acceleration limits [s]."""
    import toppra
    from toppra import algorithm, constraint

    toppra.setup_logging("ERROR")
    times = np.linspace(0.0, motion.curve.duration, 400)
    points = motion.curve.evaluate(times)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    kept = np.concatenate(([True], steps > 1e-9))
    places = np.concatenate(([0.0], np.cumsum(steps[kept[1:]])))
    path = toppra.SplineInterpolator(places, points[kept])
    bounds = [
        constraint.JointVelocityConstraint(np.stack([-limits.velocity, limits.velocity], axis=1)),
        constraint.JointAccelerationConstraint(np.stack([-limits.acceleration, limits.acceleration], axis=1)),
    ]
    found = algorithm.TOPPRA(bounds, path, parametrizer="ParametrizeConstAccel").compute_trajectory()
    return float(found.duration) if found is not None else float("nan")


def _in_cell(results: Results, rng: np.random.Generator) -> None:
    """Free paths in the cell of the demonstration: how many smooth motions collide, at ten times the sampling."""
    cell, state = load_cell(DEMO)
    variables = cell.group().variables
    limits = MotionLimits.of([cell.variables[joint] for joint in variables])
    checker = CollisionChecker(cell, state, variables)
    found, collide, ratios = 0, 0, []
    while found < IN_CELL:
        path = _path(rng, limits, 5)
        dense = np.vstack([np.linspace(a, b, int(np.abs(b - a).max() / CHECK_STEP) + 2) for a, b in pairwise(path)])
        if checker.in_collision_batch(dense).any():
            continue
        found += 1
        blends = SmoothOptions(TOLERANCE, checker.in_collision_batch, step=CHECK_STEP)
        motion = smooth(path, limits, TimingOptions(period=PERIOD), blends)
        ratios.append(motion.curve.duration / stop_at_waypoints(path, limits).curve.duration)
        collide += bool(checker.in_collision_batch(motion.curve.evaluate(_fine_times(motion))).any())
    results.add("in_cell_paths", found)
    results.add("in_cell_motions_in_collision", collide)
    results.add("in_cell_smooth_to_stopping_median", float(np.median(ratios)))


def _gestalt(results: Results) -> None:
    """Free paths of five waypoints of an arm alone, compared with gestalt_motion_planner's smoothen_path with the same
    limits and the same check of collisions; the times of both include that check."""
    whole = arm("panda")
    state = whole.default_state().with_configuration(dict(zip(whole.group(GROUP).variables, PANDA_READY, strict=True)))
    names = whole.group(GROUP).variables
    problem = Problem("trajectory", "panda", GROUP, names, whole, state, ())
    planner = gestalt_cell(problem)
    if planner is None:
        return
    limits, checker = _limits("panda"), CollisionChecker(whole, state, names)
    rng = np.random.default_rng(SEED)
    rows: list[tuple[float, float, float, float, float]] = []
    refused = 0
    while len(rows) + refused < WITH_GESTALT:
        path = _path(rng, limits, 5)
        dense = np.vstack([np.linspace(a, b, int(np.abs(b - a).max() / CHECK_STEP) + 2) for a, b in pairwise(path)])
        if checker.in_collision_batch(dense).any():
            continue
        begin = time.perf_counter()
        blends = SmoothOptions(TOLERANCE, checker.in_collision_batch, step=CHECK_STEP)
        motion = smooth(path, limits, TimingOptions(period=PERIOD), blends)
        between = time.perf_counter()
        try:
            found = planner.smoothen_path(
                object_id=PEER,
                waypoints=path.tolist(),
                dt=PERIOD,
                max_velocity=limits.velocity.tolist(),
                max_acceleration=limits.acceleration.tolist(),
                max_jerk=limits.jerk.tolist(),
            )
        except RuntimeError:
            refused += 1
            continue
        end = time.perf_counter()
        peer = PERIOD * (len(found) - 1)
        stopping = stop_at_waypoints(path, limits, TimingOptions(period=PERIOD)).curve.duration
        rows.append((motion.curve.duration, peer, stopping, between - begin, end - between))
    results.add("gestalt_paths_refused", refused)
    if rows:
        table = np.array(rows)
        results.add("gestalt_paths", len(rows))
        results.add("gestalt_smoothen_path_to_stopping_median", float(np.median(table[:, 1] / table[:, 2])))
        results.add("smooth_to_gestalt_duration_median", float(np.median(table[:, 0] / table[:, 1])))
        results.add("gestalt_smoothen_path_median_ms", 1e3 * float(np.median(table[:, 4])))
        results.add("smooth_with_check_median_ms", 1e3 * float(np.median(table[:, 3])))


def _speed(results: Results, rng: np.random.Generator) -> None:
    """Time for a path of seven joints and ten waypoints, without the collision check."""
    limits = _limits("panda")
    paths = [_path(rng, limits, TIMED_POINTS) for _ in range(100)]
    smooth(paths[0], limits)
    spent = []
    for path in paths:
        begin = time.perf_counter()
        smooth(path, limits, TimingOptions(period=PERIOD), SmoothOptions(TOLERANCE))
        spent.append(1e3 * (time.perf_counter() - begin))
    results.add("smooth_7_joints_10_waypoints_median_ms", float(np.median(spent)))
    results.add("smooth_7_joints_10_waypoints_p95_ms", float(np.percentile(spent, 95)))


if __name__ == "__main__":
    main()
