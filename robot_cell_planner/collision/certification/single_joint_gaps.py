"""Gaps of pairs that a single joint moves relative to each other, over all values of the joint.

Such pairs are often close at every value, such as a force sensor behind the last joint and the link before that joint.
Exact distances prove once that such a pair never collides; motions need not be checked for it.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..engines.base import distance_error
from .joint_tree import TreeJoint
from .motion_bounds import MotionModel, ScenePair, checker_at, motion_model

Floats = NDArray[np.float64]
LARGEST = 0.02  # [m], larger gaps are not distinguished
SMALLEST = 1e-4  # [m], smaller gaps are not proven
SHARE = 0.5  # of the distance at the middle of an interval that its bound has to be at least
FIRST_INTERVALS = 16
MAX_CONFIGURATIONS = 1_000  # for each pair
MAX_RANGE = 10.0  # [m] of prismatic joints
MIN_MULTIPLIER = 1e-3
MAX_CACHED = 4096


class _ThreadCache(threading.local):
    """Gaps of each thread by what determines them, since the engine of the thread's checker computes distances."""

    def __init__(self) -> None:
        self.gaps: OrderedDict[tuple[object, ...], float] = OrderedDict()
        self.of_groups: IdentityCache[Floats] = IdentityCache(size=64)


_of_thread = _ThreadCache()


def single_joint_gaps(checker: CollisionChecker) -> Floats:
    """Return proven lower bounds (p,) of distance minus margin of `MotionModel.pairs` [m], at most 0.02.

    They hold at all values of a revolute joint, and within the limits of a prismatic joint. The bound is minus infinity
    if several joints move the pair, or if nothing is proven.
    """
    model = motion_model(checker)
    # The values of other fixed joints, such as those of another robot, do not matter. Models with equal values may
    # differ in their displacements.
    placements = (joint.before.tobytes() for joint in model.tree.joints if joint.varies)
    extras = checker.engine, model.displacements.tobytes(), *placements
    return _of_thread.of_groups.get((model.groups,), extras, partial(_gaps, checker, model))


def _gaps(checker: CollisionChecker, model: MotionModel) -> Floats:
    found = np.array([_gap(checker, model, pair) for pair in model.pairs])
    found.setflags(write=False)
    return found


def _gap(checker: CollisionChecker, model: MotionModel, pair: ScenePair) -> float:
    joints = (*pair.first_joints, *pair.second_joints)
    if checker.engine != "coal" or len(joints) != 1:
        return -math.inf
    objects = model.moving_objects[pair.first], model.moving_objects[pair.second]
    first, second = (model.placements[index] for index in objects)
    if first.varies or second.varies:
        return -math.inf
    joint = model.tree.joints[joints[0]]
    bounded = joint.revolute or joint.high - joint.low <= MAX_RANGE
    if not bounded or abs(joint.multiplier) < MIN_MULTIPLIER:
        return -math.inf
    shapes = (model.allowed_pairs.objects[index].shapes for index in objects)
    placements = (matrix.tobytes() for matrix in (first.placement, second.placement, joint.before))
    limits = () if joint.revolute else (joint.low, joint.high)
    speed = float(model.pair_bound(*objects)[joints[0]])
    key = (*shapes, *placements, bool(pair.first_joints), limits, pair.margin, speed)
    gaps = _of_thread.gaps
    if key not in gaps:
        # Not at the values of the state, which would determine the rounding errors for other states.
        alike = checker_at(checker, model.values if joint.varies else np.zeros(len(model.values)))
        gaps[key] = _Search(alike, joint, objects, speed).gap()
        if len(gaps) > MAX_CACHED:
            gaps.popitem(last=False)
    return gaps[key] - (sum(map(model.displacement, objects)) if joint.varies else 0.0)


@dataclass(frozen=True)
class _Search:
    """Search for a bound by bisection of the range of a joint.

    Attributes:
        objects: Indices in `AllowedPairs.objects`.
        speed: Maximum approach of the objects per unit of the joint [m per rad or m].
    """

    checker: CollisionChecker
    joint: TreeJoint
    objects: tuple[int, int]
    speed: float

    def gap(self) -> float:
        """Return the bound; minus infinity if nothing is proven."""
        low, high = (-math.pi, math.pi) if self.joint.revolute else (self.joint.low, self.joint.high)
        half = 0.5 * (high - low) / FIRST_INTERVALS
        middles = low + half * np.arange(1.0, 2.0 * FIRST_INTERVALS, 2.0)
        smallest, allowed = LARGEST, MAX_CONFIGURATIONS
        while 0 < len(middles) <= allowed:
            allowed -= len(middles)
            approach = self.speed * half
            distances = self._distances(middles, max(LARGEST, approach / (1.0 - SHARE)))
            if distances.min() < SMALLEST:
                return -math.inf
            is_proven = approach <= (1.0 - SHARE) * distances
            smallest = min(smallest, float((distances - approach).min(where=is_proven, initial=LARGEST)))
            half *= 0.5
            middles = np.concatenate([middles[~is_proven] + side * half for side in (-1.0, 1.0)])
        return -math.inf if len(middles) else smallest

    def _distances(self, values: Floats, reach: float) -> Floats:
        """Return lower bounds of distance minus margin at values of the joint (n,), at most `reach` [m]. Those
        after the first one below `SMALLEST` are not computed."""
        checker = self.checker
        configurations = np.repeat(checker.default[np.newaxis], len(values), axis=0)
        configurations[:, self.joint.variable] = (values - self.joint.offset) / self.joint.multiplier
        rows, near, poses = checker.near_candidates_along(configurations, reach)
        found = np.full(len(values), reach)
        for row, each in zip(rows.tolist(), checker.described(near), strict=True):
            if each.objects in (self.objects, self.objects[::-1]):
                checker.place_at(poses[row])
                distance = checker.geometry_distance(each.first, each.second)
                found[row] = min(found[row], distance - distance_error(distance) - each.margin)
                if found[row] < SMALLEST:
                    break
        return found
