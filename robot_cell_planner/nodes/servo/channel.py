"""Channel of the stream for servo: joints that follow commanded velocities, one step per command."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...trajectory.limits import MotionLimits
from ...trajectory.sampler import SamplerOptions, TrajectorySample, rest_at
from ...trajectory.servo import ServoState, VelocityFollower
from ..motion.channels import Channel

Array = NDArray[np.float64]


class ServoChannel(Channel):
    """Joints that follow velocities from rest; starts at once, ends at rest after a stop.

    The stream's thread reads the velocities, which expire at a given time, so that motion stops if their source is
    delayed.
    """

    def __init__(self, joints: tuple[str, ...], owner: str, limits: MotionLimits, start: Array) -> None:
        super().__init__(joints, owner, rest_at(joints, start), 1.0, SamplerOptions(), _nothing, limits=limits)
        self.follower = VelocityFollower(limits, start)
        self._requested = np.zeros(len(joints)), -math.inf

    def follow(self, velocities: Array, until: float) -> None:
        """Follow velocities (dof,) until a time of the stream's clock [s]; then come to rest."""
        self._requested = velocities, until

    def _next(self, now: float, max_command_gap: float) -> TrajectorySample:
        """Compute the next command; after a longer gap the robot is at rest, and continues from rest."""
        passed = now - self.played_at
        if passed > max_command_gap:
            self.follower.go_on_from_rest()
            self.limit_check.rest()
        elif passed > 0.0:
            velocities, until = self._requested
            rests = self.stopping or now > until
            self.follower.step(np.zeros(len(self.joints)) if rests else velocities, passed)
        return _sample(self.follower.state)

    def _stop_step(self, now: float) -> TrajectorySample | None:
        last = self.last
        self.follower.state = ServoState(last.positions, last.velocities, last.accelerations)
        try:
            sample = _sample(self.follower.step(np.zeros(len(self.joints)), self.limit_check.seconds(now)))
        except Exception:
            # The first violation is reported, not errors of the follower; the joints are held.
            return None
        return sample if self.limit_check.violation(sample, now) is None else None

    def has_come_to_its_end(self, now: float) -> bool:
        """Return whether the last command was rest after a stop."""
        return self.halted if self.violation is not None else self.stopping and self.follower.state.at_rest


def _sample(state: ServoState) -> TrajectorySample:
    return TrajectorySample(0.0, state.positions, state.velocities, state.accelerations)


def _nothing() -> None:
    """The session checks for its end itself."""
