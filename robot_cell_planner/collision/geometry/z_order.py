"""Order of points in which those that follow each other are close together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CELLS = 1024  # of the curve along each axis


def z_order(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order (n,) of points (n, 3) along a Z-order curve (Morton, 1966), stable."""
    low, high = points.min(axis=0), points.max(axis=0)
    cells = ((points - low) * ((CELLS - 1) / max(float((high - low).max()), 1e-9))).astype(np.int64)
    for shift, pattern in ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249)):
        cells = (cells | cells << shift) & pattern
    return np.asarray(np.argsort(cells[:, 0] | cells[:, 1] << 1 | cells[:, 2] << 2, kind="stable"))
