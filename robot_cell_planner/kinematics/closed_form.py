"""Closed-form inverse kinematics by EAIK: six revolute joints, or seven of which one is locked at many values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from eaik.pybindings.EAIK import Robot as EaikRobot
from numpy.typing import NDArray

from . import kernels
from .chain import Chain

Array = NDArray[np.float64]
SNAP_DIRECTION = 1e-4  # axes this near to a common direction are taken to have it
SNAP_LENGTH = 1e-5  # [m]
COMMON_COSINES = np.array((0.0, 0.5, np.sqrt(0.5), np.sqrt(0.75), 1.0))
ROBOTS_KEPT = 64


class SixRevolute:
    """A chain of six revolute joints whose geometry EAIK can solve (Ostermeier et al., Automatic Geometric
    Decomposition for Analytical Inverse Kinematics, 2024).

    The solutions may be of a chain that is rounded by up to SNAP_LENGTH and SNAP_DIRECTION, where the description's own
    rounding hides that axes meet or are parallel: they are rough, and have to be brought onto the target.

    Raises:
        ValueError: there is no closed form for it.
    """

    def __init__(self, table: Array) -> None:
        axes, offsets, rotation = _axes_and_offsets(table)
        robot = EaikRobot(axes, offsets, rotation, [], True)
        if not robot.has_known_decomposition():
            robot = EaikRobot(_snapped_directions(axes), _snapped_lengths(offsets), rotation, [], True)
        if not robot.has_known_decomposition():
            raise ValueError("no closed form")
        self.family: str = robot.get_kinematic_family()
        self._solve = robot.calculate_IK

    def rough(self, target: Array) -> Array:
        """Rough solutions (k, 6) for base_T_tip (4, 4), least-squares ones included; k may be 0."""
        return np.array(self._solve(target).Q).reshape(-1, 6)


class LockedSeven:
    """A chain of seven joints of which one is locked, so that the other six are a SixRevolute.

    lock: index of the row that is locked; the last or the first is preferred, because then the six stay the same
    whatever its value.

    Raises:
        ValueError: there is no closed form whichever joint is locked.
    """

    def __init__(self, table: Array) -> None:
        self._table = table
        slides = [row for row in range(7) if table[row, kernels.KIND] != 0.0]
        if len(slides) > 1:
            raise ValueError("no closed form")
        for lock in slides or (6, 0, 2, 3, 4, 5, 1):
            try:
                self._first = SixRevolute(folded(table, lock, 0.5))
            except ValueError:
                continue
            self.lock = lock
            break
        else:
            raise ValueError("no closed form")
        self.family = self._first.family
        self._at = lru_cache(maxsize=ROBOTS_KEPT)(self._six)

    def rough(self, target: Array, value: float) -> Array:
        """Rough solutions (k, 7), in the order of the rows, with the locked joint at a value [rad or m]."""
        ends = self.lock in (0, 6)
        six = self._first.rough(self._moved(target, value)) if ends else self._at(value).rough(target)
        return np.insert(six, self.lock, value, axis=1)

    def _six(self, value: float) -> SixRevolute:
        return SixRevolute(folded(self._table, self.lock, value))

    def _moved(self, target: Array, value: float) -> Array:
        """Where the six have to be with the joint locked at 0.5 to be at the target with it at `value`."""
        ends = (0.5, value)
        if self.lock == 0:
            here, there = (_transform(self._table[0]) @ _motion(self._table[0], end) for end in ends)
            return here @ np.linalg.inv(there) @ target
        tip = _transform(self._table[7])
        here, there = (_motion(self._table[6], end) @ tip for end in ends)
        return np.asarray(target @ np.linalg.inv(there) @ here)


class ClosedForm:
    """The closed form of a chain, in terms of its variables.

    name: as results name the solver. locked: the variable whose value must be chosen, by index, or None.
    """

    def __init__(self, chain: Chain, solver: SixRevolute | LockedSeven) -> None:
        self._solver = solver
        self._columns = chain.table[:-1, kernels.VARIABLE].astype(np.intp)
        self.locked = int(self._columns[solver.lock]) if isinstance(solver, LockedSeven) else None
        self.name = "analytic 6R" if self.locked is None else f"analytic, {chain.variables[self.locked]} locked"
        self.family = solver.family

    def rough(self, target: Array, seed: Array, value: float) -> Array:
        """Rough solutions (k, n) for base_T_tip; value: of the locked variable. Unused variables are as in the seed."""
        if isinstance(self._solver, LockedSeven):
            found = self._solver.rough(target, value)
        else:
            found = self._solver.rough(target)
        if len(self._columns) == len(seed) and np.array_equal(self._columns, np.arange(len(seed))):
            return found
        result = np.tile(seed, (len(found), 1))
        result[:, self._columns] = found
        return result


def closed_form(chain: Chain) -> ClosedForm | None:
    """The closed form of a chain, or None if it has none."""
    return _found(chain)


@lru_cache(maxsize=512)
def _found(chain: Chain) -> ClosedForm | None:
    joints = chain.table[:-1]
    columns = joints[:, kernels.VARIABLE]
    plain = (joints[:, kernels.MULTIPLIER] == 1.0) & (joints[:, kernels.OFFSET] == 0.0)
    if not plain.all() or len(set(columns)) != len(columns):
        return None
    try:
        if len(joints) == 6 and not joints[:, kernels.KIND].any():
            return ClosedForm(chain, SixRevolute(chain.table))
        if len(joints) == 7:
            return ClosedForm(chain, LockedSeven(chain.table))
    except ValueError:
        return None
    return None


def folded(table: Array, row: int, value: float) -> Array:
    """The table of a chain without one joint, which stays at a value [rad or m]."""
    combined = _transform(table[row]) @ _motion(table[row], value) @ _transform(table[row + 1])
    result = np.delete(table, row, axis=0)
    result[row, :9], result[row, 9:12] = combined[:3, :3].ravel(), combined[:3, 3]
    result[:, kernels.VARIABLE] = np.arange(len(result))
    return result


def _transform(row: Array) -> Array:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = row[:9].reshape(3, 3), row[9:12]
    return result


def _motion(row: Array, value: float) -> Array:
    result = np.eye(4)
    if row[kernels.KIND] == 0.0:
        cosine, sine = np.cos(value), np.sin(value)
        result[:2, :2] = ((cosine, -sine), (sine, cosine))
    else:
        result[2, 3] = value
    return result


def _axes_and_offsets(table: Array) -> tuple[Array, Array, Array]:
    """Axes (3, m) and offsets from origin to origin (3, m + 1) with all joints at zero, and the tip's rotation."""
    rows = len(table)
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    kernels.walk(table, np.zeros(rows), origins, axes, pose)
    origins[-1] = pose[:3, 3]
    offsets = np.diff(origins, axis=0, prepend=np.zeros((1, 3)))
    return axes[:-1].T.copy(), offsets.T.copy(), pose[:3, :3].copy()


def _snapped_directions(axes: Array) -> Array:
    """Axes with components near to those of common directions moved onto them."""
    magnitudes = np.abs(axes)
    nearest = COMMON_COSINES[np.abs(magnitudes[..., None] - COMMON_COSINES).argmin(axis=-1)]
    moved = np.where(np.abs(nearest - magnitudes) < SNAP_DIRECTION, np.copysign(nearest, axes), axes)
    return np.asarray(moved / np.linalg.norm(moved, axis=0))


def _snapped_lengths(offsets: Array) -> Array:
    return np.asarray(np.round(offsets / SNAP_LENGTH) * SNAP_LENGTH)


def spread(lower: float, upper: float, near: float, count: int) -> Iterator[float]:
    """`count` values evenly over a range, the ones nearest to `near` first; where an end is infinite, over a turn
    around `near`."""
    if not (np.isfinite(lower) and np.isfinite(upper)):
        lower, upper = max(lower, near - np.pi), min(upper, near + np.pi)
    values = lower + (np.arange(count) + 0.5) * (upper - lower) / count
    yield from (float(value) for value in sorted(values, key=lambda value: (abs(value - near), value)))
