"""Position limits of the curve through the samples of a motion that follows a spline."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import TrajectoryLimitError, Value
from ..errors.remedies import BETWEEN_SAMPLES
from .curve_limits import Excess, excesses, slowing
from .curves import CurveSequence, TraversedPath
from .limits import MotionLimits
from .trajectory import Rest, Trajectory, sample_curve

MAX_HALVINGS = 8  # of the sample period
SAME_RATE = 1.0 + 1e-6


def within_positions(
    curve: CurveSequence, trajectory: Trajectory, rests: Sequence[Rest], limits: MotionLimits, period: float
) -> Trajectory:
    """Return a trajectory whose curve stays within position limits: the given one, or one with more samples.

    The curve through samples that are far apart deviates from the motion that they are taken from.

    Args:
        curve: The motion.
        trajectory: Its samples at multiples of the period [s].
        rests: Moments with zero velocity.

    Raises:
        TrajectoryLimitError: The motion itself leaves the limits, or more samples do not help.
    """
    found = _beyond(trajectory, limits)
    if found is None:
        return trajectory
    for part in curve.parts:
        if isinstance(part, TraversedPath) and (own := excesses(part.path, limits, 1)[0]):
            raise _error(limits, own[0], "the curve through the samples of the path")
    for halving in range(1, MAX_HALVINGS + 1):
        finer = sample_curve(limits.variables, curve, period / 2.0**halving, rests)
        if _beyond(finer, limits) is None and not (slowing(finer.curve, limits) > SAME_RATE).any():
            return finer
    raise _error(limits, found, "the trajectory")


def _beyond(trajectory: Trajectory, limits: MotionLimits) -> Excess | None:
    found = excesses(trajectory.curve, limits, 1)[0] if len(trajectory) > 1 else []
    return found[0] if found else None


def _error(limits: MotionLimits, found: Excess, what: str) -> TrajectoryLimitError:
    joint = limits.variables[found.column]
    text = f"{what} leaves the position limits of {joint} between samples"
    values = (Value(f"position of {joint}", found.value, found.limit, limits.unit(found.column)),)
    return TrajectoryLimitError(text, stage="trajectory", subjects=(joint,), values=values, remedy=BETWEEN_SAMPLES)
