"""Recorded requests with their replies, from the events of service introspection in a bag."""

from __future__ import annotations

import heapq
import math
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from service_msgs.msg import ServiceEventInfo

from robot_cell_planner.msg import SceneSnapshot, SceneUpdate

from ...errors import FileError, ResourceError, RobotCellError
from ..client.inspection import interface
from ..common.sphere_preparation import UNCERTIFIED
from ..conversions.basic import time_from_message
from ..conversions.plain_values import message_to_plain
from ..recording.reading import BagReader
from ..recording.recorder import class_of
from .history import STAGE, SceneHistory

EVENTS = "/_service_event"
SEND_GOAL, GET_RESULT = "/_action/send_goal", "/_action/get_result"
NODE_EVENTS = re.compile(r"(.*)/(scene|kinematics|collision|planning|execution)/.+" + EVENTS)  # with the namespace
SNAPSHOT, UPDATES, JOINTS = "/scene/snapshot", "/scene/updates", "joint_states"
MAX_OPEN = 10_000  # latest requests, and goals, that wait for their replies
LATE = 2_000_000_000  # [ns] by which a message may be recorded after one of another topic that was published later

KeyT = TypeVar("KeyT")


@dataclass(frozen=True)
class Exchange:
    """A request, or the goal of an action, with its reply or result.

    Attributes:
        name: Relative name of the service or action, such as planning/plan_motion.
        kind: Class of the service or action.
        received: When the request was received [ns since 1970].
    """

    name: str
    kind: Any
    is_action: bool
    request: Any
    reply: Any
    received: int


