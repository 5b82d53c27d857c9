"""Multibodies as bodies of PyBullet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pybullet
from numpy.typing import NDArray

from ...errors import LimitExceededError, Value
from ...model.name_suggestions import listed
from ...model.pose import normalised
from ...system.physics import MAX_LINKS
from ..multibody.multibodies import JointModel, Multibody, Part
from .bullet_shapes import collision_shape


def create(client: int, multibody: Multibody, visual: int = -1) -> int:
    """Create a multibody; return its number.

    visual: Shape of its first part in images; without one, those for contacts are converted, which takes 0.2 ms each.

    Raises:
        GeometryError: A mesh cannot be used.
        LimitExceededError: It has more links than the engine supports.
    """
    if len(multibody.parts) > MAX_LINKS:
        raise _too_many_links(multibody)
    first = multibody.parts[0]
    inertia = first.mass_properties
    return int(
        pybullet.createMultiBody(
            baseMass=0.0 if multibody.fixed else inertia.mass,
            baseCollisionShapeIndex=collision_shape(client, first.geometries),
            baseVisualShapeIndex=visual,
            basePosition=first.pose.position,
            baseOrientation=normalised(first.pose.quaternion),
            baseInertialFramePosition=inertia.frame.position,
            baseInertialFrameOrientation=inertia.frame.quaternion,
            flags=pybullet.URDF_USE_SELF_COLLISION,
            physicsClientId=client,
            **_link_arguments(client, multibody.parts[1:]),
        )
    )


def bounds_of(client: int, bodies: Iterable[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of the box around bodies [m]."""
    boxes = [
        pybullet.getAABB(body, link, physicsClientId=client)
        for body in bodies
        for link in range(-1, pybullet.getNumJoints(body, physicsClientId=client))
    ]
    lower, upper = np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes])
    return lower.min(axis=0), upper.max(axis=0)


def _link_arguments(client: int, parts: Sequence[Part]) -> dict[str, Any]:
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


def _too_many_links(multibody: Multibody) -> LimitExceededError:
    """Return the error of a multibody with too many links: which objects have most, and what to do."""
    counts = Counter(part.object_name for part in multibody.parts if part.geometries).most_common()
    pieces = [f"{name} {count}" for name, count in counts if count > 1]
    text = f"{multibody.name} with all that is attached to it has too many links for PyBullet"
    if pieces:
        text += f": each convex piece of a mesh is one ({listed(pieces)}). Check these meshes as their hulls"
        text += " (`mesh_uses` or `meshes: hull` of the robot or tool in the cell file), or simulate"
    else:
        text += ". Simulate"
    return LimitExceededError(
        f'{text} with engine "mujoco", which has no such limit',
        stage="simulation",
        subjects=(multibody.name,),
        values=(Value("links", len(multibody.parts), MAX_LINKS),),
    )
