"""Time scaling of a trajectory during execution, with changes of the speed scale within joint limits.

The path parameter s of a trajectory is its own time, and ds/dt is the speed scale. Changes of the speed scale have
bounded acceleration and jerk (Ruckig, velocity control). With the trajectory q(s), the joints have velocity q' s',
acceleration q'' s'^2 + q' s'' and jerk q''' s'^3 + 3 q'' s' s'' + q' s'''.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import ruckig

from .limits import RATES, Array, MotionLimits
from .trajectory import Trajectory

# Candidate changes: fractions of the fastest change, with these delays of the start [s].
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125)
DELAYS = (0.0, 0.04, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64)
# If no direct change is feasible, the rate changes in several steps: candidate fractions of the remaining difference,
# fractions of the fastest change, delays [s], and the time within which the last step has to begin [s].
PARTS = (1.0, 0.5, 0.2, 0.05)
STEP_SHARES, STEP_DELAYS = (1.0, 0.5, 0.25, 0.1, 0.04), (0.0, 0.08, 0.16, 0.32, 0.64)
LONGEST = 2.0
AT_ONCE = 16  # number of candidates that are checked together
# Relative tolerance of the limits, for the error of sampling.
ALLOWANCE = 1e-3
FINEST, COARSEST = 0.005, 0.02  # [s], range of the sample spacing at which changes are checked
MOST_SAMPLES, MOMENTS = 1000, 10  # of samples at most; times per sample for the final check of a change


@dataclass(frozen=True, eq=False)
class TimeScaling:
    """Path parameter over time, piecewise cubic.

    Attributes:
        starts: start times of the pieces [s].
        states: (path parameter, rate, slope of the rate) at these times.
        jerks: constant second derivatives of the rate on the pieces, the last one 0.

    Before the first piece the path parameter is constant.
    """

    starts: tuple[float, ...]
    states: tuple[tuple[float, float, float], ...]
    jerks: tuple[float, ...]

    @classmethod
    def steady(cls, place: float, rate: float, start: float) -> TimeScaling:
        """Return a time scaling of constant rate from a path parameter on."""
        return cls((start,), ((place, rate, 0.0),), (0.0,))

    @property
    def settled_at(self) -> float:
        """Time at which the last change of the rate ends [s]."""
        return self.starts[-1]

    def at(self, time: float) -> tuple[float, float, float]:
        """Return path parameter, rate and slope of the rate at a time [s]."""
        piece = max(bisect_right(self.starts, time) - 1, 0)
        place, rate, slope = self.states[piece]
        jerk, t = self.jerks[piece], max(time - self.starts[piece], 0.0)
        moved = place + t * (rate + t * (0.5 * slope + t * jerk / 6.0))
        return moved, max(rate + t * (slope + 0.5 * t * jerk), 0.0), slope + t * jerk

    def derivatives(self, times: Array) -> tuple[Array, Array, Array]:
        """Return path parameters, rates and slopes (n,) at times (n,)."""
        pieces = np.maximum(np.searchsorted(self.starts, times, side="right") - 1, 0)
        place, rate, slope = np.array(self.states)[pieces].T
        jerk, t = np.array(self.jerks)[pieces], np.maximum(times - np.array(self.starts)[pieces], 0.0)
        places = place + t * (rate + t * (0.5 * slope + t * jerk / 6.0))
        return places, np.maximum(rate + t * (slope + 0.5 * t * jerk), 0.0), slope + t * jerk

    def changed(self, rate: float, start: float, acceleration: float, jerk: float) -> TimeScaling:
        """Return a time scaling that changes to `rate` from `start` on, within limits of the rate's derivatives."""
        asked = ruckig.InputParameter(1)
        asked.control_interface = ruckig.ControlInterface.Velocity
        state = self.at(start)
        asked.current_position, asked.current_velocity, asked.current_acceleration = ([v] for v in state)
        asked.target_velocity, asked.target_acceleration = [rate], [0.0]
        asked.max_acceleration, asked.max_jerk = [acceleration], [jerk]
        found = ruckig.Trajectory(1)
        ruckig.Ruckig(1).calculate(asked, found)
        profile = found.profiles[0][0]
        kept = bisect_right(self.starts, start)
        starts, states, jerks = list(self.starts[:kept]), list(self.states[:kept]), list(self.jerks[:kept])
        now = start
        for duration, change in zip([*profile.brake.t, *profile.t], [*profile.brake.j, *profile.j], strict=True):
            if duration > 0.0:
                starts.append(now)
                states.append(state)
                jerks.append(change)
                place, speed, slope = state
                place += duration * (speed + duration * (0.5 * slope + duration * change / 6.0))
                state = place, speed + duration * (slope + 0.5 * duration * change), slope + duration * change
                now += duration
        starts.append(now)
        states.append((state[0], rate, 0.0))
        jerks.append(0.0)
        return TimeScaling(tuple(starts), tuple(states), tuple(jerks))


