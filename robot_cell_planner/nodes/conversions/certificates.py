"""Certificates of motions as messages."""

from __future__ import annotations

import math

import numpy as np

from robot_cell_planner.msg import MotionCertificate

from ...collision.certification.certificate import Verdict
from ...collision.certification.paths import PathCertificate
from ...collision.checker import CollisionChecker
from .basic import configuration_to_message, duration_to_message
from .collisions import clearance_to_message

VERDICTS = {
    None: MotionCertificate.NONE,
    Verdict.FREE: MotionCertificate.FREE,
    Verdict.COLLIDING: MotionCertificate.COLLIDING,
    Verdict.UNDECIDED: MotionCertificate.UNDECIDED,
}


def path_certificate_to_message(
    found: PathCertificate, checker: CollisionChecker, times: list[float] | None = None
) -> MotionCertificate:
    """Return the message. checker: of the certified scene; it locates collisions and undecided intervals. times (n,)
    [s]: of the waypoints of a timed motion."""
    message = MotionCertificate(
        verdict=VERDICTS[found.verdict],
        method=found.method,
        certified_fraction=found.certified_fraction if math.isfinite(found.certified_fraction) else 0.0,
        clearance_beyond_margins=found.clearance if found.verdict is Verdict.FREE else 0.0,
        resolution=found.resolution,
        undecided_from=found.place if found.verdict is Verdict.UNDECIDED else -1.0,
        geometry_digest=found.digest,
        states_checked=found.states + found.exact_states,
    )
    message.collision.distance = math.inf
    if found.first_open is None:
        return message
    q = np.array(found.first_open.configuration)
    message.collision = clearance_to_message(checker.distance(q))
    message.collision.place = found.place
    if times is not None:
        message.collision.time = duration_to_message(float(np.interp(found.place, np.arange(len(times)), times)))
    values = dict(zip(checker.variables, q.tolist(), strict=True))
    message.collision.configuration = configuration_to_message(values)
    return message
