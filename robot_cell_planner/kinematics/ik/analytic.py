"""Analytic inverse kinematics of six revolute joints, or of seven joints with one of them sampled."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from eaik.pybindings.EAIK import Robot as EaikRobot
from numpy.typing import NDArray

from .._kernels import chain_kernels, ik_kernels, six_kernels
from ..chain import Chain
from .compiled_six import ROUNDED, CompiledSix, compiled_six
from .problem import IkProblem

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
SNAP_DIRECTION = 1e-4  # axes that deviate less from a coordinate axis are snapped to it
SNAP_LENGTH = 1e-5  # [m] offsets are snapped likewise
COMMON_COSINES = np.array((0.0, 0.5, np.sqrt(0.5), np.sqrt(0.75), 1.0))
MAX_CACHED = 64
GENERIC = 0.5  # [rad or m] value of a locked joint at which no axes are aligned by coincidence


class SixRevolute:
    """Chain of six revolute joints that can be solved analytically: by compiled kernels if they know its kind, else by
    EAIK (Ostermeier et al., Automatic Geometric Decomposition for Analytical Inverse Kinematics, 2024).

    If rounding in the robot description hides that axes intersect or are parallel, the geometry is snapped by up to
    SNAP_LENGTH and SNAP_DIRECTION. Solutions are therefore candidates that have to be refined to the target.

    Args:
        table: Table of the chain.
        compiled: Whether to use the kernels, which takes a millisecond to prepare.
        rounded: Whether the axes may deviate from the arrangement that has a closed form as much as by rounding to
            three decimals, if they would have none otherwise.

    Attributes:
        compiled: Solver that consists of kernels, or None.
        exact: Whether the axes deviate so little that refined candidates count as all solutions. Otherwise, of two
            solutions that nearly coincide, one can be missing.

    Raises:
        ValueError: There is no analytic solution for the chain.
    """

    candidates: Callable[[Array], tuple[Array, Counts]]

    def __init__(self, table: Array, compiled: bool = True, rounded: bool = False) -> None:
        axes, offsets, rotation = _axes_and_offsets(table)
        self.compiled = compiled_six(axes, offsets, rotation) if compiled else None
        robot = None if self.compiled is not None else _decomposed(axes, offsets, rotation)
        self.exact = self.compiled is not None or robot is not None
        if not self.exact and rounded:
            self.compiled = compiled_six(axes, offsets, rotation, ROUNDED)
        if self.compiled is not None:
            self.candidates = self.compiled.candidates
        elif robot is not None:
            self._robot = robot
            self.candidates = self._by_eaik
        else:
            raise ValueError("no closed form")

    def _by_eaik(self, targets: Array) -> tuple[Array, Counts]:
        """Compute candidates (c, 6) for base_T_tip (k, 4, 4), including least-squares solutions, in their order, and
        the number of each (k,)."""
        found = [self._robot.calculate_IK(target).Q for target in targets]
        return _stacked([q for several in found for q in several]), np.array([len(several) for several in found])


def _decomposed(axes: Array, offsets: Array, rotation: Array) -> EaikRobot | None:
    """Return EAIK's solver of a chain, of its snapped geometry if need be; None if EAIK knows no closed form."""
    for used in ((axes, offsets), (_snapped_directions(axes), _snapped_lengths(offsets))):
        robot = EaikRobot(*used, rotation, [], True)
        if robot.has_known_decomposition():
            return robot
    return None


class LockedSeven:
    """Chain of seven joints, one of which is locked so that the other six form a SixRevolute.

    exact: As that of SixRevolute.
    lock: Index of the locked row. The last or first joint is preferred, because the other six then do not depend on its
    value.

    Raises:
        ValueError: There is no analytic solution for any locked joint.
    """

    exact = True

    def __init__(self, table: Array) -> None:
        self._table = table
        slides = [row for row in range(7) if table[row, chain_kernels.KIND] != 0.0]
        if len(slides) > 1:
            raise ValueError("no closed form")
        self._six_at = lru_cache(maxsize=MAX_CACHED)(self._six)
        for lock in slides or (6, 0, 2, 3, 4, 5, 1):
            self.lock = lock
            try:
                self.compiled = self._six_at(GENERIC).compiled
                return
            except ValueError:
                continue
        raise ValueError("no closed form")

    def candidates(self, targets: Array, values: Array) -> tuple[Array, Counts]:
        """Compute candidates (c, 7) for targets (k, 4, 4), each with its value (k,) [rad or m] of the locked joint, in
        their order, and the number of each (k,)."""
        if self.lock in (0, 6):
            table = self._table
            targets = ik_kernels.targets_without_joint(table[self.lock], table[7], self.lock == 6, targets, values)
            six, counts = self._six_at(GENERIC).candidates(targets)
        else:
            pairs = zip(targets, values.tolist(), strict=True)
            found = [self._six_at(value).candidates(target[None]) for target, value in pairs]
            six = np.concatenate([rows for rows, _ in found])
            counts = np.concatenate([count for _, count in found])
        result = np.empty((len(six), 7))
        result[:, : self.lock], result[:, self.lock + 1 :] = six[:, : self.lock], six[:, self.lock :]
        result[:, self.lock] = np.repeat(values, counts)
        return result, counts

    def _six(self, value: float) -> SixRevolute:
        """Return the other six joints with the locked one at a value; if it is first or last, the chain without it."""
        if self.lock == 0:
            return SixRevolute(self._table[1:])
        if self.lock == 6:
            return SixRevolute(self._table[:7])
        return SixRevolute(folded(self._table, self.lock, value), compiled=False)  # another one for each value


