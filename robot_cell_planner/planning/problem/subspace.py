"""Searched subspace: all configurations, or those that keep combinations of joints constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...errors import ConstraintMismatchError, UnknownNameError, Value
from ...model.name_suggestions import unknown_name
from ...trajectory.limits import Array
from .constraints import JointCombination
from .space import JointSpace

# Singular values below this fraction of the largest belong to linearly dependent combinations.
RANK_TOLERANCE = 1e-10
LIMIT_TOLERANCE = 1e-9  # [rad or m]
MAX_PROJECTIONS = 200


@dataclass(frozen=True, eq=False)
class Subspace:
    """Affine subspace q = origin + basis @ z of configurations q (dof,) with coordinates z (k,).

    The columns of the basis are orthonormal, so that distances are equal in both.

    Attributes:
        q_lower, q_upper: Bounds of configurations (dof,).
        lower, upper: Box (k,) that contains all z whose q is within the bounds and their tolerance.
        whole: Whether the subspace is the whole joint space, with z = q.
    """

    origin: Array
    basis: Array
    q_lower: Array
    q_upper: Array
    whole: bool

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    @property
    def lower(self) -> Array:
        return self.q_lower if self.whole else self._middle() - self._half_extent()

    @property
    def upper(self) -> Array:
        return self.q_upper if self.whole else self._middle() + self._half_extent()

    def _middle(self) -> Array:
        return self.to_reduced(0.5 * (self.q_lower + self.q_upper))

    def _half_extent(self) -> Array:
        return np.asarray(np.abs(self.basis).T @ (0.5 * (self.q_upper - self.q_lower) + LIMIT_TOLERANCE))

    def within(self, q_lower: Array, q_upper: Array) -> Subspace:
        """Return the subspace with other bounds (dof,)."""
        return replace(self, q_lower=q_lower, q_upper=q_upper)

    def to_full(self, z: Array) -> Array:
        """Return configurations (..., dof) of coordinates (..., k)."""
        return z if self.whole else np.asarray(self.origin + z @ self.basis.T)

    def to_reduced(self, q: Array) -> Array:
        """Return coordinates (..., k) of configurations (..., dof), which are projected onto the subspace."""
        return q if self.whole else np.asarray((q - self.origin) @ self.basis)

    def nearest(self, q: Array) -> Array | None:
        """Return a configuration of the subspace within the bounds near q (dof,); None if none is found.

        It is found by projections onto the bounds and the subspace in turn. They converge to the projection of q onto
        the subspace if that is within the bounds.
        """
        if self.whole:
            return np.clip(q, self.q_lower, self.q_upper) if self.within_limits(q) else None
        for _ in range(MAX_PROJECTIONS):
            projected = self.to_full(self.to_reduced(q))
            q = np.clip(projected, self.q_lower, self.q_upper)
            if float(np.abs(q - projected).max()) <= 0.5 * LIMIT_TOLERANCE:
                return projected
        return None

    def within_limits(self, q: Array) -> bool:
        """Return whether q (dof,) is within the bounds."""
        return bool(self.rows_within_limits(q))

    def rows_within_limits(self, configurations: Array) -> NDArray[np.bool_]:
        """Return whether each of (n, dof) configurations is within the bounds: (n,)."""
        above, below = (
            configurations >= self.q_lower - LIMIT_TOLERANCE,
            configurations <= self.q_upper + LIMIT_TOLERANCE,
        )
        return np.asarray((above & below).all(axis=-1))


def subspace_of(space: JointSpace, combinations: Sequence[JointCombination]) -> Subspace:
    """Return the subspace of configurations that agree with the start in all combinations.

    Raises:
        UnknownNameError: A joint is not planned for.
        ConstraintMismatchError: No motion is possible.
    """
    size = space.size
    if not combinations:
        return Subspace(*_whole(size), space.lower, space.upper, True)
    matrix = coefficient_matrix(space, combinations)
    _, values, rows = np.linalg.svd(matrix)
    rank = int((values > RANK_TOLERANCE * values[0]).sum())
    if rank == size:
        text = f"{len(combinations)} combinations of joints fix all {size} joints"
        raise ConstraintMismatchError(text, stage="start", subjects=space.variables)
    basis = np.ascontiguousarray(rows[rank:].T)
    return Subspace(space.start, basis, space.lower, space.upper, False)


@cache
def _whole(size: int) -> tuple[Array, Array]:
    """Return origin and basis of the whole joint space, which is that of most requests."""
    return np.zeros(size), np.eye(size)


def coefficient_matrix(space: JointSpace, combinations: Sequence[JointCombination]) -> Array:
    """Return the coefficients (m, dof) of combinations.

    Raises:
        UnknownNameError: A joint is not planned for.
    """
    matrix = np.zeros((len(combinations), space.size))
    for row, combination in enumerate(combinations):
        for joint, value in combination.coefficients.items():
            if joint not in space.variables:
                text = unknown_name(f"joint {joint!r} of a combination", joint, space.variables)
                raise UnknownNameError(text, stage="start", subjects=(joint,))
            matrix[row, space.variables.index(joint)] = value
    return matrix


def check_combinations(
    space: JointSpace, combinations: Sequence[JointCombination], q: Array, what: str, stage: str = "goals"
) -> None:
    """Reject a configuration (dof,) that does not agree with the start in a combination.

    Raises:
        ConstraintMismatchError: With both values and their difference.
    """
    for row, combination in zip(coefficient_matrix(space, combinations), combinations, strict=True):
        expected, found = float(row @ space.start), float(row @ q)
        if abs(found - expected) <= combination.tolerance:
            continue
        terms = " + ".join(f"{value:g} {joint}" for joint, value in combination.coefficients.items())
        text = f"{what} disagrees with the start: {terms} is {expected:.6g} at the start and {found:.6g} there"
        wraps = (found - expected) / (2.0 * np.pi)
        if abs(wraps - round(wraps)) < 1e-6:
            text += "; they differ by a multiple of 2 pi, which the path would have to pass"
        values = (Value("at the start", expected), Value("difference", found - expected, combination.tolerance))
        names = tuple(combination.coefficients)
        raise ConstraintMismatchError(text, stage=stage, subjects=names, values=values)
