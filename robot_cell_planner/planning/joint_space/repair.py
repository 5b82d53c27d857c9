"""Verification of a path, and repair where it collides between the steps of the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...errors import PathInvalidError, Value
from ...trajectory.limits import Array
from ..path.simplification import shortcut, simplify
from ..path.validity import PathVerifier
from ..problem.collision_checks import CountedChecks
from ..problem.context import PlanningContext, names_of
from ..problem.request import PlanningOptions

MAX_REPAIRS = 64
# Divisors of the search step in the first and second attempt at the same point. Later attempts use the resolution,
# halved each time up to MAX_STEP_FACTOR, because verification also finds collisions between its steps.
STEP_FACTORS = (4.0, 16.0)
MAX_STEP_FACTOR = 64.0
# Extra margins [m] for which a detour is searched, so that it keeps a distance: the first with a solution is used.
EXTRA_MARGINS = (0.002, 0.0005, 0.0)
# Max number of states of a search with an extra margin.
MAX_STATES = 10_000

# Context, start, end, step and seed -> path.
Search = Callable[[PlanningContext, Array, Array, float, int], Array | None]


def verify_and_repair(context: PlanningContext, path: Array, options: PlanningOptions, search: Search) -> Array:
    """Return the path after verification and repair of all its motions.

    Where a motion collides, a detour is searched from its start to its end, then between points farther before and
    after it.

    Raises:
        PathInvalidError: No detour was found within the state limit.
    """
    checks = context.checks
    verifier = PathVerifier(checks, options.resolution)
    attempt = 0
    last_place: Array | None = None
    repair = 0
    while True:
        repair += 1
        blocked = verifier.first_blocked(path)
        if blocked is None:
            return path
        here = path[blocked]
        there = verifier.blocked_at(here, path[blocked + 1])
        assert there is not None
        is_near = last_place is not None and float(np.linalg.norm(here - last_place)) <= 10.0 * options.search_step
        attempt = attempt + 1 if is_near else 0
        last_place = here
        first, last = max(0, blocked - attempt // 2), min(len(path) - 1, blocked + 1 + attempt // 2)
        if attempt < len(STEP_FACTORS):
            step = max(options.resolution, options.search_step / STEP_FACTORS[attempt])
        else:
            step = options.resolution / min(2.0 ** (attempt - len(STEP_FACTORS)), MAX_STEP_FACTOR)
        detour = _detour(context, path[first], path[last], step, options.seed + repair, search)
        if detour is None or repair == MAX_REPAIRS:
            raise _not_repaired(context, there, blocked, repair)
        path = np.vstack((path[:first], detour, path[last + 1 :]))


def _not_repaired(context: PlanningContext, q: Array, place: int, repairs: int) -> PathInvalidError:
    """Return the error of a path that collides at q (dof,), in the motion after its configuration `place`."""
    checks, report = context.checks, context.checks.checker.report(q)
    values = (
        Value("states checked", checks.states, checks.state_limit),
        Value("repairs", repairs, MAX_REPAIRS),
        Value("place", float(place)),
    )
    text = f"the path collides between the steps of the search, and no detour was found: {report}"
    return PathInvalidError(text, stage="verify", subjects=names_of(report.pairs), values=values)


def _detour(context: PlanningContext, start: Array, end: Array, step: float, seed: int, search: Search) -> Array | None:
    """Return a path between two configurations with the largest possible extra margin."""
    for extra_margin in EXTRA_MARGINS:
        widened = _with_extra_margin(context, extra_margin)
        checks = widened.checks
        if extra_margin and not (checks.state_free(start) and checks.state_free(end)):
            found = None
        else:
            found = search(widened, start, end, step, seed)
            if found is not None:
                local_planner = widened.local_planner(step)
                found = shortcut(simplify(found, local_planner), local_planner, seed)
        context.checks.states, context.checks.motions = checks.states, checks.motions
        if found is not None:
            return found
    return None


def _with_extra_margin(context: PlanningContext, extra_margin: float) -> PlanningContext:
    """Return the context with an extra margin and a state limit for it."""
    if not extra_margin:
        return context
    base = context.checks.checker
    checker = base.with_extra_margin(base.options.extra_margin + extra_margin)
    limit = min(context.checks.state_limit, context.checks.states + MAX_STATES)
    checks = CountedChecks(checker, context.monitor, limit, context.checks.certify)
    checks.states, checks.motions = context.checks.states, context.checks.motions
    return replace(context, checks=checks)
