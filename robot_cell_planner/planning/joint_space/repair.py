"""The last stage of planning: a path is verified, and where it collides between the steps of the search, led around."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...errors import PathInvalidError, Value
from ...trajectory.limits import Array
from ..path.simplification import shortcut, simplify
from ..path.validity import PathVerifier
from ..problem.collision_checks import CountedChecks
from ..problem.context import PlanningContext
from ..problem.request import PlanningOptions

MAX_REPAIRS = 64
# Times finer than the steps of the search, for the first and the second attempt at a place; then those of the
# verification are taken, and halves of them, up to so many times finer: it also finds what lies between its steps.
FINER = (4.0, 16.0)
FINEST = 64.0
# Additional distances [m] that a way around is searched with, so that it does not graze: the first at which it exists.
SPARE = (0.002, 0.0005, 0.0)
# States that a search with an additional distance may take.
STATES = 10_000

# PlanningContext, start, end, step, seed -> path.
Search = Callable[[PlanningContext, Array, Array, float, int], Array | None]


def verified(job: PlanningContext, path: Array, options: PlanningOptions, search: Search) -> Array:
    """The path, verified from end to end.

    Where a motion collides, a way around is searched: from its start to its end, then from ever farther before it to
    ever farther behind it.

    Raises:
        PathInvalidError: there is none within the limit on states checked.
    """
    checks = job.checks
    verifier = PathVerifier(checks, options.resolution)
    attempt = 0
    place: Array | None = None
    for repair in range(1, MAX_REPAIRS + 1):
        blocked = verifier.first_blocked(path)
        if blocked is None:
            return path
        here = path[blocked]
        near = place is not None and float(np.linalg.norm(here - place)) <= 10.0 * options.search_step
        attempt = attempt + 1 if near else 0
        place = here
        first, last = max(0, blocked - attempt // 2), min(len(path) - 1, blocked + 1 + attempt // 2)
        if attempt < len(FINER):
            step = max(options.resolution, options.search_step / FINER[attempt])
        else:
            step = options.resolution / min(2.0 ** (attempt - len(FINER)), FINEST)
        around = _around(job, path[first], path[last], step, options.seed + repair, search)
        if around is None:
            break
        path = np.vstack((path[:first], around, path[last + 1 :]))
    values = (
        Value("states checked", checks.states, options.state_limit),
        Value("repairs", repair, MAX_REPAIRS),
        Value("place", float(blocked or 0)),
    )
    text = "the path collides between the steps of the search, and no way around was found"
    raise PathInvalidError(text, stage="verify", values=values)


def _around(job: PlanningContext, start: Array, end: Array, step: float, seed: int, search: Search) -> Array | None:
    """A way from one configuration to another that keeps as much additional distance as it can."""
    for spare in SPARE:
        sparing = _with_spare(job, spare)
        checks = sparing.checks
        if spare and not (checks.state_free(start) and checks.state_free(end)):
            found = None
        else:
            found = search(sparing, start, end, step, seed)
            if found is not None:
                mover = sparing.mover(step)
                found = shortcut(simplify(found, mover), mover, seed)
        job.checks.states, job.checks.motions = checks.states, checks.motions
        if found is not None:
            return found
    return None


def _with_spare(job: PlanningContext, spare: float) -> PlanningContext:
    """The job with an additional distance to keep, and a limit on states for that."""
    if not spare:
        return job
    plain = job.checks.checker
    rules = CollisionOptions(plain.options.extra_margin + spare, plain.options.steps)
    checker = CollisionChecker(job.cell, job.state, plain.variables, engine=plain.engine, options=rules)
    limit = min(job.checks.state_limit, job.checks.states + STATES)
    checks = CountedChecks(checker, job.watch, limit, job.checks.certify)
    checks.states, checks.motions = job.checks.states, job.checks.motions
    return replace(job, checks=checks)
