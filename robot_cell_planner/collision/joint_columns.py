"""Columns of joint variables in the configurations of a kinematic model."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kinematics.model import CellModel
from ..system.cache import IdentityCache

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class JointColumns(NamedTuple):
    """Where the values of some variables belong.

    Attributes:
        indices, others: Indices of the variables, and of all others, in a configuration of the model.
        place: Joints of the model that have their values.
        matrix: Values of the joints per variable (joints, n), instead of `place`, if a variable drives several joints,
            or one with another factor than 1.
    """

    indices: Indices
    others: Indices
    place: slice | Indices
    matrix: Floats | None


_cached: IdentityCache[JointColumns] = IdentityCache(size=64)


def joint_columns(model: CellModel, variables: tuple[str, ...]) -> JointColumns:
    """Return the columns of variables of a model, from a cache.

    Raises:
        UnknownNameError: The model does not have a variable.
    """
    return _cached.get((model,), variables, partial(_columns_of, model, variables))


def _columns_of(model: CellModel, variables: tuple[str, ...]) -> JointColumns:
    indices = model.indices(variables)
    others = np.delete(np.arange(model.size), indices)
    if model.expansion is None:
        return JointColumns(indices, others, _as_slice(indices), None)
    matrix = np.ascontiguousarray(model.expansion[0][:, indices])
    places = _own_joints(matrix)
    if places is None:
        return JointColumns(indices, others, slice(0), matrix)
    return JointColumns(indices, others, _as_slice(places), None)


def _own_joints(matrix: Floats) -> Indices | None:
    """Return the joint index (n,) of each variable if each drives exactly one joint with factor 1, else None.

    matrix: (joints, n), values of the joints per variable.
    """
    if np.array_equal(np.count_nonzero(matrix, axis=0), np.ones(matrix.shape[1])) and (matrix.max(axis=0) == 1.0).all():
        return np.asarray(matrix.argmax(axis=0), dtype=np.intp)
    return None


def _as_slice(indices: Indices) -> slice | Indices:
    """Return consecutive indices as a slice, since numpy assigns to a slice faster."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[0]) + len(indices))
    return indices
