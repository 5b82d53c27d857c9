"""Errors of requests and values, and internal errors."""

from __future__ import annotations

from .base import RobotCellError


class InternalError(RobotCellError):
    """A defect in this package or in a native library that it uses."""

    code = 900
    remedy = "Please report it with the log and the request."


class WorkerCrashedError(RobotCellError):
    """The worker process that served the request died; it was replaced."""

    code = 901
    remedy = "Send the request again; if it happens again, report it with the request."
    default_stage = "worker"


class InvalidRequestError(RobotCellError):
    """A request or option is malformed: wrong length, a number that is not finite, or contradictory fields."""

    code = 100
    remedy = "Correct the field that the message names; units and shapes are in docs/interfaces.md."
    default_stage = "request"


class InvalidValueError(InvalidRequestError, ValueError):
    """A value is invalid: wrong type or length, or out of range.

    In messages it is reported as InvalidRequestError. It is also a ValueError, for constructors called from Python.
    """

    @property
    def name(self) -> str:
        """Name of the error type in messages."""
        return InvalidRequestError.__name__

    def __str__(self) -> str:
        """Return the message without the stage, which the caller adds."""
        return self.message


class UnknownNameError(RobotCellError):
    """A joint, link, group, frame, tool, body, planner or state with this name does not exist."""

    code = 101
    remedy = (
        "Check the spelling: the message has similar names, or some of those that exist. All names of a cell are in "
        "its file, and in `scene/get_cell` of running nodes."
    )
    default_stage = "request"


class LimitExceededError(RobotCellError):
    """An input exceeds what the node accepts or can process (count, size or value)."""

    code = 102
    remedy = "Split the request, or raise the parameter of the node that bounds it (docs/parameters.md)."
    default_stage = "request"


class CancelledError(RobotCellError):
    """The caller cancelled the request."""

    code = 103
    remedy = "None: the client cancelled the request or stopped waiting for it."
    default_stage = "request"


class TimedOutError(RobotCellError):
    """The time limit, or the limit of counted work, was reached before a solution was found."""

    code = 104
    remedy = "Raise `time_limit` or `state_limit` of the request, or choose another planner."
    default_stage = "request"


class NotSupportedError(RobotCellError):
    """The request is valid, but this cell, solver or engine does not support it."""

    code = 105
    remedy = "Choose another option as the message says: another engine, planner, solver or control mode."
    default_stage = "request"


class NotActiveError(RobotCellError):
    """The node that the request was sent to is not active, or was deactivated; `subjects` names it."""

    code = 106
    remedy = "Activate the node with a lifecycle manager or with ros2 lifecycle set, or start it with `autostart`."
    default_stage = "lifecycle"
