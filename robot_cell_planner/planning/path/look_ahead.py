"""Look-ahead: check of the remaining motion after scene changes during execution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...collision.certification.certificate import Verdict
from ...collision.certification.certifier import certifiable, certifier_of
from ...collision.certification.curves import PolynomialMotion
from ...collision.checker import CollisionChecker
from ...errors import GeometryError, JointLimitError
from ...model.arguments import checked_fields
from ...scene.scene import Scene
from ...trajectory.limits import Array
from ...trajectory.remaining import remaining
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import TrajectoryCollision, TrajectoryReport, dense_times
from ..problem.collision_checks import pair_names
from ..problem.request import check_range
from .initial_contact import departure_from_contact

COARSE_STEP = 0.05  # [rad or m] between the states of the first pass, which finds most collisions
LEAST_STEP = 1e-5  # [rad or m]
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

    Raises:
        InvalidRequestError: The step is not within 1e-5 to 1.
    """

    trajectory: Trajectory
    step: float = 0.001
    engine: str = "coal"
    certify: bool = True

    def __post_init__(self) -> None:
        check_range("step", self.step, LEAST_STEP, 1.0)


def look_ahead(scene: Scene, request: LookAheadRequest) -> TrajectoryReport:
    """Return a collision of the remaining trajectory, if there is one: the first one that the coarse step finds.

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
    return TrajectoryReport(trajectory.duration, (), collisions, states_checked=checked)


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
