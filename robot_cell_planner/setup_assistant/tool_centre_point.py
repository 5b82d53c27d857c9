"""Tool centre point of a hand: that of the description, or between the fingertips."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..model.mechanism import JointKind, Mechanism
from ..model.pose import Pose
from ..model.robot import Robot
from .fingertips import centre_of, fixed_below, in_base

Floats = NDArray[np.float64]
INSET = 0.01  # [m] the tool centre point is this far behind the fingertips
# Names of links, in lower case, that are the maker's tool centre point of a hand.
TCP_NAME = re.compile(
    r"(^|[\W_])(tcp|ee|eef|end_?effector|grasp\w*|gripper_(frame|center|centre|tip)|tool_?(center|centre)\w*)([\W_]|$)"
)
MIN_ALONG, MAX_ALONG = 0.5, 1.5  # of the distance to the ends of the fingers
MAX_ASIDE = 0.03  # [m] from the middle between the fingertips


def tool_centre_point(
    robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]
) -> tuple[Pose, str]:
    """Return the tool centre point of a hand in its base, with z along the fingers, and the link that is there.

    It is where a link without collision shapes is that is fixed to the base, has a name such as `tcp` and is between
    the fingers or a little before them; 10 mm behind the ends of the fingers, and "" as link, if there is none.

    Args:
        robot: Robot with the hand.
        base: Link that carries the fingers.
        points: Points (n, 3) of each fingertip in its frame.
        values: Values of the variables of the closed hand [rad or m].
    """
    located = in_base(robot, base, points, values)
    centre = np.mean([centre_of(rows) for rows in located.values()], axis=0)
    if float(np.linalg.norm(centre)) < 1e-6:
        return Pose(), ""
    # The coordinate axis of the base that points along the fingers.
    axis = np.zeros(3)
    index = int(np.argmax(np.abs(centre)))
    axis[index] = np.sign(centre[index])
    end = max(float((rows @ axis).max()) for rows in located.values())
    drafted = centre + axis * (end - INSET - centre @ axis)
    position, link = _of_maker(robot.mechanism, base, drafted, axis) or (drafted, "")
    x, y, z = (round(float(value), 5) for value in position)
    return Pose.from_rpy((x, y, z), _rpy_of(axis)), link


def _of_maker(mechanism: Mechanism, base: str, drafted: Floats, axis: Floats) -> tuple[Floats, str] | None:
    """Return the position in the base of the link that is the maker's tool centre point, and its name."""
    part = base
    while (joint := mechanism.parent_joints.get(part)) is not None and joint.kind is JointKind.FIXED:
        part = joint.parent
    poses = fixed_below(mechanism, part)
    found = []
    for name, pose in poses.items():
        if not TCP_NAME.search(name.lower()) or mechanism.links[name].collisions:
            continue
        position = np.array((poses[base].inverse() @ pose).position)
        along, reach = float(position @ axis), float(drafted @ axis)
        aside = float(np.linalg.norm(position - drafted - axis * (along - reach)))
        if MIN_ALONG * reach <= along <= MAX_ALONG * reach and aside <= MAX_ASIDE:
            found.append((float(np.linalg.norm(position - drafted)), name, position))
    if not found:
        return None
    _, name, position = min(found, key=lambda row: row[:2])
    return position, name


def _rpy_of(axis: Floats) -> tuple[float, float, float]:
    """Return the roll, pitch and yaw that turn z to a coordinate axis."""
    x, y, z = axis
    if x:
        return (0.0, 0.5 * np.pi * x, 0.0)
    if y:
        return (-0.5 * np.pi * y, 0.0, 0.0)
    return (0.0, 0.0, 0.0) if z > 0.0 else (np.pi, 0.0, 0.0)
