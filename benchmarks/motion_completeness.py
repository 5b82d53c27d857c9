"""Completeness of certificates: fraction of random motions with a minimum clearance that are certified as free."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.checker import CollisionChecker

from .results import Results

Floats = NDArray[np.float64]
FAR = 0.15  # [m] beyond which a distance need not be known
FINE = 1e-3  # [rad]
ROOM, ROOM_OF_EACH_OTHER = 0.015, 0.025  # [m] with which spheres alone should certify, the latter between moving links
LITTLE = 0.002  # [m] with which exact distances should
RANGE = 2.5  # [rad] of joint values, in both directions
SEED = 1


def keeps(certifier: MotionCertifier, bounds: Floats, motion: tuple[Floats, Floats], room: float, other: float) -> bool:
    """Whether a motion keeps `room` [m] from fixed objects and `other` between moving ones, beyond the margins of the
    cell, by steps that cannot skip a contact except within 1/1000 rad."""
    checker, (start, end) = certifier.checker, motion
    objects = checker.allowed_pairs.by_name
    way = np.abs(end - start)
    speed, finest = float(way @ bounds), FINE / float(way.max())
    place = 0.0
    while True:
        spare = FAR - max(room, other)
        for found in checker.clearances(start + place * (end - start), 12, max_distance=FAR):
            both = all(objects[name].index in certifier.scene.model.number for name in (found.first, found.second))
            spare = min(spare, found.slack - (other if both else room))
        if spare < 0.0:
            return False
        if place >= 1.0:
            return True
        place = min(1.0, place + max(finest, 0.9 * spare / speed))


def _motion(checker: CollisionChecker, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A random motion of up to 1 rad; prismatic joints stay within their limits: no motion is certified beyond."""
    start = rng.uniform(-RANGE, RANGE, len(checker.variables))
    step = rng.normal(size=len(start))
    end = start + step * (rng.uniform(0.05, 1.0) / np.abs(step).max())
    for column, variable in enumerate(checker.cell.variables[name] for name in checker.variables):
        if not variable.angular:
            low, high = variable.limits.lower, variable.limits.upper
            for row in (start, end):
                row[column] = np.clip(low + (high - low) * (row[column] + RANGE) / (2.0 * RANGE), low, high)
    return start, end


def completeness(results: Results, name: str, checkers: Iterable[CollisionChecker], motions: int) -> None:
    """Certified fractions of random motions of up to 1 rad, `motions` for each checker."""
    verdicts = dict.fromkeys(Verdict, 0)
    roomy = by_spheres = near = proven = 0
    for number, checker in enumerate(checkers):
        certifier, bounds = MotionCertifier(checker), motion_model(checker).approach_bounds
        rng = np.random.default_rng([SEED, number])
        for _ in range(motions):
            motion = _motion(checker, rng)
            found = certifier.certify(*motion)
            verdicts[found.verdict] += 1
            if found.verdict is Verdict.COLLIDING:
                continue
            quick = certifier.quickly_free(*motion)
            if keeps(certifier, bounds, motion, ROOM, ROOM_OF_EACH_OTHER):
                roomy, by_spheres = roomy + 1, by_spheres + quick
            elif keeps(certifier, bounds, motion, LITTLE, LITTLE):
                near, proven = near + 1, proven + found.free
    results.add(f"completeness.{name}.motions", sum(verdicts.values()))
    results.add(f"completeness.{name}.with_room", roomy)
    # Where links that are checked are never as far from each other, no motion has as much room.
    if roomy:
        results.add(f"completeness.{name}.with_room_by_balls_share", by_spheres / roomy)
    results.add(f"completeness.{name}.with_2mm_only", near)
    results.add(f"completeness.{name}.with_2mm_only_proven_share", proven / max(near, 1))
    results.add(f"completeness.{name}.undecided_share", verdicts[Verdict.UNDECIDED] / sum(verdicts.values()))
