"""Changes of the speed of channels, computed while the stream continues."""

from __future__ import annotations

from threading import Condition

from ...trajectory.sampler import TrajectorySampler
from .channels import Channel
from .motion_clock import MotionClock

# Times ahead for which a change is computed, on the steady clock [s]; the next one if the computation takes longer.
LEAD_TIMES = (0.02, 0.06, 0.2)
KEPT = 1.0  # [s] of the past of the time scaling that is kept at a change of speed


def change_speed(
    channel: Channel, sampler: TrajectorySampler, scale: float, lock: Condition, clock: MotionClock
) -> None:
    """Change the speed scale of a channel that moves, from a time on that is still in the future when it is applied.

    Args:
        channel: Channel to change.
        sampler: Its sampler.
        scale: New speed scale, 0 to 1.
        lock: Lock of the stream, which is not held while the change is computed.
        clock: Clock of trajectories.

    Raises:
        TrajectoryError: There is no such change; the speed is unchanged.
    """
    for lead in LEAD_TIMES:
        with lock:
            time_scaling, begin, start = sampler.time_scaling, clock.now(), clock.after(lead)
        changed = sampler.changed(scale, start)
        with lock:
            if sampler.time_scaling is time_scaling and clock.now() <= start:
                sampler.follow(changed.since(begin - KEPT), scale)
                channel.awaits_resume = False
                return
    with lock:
        now = clock.now()
        sampler.follow(sampler.changed(scale, now).since(now - KEPT), scale)
        channel.awaits_resume = False
