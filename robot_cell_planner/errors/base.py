"""Base class of all errors, with bounded text and values that can be passed between processes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

E = TypeVar("E", bound="RobotCellError")

# Bounds of quoted text, because names and texts from outside can have any size.
MAX_MESSAGE = 4_000  # [characters]
MAX_SUBJECT = 300
MAX_ENTRIES = 300  # of subjects and of values
FAR = 2.0  # times its limit, beyond which an angle of more than a turn is probably in degrees
UNCHANGED: Any = object()  # for an attribute of which None is a value


def bounded(text: str, max_length: int = MAX_MESSAGE) -> str:
    """Return the text, with its middle omitted if it has more than `max_length` characters."""
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]} ... {len(text) - 2 * half} characters left out ... {text[-half:]}"


def _bounded_subjects(subjects: Iterable[object]) -> tuple[str, ...]:
    names = tuple(subjects)
    listed = tuple(bounded(str(name), MAX_SUBJECT) for name in names[:MAX_ENTRIES])
    return listed if len(names) <= MAX_ENTRIES else (*listed, f"and {len(names) - MAX_ENTRIES} more")


def distinct_texts(value: float, limit: float) -> tuple[str, str]:
    """Format two numbers with six digits, or with as many as needed to distinguish them."""
    texts = [(f"{value:.{digits}g}", f"{limit:.{digits}g}") for digits in range(6, 18)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


@dataclass(frozen=True)
class Value:
    """Number related to an error: the value and the limit that it was checked against (None if there is none)."""

    name: str
    value: float
    limit: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.limit is None:
            return f"{self.name} = {self.value:.6g}{unit}"
        value, limit = distinct_texts(self.value, self.limit)
        return f"{self.name} = {value}{unit} (limit {limit}{unit})"


def remedy_in_radians(values: Iterable[Value]) -> str:
    """Return the remedy of the first angle that is probably in degrees: more than a turn, and far beyond its limit; ""
    without one."""
    for found in values:
        if found.unit != "rad" or found.limit is None or not math.isfinite(found.value):
            continue
        if abs(found.value) > max(math.tau, FAR * abs(found.limit)):
            return (
                f"Give angles in rad, within the limits of the joint: {found.value:g} degrees are "
                f"{math.radians(found.value):.5g} rad."
            )
    return ""


class RobotCellError(Exception):
    """Base class of all errors of this package.

    Quoted text is bounded (MAX_MESSAGE, MAX_SUBJECT, MAX_ENTRIES), so that very long names are neither returned nor
    logged in full.

    Attributes:
        code: Stable number of the error type, also used in messages.
        remedy: What usually helps, in one sentence or two; docs/errors.md lists them. An error whose cause is known has
            a remedy of its own.
        stage: Operation that failed ("read urdf", "inverse kinematics", "plan").
        message: Description in one line.
        subjects: Names of the joints, links, pairs, frames, files or fields that caused the error.
        values: Relevant numbers and their limits.
        partial: Partial result (a trajectory, the closest configuration), or None.
    """

    code: ClassVar[int] = 900
    remedy: str = ""
    default_stage: ClassVar[str] = "internal"
    is_about_joint_values: ClassVar[bool] = False  # which may be in degrees

    def __init__(
        self,
        message: str,
        *,
        stage: str = "",
        subjects: tuple[str, ...] = (),
        values: tuple[Value, ...] = (),
        partial: Any = None,
        remedy: str = "",
    ) -> None:
        message = bounded(message)
        super().__init__(message)
        self.message = message
        self.stage = bounded(stage or self.default_stage, MAX_SUBJECT)
        self.subjects = _bounded_subjects(subjects)
        self.values = tuple(values)[:MAX_ENTRIES]
        self.partial = partial
        if not remedy and self.is_about_joint_values:
            remedy = remedy_in_radians(values)
        if remedy:
            self.remedy = remedy

    @property
    def name(self) -> str:
        """Name of the error type."""
        return type(self).__name__

    @property
    def own_remedy(self) -> str:
        """Return the remedy of the cause of this error; "" if it has only that of its type."""
        return str(vars(self).get("remedy", ""))

    def __str__(self) -> str:
        numbers = f" [{'; '.join(map(str, self.values))}]" if self.values else ""
        return f"{self.stage}: {self.message}{numbers}"

    def with_message(self: E, message: str) -> E:
        """Return the same error with another message, such as one with the position in a file."""
        return self.changed(message)

    def changed(
        self: E,
        message: str,
        *,
        subjects: tuple[str, ...] | None = None,
        values: tuple[Value, ...] | None = None,
        partial: Any = UNCHANGED,
        remedy: str = "",
    ) -> E:
        """Return the same error with another message, and other attributes where they are given; its stage is the
        same."""
        changes: dict[str, Any] = {"message": bounded(message)}
        if subjects is not None:
            changes["subjects"] = _bounded_subjects(subjects)
        if values is not None:
            changes["values"] = values[:MAX_ENTRIES]
        if partial is not UNCHANGED:
            changes["partial"] = partial
        if remedy:
            changes["remedy"] = remedy
        return _rebuild(type(self), changes["message"], self.__dict__ | changes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Preserve keyword arguments in pickling, so that errors can be passed between processes."""
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def drop_tracebacks(error: BaseException) -> None:
    """Remove the tracebacks of an error that was reported, and of those that led to it.

    The variables of the functions in a traceback refer to the request, and often to the error: such a cycle stays in
    memory until a garbage collection, for which a process without much to do can take hours.
    """
    found: BaseException | None = error
    known: set[int] = set()
    while found is not None and id(found) not in known:
        known.add(id(found))
        found.__traceback__ = None
        found = found.__cause__ or found.__context__


def _rebuild(kind: type[E], message: str, attributes: dict[str, Any]) -> E:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(attributes)
    return error
