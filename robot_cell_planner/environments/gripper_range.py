"""Certificates of straight motions during which a gripper's joint may be anywhere in its range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..collision.certification.certificate import FINE
from ..collision.certification.certifier import COARSE, MotionCertifier
from ..collision.certification.curves import StraightMotion

MAX_LEVELS = 14  # of bisections by spheres
MAX_BOXES = 2048  # at once
NARROWEST = 5e-4  # [rad or m], half an interval of the gripper that is not bisected further
ENOUGH = 200  # configurations evaluated with exact distances for a motion
ENOUGH_AT_ONCE = 100  # of those, for one interval of the gripper

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SpreadMotion:
    """Straight motion whose configurations may deviate from it by up to `spread` (dof,) at any time."""

    line: StraightMotion
    spread: Array

    @property
    def pieces(self) -> Array:
        return self.line.pieces

    def at(self, parameter: float) -> Array:
        return self.line.at(parameter)

    def deviation_bound(self, middle: float, half: float) -> Array:
        return np.asarray(self.line.deviation_bound(middle, half) + self.spread)

    def boxes(self, intervals: Array) -> tuple[Array, Array]:
        configurations, deviations = self.line.boxes(intervals)
        return configurations, deviations + self.spread


def is_free_in_range(
    certifier: MotionCertifier, start: Array, end: Array, limits: tuple[float, float], margin: float
) -> bool:
    """Return whether a motion is certified for all values of the gripper, the last variable of the certifier.

    Args:
        start, end: Configurations of the other variables (dof - 1,).
        limits: Range of the gripper [rad or m].
        margin: Clearance in addition to the margins of the cell [m].
    """
    low, high = limits
    corners = (np.append(np.minimum(start, end), low), np.append(np.maximum(start, end), high))
    if not certifier.within_prismatic_limits(*corners):
        return False
    # Each row is a box: middle and half of an interval of the motion's parameter, and of the gripper's values.
    boxes = np.array([(0.5, 0.5, 0.5 * (low + high), 0.5 * (high - low))])
    line = StraightMotion(np.append(start, 0.0), np.append(end, 0.0))
    if certifier.sphere_test_applies(margin):
        boxes = _open_boxes(certifier, line, boxes, margin)
    if not len(boxes):
        return True
    return not _is_too_near(certifier, line, limits, margin) and _exactly_free(certifier, line, boxes, margin)


def _is_too_near(certifier: MotionCertifier, line: StraightMotion, limits: tuple[float, float], margin: float) -> bool:
    """Return whether a motion is too near to something at its ends or its middle, with the gripper at its limits, where
    most of those that cannot be certified are."""
    configurations = np.repeat([line.at(parameter) for parameter in (0.0, 0.5, 1.0)], 2, axis=0)
    configurations[:, -1] = np.tile(limits, 3)
    exact, count = certifier.exact, len(configurations)
    found = exact.open_pairs(
        configurations, np.zeros_like(configurations), margin, [None] * count, exact.known_planes()
    )
    return any(found)


def _open_boxes(certifier: MotionCertifier, line: StraightMotion, boxes: Array, margin: float) -> Array:
    """Return the boxes (n, 4) that spheres do not prove free, bisected."""
    travel = float(np.abs(line.end - line.start).max())
    left: list[Array] = []
    for level in range(MAX_LEVELS):
        configurations, deviations = line.boxes(boxes[:, :2])
        configurations[:, -1], deviations[:, -1] = boxes[:, 2], boxes[:, 3]
        found = certifier.check_boxes(configurations, deviations, margin)
        last = level == MAX_LEVELS - 1 or 2 * len(boxes) > MAX_BOXES
        given_up = (found == 2) | ((found == 1) & (last | (deviations.max(axis=1) <= COARSE)))
        left.append(boxes[given_up])
        boxes = boxes[(found == 1) & ~given_up]
        if not len(boxes):
            break
        of_gripper = boxes[:, 3] > travel * boxes[:, 1]
        boxes = np.concatenate([_halves(boxes[of_gripper], 2), _halves(boxes[~of_gripper], 0)])
    return np.concatenate(left)


def _halves(boxes: Array, column: int) -> Array:
    """Return both halves (2 n, 4) of boxes (n, 4), of the interval whose middle is in a column."""
    halves = np.repeat(boxes, 2, axis=0)
    halves[:, column + 1] *= 0.5
    halves[::2, column] -= halves[::2, column + 1]
    halves[1::2, column] += halves[1::2, column + 1]
    return halves


def _exactly_free(certifier: MotionCertifier, line: StraightMotion, boxes: Array, margin: float) -> bool:
    """Return whether exact distances prove boxes (n, 4) free."""
    exact, pending = certifier.exact, list(boxes)
    spent = exact.states + ENOUGH
    while pending:
        box = pending.pop()
        middle, half, value, range_half = box.tolist()
        at = np.append(np.zeros(len(line.start) - 1), 1.0)
        curve = SpreadMotion(StraightMotion(line.start + value * at, line.end + value * at), range_half * at)
        resolution = max(4.0 * range_half, FINE)
        found = exact.certify(curve, middle, half, margin, resolution, ENOUGH_AT_ONCE)
        if found.free:
            continue
        if found.collides or range_half <= NARROWEST or exact.states >= spent:
            return False
        pending.extend(_halves(box[None], 2))
    return True
