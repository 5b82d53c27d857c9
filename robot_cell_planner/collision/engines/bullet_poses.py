"""Conversion of poses to the numbers that Bullet expects."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def pose_numbers(poses: Floats) -> Floats:
    """Return position and unit quaternion xyzw (n, 7) of poses (n, 4, 4), by the largest component (Shepperd, 1978)."""
    count = poses.shape[0]
    numbers = np.empty((count, 7))
    for i in range(count):
        m, row = poses[i], numbers[i]
        row[0], row[1], row[2] = m[0, 3], m[1, 3], m[2, 3]
        trace = m[0, 0] + m[1, 1] + m[2, 2]
        if trace > 0.0:
            s = 2.0 * math.sqrt(1.0 + trace)
            row[3], row[4] = (m[2, 1] - m[1, 2]) / s, (m[0, 2] - m[2, 0]) / s
            row[5], row[6] = (m[1, 0] - m[0, 1]) / s, 0.25 * s
        else:
            a = 0
            if m[1, 1] > m[0, 0]:
                a = 1
            if m[2, 2] > m[a, a]:
                a = 2
            b, c = (a + 1) % 3, (a + 2) % 3
            s = 2.0 * math.sqrt(1.0 + m[a, a] - m[b, b] - m[c, c])
            row[3 + a] = 0.25 * s
            row[3 + b] = (m[b, a] + m[a, b]) / s
            row[3 + c] = (m[c, a] + m[a, c]) / s
            row[6] = (m[c, b] - m[b, c]) / s
    return numbers
