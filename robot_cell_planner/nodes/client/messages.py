"""Messages that clients often need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from robot_cell_planner.msg import GoalSpec, MotionPlan, StateRef, Target

from ...model.pose import Pose
from ..conversions.basic import configuration_to_message, pose_to_message

# A named state, joint values by name, a target, a goal, or several of the first three, of which any is reached.
MotionGoal: TypeAlias = "str | Mapping[str, float] | Target | GoalSpec | Sequence[str | Mapping[str, float] | Target]"


def to_goal(goal: MotionGoal) -> GoalSpec:
    """Return the message of a goal.

    Raises:
        TypeError: It is none of the types of `MotionGoal`.
    """
    if isinstance(goal, GoalSpec):
        return goal
    result = GoalSpec()
    for part in (goal,) if isinstance(goal, str | Mapping | Target) else goal:
        if isinstance(part, str):
            result.named_states.append(part)
        elif isinstance(part, Target):
            result.targets.append(part)
        elif isinstance(part, Mapping):
            result.joint_goals.append(configuration_to_message(part))
        else:
            text = f"a goal is a {type(part).__name__}, expected the name of a state, joint values by name or a Target"
            raise TypeError(text)
    return result


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
