"""Coordinates of the trees of the certified search, and the weights of their distances."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ...collision.certification.certifier import MotionCertifier
from ...trajectory.limits import Array
from ..problem.subspace import Subspace

# Joint weights: max displacement bound [m per rad or m], and exponent, between equal weights and displacements.
MAX_SPEED_BOUND, WEIGHT_EXPONENT = 10.0, 0.75
_OF_CERTIFIER: WeakKeyDictionary[MotionCertifier, TreeAxes] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class TreeAxes:
    """Coordinates z of the trees: q = origin + basis @ z, with weights (k,) in distances."""

    origin: Array
    basis: Array
    weights: Array


def tree_axes(certifier: MotionCertifier, space: Subspace) -> TreeAxes:
    """Return the coordinates of a subspace. Those of the whole joint space are cached per certifier."""
    if not space.whole:
        return TreeAxes(np.ascontiguousarray(space.origin), np.ascontiguousarray(space.basis), np.ones(space.size))
    if certifier not in _OF_CERTIFIER:
        weights = _weights(certifier)
        _OF_CERTIFIER[certifier] = TreeAxes(np.zeros(len(weights)), np.eye(len(weights)), weights)
    return _OF_CERTIFIER[certifier]


def _weights(certifier: MotionCertifier) -> Array:
    """Return joint weights (dof,) for distances between configurations, with geometric mean 1.

    The weight is a power of the max displacement of any point per rad or m of the joint, so that joints that move much
    are sampled more densely.
    """
    scene = certifier.scene
    speeds = np.zeros(len(certifier.checker.variables))
    for joint, speed in zip(scene.tree.joints, scene.model.speed_bounds.max(axis=0, initial=0.0).tolist(), strict=True):
        speeds[joint.variable] = max(speeds[joint.variable], abs(joint.multiplier) * speed)
    weights = np.clip(speeds, 0.01 * max(float(speeds.max()), 1e-9), MAX_SPEED_BOUND) ** WEIGHT_EXPONENT
    return np.asarray(weights / np.exp(np.log(weights).mean()))
