"""Sampling regions: boxes around start and goals, used in turn, because few paths leave the smallest of them."""

from __future__ import annotations

import numpy as np

from ...trajectory.limits import Array
from ..problem.subspace import Subspace
from ._kernels import search_kernels


def sampling_regions(space: Subspace, endpoints: Array) -> Array:
    """Return bounds (4, 2, k) of boxes in a subspace around configurations `endpoints` (n, dof), within the bounds of
    the subspace; see `search_kernels.sampling_regions`.
    """
    z = np.array(space.to_reduced(endpoints), dtype=np.float64)
    return np.asarray(search_kernels.sampling_regions(z, np.array(space.lower), np.array(space.upper))).reshape(
        4, 2, space.size
    )
