"""Paths via waypoint hints: configurations that the caller suggests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ...trajectory.limits import Array
from ..path.simplification import without_repeats
from ..problem.context import PlanningContext
from ..problem.local_planner import LocalPlanner

# Fraction of the state limit for searches between hints.
STATE_FRACTION = 0.25

Search = Callable[[Array, Sequence[Array], int], Array | None]


def usable_hints(context: PlanningContext, hints: Sequence[Array], local_planner: LocalPlanner) -> list[Array]:
    """Return the hints (dof,) that are free after clipping to limits and projection onto the constraints, in order."""
    found = []
    for q in hints:
        projected = local_planner.project(np.clip(q, context.space.lower, context.space.upper))
        if projected is not None and context.checks.state_free(projected):
            found.append(projected)
    return found


def direct_path(
    start: Array, hints: Sequence[Array], goals: Sequence[Array], local_planner: LocalPlanner
) -> Array | None:
    """Return a path of direct motions from the start via some of the hints to a goal; None if there is none.

    From each configuration, the goals are tried first, then the hints from the last to the next.
    """
    configurations = [start, *hints]
    paths: list[Array | None] = [start[None], *([None] * len(hints))]
    for index, here in enumerate(configurations):
        path = paths[index]
        if path is None:
            continue
        for goal in goals:
            last = local_planner.connect(here, goal)
            if last is not None:
                return without_repeats(np.concatenate((path, last[1:])))
        for later in range(len(configurations) - 1, index, -1):
            if paths[later] is None:
                motion = local_planner.connect(here, configurations[later])
                paths[later] = None if motion is None else np.concatenate((path, motion[1:]))
    return None


def searched_path(
    start: Array,
    hints: Sequence[Array],
    goals: Sequence[Array],
    local_planner: LocalPlanner,
    search: Search,
    states: int,
) -> Array | None:
    """Return a path through all hints in order to a goal, with searches where direct motions collide.

    None if a search fails within its part of `states`.
    """
    max_states = max(1, int(STATE_FRACTION * states) // (len(hints) + 1))
    parts = [start[None]]
    for first, second in pairwise([start, *hints]):
        motion = local_planner.connect(first, second)
        motion = search(first, [second], max_states) if motion is None else motion
        if motion is None:
            return None
        parts.append(motion[1:])
    last = search(hints[-1], goals, max_states)
    return None if last is None else without_repeats(np.concatenate((*parts, last[1:])))
