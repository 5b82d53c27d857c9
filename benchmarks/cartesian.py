"""Cartesian planning: known feasible paths of three arms, times compared with compas_fab, and paths that the graph
finds and following step by step does not.

Times are of whole calls with collision checks, clearance and report, without timing of the motion unless said. `_ms`
are medians of elapsed time, `_cpu_ms` those of the processor's time, which other load on the machine does not increase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from time import perf_counter, process_time
from typing import Any

import numpy as np

from robot_cell_planner.errors import PlanningError
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import PointAxisTarget
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.planning.cartesian.path.curves import Line, deviations, tangents
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints, Waypoints
from robot_cell_planner.planning.cartesian.planner import (
    CartesianOptions,
    CartesianRequest,
    CartesianStrategy,
    plan_cartesian,
)
from robot_cell_planner.planning.problem.plan import Plan
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.trajectory.timing import TimingOptions

from .cartesian_cells import ARMS, KnownPath, PathMaker, arm_cell, group_of
from .cartesian_peers import compas_fab_follow
from .results import Results

SEED = 7
WAYS = 300
RANDOM_LINES = 200
LINES_OF_PEERS = 30
REPEATED = 10  # every so many are planned twice, to compare the bytes
MAX_DEVIATION = 1e-4  # [m], [rad]
FINER = 10
PRINTED_POINTS = 1000
# Centre and height [m] of the printed rings.
PRINTS = {"ur10": (0.85, 0.75), "panda": (0.45, 0.3), "demo": (0.6, 1.1)}


def main() -> None:
    results = Results("cartesian", SEED)
    for arm in ARMS:
        cell, state = arm_cell(arm)
        warm_up(cell, state)
        known_ways(results, arm, cell, state)
        lines_of_30_cm(results, arm, cell, state)
        random_lines(results, arm, cell, state)
        printing(results, arm, cell, state)
    results.finish()


@dataclass(frozen=True)
class Took:
    """Times [ms] of a call: elapsed, and of the processor."""

    elapsed: float
    processor: float


class Clock:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._begin = perf_counter(), process_time()

    def read(self) -> Took:
        return Took(1e3 * (perf_counter() - self._begin[0]), 1e3 * (process_time() - self._begin[1]))


def add_times(results: Results, name: str, times: Sequence[Took]) -> None:
    """Medians of times, and the 95th percentile of those of the processor."""
    results.add(f"{name}_ms", float(np.median([took.elapsed for took in times])))
    results.add(f"{name}_cpu_ms", float(np.median([took.processor for took in times])))
    results.add(f"{name}_p95_cpu_ms", float(np.percentile([took.processor for took in times], 95)))


def plan(
    cell: RobotCell,
    state: RobotCellState,
    maker: PathMaker,
    start: Any,
    waypoints: Waypoints,
    timing: TimingOptions | None = None,
    **options: Any,
) -> tuple[Plan | PlanningError, Took]:
    """The plan, or the error, and the time that it took."""
    at_start = state.with_configuration(dict(zip(maker.variables, start.tolist(), strict=True)))
    request = CartesianRequest(waypoints, group=group_of(cell), options=CartesianOptions(**options), timing=timing)
    clock = Clock()
    try:
        found: Plan | PlanningError = plan_cartesian(cell, at_start, request)
    except PlanningError as error:
        found = error
    return found, clock.read()


def frames(maker: PathMaker, poses: Any) -> FrameWaypoints:
    return FrameWaypoints(tuple(Pose.from_matrix(pose) for pose in poses), mode=maker.mode)


def warm_up(cell: RobotCell, state: RobotCellState) -> None:
    """Kernels and models, that are built once."""
    maker = PathMaker(cell, state, SEED)
    way = next(maker.ways(1, 0.1, 0.1))
    for strategy in CartesianStrategy:
        plan(cell, state, maker, way.start, frames(maker, way.poses), strategy=strategy)


def known_ways(results: Results, arm: str, cell: RobotCell, state: RobotCellState) -> None:
    """Lines and polylines that are feasible: how many are solved, and how far the paths leave them."""
    for kind, segments in (("lines", 1), ("polylines", 3)):
        maker = PathMaker(cell, state, SEED)
        ways = list(islice(maker.ways(segments, 0.05, 0.3), WAYS))
        for strategy in CartesianStrategy:
            solved, times, off, turned, repeated = 0, [], 0.0, 0.0, True
            for number, way in enumerate(ways):
                waypoints = frames(maker, way.poses)
                options = {"strategy": strategy, "max_deviation": MAX_DEVIATION, "max_deviation_angle": MAX_DEVIATION}
                found, took = plan(cell, state, maker, way.start, waypoints, **options)
                times.append(took)
                if isinstance(found, PlanningError):
                    continue
                solved += found.cartesian is not None and found.cartesian.fraction == 1.0
                distance, angle = deviation(maker, way, found)
                off, turned = max(off, distance), max(turned, angle)
                if number % REPEATED == 0:
                    again, _ = plan(cell, state, maker, way.start, waypoints, **options)
                    assert isinstance(again, Plan)
                    same = plan_to_json(again, repeatable=True) == plan_to_json(found, repeatable=True)
                    repeated = repeated and same
            name = f"{arm}_{kind}_{strategy.value}"
            results.add(f"{name}_solved", solved)
            results.add(f"{name}_of", len(ways))
            results.add(f"{name}_same_bytes_again", repeated)
            results.add(f"{name}_deviation_at_{FINER}x_m", off)
            results.add(f"{name}_deviation_at_{FINER}x_rad", turned)
            add_times(results, name, times)


def deviation(maker: PathMaker, way: KnownPath, found: Plan) -> tuple[float, float]:
    """How far a path leaves its lines [m, rad] at FINER times as many places as it has points."""
    report = found.cartesian
    assert report is not None
    lines = [Line.between(a, b) for a, b in pairwise([maker.chain.forward(way.start.copy()), *way.poses])]
    off, turned, begin = 0.0, 0.0, 0.0
    for index, (waypoint, end) in enumerate(zip(report.waypoint_of_point, report.parameter_of_point, strict=True)):
        inside = np.arange(1, FINER + 1) / FINER
        between = found.path[index] + inside[:, None] * (found.path[index + 1] - found.path[index])
        shares = begin + inside * (end - begin)
        line = lines[waypoint]
        poses = maker.chain.forward_many(between)
        distances, angles = deviations(line.poses(shares), tangents(line, shares), poses)
        off, turned = max(off, float(distances.max())), max(turned, float(angles.max()))
        begin = 0.0 if end == 1.0 else end
    return off, turned


def lines_of_30_cm(results: Results, arm: str, cell: RobotCell, state: RobotCellState) -> None:
    """Straight lines of 0.3 m, by both strategies and by compas_fab in turns."""
    maker = PathMaker(cell, state, SEED + 1)
    ways = list(islice(maker.ways(1, 0.3, 0.3), LINES_OF_PEERS))
    peer: Callable[[Any, Any], bool] | None = compas_fab_follow(maker, cell) if arm != "demo" else None
    times: dict[str, list[Took]] = {"greedy": [], "graph": [], "compas_fab": []}
    solved = dict.fromkeys(times, 0)
    for way in ways:
        for strategy in CartesianStrategy:
            found, took = plan(cell, state, maker, way.start, frames(maker, way.poses), strategy=strategy)
            times[strategy.value].append(took)
            solved[strategy.value] += isinstance(found, Plan)
        if peer is not None:
            clock = Clock()
            solved["compas_fab"] += peer(way.start, way.poses[0])
            times["compas_fab"].append(clock.read())
    for name, found_times in times.items():
        if found_times:
            results.add(f"{arm}_line_30_cm_{name}_solved_of_{len(ways)}", solved[name])
            add_times(results, f"{arm}_line_30_cm_{name}", found_times)


def random_lines(results: Results, arm: str, cell: RobotCell, state: RobotCellState) -> None:
    """Lines of 0.3 to 0.6 m in any direction from any free configuration, feasible or not."""
    for kind in ("frame", "axis"):
        maker, rng = PathMaker(cell, state, SEED), np.random.default_rng(SEED)
        counts = dict.fromkeys(("both", "greedy_alone", "graph_alone", "none", "graph_less_far"), 0)
        lengths = {strategy: 0.0 for strategy in CartesianStrategy}
        times: dict[CartesianStrategy, list[Took]] = {strategy: [] for strategy in CartesianStrategy}
        tried = 0
        while tried < RANDOM_LINES:
            q = rng.uniform(maker.lower, maker.upper)
            if maker.checker.in_collision(q):
                continue
            tried += 1
            found = {}
            waypoints = random_waypoint(maker, rng, q, kind)
            for strategy in CartesianStrategy:
                options = {"strategy": strategy, "skip_preplanning_collision_check": True}
                found[strategy], took = plan(cell, state, maker, q, waypoints, **options)
                times[strategy].append(took)
            greedy, graph = found[CartesianStrategy.GREEDY], found[CartesianStrategy.GRAPH]
            if isinstance(greedy, Plan) and isinstance(graph, Plan):
                counts["both"] += 1
                lengths = {s: lengths[s] + f.path_length for s, f in found.items() if isinstance(f, Plan)}
            elif isinstance(greedy, Plan):
                counts["greedy_alone"] += 1
            elif isinstance(graph, Plan):
                counts["graph_alone"] += 1
            else:
                counts["none"] += 1
                counts["graph_less_far"] += fraction_of(graph) < fraction_of(greedy) - 0.01
        for name, count in counts.items():
            results.add(f"{arm}_random_{kind}_lines_{name}", count)
        results.add(
            f"{arm}_random_{kind}_lines_joint_travel_ratio",
            lengths[CartesianStrategy.GRAPH] / lengths[CartesianStrategy.GREEDY],
        )
        for strategy in CartesianStrategy:
            add_times(results, f"{arm}_random_{kind}_lines_{strategy.value}", times[strategy])
            largest = max(took.processor for took in times[strategy])
            results.add(f"{arm}_random_{kind}_lines_{strategy.value}_largest_cpu_ms", largest)


def fraction_of(found: Plan | PlanningError) -> float:
    report = found.cartesian if isinstance(found, Plan) else found.partial.cartesian
    return float(report.fraction)


def random_waypoint(maker: PathMaker, rng: np.random.Generator, q: Any, kind: str) -> Waypoints:
    pose = maker.chain.forward(q.copy())
    direction = rng.normal(size=3)
    pose[:3, 3] += direction / np.linalg.norm(direction) * rng.uniform(0.3, 0.6)
    turned = Pose.from_rpy((0.0, 0.0, 0.0), rng.uniform(-0.4, 0.4, 3).tolist())
    target = Pose.from_matrix(pose) @ turned
    if kind == "frame":
        return FrameWaypoints((target,), mode=maker.mode)
    axis = target.matrix[:3, 2].tolist()
    return PointAxisWaypoints(((target.position, (axis[0], axis[1], axis[2])),), mode=maker.mode)


def printing(results: Results, arm: str, cell: RobotCell, state: RobotCellState) -> None:
    """Ten rings on top of each other, a thousand points with the tool's axis down and its rotation free."""
    maker = PathMaker(cell, state, SEED)
    centre, height = PRINTS[arm]
    around = 2.0 * np.pi * np.arange(PRINTED_POINTS) / 100
    points = [
        ((centre + 0.08 * float(np.cos(angle)), 0.08 * float(np.sin(angle)), height + 2e-5 * index), (0.0, 0.0, -1.0))
        for index, angle in enumerate(around)
    ]
    first = PointAxisTarget(point=points[0][0], axis=points[0][1], mode=maker.mode)
    start = inverse_kinematics(
        cell, state, first, group_of(cell), IkOptions(max_solutions=1), lambda q: not maker.checker.in_collision(q),
        None, maker.variables,
    ).best  # fmt: skip
    waypoints = PointAxisWaypoints(tuple(points[1:]), mode=maker.mode)
    for strategy in CartesianStrategy:
        for name, timing in (("", None), ("_timed", TimingOptions(path_speed=0.05))):
            took = [plan(cell, state, maker, start, waypoints, timing, strategy=strategy) for _ in range(3)]
            label = f"{arm}_printing_{PRINTED_POINTS}_points_{strategy.value}{name}"
            results.add(f"{label}_solved", float(isinstance(took[0][0], Plan)))
            add_times(results, label, [time for _, time in took])


if __name__ == "__main__":
    main()
