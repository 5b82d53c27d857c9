"""Test of configurations for inverse kinematics: free by spheres where they prove it, otherwise by exact distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError
from ..checker import CollisionChecker
from .certifier import MotionCertifier, certifiable, certifier_of

Floats = NDArray[np.float64]
MIN_FOR_SPHERES = 6  # configurations for which the spheres pay: they prove some, and exact distances decide the others


class FreeConfigurations:
    """Whether configurations of a checker's variables are free of collisions: `is_valid` of `inverse_kinematics`.

    Many configurations together take less time than one by one, because spheres prove most of the free ones at once.
    The sphere approximations of a robot that was never seen take seconds to compute when this is created.

    Args:
        spheres: If False, only exact distances decide.
    """

    def __init__(self, checker: CollisionChecker, *, spheres: bool = True) -> None:
        self._checker = checker
        self._certifier: MotionCertifier | None = None
        if spheres and certifiable(checker):
            try:
                certifier = certifier_of(checker)
            except GeometryError:
                return
            self._certifier = certifier if certifier.sphere_test_applies() else None

    def __call__(self, q: Floats) -> bool:
        """Return whether a configuration (dof,) is free."""
        return not self._checker.in_collision(q)

    def many(self, configurations: Floats) -> NDArray[np.bool_]:
        """Return for each of n configurations (n, dof) whether it is free: (n,).

        Raises:
            InvalidRequestError: The array has the wrong shape or is not finite.
        """
        self._checker.require_configurations(configurations)
        free = np.zeros(len(configurations), dtype=np.bool_)
        certifier = self._certifier
        if certifier is not None and len(configurations) >= MIN_FOR_SPHERES:
            low, high = configurations.min(axis=0), configurations.max(axis=0)
            if certifier.within_prismatic_limits(low, high):
                free = certifier.check_boxes(configurations, np.zeros_like(configurations)) == 0
        left = np.flatnonzero(~free)
        if len(left):
            free[left] = ~self._checker.in_collision_batch(configurations[left])
        return free
