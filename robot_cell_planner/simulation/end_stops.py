"""Hard end stops of joints.

The engines hold a joint at its end stop from the step on that begins beyond it. A fast or light joint passes it by a
whole step before: at 10 m/s by 20 mm, and beyond 0.04 rad PyBullet does not bring it back.
"""

from __future__ import annotations

import math

from .engines.base import END_STOP_SLACK, Engine, JointHandle

TOLERANCE = 1e-4  # [rad or m] by which a joint may be beyond its end stop, so that the engine's constraint holds it


def hard_stops(joint: JointHandle) -> tuple[float, float]:
    """Return the bounds of a joint's position [rad or m]; infinite without limits and for mimic joints."""
    model, slack = joint.model, END_STOP_SLACK + TOLERANCE
    if model.source:
        return -math.inf, math.inf
    return min(model.limits.lower, model.start) - slack, max(model.limits.upper, model.start) + slack


class EndStops:
    """Keeps the joints of an engine within their end stops, whatever drives or pushes them. Impacts do not bounce."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stops: dict[int, list[tuple[JointHandle, float, float]]] = {}
        for joint in engine.joints:
            lower, upper = hard_stops(joint)
            if lower > -math.inf or upper < math.inf:
                self._stops.setdefault(joint.address.body, []).append((joint, lower, upper))
        self._links = {body: [joint.address.link for joint, *_ in stops] for body, stops in self._stops.items()}

    def hold(self) -> None:
        """Bring joints that passed an end stop in the latest step back to it, where they stop."""
        for body, stops in self._stops.items():
            values = self._engine.joint_values(body, self._links[body])
            for (joint, lower, upper), (position, velocity, _) in zip(stops, values, strict=True):
                if position > upper:
                    self._engine.put(joint, upper, min(velocity, 0.0))
                elif position < lower:
                    self._engine.put(joint, lower, max(velocity, 0.0))
