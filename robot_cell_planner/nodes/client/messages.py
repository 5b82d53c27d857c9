"""Constructors of messages that clients often need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.msg import GoalSpec, MotionPlan, StateRef, Target

from ...errors import InvalidRequestError
from ...model.pose import Pose
from ...model.shown_values import show
from ...trajectory.merging import merge_trajectories
from ..conversions.basic import configuration_to_message, pose_to_message
from ..conversions.trajectories import trajectory_from_message, trajectory_to_message

# A named state, joint values by name, a target, a goal message, or a sequence of the first three as alternatives.
MotionGoal: TypeAlias = "str | Mapping[str, float] | Target | GoalSpec | Sequence[str | Mapping[str, float] | Target]"
REMEDY_OF_GOALS = "Give joint values as {joint: value}, and a pose by `make_pose_target(frame, pose)`."


def make_goal(goal: MotionGoal) -> GoalSpec:
    """Return the message of a motion goal.

    goal: as of `CellClient.plan_motion`; a `GoalSpec` is returned unchanged.

    Raises:
        InvalidRequestError: The type is not part of `MotionGoal`.
    """
    if isinstance(goal, GoalSpec):
        return goal
    result = GoalSpec()
    for part in goal if isinstance(goal, Sequence) and not isinstance(goal, str) else (goal,):
        if isinstance(part, str):
            result.named_states.append(part)
        elif isinstance(part, Target):
            result.targets.append(part)
        elif isinstance(part, Mapping):
            result.joint_goals.append(configuration_to_message(part))
        else:
            text = f"a goal is {show(part)}, expected the name of a state, joint values by name, or a Target"
            raise InvalidRequestError(text, subjects=("goal",), remedy=REMEDY_OF_GOALS)
    return result


def make_pose_target(
    frame: str = "", pose: Pose | None = None, mode: int = Target.TOOL, native_scale: float = 1.0
) -> Target:
    """Return a target with a pose relative to a frame of the cell ("": the world) [m]."""
    return Target(mode=mode, reference_frame=frame, pose=pose_to_message(pose or Pose()), native_scale=native_scale)


def state_with_joints(values: dict[str, float], min_revision: int = 0) -> StateRef:
    """Return a reference to the scene's state with other values of some joints, of at least revision `min_revision`."""
    return StateRef(configuration=configuration_to_message(values), min_revision=min_revision)


def merge_plans(plans: Sequence[MotionPlan]) -> JointTrajectory:
    """Return one trajectory for plans of different robots whose motions begin at the same time, to be executed as one.

    Raises:
        InvalidRequestError: There is no plan, a plan is not timed, or a joint is in two of them.
    """
    trajectories = [
        trajectory_from_message(plan.trajectory, f"plans[{index}].trajectory") for index, plan in enumerate(plans)
    ]
    return trajectory_to_message(merge_trajectories(trajectories))


def final_joint_values(plan: MotionPlan) -> dict[str, float]:
    """Return the joint values at the end of a plan [rad or m], by joint."""
    if plan.trajectory.points:
        return dict(zip(plan.trajectory.joint_names, plan.trajectory.points[-1].positions, strict=True))
    names = plan.path.joint_names
    return dict(zip(names, plan.path.positions[-len(names) :], strict=True))
