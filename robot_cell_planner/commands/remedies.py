"""Remedies of errors in the words of the command line, which has no fields of requests and results."""

from __future__ import annotations

from collections.abc import Mapping

from .. import errors
from ..errors import RobotCellError

SEARCH = (
    "Try another `--seed` or `--planner`, or plan to a configuration between start and goal first, and from there on "
    "by `--from-joint`."
)
START = "Give a start by `--from` or `--from-joint`, or correct `state` of the cell file"
CONTACT = "allow the contact in the cell file if it is intended (`touch_links`, `touch_bodies`, `ignore_groups`)"
# In place of the remedies of types that name fields, functions or options of a library call or of a request.
REMEDIES: Mapping[type[RobotCellError], str] = {
    errors.InvalidRequestError: "Correct what the message names; `--help` lists the options of a command.",
    errors.LimitExceededError: (
        "Give less at once: smaller files, fewer samples, a smaller grid. What nodes refuse is bounded by their "
        "parameters (docs/parameters.md)."
    ),
    errors.TimedOutError: SEARCH,
    errors.ResourceError: (
        "Add the folder by `--root`, or source the workspace of the package (AMENT_PREFIX_PATH); for a port that is in "
        "use, choose another one."
    ),
    errors.FrameCycleError: "Change `attached_to` of one of the objects that the message names.",
    errors.StateError: f"{START}.",
    errors.StaleStateError: (
        "Check that joint states arrive and the scene node runs; on a busy machine, repeat the command."
    ),
    errors.NoCellError: "Load a cell into the running nodes: `robot_cell up --cell FILE` starts them with one.",
    errors.InverseKinematicsError: (
        "Give another start, from which the search begins, by `--from` or `--from-joint`, or another pose."
    ),
    errors.OutOfReachError: "Move the target or the robot's base; `robot_cell reach` shows what is within reach.",
    errors.BeyondJointLimitsError: (
        "Turn the target, or move it; the message names the limits. `robot_cell reach` shows what is within reach."
    ),
    errors.AllSolutionsInCollisionError: (
        f"Move the objects that the message names, or {CONTACT}. `robot_cell ik --colliding` prints the configurations."
    ),
    errors.JointLimitError: "Stay inside the limits of the joint, which the message names; they are in rad or m.",
    errors.CollisionCheckError: f"Change the state, or {CONTACT}.",
    errors.PlanningError: SEARCH,
    errors.MPNoIKSolutionError: (
        "Move the target or the base of the robot; the message says what is in the way. Shorten a line to the "
        "fraction that the message gives."
    ),
    errors.MPInterpolationInCollisionError: (
        "Plan without `--line`, which goes around the obstacle, move the obstacle, or approach from another side."
    ),
    errors.MPMaxJumpError: (
        "Give another start by `--from` or `--from-joint`; the arm passes a singularity or a joint limit here."
    ),
    errors.NotConnectedError: SEARCH,
    errors.StartBeyondLimitsError: (
        f"{START}, inside the limits. For small excesses of a running robot, raise the parameter "
        "`start_limit_tolerance` of the planning node."
    ),
    errors.MPTargetInCollisionError: f"Move the target or the obstacle, or {CONTACT}.",
    errors.BlockedByMovingRobotsError: (
        "Choose a start and a goal that are free at all times, or plan all robots together as a composite group."
    ),
    errors.TrajectoryLimitError: "Plan again with a lower `--speed`.",
    errors.CollisionAheadError: (
        "Remove the obstacle, or plan again from the robot's present state: `robot_cell plan @running`."
    ),
}


def remedy_of(error: RobotCellError) -> str:
    """Return the remedy of an error for a user of the command line: its own, or else that of its type."""
    if "remedy" in vars(error):
        return error.remedy
    for kind in type(error).__mro__:
        if kind in REMEDIES:
            return REMEDIES[kind]
        if "remedy" in vars(kind):
            break
    return error.remedy
