"""Links of a multibody as arguments of PyBullet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pybullet

from ...model.pose import normalised
from ..multibody.multibodies import JointModel, Part
from .bullet_shapes import collision_shape


def link_arguments(client: int, parts: Sequence[Part]) -> dict[str, Any]:
    """Return the arguments of createMultiBody for all parts but the first.

    Raises:
        GeometryError: A mesh cannot be used.
    """
    if not parts:
        return {}
    inertias = [part.mass_properties for part in parts]
    return {
        "linkMasses": [inertia.mass for inertia in inertias],
        "linkCollisionShapeIndices": [collision_shape(client, part.geometries) for part in parts],
        "linkVisualShapeIndices": [-1] * len(parts),
        "linkPositions": [part.pose.position for part in parts],
        "linkOrientations": [normalised(part.pose.quaternion) for part in parts],
        "linkInertialFramePositions": [inertia.frame.position for inertia in inertias],
        "linkInertialFrameOrientations": [inertia.frame.quaternion for inertia in inertias],
        "linkParentIndices": [part.parent for part in parts],
        "linkJointTypes": [_joint_type(part.joint) for part in parts],
        "linkJointAxis": [(1.0, 0.0, 0.0) if part.joint is None else part.joint.axis for part in parts],
    }


def _joint_type(joint: JointModel | None) -> int:
    if joint is None:
        return int(pybullet.JOINT_FIXED)
    return int(pybullet.JOINT_REVOLUTE if joint.revolute else pybullet.JOINT_PRISMATIC)
