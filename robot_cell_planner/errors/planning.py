"""Errors of kinematics, collision checks and planning."""

from __future__ import annotations

from .base import RobotCellError


class TargetModeMismatchError(RobotCellError):
    """The state does not support the target mode: no tool or no workpiece is attached to the group."""

    code = 300
    remedy = "Attach a tool or workpiece to the group, or choose another mode of the target."
    default_stage = "kinematics"


class InverseKinematicsError(RobotCellError):
    """No configuration was found for a target; the subclass, message and values describe the reason."""

    code = 301
    remedy = "See the errors 302 to 304; raise `max_restarts` for redundant arms."
    default_stage = "inverse kinematics"


class OutOfReachError(InverseKinematicsError):
    """The target is out of reach of the arm; `partial` contains the closest configuration."""

    code = 302
    remedy = "Move the target or the robot's base; `partial` has the closest configuration."


class BeyondJointLimitsError(InverseKinematicsError):
    """Solutions exist, but all are beyond joint limits; `values` names the joints."""

    code = 303
    remedy = (
        "Turn the target about its free axis, or choose another reference frame; check the limits that `values` names."
    )


class AllSolutionsInCollisionError(InverseKinematicsError):
    """Solutions exist, but all are in collision; `subjects` names the pairs."""

    code = 304
    remedy = "Move the objects in `subjects`, or allow the contact for this request if it is intended."


class JointLimitError(RobotCellError):
    """A configuration is beyond a joint limit."""

    code = 305
    is_about_joint_values = True
    remedy = "Give a value inside the limits of the joint, which the message names."
    default_stage = "kinematics"


class CollisionCheckError(RobotCellError):
    """The state is in collision; `partial` is the collision report."""

    code = 400
    remedy = "Look at the pairs of the report. Allow a contact that is intended; change the state otherwise."
    default_stage = "collision"


class PlanningError(RobotCellError):
    """Base class of planning errors; raised directly if no motion was found."""

    code = 500
    remedy = "Raise the limits of the request, try another seed or planner, or add a waypoint."
    default_stage = "plan"


class MPStartStateInCollisionError(PlanningError):
    """The start state is in collision; `subjects` names the pairs."""

    code = 501
    remedy = (
        "Move the robot or the object apart, or allow the contact. A part held by a gripper that belongs to the "
        "robot's URDF needs the fingers as touch links; one held by a tool needs nothing."
    )


class MPNoIKSolutionError(PlanningError):
    """A target of the motion has no inverse kinematics solution; `partial` is the trajectory up to the failure."""

    code = 502
    remedy = (
        "Move the target or the base of the robot; the message says what is in the way. Shorten a line to the last "
        "point of `partial`."
    )


class MPInterpolationInCollisionError(PlanningError):
    """A state along the motion is in collision; `partial` is the trajectory up to the failure."""

    code = 503
    remedy = "Use `plan_motion` to plan around the obstacle, move the obstacle, or approach from another side."


class MPMaxJumpError(PlanningError):
    """Adjacent states differ by more than the allowed joint jump; `partial` is the trajectory up to the failure."""

    code = 504
    remedy = "Choose another start configuration; the arm passes a singularity or a joint limit here."


class GoalInCollisionError(PlanningError):
    """All goal configurations are in collision; `subjects` names the pairs."""

    code = 505
    remedy = "Choose another goal, or allow the contact if it is intended."


class NotConnectedError(PlanningError):
    """No path between start and goal was found within the limits of the request."""

    code = 506
    remedy = "Raise `state_limit` and `time_limit`, or check by `collision/check_states` that a passage exists."


class ConstraintMismatchError(PlanningError):
    """Start and goal violate the path constraints, or are inconsistent with each other under the constraints."""

    code = 507
    remedy = "Start and end within the constraints, or widen their tolerances."


class StartBeyondLimitsError(PlanningError):
    """The start state is beyond joint limits; `values` names the joints."""

    code = 508
    is_about_joint_values = True
    remedy = (
        "Move the robot inside its limits, or allow a start correction (`max_start_correction` in the options "
        "of the request). For small excesses raise the parameter `start_limit_tolerance` of the planning node."
    )


class PathInvalidError(PlanningError):
    """A path to be returned or executed is in collision or beyond limits; `partial` is the report."""

    code = 509
    remedy = "Plan again from the present state: the cell changed, or the path is from another cell."


class MPTargetInCollisionError(PlanningError):
    """Every configuration that reaches a waypoint is in collision; `subjects` names the pairs."""

    code = 510
    remedy = (
        "Move the waypoint or the obstacle, or allow the contact. With `skip_preplanning_collision_check` the path "
        "up to the obstacle is returned as `partial`."
    )


class BlockedByMovingRobotsError(PlanningError):
    """No motion among robots on known trajectories was found; `subjects` names a pair that is in the way."""

    code = 515
    remedy = (
        "Choose a start and a goal that are free at all times, raise `state_limit`, or plan all robots together as a "
        "composite group."
    )
