"""Trajectories: timed joint samples and the curve between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InvalidRequestError, LimitExceededError, Value
from ..model.arguments import checked_fields
from ..model.name_suggestions import listed
from .completion import accelerations_of, velocities_of
from .curve_kernels import hermite_pieces, merge_times
from .curves import SHORTEST, Curve, PolynomialCurve
from .limits import Array, read_only

MAX_SAMPLES = 1_000_000
# Coefficients and bounds of curves through larger numbers overflow.
MAX_TIME = 1e10  # [s]; also for stamps of a clock
MAX_NUMBER = 1e30  # of positions, velocities and accelerations
NANOSECOND = 1e-9  # [s]
SAME_TIME = 1e-13  # [s]


@checked_fields
@dataclass(frozen=True, eq=False)
class Trajectory:
    """Samples of a motion, as in trajectory_msgs/JointTrajectory.

    Between samples the curve is a polynomial of degree 5 with continuous acceleration, as joint_trajectory_controller
    interpolates points with accelerations. Missing derivatives are computed as in `completion`.

    Attributes:
        variables: Names of the joint variables, in column order.
        times: Increasing times (n,) [s], 0 to 1e10.
        positions: (n, dof) [rad or m].
        velocities: (n, dof) [rad/s or m/s], or None if unknown.
        accelerations: (n, dof) [rad/s2 or m/s2], or None if unknown; they require velocities.

    Raises:
        InvalidRequestError: Shapes do not fit, numbers are not finite or larger than 1e30, or times do not increase.
        LimitExceededError: More than a million samples.
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
        times = self.times
        if times[0] >= 0.0 and times[-1] <= MAX_TIME and (times[1:] > times[:-1]).all():  # false for NaN
            return
        if not np.isfinite(times).all() or times[0] < 0.0:
            raise _bad("times are not finite numbers from 0 on")
        if times[-1] > MAX_TIME:
            raise _bad("the last time is too large", Value("time", float(times[-1]), MAX_TIME, "s"))
        index = int(np.argmax(times[1:] <= times[:-1])) + 1
        text = f"sample {index} is at {times[index]:g} s, not after sample {index - 1}"
        raise _bad(text, Value("time", float(times[index]), float(times[index - 1]), "s"))

    def _checked(self, name: str) -> Array:
        array = read_only(getattr(self, name))
        expected = (len(self.times), len(self.variables))
        if array.shape != expected:
            raise _bad(f"{name} have shape {array.shape}, expected {expected}")
        if max(-array.min(), array.max()) <= MAX_NUMBER:  # false for NaN
            return array
        if not np.isfinite(array).all():
            row, column = (int(index) for index in np.argwhere(~np.isfinite(array))[0])
            raise _bad(f"{name} of joint {self.variables[column]} at sample {row} is not a finite number")
        row, column = divmod(int(np.argmax(np.abs(array))), array.shape[1])
        text = f"{name} of joint {self.variables[column]} at sample {row} are too large"
        raise _bad(text, Value(name, float(array[row, column]), MAX_NUMBER))

    def __str__(self) -> str:
        return f"trajectory of {listed(self.variables)}: {len(self)} samples in {self.duration:.3f} s"

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time of the last sample [s]."""
        return float(self.times[-1])

    def completed(self) -> Trajectory:
        """Return the same curve with velocities and accelerations at all samples."""
        if self.accelerations is not None:
            return self
        velocities = self.velocities
        if velocities is None:
            velocities = velocities_of(self.times, self.positions)
        accelerations = accelerations_of(self.times, self.positions, velocities)
        return Trajectory(self.variables, self.times, self.positions, velocities, accelerations)

    @cached_property
    def curve(self) -> PolynomialCurve:
        """Piecewise polynomial of degree 5 through the samples (Hermite interpolation); its time 0 is the first sample.

        Positions, velocities and accelerations are continuous. This is the curve that is validated, checked for
        collisions and streamed.
        """
        whole = self.completed()
        assert whole.velocities is not None
        assert whole.accelerations is not None
        if len(self) == 1:
            return PolynomialCurve(np.array([0.0, 0.0]), self.positions[:, None, :].copy())
        samples = np.stack((self.positions, whole.velocities, whole.accelerations), axis=1)
        coefficients = np.empty((len(self) - 1, 6, len(self.variables)))
        breaks = self.times - self.times[0]
        hermite_pieces(breaks, samples, coefficients)
        return PolynomialCurve(breaks, coefficients)

    def at(self, times: Sequence[float] | Array, order: int = 0) -> Array:
        """Return positions (order 0) or derivatives (order 1, 2, 3) at times (k,) [s]: (k, dof).

        Before the first and after the last sample the position is constant.

        Raises:
            InvalidRequestError: A time is not a number.
        """
        elapsed = np.asarray(times, dtype=np.float64) - self.times[0]
        if np.isnan(elapsed).any():
            raise _bad("a time to evaluate is not a number")
        values = self.curve.evaluate(elapsed, order)
        if order:
            values[(elapsed < 0.0) | (elapsed > self.curve.duration)] = 0.0
        return values

    def reversed(self) -> Trajectory:
        """Return the time-reversed motion, with its first sample at time 0."""
        velocities = None if self.velocities is None else -self.velocities[::-1]
        accelerations = None if self.accelerations is None else self.accelerations[::-1]
        return Trajectory(
            self.variables, self.times[-1] - self.times[::-1], self.positions[::-1], velocities, accelerations
        )


@dataclass(frozen=True, eq=False)
class Rest:
    """A moment with zero velocity: time [s] and position (dof,)."""

    time: float
    position: Array


def sample_curve(
    variables: Sequence[str],
    curve: Curve,
    period: float,
    rests: Sequence[Rest] = (),
    steps: tuple[Array, Array] | None = None,
) -> Trajectory:
    """Sample a curve at multiples of a period [s], at its jerk steps, and at its end.

    With samples at the jerk steps, the polynomials between samples equal the curve if its pieces have degree 5 or less;
    without them the jerk between two samples would be up to twice as high. Times are whole nanoseconds, as in ROS
    messages, and no sample is closer than 0.2 ms to a sample at a jerk step. A sample at a rest has exactly the
    position of the rest and zero velocities and accelerations.

    steps: Times to sample at (n,) (m,) [s] instead of the jerk steps of the curve. Of two that are closer than 0.2 ms,
    the former take precedence over the latter, but may be closer to each other.

    Raises:
        LimitExceededError: More than a million samples.
    """
    count = curve.duration / period
    if count > MAX_SAMPLES - 1:
        text = f"{curve.duration:.6g} s sampled every {period:g} s is too much"
        raise LimitExceededError(text, stage="trajectory", values=(Value("samples", count, MAX_SAMPLES),))
    curve = _in_whole_nanoseconds(curve)
    # Times within a millionth of a period count as equal.
    whole = math.floor(count + 1e-6)
    times: Array = np.arange(whole + 1, dtype=np.float64) * period
    if count - whole > 1e-6 or (whole == 0 and count > 0.0):
        times = np.append(times, curve.duration)
    elif whole > 0:
        times[-1] = curve.duration
    stops = np.array([rest.time for rest in rests])
    first, others = (np.empty(0), curve.jerk_steps()) if steps is None else steps
    times = in_nanoseconds(with_steps(times, np.concatenate((stops, first)), others))
    positions, velocities, accelerations = curve.derivatives(times, 2)
    after = np.searchsorted(times, stops)
    for rest, index in zip(rests, after.tolist(), strict=True):
        nearest = min(range(max(index - 1, 0), min(index + 1, len(times))), key=lambda i: abs(times[i] - rest.time))
        if abs(times[nearest] - rest.time) <= max(1e-6 * period, NANOSECOND):
            positions[nearest] = rest.position
            velocities[nearest] = accelerations[nearest] = 0.0
    return Trajectory(tuple(variables), times, positions, velocities, accelerations)


def _in_whole_nanoseconds(curve: Curve) -> Curve:
    """Return the curve, scaled in time if necessary to end at a whole nanosecond."""
    seconds, rest = divmod(round(curve.duration * 1e9), 1_000_000_000)  # as `in_nanoseconds`
    whole = seconds + rest / 1e9
    return curve.stretched(whole / curve.duration) if abs(whole - curve.duration) > SAME_TIME else curve


def in_nanoseconds(times: Array) -> Array:
    """Return times [s] rounded to whole nanoseconds, as converted from the seconds and nanoseconds of a message."""
    rounded = np.rint(times * 1e9).astype(np.int64)
    seconds, rest = np.divmod(rounded, 1_000_000_000)
    result: Array = seconds + rest / 1e9
    return result


def with_steps(grid: Array, rests: Array, steps: Array) -> Array:
    """Return the merged times of a grid, of rests and of jerk steps, see `curve_kernels.merge_times`."""
    merged = np.empty(len(grid) + len(rests) + len(steps) + 2)
    count = merge_times(grid, rests, np.ascontiguousarray(steps), SHORTEST, merged)
    return merged[:count]


def _bad(text: str, *values: Value) -> InvalidRequestError:
    return InvalidRequestError(text, stage="trajectory", values=values)
