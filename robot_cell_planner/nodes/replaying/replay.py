"""Comparison of recorded replies with those to the same requests now."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time

from ...errors import (
    CancelledError,
    FileError,
    NoCellError,
    NotActiveError,
    RobotCellError,
    ServerLostError,
    ServiceUnavailableError,
    StaleStateError,
    StopRequestedError,
    TimedOutError,
    TransformError,
    WorkerCrashedError,
)
from ...io.common.resources import ResourceRoots
from ...model.json_difference import first_difference
from ...scene.scene import Scene
from ..conversions.models import ModelReader
from ..conversions.plain_values import message_to_plain
from ..conversions.states import state_to_message
from .exchanges import EVENTS, Exchange, RecordReader, namespaces_of
from .history import STAGE, SceneHistory, readable, state_reference, used_state

CHANGES = "scene/apply_changes"
NODES = ("scene/", "kinematics/", "collision/", "planning/")
# Services whose replies depend on time, or that write files.
NOT_REPEATED = {
    "scene/wait_for_state": "its reply depends on time",
    "scene/save_cell": "it writes a file",
    "scene/follow_frame": "its reply depends on time",
}
# Errors that depend on when a request came, on the other requests of that time, or on TF, which is not in the requests.
TIME_DEPENDENT = (
    *(CancelledError, NoCellError, NotActiveError, ServerLostError, ServiceUnavailableError),
    *(StaleStateError, StopRequestedError, TransformError, WorkerCrashedError),
)
TIME_DEPENDENT_NAMES = {kind.__name__ for base in TIME_DEPENDENT for kind in (base, *base.__subclasses__())}
RECORD_REQUESTS = "Record again with this parameter, in a file for `robot_cell up --params`: docs/records.md has it."
NAME_NAMESPACE = "Name theirs by --recorded-namespace, and leave it out for nodes without one."
# Fields that differ from run to run: times, stamps, and the numbers of revisions; and from computer to computer: where
# files are. Texts and digests are compared.
IGNORED = (
    "times",
    "seconds",
    "stamp",
    "joint_stamp",
    "header",
    "history",
    "revision",
    "previous_revision",
    "cell_revision",
    "measured",
    "uri",
    "folder",
    "files",
    "mesh_path",
)


@dataclass(frozen=True)
class Difference:
    """A reply that differs from the recorded one.

    Attributes:
        number: Number of the request in the record, from 1.
        name: Service or action.
        place: Where the reply differs, such as plan.path.positions[3].
        recorded, found: Both values as text.
    """

    number: int
    name: str
    place: str
    recorded: str
    found: str

    def __str__(self) -> str:
        return f"request {self.number}, {self.name}: {self.place} was {self.recorded}, is {self.found}"


@dataclass(frozen=True)
class TimeLimit:
    """A reply that a time limit ended in the record or now, not both, which depends on the load of the computer.

    Attributes:
        number, name: See `Difference`.
        in_record: Whether the limit ended the recorded reply, or else the present one.
    """

    number: int
    name: str
    in_record: bool

    def __str__(self) -> str:
        ended = "in the record, and not now" if self.in_record else "now, and not in the record"
        return f"request {self.number}, {self.name}: the time limit ended it {ended}; the replies are not compared"


@dataclass
class Outcome:
    """What a replay has found.

    Attributes:
        repeated, skipped: Number of requests by service or action.
        reasons: Why requests were skipped, by service or action.
        time_limits: Replies that are not compared, since a time limit ended one of the two.
        unanswered: Requests without a reply in the record.
        warnings: What is missing of a record that was not finished.
    """

    repeated: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    time_limits: list[TimeLimit] = field(default_factory=list)
    unanswered: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        """Number of replies that were compared."""
        return sum(self.repeated.values()) - len(self.time_limits)


class NotRepeatedError(RobotCellError):
    """A request is not given to the other system."""


def check_reply(reply: Any) -> None:
    """Check that a recorded reply can be expected again.

    Raises:
        NotRepeatedError: It is an error that depends on time.
    """
    name = reply.error.name if hasattr(reply, "error") else ""
    if name in TIME_DEPENDENT_NAMES:
        raise NotRepeatedError(f"its reply, {name}, depends on time", stage=STAGE)


def check_repeated(name: str) -> None:
    """Check that the replay repeats the requests to a service or action.

    Raises:
        NotRepeatedError: It moves robots, writes a file, or its reply depends on time.
    """
    if not name.startswith(NODES):
        raise NotRepeatedError("robots do not move in a replay", stage=STAGE)
    if name in NOT_REPEATED:
        raise NotRepeatedError(NOT_REPEATED[name], stage=STAGE)


# Answers an exchange, with the scene that its state is in (None for requests without a state): the present reply.
Answerer = Callable[[Exchange, Scene | None], Any]


def replay(
    folder: Path,
    answer: Answerer,
    roots: ResourceRoots,
    namespace: str = "",
    on_difference: Callable[[Difference | TimeLimit], None] = lambda _: None,
    on_warning: Callable[[str], None] = lambda _: None,
    on_start: Callable[[], None] = lambda: None,
) -> Outcome:
    """Answer the requests of a bag again, in their order, and compare.

    A request that refers to the state of the scene gets the state that the recorded reply was computed for. on_warning:
    called with each of the warnings, before the bag is read. on_start: called before the first request, if the bag has
    topics of requests to nodes in the namespace.

    Raises:
        FileError: The folder is no bag, is damaged, or has no requests to nodes in the namespace.
    """
    history = SceneHistory(ModelReader(roots))
    reader = RecordReader(folder, history, namespace)
    outcome = Outcome(warnings=reader.warnings)
    for text in reader.warnings:
        on_warning(text)
    if reader.topics:
        _check_namespace(folder, namespaces_of(reader.topics), namespace)
        _check_requests(folder, any(topic.endswith(EVENTS) for topic in reader.topics))
    on_start()
    for number, exchange in enumerate(reader.exchanges(), start=1):
        try:
            check_repeated(exchange.name)
            check_reply(exchange.reply)
            scene, request = _with_state(exchange, history)
            reply = answer(replace(exchange, request=request), scene)
        except NotRepeatedError as error:
            outcome.skipped[exchange.name] += 1
            outcome.reasons[exchange.name] = error.message
            continue
        outcome.repeated[exchange.name] += 1
        found = _compared(number, exchange, reply)
        if isinstance(found, TimeLimit):
            outcome.time_limits.append(found)
        elif found is not None:
            outcome.differences.append(found)
        if found is not None:
            on_difference(found)
    outcome.unanswered = reader.unanswered
    _check_namespace(folder, reader.namespaces, namespace)
    _check_requests(folder, reader.has_events)
    return outcome


def _compared(number: int, exchange: Exchange, reply: Any) -> Difference | TimeLimit | None:
    """Compare the recorded reply with the present one; how far two got that a time limit ended is not compared."""
    recorded, present = message_to_plain(exchange.reply), message_to_plain(reply)
    then, now = is_ended_by_time(recorded), is_ended_by_time(present)
    if then or now:
        return None if then and now else TimeLimit(number, exchange.name, then)
    found = first_difference(recorded, present, ignored=IGNORED)
    return None if found is None else Difference(number, exchange.name, *found)


def is_ended_by_time(reply: Any) -> bool:
    """Return whether a time limit ended a reply, or a part of it; a limit of counted work is reached at the same place
    each time. reply: plain values."""
    if isinstance(reply, list):
        return any(map(is_ended_by_time, reply))
    if not isinstance(reply, dict):
        return False
    if reply.get("name") == TimedOutError.__name__ and "values" in reply:
        return any(number["unit"] == "s" for number in reply["values"])
    return any(map(is_ended_by_time, reply.values()))


def _check_requests(folder: Path, has_events: bool) -> None:
    if not has_events:
        text = f"{folder} has no requests: set the parameter service_introspection of the nodes to contents"
        raise FileError(text, stage=STAGE, subjects=(str(folder),), remedy=RECORD_REQUESTS)


def _check_namespace(folder: Path, recorded: Set[str], namespace: str) -> None:
    """Raise a FileError if a record has requests to the nodes of other namespaces only."""
    if recorded and namespace.strip("/") not in {each.strip("/") for each in recorded}:
        others = ", ".join(map(_place, sorted(recorded)))
        text = f"{folder} has no requests to nodes {_place(namespace)}, but to nodes {others}"
        raise FileError(text, stage=STAGE, subjects=(str(folder),), remedy=NAME_NAMESPACE)


def _place(namespace: str) -> str:
    return f"in namespace /{namespace.strip('/')}" if namespace.strip("/") else "without a namespace"


def _with_state(exchange: Exchange, history: SceneHistory) -> tuple[Scene | None, Any]:
    """Return the scene that a request was answered for, and the request with the state that it is applied to; changes
    of the scene with the poses that follow from joints which were measured.

    Raises:
        NotRepeatedError: The record does not contain the state.
    """
    if exchange.name == CHANGES:
        return None, history.with_recorded_result(exchange.request, exchange.reply)
    reference, used = state_reference(exchange.request), used_state(exchange.reply)
    if reference is None or used is None:
        return None, exchange.request
    try:
        base, scene = history.scenes_of(reference, used)
    except RobotCellError as error:
        raise NotRepeatedError(readable(error), stage=STAGE) from error
    request = copy.deepcopy(exchange.request)
    given = state_reference(request)
    assert given is not None
    given.own_state = [state_to_message(base.state)]
    given.min_revision, given.min_joint_stamp = 0, Time()
    return scene, request
