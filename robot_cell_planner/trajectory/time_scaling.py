"""Time scaling of a trajectory during execution, with changes of the speed scale within joint limits.

The path parameter s of a trajectory is its own time, and ds/dt is the speed scale. Changes of the speed scale have
bounded acceleration and jerk (Ruckig, velocity control). With the trajectory q(s), the joints have velocity q' s',
acceleration q'' s'^2 + q' s'' and jerk q''' s'^3 + 3 q'' s' s'' + q' s'''.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import ruckig

from ..errors import TrajectoryError, Value
from .limits import RATES, Array, MotionLimits
from .ruckig_calls import calculated
from .trajectory import Trajectory

# Candidate changes: fractions of the fastest change, with these delays of the start [s].
FRACTIONS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125)
DELAYS = (0.0, 0.04, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64)
# If no direct change is feasible, the rate changes in several steps: candidate fractions of the remaining difference,
# fractions of the fastest change, delays [s], and the time within which the last step has to begin [s].
PARTS = (1.0, 0.5, 0.2, 0.05)
STEP_FRACTIONS, STEP_DELAYS = (1.0, 0.5, 0.25, 0.1, 0.04), (0.0, 0.08, 0.16, 0.32, 0.64)
LONGEST = 2.0
LATER = (0.96, 1.28, 1.92, 2.56)  # [s] delays of a change of the speed that is no stop, if nothing else is feasible
AT_ONCE = 16  # number of candidates that are checked together
# Relative tolerance of the limits, for the error of sampling.
ALLOWANCE = 1e-3
FINEST, COARSEST = 0.005, 0.02  # [s], range of the sample spacing at which changes are checked
MAX_SAMPLES, MOMENTS = 1000, 10  # of samples at most; times per sample for the final check of a change


@dataclass(frozen=True, eq=False)
class TimeScaling:
    """Path parameter over time, piecewise cubic.

    Attributes:
        starts: Start times of the pieces [s].
        states: (path parameter [s], rate [1], slope of the rate [1/s]) at these times.
        jerks: Constant second derivatives of the rate on the pieces [1/s2], the last one 0.

    Before the first piece the path parameter is constant. Every change adds pieces: `since` drops those that have
    passed.
    """

    starts: tuple[float, ...]
    states: tuple[tuple[float, float, float], ...]
    jerks: tuple[float, ...]

    @classmethod
    def steady(cls, parameter: float, rate: float, start: float) -> TimeScaling:
        """Return a time scaling of constant rate from a path parameter on."""
        return cls((start,), ((parameter, rate, 0.0),), (0.0,))

    @property
    def settled_at(self) -> float:
        """Time at which the last change of the rate ends [s]."""
        return self.starts[-1]

    def at(self, time: float) -> tuple[float, float, float]:
        """Return path parameter, rate and slope of the rate at a time [s]."""
        piece = max(bisect_right(self.starts, time) - 1, 0)
        parameter, rate, slope = self.states[piece]
        jerk, t = self.jerks[piece], max(time - self.starts[piece], 0.0)
        moved = parameter + t * (rate + t * (0.5 * slope + t * jerk / 6.0))
        return moved, max(rate + t * (slope + 0.5 * t * jerk), 0.0), slope + t * jerk

    def derivatives(self, times: Array) -> tuple[Array, Array, Array]:
        """Return path parameters, rates and slopes (n,) at times (n,)."""
        pieces = np.maximum(np.searchsorted(self.starts, times, side="right") - 1, 0)
        parameter, rate, slope = np.array(self.states)[pieces].T
        jerk, t = np.array(self.jerks)[pieces], np.maximum(times - np.array(self.starts)[pieces], 0.0)
        parameters = parameter + t * (rate + t * (0.5 * slope + t * jerk / 6.0))
        return parameters, np.maximum(rate + t * (slope + 0.5 * t * jerk), 0.0), slope + t * jerk

    def jerks_at(self, times: Array) -> Array:
        """Return the second derivatives of the rate (n,) at times (n,), after the step at a start of a piece."""
        pieces = np.searchsorted(self.starts, times, side="right") - 1
        return np.where(pieces < 0, 0.0, np.array(self.jerks)[pieces])

    def since(self, time: float) -> TimeScaling:
        """Return the same time scaling from a time [s] on, without the pieces that have ended before."""
        first = bisect_right(self.starts, time) - 1
        if first <= 0:
            return self
        return TimeScaling(self.starts[first:], self.states[first:], self.jerks[first:])

    def changed(self, rate: float, start: float, acceleration: float, jerk: float) -> TimeScaling:
        """Return a time scaling that changes to `rate` from `start` on, within limits of the rate's derivatives.

        Raises:
            TrajectoryError: Ruckig finds no change.
        """
        request = ruckig.InputParameter(1)
        request.control_interface = ruckig.ControlInterface.Velocity
        state = self.at(start)
        request.current_position, request.current_velocity, request.current_acceleration = ([v] for v in state)
        request.target_velocity, request.target_acceleration = [rate], [0.0]
        request.max_acceleration, request.max_jerk = [acceleration], [jerk]
        limits = Value("max acceleration of the rate", acceleration), Value("max jerk of the rate", jerk)
        found = calculated(ruckig.Ruckig(1), request, Value("rate", rate), *limits)
        profile = found.profiles[0][0]
        count = bisect_right(self.starts, start)
        starts, states, jerks = list(self.starts[:count]), list(self.states[:count]), list(self.jerks[:count])
        now = start
        for duration, change in zip([*profile.brake.t, *profile.t], [*profile.brake.j, *profile.j], strict=True):
            if duration > 0.0:
                starts.append(now)
                states.append(state)
                jerks.append(change)
                parameter, speed, slope = state
                parameter += duration * (speed + duration * (0.5 * slope + duration * change / 6.0))
                state = parameter, speed + duration * (slope + 0.5 * duration * change), slope + duration * change
                now += duration
        starts.append(now)
        states.append((state[0], rate, 0.0))
        jerks.append(0.0)
        return TimeScaling(tuple(starts), tuple(states), tuple(jerks))


def change_within_limits(
    time_scaling: TimeScaling,
    trajectory: Trajectory,
    rate: float,
    start: float,
    acceleration: float,
    jerk: float,
    limits: MotionLimits | None,
) -> TimeScaling:
    """Return the earliest change to another rate from `start` on that keeps all joints within their limits.

    A joint may exceed a limit by as much as the trajectory itself does nearby. First, direct changes to the rate are
    tried, beginning at `start` or a little later. If none is feasible, the rate changes in several steps, since the
    trajectory leaves more room at a lower rate. If this fails, both are tried with jerks that are within the limits in
    the mean over about one sample of the trajectory, then changes that begin later unless they stop the motion, and at
    last the change with the smallest violation is returned.

    Args:
        time_scaling: Current time scaling.
        trajectory: Trajectory that is executed.
        rate: Requested rate.
        start: Earliest time of the change [s].
        acceleration: Maximum acceleration of the rate [1/s].
        jerk: Maximum jerk of the rate [1/s2].
        limits: Limits of the trajectory's variables; None: unknown and not checked.

    Raises:
        TrajectoryError: Ruckig finds no change that begins at `start`.
    """
    quickest = time_scaling.changed(rate, start, acceleration, jerk)
    if limits is None:
        return quickest
    tried = [quickest, *_direct_changes(time_scaling, rate, start, DELAYS, acceleration, jerk)]
    tried.sort(key=lambda candidate: candidate.settled_at)
    limit_check = _LimitCheck(trajectory, time_scaling, start, tried[-1].settled_at, limits)
    for check in (limit_check, limit_check.of_means()):
        found, excess = check.first_within(tried)
        if excess <= 1.0 + ALLOWANCE:
            return found
        step_by_step = _by_steps(check, time_scaling, rate, start, acceleration, jerk)
        if step_by_step is not None:
            return step_by_step
    later = _direct_changes(time_scaling, rate, start, LATER, acceleration, jerk) if rate > 0.0 else []
    if later:
        limit_check = _LimitCheck(trajectory, time_scaling, start, max(each.settled_at for each in later), limits)
        late, excess = limit_check.first_within(later)
        if excess <= 1.0 + ALLOWANCE:
            return late
    return found


def _direct_changes(
    time_scaling: TimeScaling, rate: float, start: float, delays: Sequence[float], acceleration: float, jerk: float
) -> list[TimeScaling]:
    """Return candidates for a change to a rate after each of the delays [s], with all of FRACTIONS."""
    found = []
    for begin in _beginnings(time_scaling, start, delays):
        for fraction in FRACTIONS:
            with suppress(TrajectoryError):
                found.append(time_scaling.changed(rate, begin, fraction * acceleration, fraction * jerk))
    return found


def _beginnings(time_scaling: TimeScaling, start: float, delays: Sequence[float]) -> list[float]:
    """Return the possible start times of a change.

    A constant rate may continue for a delay; a changing rate is replaced immediately or after its change has ended.
    """
    if start >= time_scaling.settled_at:
        return [start + delay for delay in delays]
    return [start, *(time_scaling.settled_at + delay for delay in delays)]


def _by_steps(
    limit_check: _LimitCheck, time_scaling: TimeScaling, rate: float, start: float, acceleration: float, jerk: float
) -> TimeScaling | None:
    """Return a time scaling that reaches a rate in several steps within the limits; None if there is none.

    Each step begins after the previous one has ended.
    """
    latest = start + LONGEST
    while start < latest:
        step = _step(limit_check, time_scaling, rate, start, acceleration, jerk)
        if step is None:
            return None
        time_scaling, start = step, step.settled_at
        if time_scaling.states[-1][1] == rate:
            return time_scaling
    return None


def _step(
    limit_check: _LimitCheck, time_scaling: TimeScaling, rate: float, start: float, acceleration: float, jerk: float
) -> TimeScaling | None:
    """Return a step towards a rate within the limits; None if there is none.

    The step is the one after which the fastest change would reach the rate earliest.
    """
    now = time_scaling.at(start)[1]
    for begin in _beginnings(time_scaling, start, STEP_DELAYS):
        tried = []
        for part in PARTS:
            between = now + part * (rate - now)
            left = abs(rate - between)
            rest = left / acceleration + (acceleration / jerk if left > 0.0 else 0.0)
            for fraction in STEP_FRACTIONS:
                with suppress(TrajectoryError):
                    step = time_scaling.changed(between, begin, fraction * acceleration, fraction * jerk)
                    tried.append((step.settled_at + rest, step))
        if not tried:
            continue
        tried.sort(key=lambda candidate: candidate[0])
        found, excess = limit_check.first_within([step for _, step in tried])
        if excess <= 1.0 + ALLOWANCE:
            return found
    return None


class _LimitCheck:
    """Limits that remain for changes of a time scaling between two times [s].

    Changes are checked against the limits, or against the trajectory's own values nearby where these exceed the limits.
    """

    def __init__(
        self, trajectory: Trajectory, time_scaling: TimeScaling, start: float, end: float, limits: MotionLimits
    ) -> None:
        self._trajectory = trajectory
        spacing = float(np.median(np.diff(trajectory.times))) if len(trajectory) > 1 else COARSEST
        self._start = start
        self._period = min(max(spacing, FINEST), COARSEST)
        self._parameter = time_scaling.at(start)[0]
        left = max(trajectory.curve.duration - self._parameter, 0.0) + 2.0 * self._period
        count = min(math.ceil(left / self._period), MAX_SAMPLES) * MOMENTS
        self._table = self._derivatives(self._parameter + self._period / MOMENTS * np.arange(count, dtype=np.float64))
        own = self._rates([time_scaling], MOMENTS, end)
        self._bounds = [
            np.maximum(getattr(limits, name), found[0].max(axis=0, initial=0.0))
            for name, found in zip((*RATES, "jerk"), own, strict=True)
        ]

    def of_means(self) -> _LimitCheck:
        """Return the same check with jerks in the mean only."""
        found = copy.copy(self)
        found._bounds = self._bounds[: len(RATES)]
        return found

    def _derivatives(self, parameters: Array) -> tuple[Array, Array, Array]:
        """Return the first to third derivatives of the trajectory (n, dof) at path parameters; zero beyond its end."""
        curve = self._trajectory.curve
        count = int(np.searchsorted(parameters, curve.duration))
        found = [np.zeros((len(parameters), len(self._trajectory.variables))) for _ in range(3)]
        for rows, values in zip(found, curve.derivatives(parameters[:count], 3)[1:], strict=True):
            rows[:count] = values
        return found[0], found[1], found[2]

    def first_within(self, time_scalings: Sequence[TimeScaling]) -> tuple[TimeScaling, float]:
        """Return the first candidate within the limits, or the one with the smallest violation, and its excess.

        The excess is the maximum rate as a fraction of its bound.
        """
        best, minimum = time_scalings[0], np.inf
        for first in range(0, len(time_scalings), AT_ONCE):
            batch = time_scalings[first : first + AT_ONCE]
            for candidate, excess in zip(batch, self._excess(batch, 1), strict=True):
                if excess <= 1.0 + ALLOWANCE:  # preliminary check with few samples
                    excess = self._excess([candidate], MOMENTS)[0]
                if excess <= 1.0 + ALLOWANCE:
                    return candidate, excess
                if excess < minimum:
                    best, minimum = candidate, excess
        return best, minimum

    def _excess(self, time_scalings: Sequence[TimeScaling], moments: int) -> list[float]:
        rates = self._rates(time_scalings, moments, max(time_scaling.settled_at for time_scaling in time_scalings))
        worst = [
            (found / bound).max(axis=(1, 2), initial=0.0) for found, bound in zip(rates, self._bounds, strict=False)
        ]
        found: list[float] = np.max(worst, axis=0).tolist()
        return found

    def _rates(self, time_scalings: Sequence[TimeScaling], moments: int, end: float) -> tuple[Array, ...]:
        """Return magnitudes of velocities, accelerations, mean jerks over about one sample of the trajectory, and jerks
        (time scalings, n, dof), at `moments` times in each sample."""
        samples = min(math.ceil((end - self._start) / self._period) + 3, MAX_SAMPLES)
        times = self._start + self._period / moments * np.arange(samples * moments, dtype=np.float64)
        parameters, rate, slope = np.stack([time_scaling.derivatives(times) for time_scaling in time_scalings], axis=1)
        rows = np.minimum(
            (parameters - self._parameter) * (MOMENTS / self._period) + 0.5, len(self._table[0]) - 1
        ).astype(np.intp)
        first, second, third = (table[rows] for table in self._table)
        jerk = np.stack([time_scaling.jerks_at(times) for time_scaling in time_scalings])[..., None]
        rate, slope = rate[..., None], slope[..., None]
        accelerations = second * rate**2 + first * slope
        means = (accelerations[:, moments:] - accelerations[:, :-moments]) / self._period
        jerks = third * rate**3 + 3.0 * second * rate * slope + first * jerk
        return np.abs(first * rate), np.abs(accelerations), np.abs(means), np.abs(jerks)
