"""Ways over configurations that the caller suggests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ...trajectory.limits import Array
from ..path.simplification import without_repeats
from ..problem.context import PlanningContext
from ..problem.local_planner import LocalPlanner

# Share of the limit on states that searches between suggestions may use.
SHARE = 0.25

Search = Callable[[Array, Sequence[Array], int], Array | None]


def usable(job: PlanningContext, suggestions: Sequence[Array], mover: LocalPlanner) -> list[Array]:
    """Those suggestions (dof,) that are within limits, on the constraints once settled, and free; in their order."""
    found = []
    for q in suggestions:
        settled = mover.settle(np.clip(q, job.space.lower, job.space.upper))
        if settled is not None and job.checks.state_free(settled):
            found.append(settled)
    return found


def direct_way(start: Array, suggestions: Sequence[Array], goals: Sequence[Array], mover: LocalPlanner) -> Array | None:
    """A way of direct motions from the start over some of the suggestions to a goal; None: there is none.

    From each configuration the goals are tried first, then the suggestions from the last to the next.
    """
    stops = [start, *suggestions]
    ways: list[Array | None] = [start[None], *([None] * len(suggestions))]
    for index, here in enumerate(stops):
        way = ways[index]
        if way is None:
            continue
        for goal in goals:
            last = mover.connect(here, goal)
            if last is not None:
                return without_repeats(np.concatenate((way, last[1:])))
        for later in range(len(stops) - 1, index, -1):
            if ways[later] is None:
                part = mover.connect(here, stops[later])
                ways[later] = None if part is None else np.concatenate((way, part[1:]))
    return None


def searched_way(
    start: Array, suggestions: Sequence[Array], goals: Sequence[Array], mover: LocalPlanner, search: Search, states: int
) -> Array | None:
    """A way through all suggestions in their order to a goal, with searches where there is no direct motion; None: some
    part was not found within a share of `states`."""
    share = max(1, int(SHARE * states) // (len(suggestions) + 1))
    whole = [start[None]]
    for first, second in pairwise([start, *suggestions]):
        part = mover.connect(first, second)
        part = search(first, [second], share) if part is None else part
        if part is None:
            return None
        whole.append(part[1:])
    last = search(suggestions[-1], goals, share)
    return None if last is None else without_repeats(np.concatenate((*whole, last[1:])))
