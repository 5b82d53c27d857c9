"""Limits of the joints that a trajectory moves, as arrays in the order of its variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, TrajectoryError, UnknownNameError, Value
from ..model.arguments import checked_fields
from ..model.cell_warnings import assumed_limits_of
from ..model.mechanism import JointLimits, Variable
from ..model.name_suggestions import unknown_name
from ..model.units import unit_at

Array = NDArray[np.float64]
RATES = ("velocity", "acceleration", "jerk")


def read_only(values: Iterable[float] | Array) -> Array:
    """Return a read-only float64 copy."""
    array = np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64, order="C")
    array.setflags(write=False)
    return array


def check_scales(velocity: float, acceleration: float, jerk: float) -> None:
    """Raise InvalidRequestError if a fraction of limits is not above 0 and at most 1."""
    for name, fraction in zip(RATES, (velocity, acceleration, jerk), strict=True):
        if not 0.0 < fraction <= 1.0:
            text = f"the {name} scale is {fraction:g}, expected above 0 and at most 1"
            raise InvalidRequestError(text, stage="trajectory", values=(Value(f"{name} scale", fraction, 1.0),))


@checked_fields
@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of joint variables, each (dof,).

    Attributes:
        variables: Names of the joint variables.
        lower, upper: Position limits [rad or m]; infinite if there is none.
        velocity, acceleration, jerk: Limits [per s, s2, s3], positive and equal in both directions.
        assumed: Sentence about the limits that no file provides; "" if there are none.
        units: Units of the positions, "rad" or "m"; () if they are not known.

    Raises:
        InvalidRequestError: Shapes differ, a rate limit is not positive and finite, or a lower limit exceeds the upper
            one.
    """

    variables: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    assumed: str = ""
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("lower", "upper", *RATES):
            array = read_only(getattr(self, name))
            if array.shape != (len(self.variables),):
                text = f"{name} limits have shape {array.shape}, expected ({len(self.variables)},)"
                raise InvalidRequestError(text, stage="trajectory")
            object.__setattr__(self, name, array)
        for name in RATES:
            array = getattr(self, name)
            if not (np.isfinite(array) & (array > 0.0)).all():
                self._check_rate(name, array)
        if (self.lower <= self.upper).all():
            return
        for joint, low, high in zip(self.variables, self.lower, self.upper, strict=True):
            if not low <= high:
                text = f"joint {joint} has lower limit {low:g} and upper limit {high:g}"
                raise InvalidRequestError(text, stage="trajectory", subjects=(joint,))

    @cached_property
    def by_order(self) -> tuple[Array, Array]:
        """Lower and upper limits (4, dof) of the derivatives of the orders 0 to 3. Must not be modified."""
        rates = [self.velocity, self.acceleration, self.jerk]
        return np.array([self.lower, *(-rate for rate in rates)]), np.array([self.upper, *rates])

    def unit(self, column: int, order: int = 0) -> str:
        """Return the unit of the derivative of an order of a variable."""
        return unit_at(self.units, column, order)

    def is_continuous(self, column: int) -> bool:
        """Return whether a variable is known to be an angle without position limits."""
        unlimited = math.isinf(self.lower[column]) and math.isinf(self.upper[column])
        return unlimited and bool(self.units) and self.units[column] == "rad"

    def _check_rate(self, name: str, array: Array) -> None:
        for joint, value in zip(self.variables, array, strict=True):
            if not (math.isfinite(value) and value > 0.0):
                text = f"the {name} limit of joint {joint} is {value:g}, expected a finite number above 0"
                numbers = (Value(f"{name} of {joint}", float(value)),)
                raise InvalidRequestError(text, stage="trajectory", subjects=(joint,), values=numbers)

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> MotionLimits:
        """Return the limits of the model.

        Raises:
            TrajectoryError: A limit is unknown. The readers of robot descriptions fill such gaps with documented
                defaults.
        """
        rates: dict[str, list[float]] = {name: [] for name in RATES}
        for variable in variables:
            for name in RATES:
                value = getattr(variable.limits, name)
                if not value:
                    text = f"joint {variable.name} has no {name} limit"
                    raise TrajectoryError(text, subjects=(variable.name,))
                rates[name].append(value)
        arrays = {name: read_only(values) for name, values in rates.items()}
        lower = read_only(variable.limits.lower for variable in variables)
        upper = read_only(variable.limits.upper for variable in variables)
        names = tuple(variable.name for variable in variables)
        units = tuple(variable.unit for variable in variables)
        return cls(names, lower, upper, **arrays, assumed=assumed_limits_of(variables), units=units)

    def around(self, bounds: Sequence[tuple[float, float]]) -> MotionLimits:
        """Return the limits with other position limits (lower, upper) by variable."""
        lower, upper = (read_only(values) for values in zip(*bounds, strict=True))
        return replace(self, lower=lower, upper=upper)

    def scaled(self, velocity: float = 1.0, acceleration: float = 1.0, jerk: float = 1.0) -> MotionLimits:
        """Return the limits with velocities, accelerations and jerks multiplied by fractions, above 0 and at most 1.

        Raises:
            InvalidRequestError: A fraction is outside that range.
        """
        check_scales(velocity, acceleration, jerk)
        if velocity == acceleration == jerk == 1.0:
            return self
        return replace(
            self,
            velocity=self.velocity * velocity,
            acceleration=self.acceleration * acceleration,
            jerk=self.jerk * jerk,
        )

    def narrowed(self, limits: Mapping[str, JointLimits]) -> MotionLimits:
        """Return the limits, narrowed to the limits of a request where those are tighter.

        Raises:
            UnknownNameError: A joint is not among the variables.
            InvalidRequestError: No value is left between lower and upper limit.
        """
        if not limits:
            return self
        arrays = {name: np.array(getattr(self, name)) for name in ("lower", "upper", *RATES)}
        for joint, requested in limits.items():
            if joint not in self.variables:
                text = unknown_name(f"joint {joint!r} of the limits", joint, self.variables)
                raise UnknownNameError(text, subjects=(joint,))
            index = self.variables.index(joint)
            arrays["lower"][index] = max(arrays["lower"][index], requested.lower)
            arrays["upper"][index] = min(arrays["upper"][index], requested.upper)
            for name in RATES:
                value = getattr(requested, name)
                if value is not None:
                    arrays[name][index] = min(arrays[name][index], value)
        others: Mapping[str, Any] = arrays
        return replace(self, **others)
