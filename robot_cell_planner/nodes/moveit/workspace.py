"""The workspace of a request, which bounds where the base of a mobile robot may go."""

from __future__ import annotations

from moveit_msgs.msg import WorkspaceParameters

from robot_cell_planner.msg import PathConstraint, Target

from ...errors import InvalidRequestError
from ...model.pose import Pose
from ...planning.problem.constraints import FRAME_TOLERANCE
from ...scene.scene import Scene
from ..conversions.basic import pose_to_message, position_from_message, vector_to_message
from .robot_states import compound_joints


def workspace_constraints(scene: Scene, group: str, message: WorkspaceParameters) -> list[PathConstraint]:
    """Return the constraints that the planar and floating joints of a group stay in the workspace; none for a group
    without such joints or a workspace of zeros, as in MoveIt.

    Raises:
        InvalidRequestError: A corner is not finite, or the minimum above the maximum.
    """
    lower, upper = position_from_message(message.min_corner), position_from_message(message.max_corner)
    if not any((*lower, *upper)):
        return []
    if not all(low <= high and abs(low) + abs(high) < float("inf") for low, high in zip(lower, upper, strict=True)):
        text = f"workspace_parameters range from {list(lower)} to {list(upper)}, expected finite corners in this order"
        raise InvalidRequestError(text, stage="request", subjects=("workspace_parameters",))
    planned = set(scene.cell.group(group).variables)
    center = [(low + high) / 2.0 for low, high in zip(lower, upper, strict=True)]
    half = [max((high - low) / 2.0 - FRAME_TOLERANCE, 0.0) for low, high in zip(lower, upper, strict=True)]
    return [
        PathConstraint(
            type=PathConstraint.POSITION_IN_BOX,
            mode=Target.FRAME,
            frame=joint.child,
            reference_frame=message.header.frame_id,
            stamp=message.header.stamp,
            pose=pose_to_message(Pose((center[0], center[1], center[2]))),
            extent=vector_to_message(half),
        )
        for _, joint in compound_joints(scene.cell).values()
        if not planned.isdisjoint(joint.variables)
    ]
