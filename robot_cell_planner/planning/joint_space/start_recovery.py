"""The way out of a start in collision or beyond limits, within a bounded reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...errors import MPStartStateInCollisionError
from ...trajectory.limits import Array
from ..problem.context import PlanningContext, StartCorrection, check_start, start_in_collision
from ..problem.objective import points_between
from ..problem.space import beyond_limits

# Random configurations that are tried, after each joint alone.
TRIES = 400
SCALES = (0.25, 0.5, 1.0)


def escape_start(job: PlanningContext, reach: float, step: float, seed: int) -> PlanningContext:
    """The job from the first free configuration found near its start, no joint moving by more than `reach` [rad or m];
    the same job if its start is free.

    First each joint moves alone, a quarter, half, and all of the reach, then all at random. On the straight way there,
    checked every `step`, nothing may collide that does not at the start. What brings joints back within their limits is
    part of the reach.

    Raises:
        MPStartStateInCollisionError, StartBeyondLimitsError: there is no way out within the reach.
        ConstraintMismatchError: the start breaks a constraint.
    """
    space, checks = job.space, job.checks
    within = np.clip(space.start, space.lower, space.upper)
    is_within = bool((within == space.start).all())
    if is_within and checks.state_free(space.start):
        check_start(job)
        return job
    report = checks.checker.report(space.start)
    pairs = frozenset((pair.first, pair.second) for pair in report.pairs)
    for q in _nearby(within, reach, seed):
        moved = job.mover(step).settle(np.clip(q, space.lower, space.upper))
        if moved is None or float(np.abs(moved - space.start).max()) > reach or not checks.state_free(moved):
            continue
        escape = StartCorrection(space.start, moved, pairs)
        if _leads_out(job, escape, step):
            found = replace(job, space=replace(space, start=moved), escape=escape)
            found.frames.check(moved, "the start state")
            return found
    if not is_within:
        raise beyond_limits(space)
    error = start_in_collision(job, report)
    text = f"{error.message}; no way out was found within {reach:g} rad or m of it"
    raise MPStartStateInCollisionError(
        text, stage="start", subjects=error.subjects, values=error.values, partial=error.partial
    )


def _leads_out(job: PlanningContext, escape: StartCorrection, step: float) -> bool:
    """Whether nothing but what collides at the start does so on the way."""
    for q in points_between(escape.start, escape.end, step):
        if not job.checks.state_free(q) and not escape.holds(q, job.checks.checker.report(q)):
            return False
    found = job.checks.overlap_between(np.array((escape.start, escape.end)), frozenset(map(frozenset, escape.pairs)))
    return found is None or not found.collides


def _nearby(start: Array, reach: float, seed: int) -> Iterator[Array]:
    yield start
    for scale in SCALES:
        for column in range(len(start)):
            for sign in (1.0, -1.0):
                q = start.copy()
                q[column] += sign * scale * reach
                yield q
    random = np.random.Generator(np.random.PCG64(seed))
    for index in range(TRIES):
        yield start + random.uniform(-1.0, 1.0, len(start)) * reach * SCALES[index % len(SCALES)]
