"""Trajectories: timed samples of the joints, and what lies between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InvalidRequestError, LimitExceededError, Value
from .curves import Curve, PolynomialCurve
from .limits import Array, read_only

MAX_SAMPLES = 1_000_000


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Samples of a motion, as trajectory_msgs/JointTrajectory has them.

    variables: names in the order of the columns. times (n,) [s], increasing, from 0 or later. positions (n, dof) [rad
    or m]; velocities and accelerations (n, dof), or None where they are not known, accelerations only with velocities.
    Between samples the curve is a polynomial of degree 5, 3 or 1, as joint_trajectory_controller interpolates.

    Raises:
        InvalidRequestError: shapes that do not fit, numbers that are not finite, times that do not increase.
        LimitExceededError: more than a million samples.
    """

    variables: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        object.__setattr__(self, "times", read_only(self.times))
        if self.times.ndim != 1 or len(self.times) == 0:
            raise _bad(f"times have shape {self.times.shape}, expected (n,) with at least one sample")
        if len(self.times) > MAX_SAMPLES:
            raise LimitExceededError(
                f"a trajectory has {len(self.times)} samples", values=(Value("samples", len(self.times), MAX_SAMPLES),)
            )
        if not self.variables or len(set(self.variables)) != len(self.variables):
            raise _bad(f"joints are {list(self.variables)}, expected at least one, and each once")
        if self.accelerations is not None and self.velocities is None:
            raise _bad("accelerations are given without velocities")
        self._check_times()
        for name in ("positions", "velocities", "accelerations"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._checked(name))

    def _check_times(self) -> None:
        if not np.isfinite(self.times).all() or self.times[0] < 0.0:
            raise _bad("times are not finite numbers from 0 on")
        late = np.flatnonzero(np.diff(self.times) <= 0.0)
        if len(late):
            index = int(late[0]) + 1
            text = f"sample {index} is at {self.times[index]:g} s, not after sample {index - 1}"
            raise _bad(text, Value("time", float(self.times[index]), float(self.times[index - 1]), "s"))

    def _checked(self, name: str) -> Array:
        array = read_only(getattr(self, name))
        expected = (len(self.times), len(self.variables))
        if array.shape != expected:
            raise _bad(f"{name} have shape {array.shape}, expected {expected}")
        if not np.isfinite(array).all():
            row, column = (int(index) for index in np.argwhere(~np.isfinite(array))[0])
            raise _bad(f"{name} of joint {self.variables[column]} at sample {row} is not a finite number")
        return array

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time of the last sample [s]."""
        return float(self.times[-1])

    @cached_property
    def curve(self) -> PolynomialCurve:
        """The samples with polynomials between them; its time 0 is the first sample's.

        Coefficients of the Hermite polynomials: positions, velocities and accelerations agree at both ends of a piece
        (degree 5), positions and velocities (degree 3), or positions (degree 1).
        """
        if len(self) == 1:
            return PolynomialCurve(np.array([0.0, 0.0]), self.positions[:, None, :].copy())
        h = np.diff(self.times)[:, None]
        p0, step = self.positions[:-1], np.diff(self.positions, axis=0)
        rows: list[Array] = [p0, step / h]
        if self.velocities is not None:
            v0, v1 = self.velocities[:-1], self.velocities[1:]
            rows = [p0, v0, (3.0 * step / h - 2.0 * v0 - v1) / h, (v0 + v1 - 2.0 * step / h) / h**2]
            if self.accelerations is not None:
                a0, a1 = self.accelerations[:-1], self.accelerations[1:]
                rows[2:] = [
                    0.5 * a0,
                    (10.0 * step / h - 6.0 * v0 - 4.0 * v1) / h**2 - (1.5 * a0 - 0.5 * a1) / h,
                    (-15.0 * step / h + 8.0 * v0 + 7.0 * v1) / h**3 + (1.5 * a0 - a1) / h**2,
                    (6.0 * step / h - 3.0 * (v0 + v1)) / h**4 + 0.5 * (a1 - a0) / h**3,
                ]
        return PolynomialCurve(self.times - self.times[0], np.stack(rows, axis=1))

    def at(self, times: Sequence[float] | Array, order: int = 0) -> Array:
        """Positions (order 0) or derivatives (1, 2, 3) at times (k,) since the start: (k, dof).

        Before the first sample and after the last one the robot rests there.
        """
        asked = np.asarray(times, dtype=np.float64) - self.times[0]
        values = self.curve.evaluate(asked, order)
        if order:
            values[(asked < 0.0) | (asked > self.curve.duration)] = 0.0
        return values

    def reversed(self) -> Trajectory:
        """The same motion backwards, its first sample at time 0."""
        velocities = None if self.velocities is None else -self.velocities[::-1]
        accelerations = None if self.accelerations is None else self.accelerations[::-1]
        return Trajectory(
            self.variables, self.times[-1] - self.times[::-1], self.positions[::-1], velocities, accelerations
        )


@dataclass(frozen=True, eq=False)
class Rest:
    """A moment of a curve at which everything stands still: its time [s] and the position (dof,)."""

    time: float
    position: Array


def sample_curve(variables: Sequence[str], curve: Curve, period: float, rests: Sequence[Rest] = ()) -> Trajectory:
    """Samples of a curve at multiples of a period [s], and at its end.

    A sample at a rest has exactly its position, and velocities and accelerations that are exactly zero.

    Raises:
        LimitExceededError: more than a million samples.
    """
    count = curve.duration / period
    if count > MAX_SAMPLES - 1:
        text = f"{curve.duration:.6g} s sampled every {period:g} s is too much"
        raise LimitExceededError(text, stage="trajectory", values=(Value("samples", count, MAX_SAMPLES),))
    # Times within a millionth of a period of one another are one.
    whole = math.floor(count + 1e-6)
    times: Array = np.arange(whole + 1, dtype=np.float64) * period
    if count - whole > 1e-6 or (whole == 0 and count > 0.0):
        times = np.append(times, curve.duration)
    elif whole > 0:
        times[-1] = curve.duration
    positions, velocities, accelerations = curve.derivatives(times, 2)
    for rest in rests:
        nearest = int(np.argmin(np.abs(times - rest.time)))
        if abs(times[nearest] - rest.time) <= 1e-6 * period:
            positions[nearest] = rest.position
            velocities[nearest] = accelerations[nearest] = 0.0
    return Trajectory(tuple(variables), times, positions, velocities, accelerations)


def _bad(text: str, *values: Value) -> InvalidRequestError:
    return InvalidRequestError(text, stage="trajectory", values=values)
