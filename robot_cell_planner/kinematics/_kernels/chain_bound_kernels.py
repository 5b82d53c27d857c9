"""Compiled bounds of the motion of the tip of a serial chain while its variables move in a straight line."""

from __future__ import annotations

import math

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import KIND, MULTIPLIER, OFFSET, VARIABLE, Array


@compiled
def motion_bounds(chain: Array, start: Array, end: Array) -> tuple[float, float, float]:
    """Return bounds of the derivatives of the pose of the tip with respect to the fraction of a straight motion.

    They are sums over the joints and pairs of joints: a joint is at most `reach` away from the tip, and turns vectors
    that joints after it move.

    Returns:
        Max rotation [rad] of the whole motion, max change of its angular velocity [rad], and max second derivative of
        the position [m].
    """
    chain, start, end = borrowed((chain, start, end))
    turn, angular, linear = 0.0, 0.0, 0.0
    moved, reach = 0.0, 0.0  # by the joints after the present one; from it to the tip
    for i in range(chain.shape[0] - 2, -1, -1):
        following, joint = chain[i + 1], chain[i]
        reach += math.sqrt(following[9] ** 2 + following[10] ** 2 + following[11] ** 2)
        first, last = start[int(joint[VARIABLE])], end[int(joint[VARIABLE])]
        speed = abs(joint[MULTIPLIER] * (last - first))
        if joint[KIND] == 0.0:
            linear += speed * (speed * reach + 2.0 * moved)
            angular += speed * turn
            turn += speed
            moved += speed * reach
        else:
            moved += speed
            low, high = joint[MULTIPLIER] * first + joint[OFFSET], joint[MULTIPLIER] * last + joint[OFFSET]
            reach += max(abs(low), abs(high))
    return turn, angular, linear