def change_within_limits(
    law: TimeScaling,
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
    trajectory leaves more room at a lower rate. If this fails, the change with the smallest violation is returned.

    Args:
        law: current time scaling.
        trajectory: trajectory that is executed.
        rate: requested rate.
        start: earliest time of the change [s].
        acceleration: maximum acceleration of the rate [1/s].
        jerk: maximum jerk of the rate [1/s2].
        limits: limits of the trajectory's variables; None: unknown and not checked.
    """
    quickest = law.changed(rate, start, acceleration, jerk)
    if limits is None:
        return quickest
    tried = [
        law.changed(rate, begin, share * acceleration, share * jerk)
        for begin in _beginnings(law, start, DELAYS)
        for share in SHARES
    ]
    tried.sort(key=lambda candidate: candidate.settled_at)
    room = _Room(trajectory, law, start, tried[-1].settled_at, limits)
    found, excess = room.first_within(tried)
    if excess <= 1.0 + ALLOWANCE:
        return found
    step_by_step = _by_steps(room, law, rate, start, acceleration, jerk)
    return found if step_by_step is None else step_by_step


def _beginnings(law: TimeScaling, start: float, delays: Sequence[float]) -> list[float]:
    """Return the possible start times of a change.

    A constant rate may continue for a delay; a changing rate is replaced immediately or after its change has ended.
    """
    if start >= law.settled_at:
        return [start + delay for delay in delays]
    return [start, *(law.settled_at + delay for delay in delays)]


def _by_steps(
    room: _Room, law: TimeScaling, rate: float, start: float, acceleration: float, jerk: float
) -> TimeScaling | None:
    """Return a time scaling that reaches a rate in several steps within the limits; None if there is none.

    Each step begins after the previous one has ended.
    """
    latest = start + LONGEST
    while start < latest:
        step = _step(room, law, rate, start, acceleration, jerk)
        if step is None:
            return None
        law, start = step, step.settled_at
        if law.states[-1][1] == rate:
            return law
    return None


def _step(
    room: _Room, law: TimeScaling, rate: float, start: float, acceleration: float, jerk: float
) -> TimeScaling | None:
    """Return a step towards a rate within the limits; None if there is none.

    The step is the one after which the fastest change would reach the rate earliest.
    """
    now = law.at(start)[1]
    for begin in _beginnings(law, start, STEP_DELAYS):
        tried = []
        for part in PARTS:
            between = now + part * (rate - now)
            left = abs(rate - between)
            rest = left / acceleration + (acceleration / jerk if left > 0.0 else 0.0)
            for share in STEP_SHARES:
                step = law.changed(between, begin, share * acceleration, share * jerk)
                tried.append((step.settled_at + rest, step))
        tried.sort(key=lambda candidate: candidate[0])
        found, excess = room.first_within([step for _, step in tried])
        if excess <= 1.0 + ALLOWANCE:
            return found
    return None


class _Room:
    """Limits that remain for changes of a time scaling between two times [s].

    Changes are checked against the limits, or against the trajectory's own values nearby where these exceed the limits.
    """

    def __init__(
        self, trajectory: Trajectory, law: TimeScaling, start: float, end: float, limits: MotionLimits
    ) -> None:
        self._trajectory = trajectory
        spacing = float(np.median(np.diff(trajectory.times))) if len(trajectory) > 1 else COARSEST
        self._start = start
        # Jerks are means over about one sample of the trajectory.
        self._period = min(max(spacing, FINEST), COARSEST)
        self._place = law.at(start)[0]
        left = max(trajectory.curve.duration - self._place, 0.0) + 2.0 * self._period
        count = min(math.ceil(left / self._period), MOST_SAMPLES) * MOMENTS
        self._table = self._derivatives(self._place + self._period / MOMENTS * np.arange(count, dtype=np.float64))
        own = self._rates([law], MOMENTS, end)
        self._bounds = [
            np.maximum(getattr(limits, name), found[0].max(axis=0, initial=0.0))
            for name, found in zip(RATES, own, strict=True)
        ]

    def _derivatives(self, places: Array) -> tuple[Array, Array]:
        """Return first and second derivatives of the trajectory (n, dof) at path parameters; zero beyond its end."""
        curve = self._trajectory.curve
        count = int(np.searchsorted(places, curve.duration))
        found = [np.zeros((len(places), len(self._trajectory.variables))) for _ in range(2)]
        for rows, values in zip(found, curve.derivatives(places[:count], 2)[1:], strict=True):
            rows[:count] = values
        return found[0], found[1]

    def first_within(self, laws: Sequence[TimeScaling]) -> tuple[TimeScaling, float]:
        """Return the first candidate within the limits, or the one with the smallest violation, and its excess.

        The excess is the maximum rate as a fraction of its bound.
        """
        best, least = laws[0], np.inf
        for first in range(0, len(laws), AT_ONCE):
            batch = laws[first : first + AT_ONCE]
            for candidate, excess in zip(batch, self._excess(batch, 1), strict=True):
                if excess <= 1.0 + ALLOWANCE:  # preliminary check with few samples
                    excess = self._excess([candidate], MOMENTS)[0]
                if excess <= 1.0 + ALLOWANCE:
                    return candidate, excess
                if excess < least:
                    best, least = candidate, excess
        return best, least

    def _excess(self, laws: Sequence[TimeScaling], moments: int) -> list[float]:
        rates = self._rates(laws, moments, max(law.settled_at for law in laws))
        worst = [
            (found / bound).max(axis=(1, 2), initial=0.0) for found, bound in zip(rates, self._bounds, strict=True)
        ]
        found: list[float] = np.max(worst, axis=0).tolist()
        return found

    def _rates(self, laws: Sequence[TimeScaling], moments: int, end: float) -> tuple[Array, Array, Array]:
        """Return magnitudes of velocities, accelerations and mean jerks (laws, n, dof), at `moments` times in each
        sample."""
        samples = min(math.ceil((end - self._start) / self._period) + 3, MOST_SAMPLES)
        times = self._start + self._period / moments * np.arange(samples * moments, dtype=np.float64)
        places, rate, slope = np.stack([law.derivatives(times) for law in laws], axis=1)
        rows = np.minimum((places - self._place) * (MOMENTS / self._period) + 0.5, len(self._table[0]) - 1).astype(
            np.intp
        )
        first, second = (table[rows] for table in self._table)
        accelerations = second * rate[..., None] ** 2 + first * slope[..., None]
        jerks = (accelerations[:, moments:] - accelerations[:, :-moments]) / self._period
        return np.abs(first * rate[..., None]), np.abs(accelerations), np.abs(jerks)
