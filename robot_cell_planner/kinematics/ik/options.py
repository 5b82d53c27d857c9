"""Options and results of inverse kinematics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidValueError
from ...model.arguments import check_fields
from .._kernels import chain_kernels
from ..chain import Chain

Array = NDArray[np.float64]
MAX_RESTARTS = 100_000
MAX_SWEEP = 10_000


class IkOrder(str, Enum):
    """Order of the solutions."""

    NEAREST_TO_SEED = "nearest to seed"
    FARTHEST_FROM_LIMITS = "farthest from limits"
    MOST_MANIPULABLE = "most manipulable"


class IkSolver(str, Enum):
    """Solver selection: analytic, numeric, or automatic (analytic if available, numeric as the fallback)."""

    AUTO = "auto"
    ANALYTIC = "analytic"
    NUMERIC = "numeric"


class IkOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of inverse kinematics.

    Attributes:
        max_solutions: Max number of solutions, 0 for all that are found. If there are infinitely many solutions
            (redundant arms, point-axis targets, numeric search), a small number ends the search early.
        order: Order of the solutions.
        solver: Solver to use.
        seed: Seed of the random restarts.
        max_restarts: Max number of restarts of a numeric search after the first start. They are counted, so the result
            does not depend on timing.
        sweep: Number of samples of a locked joint, or of the free rotation of a target.
        all_turns: Return each solution with all 2 pi wraps that the joint limits allow; a joint without limits is
            wrapped to its two nearest values. If False, each solution is returned once, with the wrap nearest to the
            seed.
        timeout: Time limit of the search [s]; None for no limit.
    """

    max_solutions: int = 0
    order: IkOrder = IkOrder.NEAREST_TO_SEED
    solver: IkSolver = IkSolver.AUTO
    seed: int = 0
    max_restarts: int = 100
    sweep: int = 24
    all_turns: bool = False
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name, low, high in (
            ("max_solutions", 0, 1_000_000),
            ("seed", 0, 2**64 - 1),
            ("max_restarts", 0, MAX_RESTARTS),
            ("sweep", 1, MAX_SWEEP),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise InvalidValueError(f"{name} is {value!r}, expected a whole number from {low} to {high}")
        if not isinstance(self.order, IkOrder) or not isinstance(self.solver, IkSolver):
            raise InvalidValueError(
                f"order is {self.order!r} and solver {self.solver!r}, expected an IkOrder and an IkSolver"
            )
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0.0):
            raise InvalidValueError(f"timeout is {self.timeout} s, expected a finite number above 0")


class IkResult(msgspec.Struct, frozen=True, eq=False):
    """Solutions in the requested order, each verified by forward kinematics and against limits.

    Attributes:
        variables: Names of the columns.
        solutions: (k, n) [rad, m].
        residuals: (k, 2) remaining distance [m] and angle [rad].
        solver: Solver that found the solutions, for example "analytic 6R".
        complete: Whether there are no other solutions, except for 2 pi wraps.
        chains: Chain to each target frame; several for composite groups.
        limits: Rows lower and upper limits (n,).
    """

    variables: tuple[str, ...]
    solutions: Array
    residuals: Array
    solver: str
    complete: bool
    chains: tuple[Chain, ...]
    limits: Array

    @property
    def best(self) -> Array:
        """First solution (n,)."""
        return np.array(self.solutions[0])

    def __len__(self) -> int:
        return len(self.solutions)

    def limit_distances(self) -> Array:
        """Return the min distance of a joint from its limit per solution [rad, m], (k,); infinite without limits."""
        return limit_distances(self.solutions, self.limits)

    def manipulabilities(self) -> Array:
        """Return sqrt(det(J J^T)) of each solution, (k,); of a composite group, the smallest of its groups."""
        return np.asarray(np.min([manipulabilities(chain, self._columns(chain)) for chain in self.chains], axis=0))

    def _columns(self, chain: Chain) -> Array:
        if chain.variables == self.variables:
            return self.solutions
        return np.ascontiguousarray(self.solutions[:, [self.variables.index(name) for name in chain.variables]])


@dataclass(frozen=True, eq=False)
class ClosestConfiguration:
    """Closest configuration found, stored in `partial` of an InverseKinematicsError.

    Attributes:
        variables: Names of the values.
        positions: (n,) [rad, m].
        distance: Remaining distance to the target [m].
        angle: Remaining angle to the target [rad].
    """

    variables: tuple[str, ...]
    positions: Array
    distance: float
    angle: float
    limit_distance: float
    manipulability: float


def limit_distances(solutions: Array, limits: Array) -> Array:
    """Return the min distance of a joint from its limit (k,) for solutions (k, n); `limits`: rows lower, upper, ..."""
    gaps = np.minimum(solutions - limits[0], limits[1] - solutions)
    return np.asarray(gaps.min(axis=1, initial=np.inf))


def manipulabilities(chain: Chain, solutions: Array) -> Array:
    """Return sqrt(det(J J^T)), or sqrt(det(J^T J)) for fewer than six variables, (k,), for solutions (k, n)."""
    found = chain_kernels.jacobians_and_rates(chain.table, solutions.copy(), np.zeros_like(solutions))[0]
    return np.asarray(np.linalg.svd(found, compute_uv=False).prod(axis=1))


def manipulability(jacobian: Array) -> float:
    """Return the product of the singular values of a Jacobian (6, n) (Yoshikawa, Manipulability of Robotic Mechanisms,
    1985)."""
    return float(np.prod(np.linalg.svd(jacobian, compute_uv=False)))
