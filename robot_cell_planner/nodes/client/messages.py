"""Messages that clients often need."""

from __future__ import annotations

from typing import Any

from robot_cell_planner.msg import GoalSpec, MotionPlan, StateRef, Target

from ...model.pose import Pose
from ..conversions.basic import configuration_to_message, pose_to_message


def goal_of(**parts: Any) -> GoalSpec:
    """A goal: named_states=[...], targets=[...], or joint_goals=[{joint: value}, ...]."""
    joints = [configuration_to_message(values) for values in parts.pop("joint_goals", ())]
    return GoalSpec(joint_goals=joints, **parts)


def pose_target(
    frame: str = "", pose: Pose | None = None, mode: int = Target.TOOL, native_scale: float = 1.0
) -> Target:
    """A target pose, seen from a frame of the cell ("": the world)."""
    return Target(mode=mode, reference_frame=frame, pose=pose_to_message(pose or Pose()), native_scale=native_scale)


def from_configuration(values: dict[str, float], min_revision: int = 0) -> StateRef:
    """The scene's state with some joints elsewhere, not older than a revision."""
    return StateRef(configuration=configuration_to_message(values), min_revision=min_revision)


def end_of(plan: MotionPlan) -> dict[str, float]:
    """Joint values at the end of a plan."""
    if plan.trajectory.points:
        return dict(zip(plan.trajectory.joint_names, plan.trajectory.points[-1].positions, strict=True))
    names = plan.path.joint_names
    return dict(zip(names, plan.path.positions[-len(names) :], strict=True))
