"""Whether collision objects of a message are those that the scene has."""

from __future__ import annotations

from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject

NEAR = 1e-9  # [m and rad] of poses, whose last digits depend on the joint values that they were computed with


def same_pose(given: Pose, present: Pose) -> bool:
    """Return whether two poses are equal but for rounding; quaternions of opposite signs are the same rotation."""
    first, second = given.position, present.position
    if not max(abs(first.x - second.x), abs(first.y - second.y), abs(first.z - second.z)) <= NEAR:
        return False
    p, q = given.orientation, present.orientation
    pairs = ((p.x, q.x), (p.y, q.y), (p.z, q.z), (p.w, q.w))
    return any(max(abs(a - sign * b) for a, b in pairs) <= NEAR for sign in (1.0, -1.0))


def _same_poses(given: list[Pose], present: list[Pose]) -> bool:
    return len(given) == len(present) and all(map(same_pose, given, present))


def same_shapes(given: CollisionObject, present: CollisionObject) -> bool:
    """Return whether two objects have the same shapes at the same poses in their frames."""
    return bool(
        given.primitives == present.primitives
        and given.meshes == present.meshes
        and given.planes == present.planes
        and _same_poses(given.primitive_poses, present.primitive_poses)
        and _same_poses(given.mesh_poses, present.mesh_poses)
        and _same_poses(given.plane_poses, present.plane_poses)
    )


def same_object(given: CollisionObject, present: CollisionObject) -> bool:
    """Return whether two objects are equal but for rounding and stamps, which clients set."""
    return bool(
        given.id == present.id
        and given.operation == present.operation
        and given.type == present.type
        and given.header.frame_id == present.header.frame_id
        and same_pose(given.pose, present.pose)
        and same_shapes(given, present)
        and given.subframe_names == present.subframe_names
        and _same_poses(given.subframe_poses, present.subframe_poses)
    )


def same_attached(given: AttachedCollisionObject, present: AttachedCollisionObject) -> bool:
    """Return whether two attached objects are equal but for rounding, stamps, weights and postures, which are not used
    here."""
    return (
        given.link_name == present.link_name
        and set(given.touch_links) == set(present.touch_links)
        and same_object(given.object, present.object)
    )
