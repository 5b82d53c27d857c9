"""Start correction: bounded motion from a start in collision or beyond limits to a valid configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...errors import MPStartStateInCollisionError
from ...trajectory.limits import Array
from ..path.initial_contact import SEPARATION_STEP, leave_contact
from ..problem.context import PlanningContext, StartCorrection, check_start, start_in_collision
from ..problem.frame_constraints import START
from ..problem.objective import points_between
from ..problem.space import JointSpace, beyond_limits

# Number of random configurations, tried after motions of single joints.
RANDOM_CANDIDATES = 400
FRACTIONS = (0.25, 0.5, 1.0)

Pairs = frozenset[tuple[str, str]]


def correct_start(context: PlanningContext, max_correction: float, step: float, seed: int) -> PlanningContext:
    """Return the context from the first free configuration near its start, or the same context if its start is free.

    Candidates are motions of single joints by 1/4, 1/2 and all of `max_correction`, then random motions of all joints.
    On the straight motion, checked every `step` [rad or m], only pairs that collide at the start may collide. The first
    candidate on which these pairs separate steadily (`initial_contact.depart`) is taken; without one, the first of all.
    The motion back within joint limits is part of the correction. Constraints on frames hold on all of it.

    Args:
        max_correction: Max motion of any joint [rad or m].

    Raises:
        MPStartStateInCollisionError, StartBeyondLimitsError: No correction was found.
        ConstraintMismatchError: The start violates a constraint.
    """
    space, checks = context.space, context.checks
    inside = np.clip(space.start, space.lower, space.upper)
    within_limits = bool((inside == space.start).all())
    if within_limits and checks.state_free(space.start):
        check_start(context)
        return context
    context.frames.check(space.start, START)
    report = checks.checker.report(space.start)
    pairs = frozenset((pair.first, pair.second) for pair in report.pairs)
    correction = _correction(context, pairs, _candidates(inside, max_correction, seed), max_correction, step)
    if correction is not None:
        return replace(context, space=replace(space, start=correction.end), start_correction=correction)
    if not within_limits:
        raise beyond_limits(space)
    error = start_in_collision(context, report)
    text = f"{error.message}; no start correction was found within {max_correction:g} {space.unit} of it"
    raise MPStartStateInCollisionError(
        text, stage="start", subjects=error.subjects, values=error.values, partial=error.partial
    )


def _correction(
    context: PlanningContext, pairs: Pairs, candidates: Iterator[Array], max_correction: float, step: float
) -> StartCorrection | None:
    """Return the correction to the first candidate on the way to which pairs in contact separate, or else to the first
    that is free; None if none is.
    """
    space, checks = context.space, context.checks
    first: StartCorrection | None = None
    for q in candidates:
        moved = context.local_planner(step).project(np.clip(q, space.lower, space.upper))
        if moved is None or float(np.abs(moved - space.start).max()) > max_correction or not checks.state_free(moved):
            continue
        correction = StartCorrection(space.start, moved, pairs, _warning(space, pairs, moved))
        if not _is_free(context, correction, step):
            continue
        states = points_between(space.start, moved, SEPARATION_STEP)
        if not pairs or leave_contact(checks.checker, states).pair is None:
            return correction
        first = first or correction
    return first


def _warning(space: JointSpace, pairs: Pairs, end: Array) -> str:
    """Return the warning about a correction."""
    size = float(np.abs(end - space.start).max())
    names = [" and ".join(pair) for pair in sorted(pairs)]
    beyond = [name for name, value, moved in zip(space.variables, space.start, end, strict=True) if value != moved]
    reason = f"out of the collision of {', '.join(names)}" if names else f"within the limits of {', '.join(beyond)}"
    return f"the motion begins with a start correction of {size:.3g} {space.unit} {reason}"


def _is_free(context: PlanningContext, correction: StartCorrection, step: float) -> bool:
    """Return whether constraints on frames hold on the correction, and only pairs that collide at the start collide."""
    if context.frames and not context.frames.keeps(np.stack((correction.start, correction.end))):
        return False
    for q in points_between(correction.start, correction.end, step):
        if not context.checks.state_free(q) and not correction.allows(q, context.checks.checker.report(q)):
            return False
    found = context.checks.overlap_between(
        np.array((correction.start, correction.end)), frozenset(map(frozenset, correction.pairs))
    )
    return found is None or not found.collides


def _candidates(start: Array, max_correction: float, seed: int) -> Iterator[Array]:
    yield start
    for fraction in FRACTIONS:
        for column in range(len(start)):
            for sign in (1.0, -1.0):
                q = start.copy()
                q[column] += sign * fraction * max_correction
                yield q
    random = np.random.Generator(np.random.PCG64(seed))
    for index in range(RANDOM_CANDIDATES):
        yield start + random.uniform(-1.0, 1.0, len(start)) * max_correction * FRACTIONS[index % len(FRACTIONS)]
