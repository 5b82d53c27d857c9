"""Look-ahead: check of the remaining motion after scene changes during execution, for collisions and limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...collision.certification.certificate import Verdict
from ...collision.certification.certifier import certifiable, certifier_of
from ...collision.certification.curves import PolynomialMotion
from ...collision.checker import CollisionChecker
from ...errors import GeometryError, JointLimitError
from ...model.arguments import checked_fields
from ...model.mechanism import JointLimits
from ...model.start_limits import START_LIMIT_TOLERANCE, limits_around_start
from ...scene.scene import Scene
from ...trajectory.limits import RATES, Array, MotionLimits
from ...trajectory.remaining import remaining
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import (
    LimitViolation,
    Quantity,
    TrajectoryCollision,
    TrajectoryReport,
    dense_times,
    limit_violations,
)
from ..problem.collision_checks import pair_names
from ..problem.request import check_range
from .initial_contact import departure_from_contact

COARSE_STEP = 0.05  # [rad or m] between the states of the first pass, which finds most collisions
LEAST_STEP = 1e-5  # [rad or m]
SHORT_PIECE = 1e-3  # [s] piece of a curve whose accelerations and jerks are those of rounding
HALVINGS = 8  # bisection steps to the beginning of a collision between two states


@checked_fields
@dataclass(frozen=True, eq=False)
class LookAheadRequest:
    """Remaining trajectory to check.

    Attributes:
        trajectory: The remaining part, with the times of the whole trajectory.
        step: Step between states without a certificate [rad or m].
        engine: "coal" or "bullet".
        certify: Prove the motion free where possible; otherwise only states are checked.
        start_limit_tolerance: Allowed excess over position limits of the begin of the remaining part, beyond which it
            must not lead: a motion may have started beyond a limit [rad or m].

    Raises:
        InvalidRequestError: The step is not within 1e-5 to 1.
    """

    trajectory: Trajectory
    step: float = 0.001
    engine: str = "coal"
    certify: bool = True
    start_limit_tolerance: float = START_LIMIT_TOLERANCE

    def __post_init__(self) -> None:
        check_range("step", self.step, LEAST_STEP, 1.0)


def look_ahead(scene: Scene, request: LookAheadRequest) -> TrajectoryReport:
    """Return the limits that the remaining trajectory violates, and a collision, if there is one: the first one that
    the coarse step finds.

    States at a coarse step are checked first. If they are free, the whole motion is certified; where that fails, states
    `step` apart decide. A contact at the first state is a collision unless the motion leaves it, see
    `initial_contact.depart`; what follows is then checked like any motion.
    """
    trajectory = request.trajectory
    checker = CollisionChecker(scene.cell, scene.state, trajectory.variables, engine=request.engine)
    found: TrajectoryCollision | None = None
    rest: Trajectory | None = trajectory
    checked = 1
    departure = departure_from_contact(checker, trajectory, request.step)
    if departure is not None:
        checked += departure.states
        if departure.pair is not None:
            time, q = departure.time, departure.configuration
            found = TrajectoryCollision(_sample(trajectory, time), time, q, *departure.pair)
        rest = None if found is not None else remaining(trajectory, departure.time)
    if rest is not None:
        found, evaluated = _first_collision(checker, rest, request)
        checked += evaluated
        if found is not None:
            found = replace(found, sample=_sample(trajectory, found.time))
    collisions = () if found is None else (found,)
    violations = _violations(scene, request)
    return TrajectoryReport(trajectory.duration, violations, collisions, states_checked=checked)


def _violations(scene: Scene, request: LookAheadRequest) -> tuple[LimitViolation, ...]:
    """Return the violated limits of the joints whose limits are known.

    The trajectory may begin between two of its samples, shortly before the second one: accelerations and jerks of so
    short a piece are not measured.
    """
    definitions = {name: scene.cell.variables[name] for name in request.trajectory.variables}
    known = [name for name, found in definitions.items() if _has_rates(found.limits)]
    if not known:
        return ()
    trajectory = _of_joints(request.trajectory, known)
    variables = [definitions[name] for name in known]
    limits = MotionLimits.of(variables)
    bounds = dict(zip(known, zip(limits.lower.tolist(), limits.upper.tolist(), strict=True), strict=True))
    here = dict(zip(known, trajectory.positions[0].tolist(), strict=True))
    widened = limits.around(limits_around_start(variables, here, request.start_limit_tolerance)[0])
    measured = [Quantity.POSITION, Quantity.VELOCITY]
    begins_short = len(trajectory) > 1 and trajectory.times[1] - trajectory.times[0] < SHORT_PIECE
    violations = []
    for found in limit_violations(trajectory, widened):
        if begins_short and found.sample == 0 and found.quantity not in measured:
            continue
        if found.quantity is Quantity.POSITION:
            lower, upper = bounds[found.variable]
            found = replace(found, limit=lower if found.value < lower else upper)
        violations.append(found)
    return tuple(violations)


def _has_rates(limits: JointLimits) -> bool:
    return all(0.0 < (getattr(limits, rate) or 0.0) < math.inf for rate in RATES)


def _of_joints(trajectory: Trajectory, names: list[str]) -> Trajectory:
    """Return the trajectory of some of its joints."""
    columns = [trajectory.variables.index(name) for name in names]
    whole = trajectory.completed()
    assert whole.velocities is not None
    assert whole.accelerations is not None
    rows = whole.positions[:, columns], whole.velocities[:, columns], whole.accelerations[:, columns]
    return Trajectory(tuple(names), whole.times, *rows)


def _first_collision(
    checker: CollisionChecker, trajectory: Trajectory, request: LookAheadRequest
) -> tuple[TrajectoryCollision | None, int]:
    """Return the first collision of a motion that begins free, and the number of configurations evaluated."""
    found, checked = _first_of_states(checker, trajectory, COARSE_STEP)
    if found is None:
        free, found, evaluated = _certified(checker, trajectory, request)
        checked += evaluated
        if not free and found is None:
            found, evaluated = _first_of_states(checker, trajectory, request.step)
            checked += evaluated
    return found, checked


def _first_of_states(
    checker: CollisionChecker, trajectory: Trajectory, step: float
) -> tuple[TrajectoryCollision | None, int]:
    times = dense_times(trajectory, step)
    hits = np.flatnonzero(checker.in_collision_batch(trajectory.at(times)))
    if not len(hits):
        return None, len(times)
    first = int(hits[0])
    time = float(times[first])
    if first:
        time = _beginning(lambda t: checker.in_collision(trajectory.at([t])[0]), float(times[first - 1]), time)
    return _collision(checker, trajectory, time), len(times) + HALVINGS


def _beginning(collides: Callable[[float], bool], free: float, colliding: float) -> float:
    """Return the earliest colliding time found between a free and a colliding time."""
    for _ in range(HALVINGS):
        middle = 0.5 * (free + colliding)
        free, colliding = (free, middle) if collides(middle) else (middle, colliding)
    return colliding


def _collision(checker: CollisionChecker, trajectory: Trajectory, time: float) -> TrajectoryCollision:
    configuration: Array = trajectory.at([time])[0]
    return TrajectoryCollision(_sample(trajectory, time), time, configuration, *pair_names(checker, configuration))


def _sample(trajectory: Trajectory, time: float) -> int:
    return max(int(np.searchsorted(trajectory.times, time + 1e-12, side="right")) - 1, 0)


def _certified(
    checker: CollisionChecker, trajectory: Trajectory, request: LookAheadRequest
) -> tuple[bool, TrajectoryCollision | None, int]:
    """Return whether the curve is proven free, a certain collision, and the number of configurations evaluated."""
    if not certifiable(checker) or not request.certify or len(trajectory) < 2:
        return False, None, 0
    curve = trajectory.curve
    try:
        found = certifier_of(checker).certify_curve(PolynomialMotion(curve.breaks, curve.coefficients))
    except (GeometryError, JointLimitError):
        return False, None, 0  # no sphere model, or a prismatic joint beyond its limits: states decide
    evaluated = found.states + found.exact_states
    if found.verdict is not Verdict.COLLIDING or found.pair is None:
        return found.verdict is Verdict.FREE, None, evaluated
    time = found.place + float(trajectory.times[0])
    names = found.pair.first, found.pair.second
    hit = TrajectoryCollision(_sample(trajectory, time), time, np.array(found.configuration), *names)
    return False, hit, evaluated
