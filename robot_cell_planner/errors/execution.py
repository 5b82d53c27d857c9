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
    remedy = "Slow the trajectory down by `time_parameterize`, or lower the scales of velocity and acceleration."


class TrajectoryInCollisionError(TrajectoryError):
    """A trajectory sample is in collision."""

    code = 602
    remedy = "Plan again in the present scene."


class TrajectoryStartError(TrajectoryError):
    """A trajectory does not start at the current configuration of the robot."""

    code = 603
    remedy = "Plan from the present state, or move to the first point first."


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
    """The robot deviates from the trajectory: the path or goal tolerance is exceeded."""

    code = 702
    remedy = "Lower the speed, check the payload and the controller's gains, or raise the path tolerance."


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
