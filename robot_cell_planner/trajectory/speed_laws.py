"""How a trajectory's own time passes while it is played back, and changes of it that no joint's limits forbid.

The place s along a trajectory is its own time. ds/dt is the speed scale; its changes have bounded acceleration and jerk
(Ruckig, velocity control). With q(s) the trajectory, the joints then have velocity q' s', acceleration
q'' s'^2 + q' s'' and jerk q''' s'^3 + 3 q'' s' s'' + q' s'''.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import ruckig

from .limits import RATES, Array, MotionLimits
from .trajectory import Trajectory

# Changes that are tried: these shares of the quickest, begun after these delays [s].
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125)
DELAYS = (0.0, 0.04, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64)
# Rates this little above their limits, relatively, are within them: what sampling leaves open.
ALLOWANCE = 1e-3
FINEST, COARSEST = 0.002, 0.02  # [s] between moments at which a change is held against limits
MOST_MOMENTS = 1000


@dataclass(frozen=True, eq=False)
class SpeedLaw:
    """Place over time. starts: when its pieces begin [s]; states: (place, rate, slope) there; jerks: those of the
    pieces, the last one 0. Before the first piece it stands where that begins."""

    starts: tuple[float, ...]
    states: tuple[tuple[float, float, float], ...]
    jerks: tuple[float, ...]

    @classmethod
    def steady(cls, place: float, rate: float, start: float) -> SpeedLaw:
        """At one rate, from a place on."""
        return cls((start,), ((place, rate, 0.0),), (0.0,))

    @property
    def settled_at(self) -> float:
        """When the last change of the rate is over [s]."""
        return self.starts[-1]

    def at(self, time: float) -> tuple[float, float, float]:
        """Place, rate and slope."""
        piece = max(bisect_right(self.starts, time) - 1, 0)
        place, rate, slope = self.states[piece]
        jerk, t = self.jerks[piece], max(time - self.starts[piece], 0.0)
        moved = place + t * (rate + t * (0.5 * slope + t * jerk / 6.0))
        return moved, max(rate + t * (slope + 0.5 * t * jerk), 0.0), slope + t * jerk

    def derivatives(self, times: Array) -> tuple[Array, Array, Array]:
        """Places, rates and slopes (n,)."""
        pieces = np.maximum(np.searchsorted(self.starts, times, side="right") - 1, 0)
        place, rate, slope = np.array(self.states)[pieces].T
        jerk, t = np.array(self.jerks)[pieces], np.maximum(times - np.array(self.starts)[pieces], 0.0)
        places = place + t * (rate + t * (0.5 * slope + t * jerk / 6.0))
        return places, np.maximum(rate + t * (slope + 0.5 * t * jerk), 0.0), slope + t * jerk

    def changed(self, rate: float, start: float, acceleration: float, jerk: float) -> SpeedLaw:
        """Another law from `start` on, that goes over to a rate within limits of the rate's acceleration and jerk."""
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
        return SpeedLaw(tuple(starts), tuple(states), tuple(jerks))


def change_within_limits(
    law: SpeedLaw,
    trajectory: Trajectory,
    rate: float,
    start: float,
    acceleration: float,
    jerk: float,
    limits: MotionLimits | None,
) -> SpeedLaw:
    """The law that goes over to another rate soonest, beginning at `start` or a little later, with no joint beyond its
    limits, or further beyond them than the trajectory itself gets about there.

    acceleration, jerk: of the rate at most [1/s, 1/s2]. limits: of the trajectory's variables; None: not known, and not
    looked at. Where nothing that is tried stays within them, it is what exceeds them least.
    """
    quickest = law.changed(rate, start, acceleration, jerk)
    if limits is None:
        return quickest
    # A change that is under way is taken over from where it is; a steady one may go on for a while first.
    delays = DELAYS if start >= law.settled_at else DELAYS[:1]
    tried = [
        law.changed(rate, start + delay, share * acceleration, share * jerk) for delay in delays for share in SHARES
    ]
    tried.sort(key=lambda candidate: candidate.settled_at)
    times = _moments(trajectory, start, tried[-1].settled_at)
    own = _rates(law, trajectory, times)
    bounds = [
        np.maximum(getattr(limits, name), found.max(axis=0, initial=0.0))
        for name, found in zip(RATES, own, strict=True)
    ]
    best, least = quickest, np.inf
    for candidate in tried:
        under_way = times[: np.searchsorted(times, candidate.settled_at) + 2]
        found = _rates(candidate, trajectory, under_way)
        excess = max(float((rates / bound).max(initial=0.0)) for rates, bound in zip(found, bounds, strict=True))
        if excess <= 1.0 + ALLOWANCE:
            return candidate
        if excess < least:
            best, least = candidate, excess
    return best


def _moments(trajectory: Trajectory, start: float, end: float) -> Array:
    """Moments at which changes are looked at, about as dense as the samples of the trajectory, and a little beyond."""
    spacing = float(np.median(np.diff(trajectory.times))) if len(trajectory) > 1 else COARSEST
    step = min(max(spacing, FINEST), COARSEST)
    moments: Array = start + step * np.arange(min(int((end - start) / step) + 3, MOST_MOMENTS), dtype=np.float64)
    return moments


def _rates(law: SpeedLaw, trajectory: Trajectory, times: Array) -> tuple[Array, Array, Array]:
    """Magnitudes of velocities, accelerations, and mean jerks from moment to moment (n, dof)."""
    places, rate, slope = law.derivatives(times)
    _, first, second = trajectory.curve.derivatives(places, 2)
    # Beyond its end the trajectory stands still.
    under_way = (places < trajectory.curve.duration)[:, None]
    first, second = first * under_way, second * under_way
    accelerations = second * rate[:, None] ** 2 + first * slope[:, None]
    jerks = np.diff(accelerations, axis=0) / (times[1] - times[0])
    return np.abs(first * rate[:, None]), np.abs(accelerations), np.abs(jerks)
