"""The collision monitor of servo: clearances ahead of the robot, requested from the collision node while it moves.

The collision node is another process than the one that streams. It computes clearances along the path on which the
robot would continue as commanded and then stop, and after a small step in the direction of the command; the reply
determines which fraction of the commanded speed is allowed, for as long as that path lasts. Without a reply in time the
robot stops.

The collision node limits and counts pairs by their distances. What matters here is how far they are from their safety
margins: the search is extended by the largest margin, and repeated with more pairs if it may have left out a pair below
the slow-down distance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.client import Client

from robot_cell_planner.msg import Clearance, StateRef
from robot_cell_planner.srv import ComputeClearance

from ...errors import ServiceUnavailableError, Value
from ...trajectory.limits import MotionLimits
from ...trajectory.servo import ServoState, VelocityFollower
from ...trajectory.servo_frames import PROBE, collision_fraction, probed_positions
from ..common.cancellation import CancellationToken, pause, reply_of
from ..common.node import CellNode
from ..conversions.basic import error_from_message, path_to_message

Array = NDArray[np.float64]
CLEARANCE = "collision/compute_clearance"
SAMPLES = 6  # configurations along the path ahead
PROBED = float(SAMPLES)  # place, in a reply, of the configuration after a small step
PAIRS = 8  # closest pairs of each, at first
GROWTH = 4  # factor of the number of pairs if these are not enough
PERIOD = 0.03  # [s] between a reply and the next request
BEYOND = 0.1  # [m] search distance of pairs beyond the slow-down distance
ALIKE = 0.98  # minimum cosine between a checked command and others for whose common part the check is valid


class CollisionMonitor:
    """Monitors one session of servo.

    slow_down [m]. max_margin: returns an upper bound of the safety margins in the present scene [m].
    """

    def __init__(
        self,
        node: CellNode,
        client: Client[ComputeClearance.Request, ComputeClearance.Response],
        state: StateRef,
        variables: tuple[str, ...],
        limits: MotionLimits,
        start: Array,
        slow_down: float,
        max_margin: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._client = client
        self._state = state
        self._variables = variables
        self._ahead = VelocityFollower(limits, start)
        self._slow_down = slow_down
        self._max_margin = max_margin
        self._now = now
        self._pairs = PAIRS
        # Duration of the path before the stop, and for which a reply is valid [s].
        self._look_ahead = float(node.parameters["servo_look_ahead"])
        self._checked = np.zeros(len(variables))
        self._scale, self._scale_around, self._until = 0.0, 0.0, -math.inf
        self.closest = Clearance(distance=math.inf)
        self.requested = np.zeros(len(variables))
        self.present: ServoState = self._ahead.state

    def allowed(self, requested: Array) -> Array:
        """Return the allowed velocity (dof,) for a commanded one.

        What a command has in common with the last checked one is limited by what is ahead there. For the rest, such as
        a small turn towards an object, all objects near the robot count as ahead.
        """
        if self._now() > self._until:
            return np.zeros_like(requested)
        common = _common(requested, self._checked)
        around = min(self._scale, self._scale_around)
        allowed: Array = self._scale * common + around * (requested - common)
        return allowed

    def scale(self, requested: Array) -> float:
        """Return the allowed fraction of the speed of a commanded velocity (dof,)."""
        size = float(np.linalg.norm(requested))
        return float(np.linalg.norm(self.allowed(requested))) / size if size > 0.0 else 1.0

    async def run(self, token: CancellationToken) -> None:
        """Request clearances until the token is set.

        Raises:
            ServiceUnavailableError: The collision node does not reply.
            RobotCellError: The error of the reply, or the reason of the cancellation.
        """
        timeout = self._node.parameters["monitor_timeout"]
        while True:
            requested, sent_at, margin = self.requested, self._now(), self._max_margin()
            configurations = self._configurations(requested)
            request = ComputeClearance.Request(
                state=self._state,
                configurations=path_to_message(self._variables, configurations),
                max_distance=margin + self._slow_down + BEYOND,
                pairs=self._pairs,
            )
            try:
                reply = await reply_of(self._node, self._client, request, token, timeout, CLEARANCE)
            except ServiceUnavailableError:
                text = f"the collision node does not reply to {CLEARANCE}, and nothing would stop the robot"
                values = (Value("silence", timeout, timeout, "s"),)
                raise ServiceUnavailableError(text, stage="servo", subjects=(CLEARANCE,), values=values) from None
            error = error_from_message(reply.error)
            if error is not None:
                raise error
            allowed = self._scale, self._scale_around
            self._take(reply.clearances, float(np.abs(configurations[1] - configurations[0]).max()) / PROBE)
            if self._is_complete(reply.clearances, margin):
                self._checked, self._until = requested, sent_at + self._look_ahead
                await pause(self._node, PERIOD, token)
            else:
                # What was found counts at once, but only what is complete lets the robot go on.
                self._scale, self._scale_around = map(min, allowed, (self._scale, self._scale_around))
                self._pairs *= GROWTH

    def _configurations(self, requested: Array) -> Array:
        """Return the configurations to check (SAMPLES + 1, dof) for a commanded velocity (dof,)."""
        self._ahead.state = self.present
        samples = self._ahead.predicted(requested, self._look_ahead, SAMPLES)
        return np.vstack((samples, probed_positions(samples[0], requested)))

    def _is_complete(self, clearances: Sequence[Clearance], margin: float) -> bool:
        """Return whether no pair is left out that may be closer to its safety margin than the slow-down distance.

        margin: bound of all margins [m]. The pairs of each configuration are sorted by distance.
        """
        counts: dict[float, int] = {}
        for found in clearances:
            counts[found.place] = counts.get(found.place, 0) + 1
            if counts[found.place] >= self._pairs and found.distance - margin < self._slow_down:
                return False
        return True

    def _take(self, clearances: Iterable[Clearance], steps: float) -> None:
        """Set the allowed fractions. steps: length of the path to its second configuration, in small steps."""
        now: dict[tuple[str, str], float] = {}
        probed: dict[tuple[str, str], float] = {}
        ahead: dict[tuple[str, str], float] = {}
        closest = Clearance(distance=math.inf)
        for found in clearances:
            pair, gap = (found.name_a, found.name_b), found.distance - found.margin
            gaps = now if found.place == 0.0 else probed if found.place == PROBED else ahead
            gaps[pair] = min(gap, gaps.get(pair, math.inf))
            if gaps is now and found.distance < closest.distance:
                closest = found
        self.closest = closest
        self._scale = collision_fraction(now, ahead, self._slow_down, probed=probed, steps=steps)
        self._scale_around = collision_fraction({}, now, self._slow_down)


def _common(requested: Array, checked: Array) -> Array:
    """Return the part of a velocity along a checked one, at most as fast (dof,); zero if their directions differ much,
    or the velocity is much faster."""
    sizes = float(np.linalg.norm(requested)), float(np.linalg.norm(checked))
    along = float(requested @ checked)
    if 0.0 in sizes or sizes[0] > sizes[1] / ALIKE or along < ALIKE * sizes[0] * sizes[1]:
        return np.zeros_like(requested)
    common: Array = min(along / float(checked @ checked), 1.0) * checked
    return common
