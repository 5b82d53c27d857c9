"""Records the topics of a domain, as they appear, in a bag."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.validate_full_topic_name import validate_full_topic_name
from rosbags.interfaces import Connection

from ... import __version__
from ...errors import InvalidRequestError, ResourceError
from ..client.inspection import interface
from ..common.dds_profile import set_dds_profile
from ..common.polled_subscription import PolledSubscription
from .bag import Bag

NAME = "robot_cell_recorder"
POLL_PERIOD = 0.02  # [s]
DISCOVERY_PERIOD = 0.2  # [s]
FLUSH_PERIOD = 0.5  # [s]; what a killed recorder loses at most, besides one POLL_PERIOD
SYNC_PERIOD = 1.0  # [s]; what a loss of power costs on a fast disk, besides one FLUSH_PERIOD
SYNC_FRACTION = 0.05  # of the time in which the recorder may wait for the disk; a slow one is waited for less often
# Time in which what was sent before the end is still received, and that for topics that were found only then [s].
END_DELAY, LATE_DELAY = 0.2, 2.0
QUEUE = 1000  # messages of a topic between two polls
MAX_TOPICS = 2000
# Types of topics that are generated from services and actions: attributes of the classes of these.
PARTS = {
    "_SendGoal_Event": "Impl.SendGoalService.Event",
    "_GetResult_Event": "Impl.GetResultService.Event",
    "_FeedbackMessage": "Impl.FeedbackMessage",
    "_Event": "Event",
}

Report = Callable[[str], None]


@dataclass(frozen=True)
class RecordOptions:
    """What to record.

    topics: regular expressions; topics in whose names one is found are recorded, all without any. exclude: those in
    whose names one is found are not. duration: time after which the recording ends [s].
    """

    topics: Sequence[str] = ()
    exclude: Sequence[str] = ()
    duration: float = float("inf")

    def __post_init__(self) -> None:
        for pattern in (*self.topics, *self.exclude):
            try:
                re.compile(pattern)
            except re.error as error:
                text = f"{pattern!r} is not a regular expression: {error}"
                raise InvalidRequestError(text, stage="record", subjects=(pattern,)) from error
        if not self.duration > 0.0:
            text = f"the duration is {self.duration:g} s, expected a positive number"
            raise InvalidRequestError(text, stage="record")

    def includes(self, topic: str) -> bool:
        """Return whether a topic is recorded."""
        chosen = not self.topics or any(re.search(pattern, topic) for pattern in self.topics)
        return chosen and not any(re.search(pattern, topic) for pattern in self.exclude)


@dataclass
class Recorded:
    """A recorded topic. reliable, latched: quality of service that is requested. overflowed: whether QUEUE messages
    waited at once, so that the middleware may have replaced earlier ones."""

    type_name: str
    connection: Connection
    subscription: PolledSubscription[Any]
    reliable: bool
    latched: bool
    overflowed: bool = False


@dataclass
class Summary:
    """messages: number of recorded messages by topic; skipped: topics that were not recorded, with the reasons."""

    messages: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def record(folder: Path, options: RecordOptions, report: Report, end: threading.Event) -> Summary:
    """Record until the duration has passed or `end` is set.

    report: called with warnings.

    Raises:
        FileError: The bag cannot be written; what was written before is in it.
    """
    set_dds_profile()
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    try:
        node = Node(NAME, context=context, start_parameter_services=False, enable_rosout=False)
        try:
            with Bag(folder, {"robot_cell_planner": __version__}) as bag:
                recorder = Recorder(node, bag, options, report)
                recorder.run(end)
                return recorder.summary
        finally:
            node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


class Recorder:
    """Subscribes to topics when they have a publisher, and writes their serialized messages."""

    def __init__(self, node: Node, bag: Bag, options: RecordOptions, report: Report) -> None:
        self.summary = Summary()
        self._node = node
        self._bag = bag
        self._options = options
        self._report = report
        self._topics: dict[str, Recorded] = {}
        self._flush_at = 0.0
        self._sync_at = 0.0

    def run(self, end: threading.Event) -> None:
        """Record until the duration has passed or `end` is set, and then what was sent before.

        Topics that are found only at the end are recorded if their publishers still run and keep their messages. At an
        early `end`, they are looked for until LATE_DELAY after the begin: to find those of other processes takes time.
        """
        began = time.monotonic()
        until = began + self._options.duration
        next_discovery = 0.0
        while not end.wait(min(POLL_PERIOD, max(until - time.monotonic(), 0.0))):
            now = time.monotonic()
            if now >= until:
                break
            if now >= next_discovery:
                next_discovery = now + DISCOVERY_PERIOD
                self._discover()
            self.write_received()
        self._finish(began + LATE_DELAY if end.is_set() else 0.0)

    def _finish(self, searched_until: float) -> None:
        """Write what was sent before now. searched_until: time until which topics are looked for at least [s]."""
        before, newest = set(self._topics), time.monotonic()
        until = newest + END_DELAY + LATE_DELAY
        while (now := time.monotonic()) < until:
            known = len(self._topics)
            self._discover()
            if len(self._topics) > known:
                newest = now
            self._wait_and_write(POLL_PERIOD)
            late = [topic for topic, recorded in self._topics.items() if topic not in before and recorded.latched]
            is_complete = all(self.summary.messages[topic] for topic in late)
            if is_complete and time.monotonic() >= max(newest + END_DELAY, searched_until):
                break

    def _wait_and_write(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            time.sleep(min(POLL_PERIOD, left))
            self.write_received()

    def write_received(self) -> None:
        """Write what has been received since the last call, to the file itself at least every FLUSH_PERIOD, and to
        the disk every SYNC_PERIOD, or less often if that would take more than SYNC_FRACTION of the time."""
        for topic, recorded in self._topics.items():
            before = self.summary.messages[topic]
            for message, received in recorded.subscription.take_received():
                self._bag.write(recorded.connection, received, message)
                self.summary.messages[topic] += 1
            if self.summary.messages[topic] - before >= QUEUE and not recorded.overflowed:
                recorded.overflowed = True
                self._report(f"{QUEUE} messages of {topic} waited at once; earlier ones may be missing in the record")
        if (now := time.monotonic()) >= self._flush_at:
            self._flush_at = now + FLUSH_PERIOD
            self._bag.flush()
            if now >= self._sync_at:
                self._bag.sync()
                self._sync_at = now + max(SYNC_PERIOD, (time.monotonic() - now) / SYNC_FRACTION)

    def _discover(self) -> None:
        for topic, types in self._node.get_topic_names_and_types(no_demangle=False):
            if topic in self.summary.skipped or not self._options.includes(topic):
                continue
            if not _is_valid(topic):
                self._skip(topic, "programs of DDS may use this name, but ROS does not allow it")
                continue
            infos = self._node.get_publishers_info_by_topic(topic)
            offered = [info.qos_profile for info in infos]
            if not offered:
                continue
            if topic in self._topics:
                self._adapt(topic, offered)
                continue
            if len(types) > 1:
                self._report(f"{topic} has {len(types)} types; its messages of {types[0]} are recorded")
            try:
                self._subscribe(topic, types[0], offered)
            except ResourceError as error:
                self._skip(topic, str(error))

    def _subscribe(self, topic: str, type_name: str, offered: Sequence[QoSProfile]) -> None:
        if len(self._topics) >= MAX_TOPICS:
            self._skip(topic, f"there are more than {MAX_TOPICS} topics")
            return
        class_of(type_name)  # raises before the bag has the topic
        connection = self._bag.add(topic, type_name, offered)
        reliable, latched = _requested(offered)
        subscription = self._subscription(topic, type_name, reliable, latched)
        self._topics[topic] = Recorded(type_name, connection, subscription, reliable, latched)
        self.summary.messages[topic] = 0

    def _subscription(self, topic: str, type_name: str, reliable: bool, latched: bool) -> PolledSubscription[Any]:
        quality = QoSProfile(
            depth=QUEUE,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        return PolledSubscription(self._node, class_of(type_name), topic, quality, raw=True)

    def _adapt(self, topic: str, offered: Sequence[QoSProfile]) -> None:
        """Subscribe anew if a publisher has appeared that offers less than is requested."""
        recorded = self._topics[topic]
        reliable, latched = _requested(offered)
        reliable, latched = reliable and recorded.reliable, latched and recorded.latched
        if (reliable, latched) == (recorded.reliable, recorded.latched):
            return
        self._report(f"a publisher of {topic} offers a lower quality of service; its messages are recorded from now on")
        self.write_received()
        recorded.subscription.destroy()
        recorded.subscription = self._subscription(topic, recorded.type_name, reliable, latched)
        recorded.reliable, recorded.latched = reliable, latched

    def _skip(self, topic: str, reason: str) -> None:
        self.summary.skipped[topic] = reason
        self._report(f"{topic} is not recorded: {reason}")


def _is_valid(topic: str) -> bool:
    """Return whether ROS allows the name of a topic."""
    try:
        validate_full_topic_name(topic)
    except InvalidTopicNameException:
        return False
    return True


def _requested(offered: Sequence[QoSProfile]) -> tuple[bool, bool]:
    """Return whether all publishers are reliable, and whether all keep messages for late subscribers."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    return reliable, all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)


def class_of(type_name: str) -> Any:
    """Return the class of a type, also of the parts of services and actions.

    Raises:
        ResourceError: It is not installed.
    """
    for suffix, path in PARTS.items():
        if "/msg/" not in type_name and type_name.endswith(suffix):
            try:
                return attrgetter(path)(interface(type_name.removesuffix(suffix)))
            except AttributeError as error:
                raise ResourceError(f"interface {type_name} is not installed", subjects=(type_name,)) from error
    return interface(type_name)