class RecordReader:
    """Reads a bag of `robot_cell record` in the order of time.

    namespace: of the recorded nodes. history: gets the scenes and joints that come before each exchange.

    Attributes:
        warnings: What is missing of a bag that was not finished.
        topics: See `BagReader`.
        has_events: Whether requests have been read.
        namespaces: Those of all nodes whose requests are in what has been read of the bag.

    Raises:
        FileError: A file of the bag cannot be read or is damaged before its end.
    """

    def __init__(self, folder: Path, history: SceneHistory, namespace: str = "") -> None:
        self._folder = folder
        self._bag = BagReader(folder)
        self.warnings = self._bag.warnings
        self.topics = self._bag.topics
        self._history = history
        self._prefix = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
        self._joints = joint_topics(self.topics, self._prefix)
        self._requests: dict[tuple[str, bytes, int], tuple[Any, int]] = {}
        self._goals: dict[bytes, tuple[Any, int]] = {}
        self._pending: list[tuple[int, int, str, str, int, Any]] = []  # heap of events by the time of their publication
        self._recorded: deque[int] = deque()  # when the pending events were recorded, in this order
        self._count = 0  # of events, so that those of one time keep their order
        self._given_up = 0  # requests and goals whose replies are not waited for any more
        self.has_events = False
        self.namespaces: set[str] = set()

    @property
    def unanswered(self) -> int:
        """Number of requests and goals without a reply so far."""
        return len(self._requests) + len(self._goals) + self._given_up

    def exchanges(self) -> Iterator[Exchange]:
        """Yield the exchanges in the order of their replies.

        Topics are recorded independently of one another: the result of a goal may come before the goal, and a reply
        before the revision of the scene that it names. So events wait for LATE and are taken in the order in which
        the nodes published them.

        Raises:
            FileError: The folder is no bag, is damaged, or has a message that cannot be read; names the file and the
                message.
        """
        for number, message in enumerate(self._bag.messages(), start=1):
            found = NODE_EVENTS.fullmatch(message.topic)
            if found:
                self.namespaces.add(found[1])
            is_joint_topic = message.topic in self._joints
            is_other = not message.topic.startswith(f"{self._prefix}/") or (found and found[1] != self._prefix)
            if is_other and not is_joint_topic:
                continue
            topic = message.topic if is_joint_topic else message.topic.removeprefix(self._prefix)
            try:
                self._take(topic, message.type_name, message.time, message.data)
            except RobotCellError as error:
                text = f"{self._folder}, message {number}, of {message.topic}: {' '.join(error.message.split())}"
                raise FileError(text, stage=STAGE, subjects=(str(self._folder), message.topic)) from error
            yield from self._take_events(message.time - LATE)
        yield from self._take_events(math.inf)

    def _take(self, topic: str, type_name: str, time: int, data: bytes) -> None:
        if topic == SNAPSHOT:
            self._history.take_snapshot(_message(data, SceneSnapshot))
        elif topic == UPDATES:
            self._history.take_update(_message(data, SceneUpdate))
        elif topic in self._joints:
            if type_name == "sensor_msgs/msg/JointState":
                self._history.take_joints(_message(data, JointState), self._joints[topic])
        elif topic.endswith(EVENTS):
            try:
                event = _message(data, class_of(type_name))
            except ResourceError:
                return  # of another package, which is not installed here
            self.has_events = True
            published = time_from_message(event.info.stamp)
            self._count += 1
            entry = published, self._count, topic.removesuffix(EVENTS), type_name, time, event
            heapq.heappush(self._pending, entry)
            self._recorded.append(time)

    def _take_events(self, until: float) -> Iterator[Exchange]:
        """Take as many pending events as were recorded until a time [ns], the one published first at first."""
        while self._recorded and self._recorded[0] <= until:
            self._recorded.popleft()
            _, _, service, type_name, time, event = heapq.heappop(self._pending)
            yield from self._take_event(service, type_name, time, event)

    def _take_event(self, service: str, type_name: str, time: int, event: Any) -> Iterator[Exchange]:
        info = event.info
        key = service, bytes(info.client_gid), info.sequence_number
        if info.event_type == ServiceEventInfo.REQUEST_RECEIVED and event.request:
            self._wait(self._requests, key, (event.request[0], time))
            return
        if info.event_type != ServiceEventInfo.RESPONSE_SENT or not event.response or key not in self._requests:
            return
        request, received = self._requests.pop(key)
        response = event.response[0]
        if service.endswith(SEND_GOAL):
            if response.accepted:
                self._wait(self._goals, bytes(request.goal_id.uuid), (request.goal, received))
        elif service.endswith(GET_RESULT):
            goal = self._goals.pop(bytes(request.goal_id.uuid), None)
            if goal is not None:
                kind = interface(type_name.removesuffix("_GetResult_Event"))
                name = service.removesuffix(GET_RESULT).lstrip("/")
                yield Exchange(name, kind, True, goal[0], response.result, goal[1])
        elif "/_action/" not in service:
            kind = interface(type_name.removesuffix("_Event"))
            yield Exchange(service.lstrip("/"), kind, False, request, response, received)

    def _wait(self, waiting: dict[KeyT, tuple[Any, int]], key: KeyT, request: tuple[Any, int]) -> None:
        """Keep a request until its reply comes, in place of the oldest one if there are MAX_OPEN."""
        waiting[key] = request
        if len(waiting) > MAX_OPEN:
            del waiting[next(iter(waiting))]
            self._given_up += 1


def namespaces_of(topics: Iterable[str]) -> set[str]:
    """Return the namespaces of nodes of a cell that publish their requests."""
    return {found[1] for topic in topics if (found := NODE_EVENTS.fullmatch(topic))}


def joint_topics(topics: Collection[str], prefix: str) -> dict[str, str]:
    """Return the topics of joint states that nodes in a namespace may read, with the prefixes of single robots, "" for
    the topic of all robots. Without one in their namespace, it is that outside of all namespaces.

    prefix: "" or the namespace, with a slash before it. topics: of the record; none if they are not known.
    """
    others = [f"{other}/" for other in namespaces_of(topics) if other != prefix and other.startswith(prefix)]
    found = {
        topic: topic[len(prefix) + 1 : -len(JOINTS)]
        for topic in topics
        if topic.startswith(f"{prefix}/") and topic.endswith(f"/{JOINTS}") and not topic.startswith(tuple(others))
    }
    return found or {f"/{JOINTS}" if f"/{JOINTS}" in topics else f"{prefix}/{JOINTS}": ""}


def _message(data: bytes, kind: Any) -> Any:
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # rclpy raises RCLError, which has no public name, and others
        raise FileError(f"a message of type {kind.__name__} cannot be read: {error}", stage=STAGE) from error


def was_uncertified(reply: Any) -> bool:
    """Return whether a reply was computed before the sphere models were there."""
    return UNCERTIFIED in str(message_to_plain(reply))
