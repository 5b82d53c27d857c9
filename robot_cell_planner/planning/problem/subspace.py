"""The space that is searched: all configurations, or those on which combinations of joints keep their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ConstraintMismatchError, UnknownNameError, Value
from ...model.name_suggestions import unknown_name
from ...trajectory.limits import Array
from .constraints import JointCombination
from .space import JointSpace

# Singular values below this share of the largest are combinations that say nothing new.
RANK_TOLERANCE = 1e-10
AT_LIMIT = 1e-9  # [rad or m]


@dataclass(frozen=True, eq=False)
class Subspace:
    """Configurations q = origin + basis @ z (dof,) for coordinates z (k,); columns of the basis are orthonormal, so
    that distances are the same in both.

    lower, upper (k,): a box that holds all z whose q is within `q_lower` and `q_upper` (dof,). whole: z is q.
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
        return self.q_lower if self.whole else self._middle() - self._reach()

    @property
    def upper(self) -> Array:
        return self.q_upper if self.whole else self._middle() + self._reach()

    def _middle(self) -> Array:
        return self.to_reduced(0.5 * (self.q_lower + self.q_upper))

    def _reach(self) -> Array:
        return np.asarray(np.abs(self.basis).T @ (0.5 * (self.q_upper - self.q_lower)))

    def to_full(self, z: Array) -> Array:
        """Configurations (..., dof) of coordinates (..., k)."""
        return z if self.whole else np.asarray(self.origin + z @ self.basis.T)

    def to_reduced(self, q: Array) -> Array:
        """Coordinates (..., k) of the nearest configurations in the space to those given (..., dof)."""
        return q if self.whole else np.asarray((q - self.origin) @ self.basis)

    def within_limits(self, q: Array) -> bool:
        """Whether q (dof,) is within the bounds."""
        return bool((q >= self.q_lower - AT_LIMIT).all() and (q <= self.q_upper + AT_LIMIT).all())


def subspace_of(space: JointSpace, combinations: Sequence[JointCombination]) -> Subspace:
    """The configurations that agree with the start in all combinations.

    Raises:
        UnknownNameError: a joint that is not planned.
        ConstraintMismatchError: nothing is left that could move.
    """
    size = space.size
    if not combinations:
        return Subspace(np.zeros(size), np.eye(size), space.lower, space.upper, True)
    matrix = coefficient_matrix(space, combinations)
    _, values, rows = np.linalg.svd(matrix)
    rank = int((values > RANK_TOLERANCE * values[0]).sum())
    if rank == size:
        text = f"{len(combinations)} combinations of joints hold all {size} joints where they are"
        raise ConstraintMismatchError(text, stage="start", subjects=space.variables)
    basis = np.ascontiguousarray(rows[rank:].T)
    return Subspace(space.start, basis, space.lower, space.upper, False)


def coefficient_matrix(space: JointSpace, combinations: Sequence[JointCombination]) -> Array:
    """Coefficients (m, dof) of combinations.

    Raises:
        UnknownNameError: a joint that is not planned.
    """
    matrix = np.zeros((len(combinations), space.size))
    for row, combination in enumerate(combinations):
        for joint, value in combination.coefficients.items():
            if joint not in space.variables:
                text = unknown_name(f"joint {joint!r} of a combination", joint, space.variables)
                raise UnknownNameError(text, stage="start", subjects=(joint,))
            matrix[row, space.variables.index(joint)] = value
    return matrix


def check_combinations(space: JointSpace, combinations: Sequence[JointCombination], q: Array, what: str) -> None:
    """Refuse a configuration (dof,) that disagrees with the start in a combination.

    Raises:
        ConstraintMismatchError: with the values of both and their difference.
    """
    for row, combination in zip(coefficient_matrix(space, combinations), combinations, strict=True):
        wanted, found = float(row @ space.start), float(row @ q)
        if abs(found - wanted) <= combination.tolerance:
            continue
        terms = " + ".join(f"{value:g} {joint}" for joint, value in combination.coefficients.items())
        text = f"{what} disagrees with the start: {terms} is {wanted:.6g} at the start and {found:.6g} there"
        turns = (found - wanted) / (2.0 * np.pi)
        if abs(turns - round(turns)) < 1e-6:
            text += "; they differ by whole turns, which the joints would have to make on the way"
        values = (Value("at the start", wanted), Value("difference", found - wanted, combination.tolerance))
        names = tuple(combination.coefficients)
        raise ConstraintMismatchError(text, stage="goals", subjects=names, values=values)
