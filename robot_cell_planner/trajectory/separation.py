"""Delays that separate the jerk steps of several robots, so that one trajectory can have a sample at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.arguments import public
from .curve_limits import ROUNDING
from .curves import SHORTEST
from .limits import Array
from .trajectory import NANOSECOND, Trajectory

MAX_DELAY = 0.02  # [s]
FURTHER = 1_000_000  # [ns], least distance of further delays from the one before
MAX_FURTHER = 4  # further delays
MAX_PAIRS = 2_000_000  # pairs of steps that a delay up to the maximum may bring together
# A missing sample at a jerk step raises the jerk between the samples around it by up to so many times the step.
AMPLIFICATION = 9.0
NEGLIGIBLE = 1e-4  # jerk steps, as a fraction of the largest jerk of the joint
MARGIN = 1.0 - 1e-3  # fraction of the largest jerk of a joint that other steps may reach
APART = round(SHORTEST / NANOSECOND) + 1  # [ns]
SAME = 1  # [ns], distance of equal times

Times = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JerkSteps:
    """Times at which the jerk of a trajectory steps.

    Attributes:
        main: Begin, end, and steps without whose sample the jerk between others would exceed its largest value [s].
        others: Other steps, without those that are due to rounding [s].
    """

    main: Array
    others: Array

    @classmethod
    def of(cls, trajectory: Trajectory) -> JerkSteps:
        """Find the steps of a trajectory by the jerk on both sides of its samples."""
        ends = trajectory.times[[0, -1]]
        if len(trajectory) < 3:
            return cls(ends, np.empty(0))
        curve = trajectory.curve
        spans = np.diff(curve.breaks)[:, None]
        third, fourth, fifth = (curve.coefficients[:, order] for order in (3, 4, 5))
        begins = 6.0 * third
        finals = begins + spans * (24.0 * fourth + 60.0 * spans * fifth)
        peak = np.maximum(np.abs(begins), np.abs(finals)).max(axis=0)
        before, after = finals[:-1], begins[1:]
        jumps = np.abs(after - before)
        shortest = np.minimum(spans[:-1], spans[1:])
        rounding = ROUNDING[3] * np.spacing(np.abs(trajectory.positions[1:-1])) / shortest**3
        steps = jumps > NEGLIGIBLE * peak + rounding
        highest = np.maximum(np.abs(before), np.abs(after)) + AMPLIFICATION * jumps
        main = (steps & (highest > MARGIN * peak)).any(axis=1)
        inner = trajectory.times[1:-1]
        return cls(np.concatenate((ends[:1], inner[main], ends[1:])), inner[steps.any(axis=1) & ~main])


def separating_delay(trajectory: Trajectory, others: Sequence[Trajectory]) -> float | None:
    """Return the least delay of a trajectory [s] with which no jerk step of it is between 0 and 0.2 ms away from one of
    others; None if there is none up to 20 ms, or a delay is necessary and the motion does not begin at rest, or the
    trajectories have too many steps."""
    delays = admissible_delays(trajectory, others)
    return delays[0] if delays else None


def admissible_delays(trajectory: Trajectory, others: Sequence[Trajectory]) -> tuple[float, ...]:
    """Return delays of a trajectory [s], in order, with each of which no jerk step of it is between 0 and 0.2 ms away
    from one of others: the least one, see `separating_delay`, and if that is not 0 up to four further ones, at least 1
    ms apart; () if there is none."""
    fixed = np.concatenate([np.zeros(1), *(JerkSteps.of(other).main for other in others)])
    delays = _delays(_whole(JerkSteps.of(trajectory).main), _whole(fixed), _begins_at_rest(trajectory))
    found = delays[:1].tolist()
    while found and found[0] and len(found) <= MAX_FURTHER:
        later = delays[delays >= found[-1] + FURTHER]
        if not len(later):
            break
        found.append(int(later[0]))
    return tuple(delay * NANOSECOND for delay in found)


@public
def separating_delays(trajectories: Sequence[Trajectory]) -> tuple[float, ...]:
    """Return the delays (n,) [s] with which `merge_trajectories` merges trajectories.

    A robot waits so long before it moves that none of its jerk steps is between 0 and 0.2 ms away from one of another
    robot: the merged trajectory has samples at all of them, and shorter intervals lose the digits of the jerk. Each
    delay is the least, after those of the trajectories before it, up to 20 ms. The delay is 0 where no delay is
    necessary or sufficient, and for motions that do not begin at rest. Trajectories planned among each other
    (`MotionRequest.moving`) need none.
    """
    resting = [_begins_at_rest(trajectory) for trajectory in trajectories]
    delays = [0] * len(trajectories)
    fixed: Times = np.zeros(1, dtype=np.int64)
    for index in sorted(range(len(trajectories)), key=lambda index: resting[index]):
        steps = _whole(JerkSteps.of(trajectories[index]).main)
        alone = len(fixed) == 1 and steps[0] == 0
        admissible = _delays(steps, fixed, resting[index])
        delays[index] = 0 if alone or not len(admissible) else int(admissible[0])
        fixed = np.concatenate((fixed, steps + delays[index]))
    return tuple(delay * NANOSECOND for delay in delays)


def _delays(steps: Times, fixed: Times, delayable: bool) -> Times:
    """Return delays (n,) [ns] of steps that separate them from fixed ones, in order: the least one, and others."""
    longest = round(MAX_DELAY / NANOSECOND) if delayable else 0
    fixed = np.unique(fixed)
    firsts = np.searchsorted(fixed, steps - APART, side="right")
    counts = np.searchsorted(fixed, steps + longest + APART, side="left") - firsts
    if counts.sum() > MAX_PAIRS:
        return np.empty(0, dtype=np.int64)
    owners = np.repeat(np.arange(len(steps)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    # A delay of this many nanoseconds makes a step equal to a fixed one.
    equal = np.sort(fixed[firsts[owners] + within] - steps[owners])
    least = np.concatenate((np.zeros(1, dtype=np.int64), equal, equal + APART))
    admissible = _admissible(least, equal, longest)
    if not len(admissible) or not admissible[0]:
        return admissible
    further = np.arange(admissible[0], longest + 1, FURTHER)
    return _admissible(np.concatenate((admissible, further)), equal, longest)


def _admissible(candidates: Times, equal: Times, longest: int) -> Times:
    """Return the candidates that separate, in order; equal: sorted delays that make a step equal to a fixed one."""
    candidates = np.unique(candidates)
    candidates = candidates[(candidates >= 0) & (candidates <= longest)]
    near = _between(equal, candidates, APART - 1) - _between(equal, candidates, SAME)
    found: Times = candidates[near == 0]
    return found


def _between(numbers: Times, middles: Times, distance: int) -> Times:
    """Return how many of sorted numbers are at most a distance away from each of others (n,)."""
    above = np.searchsorted(numbers, middles + distance, side="right")
    return above - np.searchsorted(numbers, middles - distance, side="left")


def _begins_at_rest(trajectory: Trajectory) -> bool:
    whole = trajectory.completed()
    assert whole.velocities is not None
    assert whole.accelerations is not None
    return not whole.velocities[0].any() and not whole.accelerations[0].any()


def _whole(times: Array) -> Times:
    """Return times [s] in nanoseconds."""
    found: Times = np.rint(times / NANOSECOND).astype(np.int64)
    return found
