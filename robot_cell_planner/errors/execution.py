"""Errors of trajectories, execution and communication."""

from __future__ import annotations

from .base import RobotCellError


class TrajectoryError(RobotCellError):
    """A trajectory is malformed, or cannot be time-parameterised."""

    code = 600
    remedy = "Correct the points as the message says: times increase, and lengths equal the number of joints."
    default_stage = "trajectory"


class TrajectoryLimitError(TrajectoryError):
    """A trajectory sample violates a position, velocity, acceleration, jerk or effort limit."""

    code = 601
    is_about_joint_values = True
    remedy = "Slow the trajectory down by `time_parameterize`, or lower the scales of velocity and acceleration."


class TrajectoryInCollisionError(TrajectoryError):
    """A trajectory sample is in collision."""

    code = 602
    remedy = "Plan again in the present scene."


class TrajectoryStartError(TrajectoryError):
    """A trajectory does not start at the current configuration of the robot."""

    code = 603
    remedy = "Plan from the present state, or move to the first point first."


class TrajectoryExpiredError(TrajectoryError):
    """A trajectory should have ended already, by the stamp of its header."""

    code = 604
    remedy = "Set the stamp to the present time or to zero, and check that the clocks of both computers agree."
    default_stage = "stamp of the trajectory"


class ExecutionError(RobotCellError):
    """A motion could not be executed."""

    code = 700
    remedy = "Read the message: it names the controller, joint or option."
    default_stage = "execution"


class MotionBusyError(ExecutionError):
    """Another client moves the robot; `subjects` names it, and robots that are moved independently."""

    code = 701
    remedy = "Wait until the motion has ended, or cancel it; `execution/status` names the client."


class TrackingError(ExecutionError):
    """The robot deviates from the trajectory: a path tolerance is exceeded, or the goal is not
    reached (`GoalToleranceError`)."""

    code = 702
    remedy = "Lower the speed, check the payload and the controller's gains, or raise the path tolerance."
    default_stage = "path tolerance"


class FeedbackLostError(ExecutionError):
    """Joint states stopped, jumped, or are not finite."""

    code = 703
    remedy = "Check the driver and the network; raise `joint_state_timeout` if states come less often."


class StoppedError(ExecutionError):
    """The motion was stopped: emergency stop, mode change or new obstacle."""

    code = 704
    remedy = "Release the emergency stop or remove the obstacle, then plan again from the robot's present state."


class ServiceUnavailableError(ExecutionError):
    """A required node, service or action did not respond. The message gives its name and the time waited."""

    code = 705
    remedy = "Start the node, and check domain, namespace and discovery range; raise the timeout."


class ServerLostError(ServiceUnavailableError):
    """The node that processed a request or goal terminated before completion; the goal is lost."""

    code = 706
    remedy = "Send the goal again when the node runs again; robot_cell and the launch file restart it."


class OutcomeUnknownError(ServiceUnavailableError):
    """No reply was received for a request that must not be repeated; it may have been processed. The message says how
    to check."""

    code = 707
    remedy = "Ask the node for its state before sending the request again."


class GoalToleranceError(TrackingError):
    """The robot did not reach the goal of a trajectory within its tolerances in time."""

    code = 708
    remedy = "Check the payload and the controller's gains, or raise the goal tolerances or the time for them."
    default_stage = "goal tolerance"


class StopRequestedError(StoppedError):
    """The motion was stopped on request: `execution/control_motion`, a newer goal that replaces it, or the deactivation
    or end of the node."""

    code = 709
    remedy = "Nothing is wrong: send a new goal when the robot may move again."


class CollisionAheadError(StoppedError):
    """The motion was stopped before a collision: the scene changed, or another robot moves into its path."""

    code = 710
    remedy = "Remove the obstacle, or plan again from the robot's present state; the option `replan` does so by itself."
    default_stage = "look-ahead"
