"""Plans of the library for an audit: their paths and trajectories as numbers, and the segments that the library
certifies in a second check."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.certification.certifier import MotionCertifier, certifiable
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions
from robot_cell_planner.collision.sphere_model.approximation import FINE_PROTRUSION, PROTRUSION
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.collision_checks import MAX_EXACT_STATES
from robot_cell_planner.planning.problem.plan import Plan
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.parameterization import TimingMethod
from robot_cell_planner.trajectory.timing import TimingOptions

from .generate import Generator
from .motion import Motion, hermite

Floats = NDArray[np.float64]
LINE = "along a line"
PLAIN = PlanningOptions(state_limit=60_000)
OPTIONS = {
    "default": PLAIN,
    "RRTConnect": replace(PLAIN, planner="RRTConnect"),
    "escape": replace(PLAIN, max_start_correction=0.3),
    "without certificates": replace(PLAIN, certify=False),
    "bullet": replace(PLAIN, engine="bullet"),
    "extra margin": replace(PLAIN, extra_margin=0.004),
    "improved": replace(PLAIN, planner="RRTConnect", improvement_states=3_000),
    "to the start": PLAIN,
    "to a contact": PLAIN,
    "from a contact": PLAIN,
    LINE: PLAIN,
}
SAME = 1e-9  # fractions of paths that count as equal
HIDDEN = re.compile(r"may overlap by up to ([0-9.e+-]+) mm")
METHODS = (TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.SMOOTH)


@dataclass(frozen=True, eq=False)
class PlanCase:
    """A plan as numbers. certified (n - 1,): segments of the path (n, dof) that have a certificate, empty where nothing
    can certify; proven: the plan's certified fraction, recomputed: the fraction by length of segments that are
    certified, NaN where nothing can be, or nothing moves. escaped: segments that lead out of a collision. hidden: the
    deepest overlap [m] that may be hidden on segments that are not certified, according to warnings of the plan, 0
    without one."""

    kind: str
    names: tuple[str, ...]
    path: Floats
    margin: float
    certified: NDArray[np.bool_]
    certified_fraction: float
    recomputed: float
    escaped: int
    hidden: float
    trajectory: Motion | None


def plans(generator: Generator, count: int, seed: int) -> Iterator[PlanCase]:
    """Up to `count` plans in the cell of a generator, the options in turn."""
    rng = np.random.default_rng([seed, 1])
    names = generator.cell.group(generator.file.group).variables
    kinds = list(OPTIONS)
    for number in range(count):
        kind = kinds[(number + seed) % len(kinds)]
        options = replace(OPTIONS[kind], seed=int(rng.integers(1 << 30)))
        start, goal = generator.ends(kind)
        values = dict(zip(generator.names, start.tolist(), strict=True))
        target = {name: value for name, value in zip(generator.names, goal.tolist(), strict=True) if name in names}
        method = METHODS[number % 2] if number % 3 else None
        timing = None if method is None else TimingOptions(method=method, period=0.02)
        try:
            if kind == LINE:
                found = _line(generator, values, target, timing)
            else:
                request = MotionRequest(Goals((target,)), generator.file.group, options=options, timing=timing)
                found = plan_motion(generator.cell, generator.state.with_configuration(values), request)
        except RobotCellError:
            continue  # no plan, or none that keeps its limits
        yield _case(generator, kind, found, values, options)


def _line(
    generator: Generator, values: Mapping[str, float], target: Mapping[str, float], timing: TimingOptions | None
) -> Plan:
    """A straight line of the tip to its pose at other joint values."""
    cell, state, group = generator.cell, generator.state.with_configuration(values), generator.file.group
    pose = forward_kinematics(cell, state.with_configuration(target), group)
    return plan_cartesian(cell, state, CartesianRequest(FrameWaypoints((pose,)), group, timing=timing))


def _case(generator: Generator, kind: str, plan: Plan, values: dict[str, float], options: PlanningOptions) -> PlanCase:
    held = {name: value for name, value in values.items() if name not in plan.variables}
    trajectory = None
    if plan.trajectory is not None and len(plan.trajectory) > 1:
        timed, nothing = plan.trajectory, dict.fromkeys(held, 0.0)
        rates = [None if rows is None else _with(rows, nothing) for rows in (timed.velocities, timed.accelerations)]
        trajectory = hermite(timed.times, _with(timed.positions, held), *rates)
    certified, share = np.zeros(0, dtype=bool), math.nan
    state, rules = generator.state.with_configuration(values), CollisionOptions(extra_margin=options.extra_margin)
    checker = CollisionChecker(generator.cell, state, plan.variables, engine=options.engine, options=rules)
    if options.certify and certifiable(checker):
        # A plan goes on with fine spheres after a search that stalls, which then also prove its motions.
        for protrusion in (PROTRUSION, FINE_PROTRUSION):
            certified = _certified(MotionCertifier(checker, protrusion=protrusion), plan.path, certified)
            lengths = np.linalg.norm(np.diff(plan.path, axis=0), axis=1)
            share = float(lengths[certified].sum() / lengths.sum()) if lengths.any() else math.nan
            if not abs(plan.certified_fraction - share) > SAME:
                break
    return PlanCase(
        kind,
        (*plan.variables, *held),
        _with(plan.path, held),
        options.extra_margin,
        certified,
        plan.certified_fraction,
        share,
        plan.start_correction_waypoints,
        max((1e-3 * float(found) for text in plan.warnings for found in HIDDEN.findall(text)), default=0.0),
        trajectory,
    )


def _certified(certifier: MotionCertifier, path: Floats, before: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each segment of a path (n, dof) is certified, or was `before` (n - 1,), which is empty for the first
    certifier."""
    known = before if len(before) else np.zeros(len(path) - 1, dtype=bool)
    segments = zip(known.tolist(), pairwise(path), strict=True)
    return np.array([free or certifier.certify(a, b, enough=MAX_EXACT_STATES).free for free, (a, b) in segments])


def _with(rows: Floats, held: Mapping[str, float]) -> Floats:
    """Rows (n, dof) with columns of joints that are fixed."""
    return np.hstack((rows, np.tile(list(held.values()), (len(rows), 1))))
