"""Objects whose coarse spheres may be the reason why a search found no path, or took too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import numpy as np

from ...collision.certification.motion_bounds import motion_model
from ...collision.sphere_model.approximation import PROTRUSION
from ...collision.sphere_model.resolution import ObjectSpheres
from ...errors import NotConnectedError, PathInvalidError, TimedOutError
from ...errors.remedies import COARSE_SPHERES
from ...trajectory.limits import Array
from ..problem.context import PlanningContext

RANDOM_STATES = 256  # configurations that are drawn from the whole space
STATES_PER_MOTION = 17  # configurations along the straight motion to each goal
MAX_GOALS = 8
PAIRS = 4  # the closest ones of each object, whose margins differ
MAX_STATES = 64  # of these, the number for which distances are computed


@contextmanager
def naming_coarse_spheres(context: PlanningContext, goals: Sequence[Array], seed: int) -> Iterator[None]:
    """Add the objects with coarse spheres that may be the reason to an error of a search in this context.

    Errors whose cause is known have a remedy of their own, and are not changed. goals: configurations (dof,), the
    nearest ones first.
    """
    try:
        yield
    except (NotConnectedError, TimedOutError, PathInvalidError) as error:
        coarse = {} if error.remedy != type(error).remedy else coarse_objects_in_the_way(context, goals, seed)
        if not coarse:
            raise
        described = ", ".join(spheres.description(name) for name, spheres in coarse.items())
        text = f"{error.message}; passages that exist may be closed by coarse spheres: {described}"
        names = tuple(dict.fromkeys((*error.subjects, *coarse)))
        raise error.changed(text, subjects=names, remedy=COARSE_SPHERES) from error


def coarse_objects_in_the_way(
    context: PlanningContext, goals: Sequence[Array], seed: int
) -> Mapping[str, ObjectSpheres]:
    """Return the objects by name that have coarse spheres and come so close to others that these spheres do not prove a
    free configuration. goals: configurations (dof,).

    Configurations between start and goals and random ones are checked; they do not count as states of the search. A
    request that is cancelled meanwhile gets those that were found until then.
    """
    found: dict[str, ObjectSpheres] = {}
    every = context.checks.coarse_objects
    for q in islice(_unproven(context, goals, seed) if every else (), MAX_STATES):
        for name, spheres in every.items():
            reach = spheres.protrusion + PROTRUSION
            if name not in found and _is_near(context, q, name, reach):
                found[name] = spheres
        if len(found) == len(every):
            break
    return found


def _unproven(context: PlanningContext, goals: Sequence[Array], seed: int) -> Iterator[Array]:
    """Yield configurations (dof,) that are free, which spheres do not prove, until the request is cancelled."""
    space, checks, certifier = context.space, context.checks, context.checks.certifier
    fractions = np.linspace(0.0, 1.0, STATES_PER_MOTION)[:, None]
    motions = [space.start + fractions * (goal - space.start) for goal in goals[:MAX_GOALS]]
    drawn = np.random.default_rng(seed).uniform(space.lower, space.upper, (RANDOM_STATES, space.size))
    for q in np.vstack((*motions, drawn)):
        if context.monitor.is_cancelled:
            return
        if not checks.checker.in_collision(q) and (certifier is None or not certifier.quickly_free(q, q)):
            yield q


def _is_near(context: PlanningContext, q: Array, name: str, reach: float) -> bool:
    """Return whether an object comes closer to another one than a margin plus `reach` [m]."""
    checker = context.checks.checker
    largest = reach + motion_model(checker).largest_margin + checker.options.extra_margin
    closest = checker.clearances(q, PAIRS, names=(name,), max_distance=largest)
    return any(pair.slack < reach for pair in closest)
