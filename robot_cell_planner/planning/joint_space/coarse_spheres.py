"""Objects whose coarse spheres may be the reason why a search found no path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...collision.certification.motion_bounds import motion_model
from ...collision.sphere_model.approximation import PROTRUSION
from ...collision.sphere_model.resolution import ObjectSpheres
from ...trajectory.limits import Array
from ..problem.context import PlanningContext

RANDOM_STATES = 256  # configurations that are drawn from the whole space
STATES_PER_MOTION = 17  # configurations along the straight motion to each goal
PAIRS = 4  # the closest ones of each object, whose margins differ
MAX_STATES = 64  # of these, the number for which distances are computed


def coarse_objects_in_the_way(
    context: PlanningContext, goals: Sequence[Array], seed: int
) -> Mapping[str, ObjectSpheres]:
    """Return the objects by name that have coarse spheres and come so close to others that these spheres do not prove a
    free configuration. goals: configurations (dof,).

    Configurations between start and goals and random ones are checked; they do not count as states of the search.
    """
    checks = context.checks
    found: dict[str, ObjectSpheres] = {}
    if not checks.coarse_objects:
        return found
    for q in _unproven(context, goals, seed):
        for name, spheres in checks.coarse_objects.items():
            reach = spheres.protrusion + PROTRUSION
            if name not in found and _is_near(context, q, name, reach):
                found[name] = spheres
    return found


def _unproven(context: PlanningContext, goals: Sequence[Array], seed: int) -> Array:
    """Return configurations (n, dof) that are free, which spheres do not prove."""
    space, checks, certifier = context.space, context.checks, context.checks.certifier
    shares = np.linspace(0.0, 1.0, STATES_PER_MOTION)[:, None]
    motions = [space.start + shares * (goal - space.start) for goal in goals]
    drawn = np.random.default_rng(seed).uniform(space.lower, space.upper, (RANDOM_STATES, space.size))
    every = np.vstack((*motions, drawn))
    free = every[~checks.checker.in_collision_batch(every)]
    unproven = [q for q in free if certifier is None or not certifier.quickly_free(q, q)]
    return np.array(unproven[:MAX_STATES]).reshape(-1, space.size)


def _is_near(context: PlanningContext, q: Array, name: str, reach: float) -> bool:
    """Return whether an object comes closer to another one than a margin plus `reach` [m]."""
    checker = context.checks.checker
    largest = reach + motion_model(checker).largest_margin + checker.options.extra_margin
    closest = checker.clearances(q, PAIRS, names=(name,), max_distance=largest)
    return any(pair.slack < reach for pair in closest)