class Swept(NamedTuple):
    """Solutions (k, n) and residuals (k, 2), nearest to the start first; the number of values that were evaluated, and
    that of misses."""

    solutions: Array
    residuals: Array
    end: int
    missed: int


class AnalyticSolver:
    """Analytic solver of a chain in terms of its variables.

    Attributes:
        name: Solver name in results.
        compiled: Whether it consists of compiled kernels, which take microseconds for many targets.
        exact: Whether its refined candidates count as all solutions.
        locked: Index of the variable that has to be sampled, or None.
        sweeps: Whether it has `sweep`.
    """

    def __init__(self, chain: Chain, solver: SixRevolute | LockedSeven) -> None:
        self._solver = solver
        self.compiled = solver.compiled is not None
        self.exact = solver.exact
        self._chain = chain
        self._columns = chain.table[:-1, chain_kernels.VARIABLE].astype(np.intp)
        self._in_order = bool(np.array_equal(self._columns, np.arange(len(chain.variables))))
        self.locked = int(self._columns[solver.lock]) if isinstance(solver, LockedSeven) else None
        self.name = "analytic 6R" if self.locked is None else f"analytic, {chain.variables[self.locked]} locked"
        self._swept: CompiledSix | None = None
        if self._in_order and self.locked in (0, 6):
            self._swept = solver.compiled
        self.sweeps = self._swept is not None

    def candidates(self, targets: Array, values: Array, start: Array) -> tuple[Array, Counts]:
        """Compute candidates (c, n) for base_T_tip (k, 4, 4), each with its value (k,) of the locked variable, in their
        order, and the number of each (k,).

        Variables that do not move the tip keep their values in the start (n,).
        """
        solver = self._solver
        found, counts = (
            solver.candidates(targets, values) if isinstance(solver, LockedSeven) else solver.candidates(targets)
        )
        if self._in_order:
            return found, counts
        result = np.empty((len(found), len(start)))
        result[:] = start
        result[:, self._columns] = found
        return result, counts

    def sweep(self, problem: IkProblem, values: Array, begin: int, at_once: int, misses: Array) -> Swept:
        """Return the first verified solutions among values (k,) of the locked variable, from the one at `begin` on.

        At first one value is evaluated, then `at_once` at a time. misses: Filled with candidates (m, n) that are no
        solutions.
        """
        assert self._swept is not None
        joints = problem.joints
        found, left, end, missed = six_kernels.sweep(
            *self._swept, self._chain.table, self.locked == 6, values, begin, at_once, problem.target,
            problem.rotation_weights, problem.start, joints.limits, joints.angular, problem.tolerance, misses,
        )  # fmt: skip
        return Swept(found, left, end, missed)


def _stacked(rows: list[Array]) -> Array:
    """Stack rows of six into a table (k, 6)."""
    return np.concatenate(rows).reshape(-1, 6) if rows else np.empty((0, 6))


def closed_form(chain: Chain) -> AnalyticSolver | None:
    """Return the analytic solver of a chain, or None if there is none."""
    return _found(chain)


@lru_cache(maxsize=512)
def _found(chain: Chain) -> AnalyticSolver | None:
    joints = chain.table[:-1]
    columns = joints[:, chain_kernels.VARIABLE]
    plain = (joints[:, chain_kernels.MULTIPLIER] == 1.0) & (joints[:, chain_kernels.OFFSET] == 0.0)
    if not plain.all() or len(set(columns)) != len(columns):
        return None
    try:
        if len(joints) == 6 and not joints[:, chain_kernels.KIND].any():
            return AnalyticSolver(chain, SixRevolute(chain.table, rounded=True))
        if len(joints) == 7:
            return AnalyticSolver(chain, LockedSeven(chain.table))
    except ValueError:
        return None
    return None


def folded(table: Array, row: int, value: float) -> Array:
    """Return the table of a chain without one joint, which is fixed at a value [rad or m]."""
    combined = _transform(table[row]) @ _motion(table[row], value) @ _transform(table[row + 1])
    result = np.delete(table, row, axis=0)
    result[row, :9], result[row, 9:12] = combined[:3, :3].ravel(), combined[:3, 3]
    result[:, chain_kernels.VARIABLE] = np.arange(len(result))
    return result


def _transform(row: Array) -> Array:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = row[:9].reshape(3, 3), row[9:12]
    return result


def _motion(row: Array, value: float) -> Array:
    result = np.eye(4)
    if row[chain_kernels.KIND] == 0.0:
        cosine, sine = np.cos(value), np.sin(value)
        result[:2, :2] = ((cosine, -sine), (sine, cosine))
    else:
        result[2, 3] = value
    return result


def _axes_and_offsets(table: Array) -> tuple[Array, Array, Array]:
    """Return axes (3, m) and offsets between origins (3, m + 1) at zero joint values, and the tip's rotation."""
    rows = len(table)
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    chain_kernels.forward_pass(table, np.zeros(rows), origins, axes, pose)
    origins[-1] = pose[:3, 3]
    offsets = np.diff(origins, axis=0, prepend=np.zeros((1, 3)))
    return axes[:-1].T.copy(), offsets.T.copy(), pose[:3, :3].copy()


def _snapped_directions(axes: Array) -> Array:
    """Snap components of axes that are close to those of common directions."""
    magnitudes = np.abs(axes)
    nearest = COMMON_COSINES[np.abs(magnitudes[..., None] - COMMON_COSINES).argmin(axis=-1)]
    moved = np.where(np.abs(nearest - magnitudes) < SNAP_DIRECTION, np.copysign(nearest, axes), axes)
    return np.asarray(moved / np.linalg.norm(moved, axis=0))


def _snapped_lengths(offsets: Array) -> Array:
    return np.asarray(np.round(offsets / SNAP_LENGTH) * SNAP_LENGTH)
