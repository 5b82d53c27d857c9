"""Takes a snapshot of the ROS graph of the present domain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.topic_endpoint_info import TopicEndpointInfo
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from ..common.callback_guard import Faults, GuardedExecutor
from ..common.dds_profile import set_dds_profile
from ..common.node import LATCHED, reliable, sensor
from .graph import CLOCK, JOINT_STATE, Endpoint, Graph, Source

if TYPE_CHECKING:
    from rclpy.subscription import MessageInfo  # not in rclpy of Jazzy

NAME = "robot_cell_doctor"
HIDDEN = "/_"
DEPTH = 100  # of joint states and transforms, so that rare messages among frequent ones are read
MAX_SOURCES = 1000
MAX_NAMES = 5000  # of one source
TRANSFORMS, STATIC = "tf2_msgs/msg/TFMessage", "tf_static"
STATIC_QUALITY = QoSProfile(depth=DEPTH, reliability=LATCHED.reliability, durability=LATCHED.durability)
UNNAMED = "a node whose name is not known"


def observe(seconds: float) -> Graph:
    """Take part in the domain for some time, and return what was found; the doctor's own node is left out."""
    set_dds_profile()
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    try:
        node = Node(NAME, context=context, start_parameter_services=False, enable_rosout=False)
        try:
            return _Observer(node, context).observe(seconds)
        finally:
            node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


class _Observer:
    def __init__(self, node: Node, context: rclpy.Context) -> None:
        self._node = node
        self._executor = GuardedExecutor(Faults(node), context=context)
        self._executor.add_node(node)
        self._offsets: dict[str, float] = {}
        self._statuses: dict[str, str] = {}
        self._read: set[str] = set()
        self._sources: dict[tuple[str, bytes], Source] = {}

    def observe(self, seconds: float) -> Graph:
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnostics, reliable(50))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._subscribe()
            self._executor.spin_once(min(left, 0.2))
        nodes = sorted(_full(*found) for found in self._node.get_node_names_and_namespaces())
        simulated = any(self._node.get_publishers_info_by_topic(CLOCK))
        return Graph(
            tuple(name for name in nodes if name.strip("/") != NAME and not name.rpartition("/")[2].startswith("_")),
            tuple(sorted(self._endpoints(), key=lambda e: (e.topic, not e.publishes, e.node))),
            () if simulated else tuple(sorted(self._offsets.items())),
            tuple(sorted((name, text) for name, text in self._statuses.items() if text)),
            tuple(self._named_sources(of_frames=False)),
            tuple(self._named_sources(of_frames=True)),
        )

    def _endpoints(self) -> list[Endpoint]:
        found: list[Endpoint] = []
        for topic, _ in self._node.get_topic_names_and_types():
            if HIDDEN not in topic:
                for publishes, infos in (
                    (True, self._node.get_publishers_info_by_topic(topic)),
                    (False, self._node.get_subscriptions_info_by_topic(topic)),
                ):
                    found += [_endpoint(topic, publishes, info) for info in infos if info.node_name != NAME]
        return found

    def _subscribe(self) -> None:
        """Read all topics of joint states and transforms."""
        for topic, kinds in self._node.get_topic_names_and_types():
            if topic in self._read:
                continue
            if JOINT_STATE in kinds and topic.endswith("joint_states"):
                self._read.add(topic)
                self._node.create_subscription(JointState, topic, self._reader(topic, self._joints), sensor(DEPTH))
            elif TRANSFORMS in kinds and topic.endswith(("tf", STATIC)):
                self._read.add(topic)
                quality = STATIC_QUALITY if topic.endswith(STATIC) else sensor(DEPTH)
                self._node.create_subscription(TFMessage, topic, self._reader(topic, _frames), quality)

    def _reader(self, topic: str, read: Callable[[str, Any], Iterable[str]]) -> Callable[[Any, MessageInfo], None]:
        """Return the callback of a topic; rclpy counts its arguments. read: returns the names in a message."""

        def take(message: Any, info: MessageInfo) -> None:
            self._note_source(topic, read(topic, message), info)

        return take

    def _note_source(self, topic: str, names: Iterable[str], info: MessageInfo) -> None:
        gid = info.get("publisher_gid")  # not with each middleware
        if not gid or not names:
            return
        now, key = time.monotonic(), (topic, bytes(gid["data"]))
        last = math.inf if topic.endswith(STATIC) else now
        known = self._sources.get(key) or Source(topic.removesuffix("_static"), UNNAMED, frozenset(), now, last)
        if len(self._sources) < MAX_SOURCES or key in self._sources:
            every = known.names.union(names) if len(known.names) < MAX_NAMES else known.names
            self._sources[key] = replace(known, names=every, last=last)

    def _named_sources(self, of_frames: bool) -> Iterator[Source]:
        """Return the sources with the names of their nodes, as far as those still run."""
        for topic in sorted({topic for topic, _ in self._sources if topic.endswith(("tf", STATIC)) == of_frames}):
            names = {
                bytes(info.endpoint_gid): _full(info.node_name, info.node_namespace)
                for info in self._node.get_publishers_info_by_topic(topic)
            }
            for (of, gid), source in self._sources.items():
                if of == topic:
                    yield replace(source, node=names.get(gid, UNNAMED))

    def _joints(self, topic: str, message: Any) -> list[str]:
        """Note the stamp of a message, and return the joints that it has positions of."""
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if stamp:
            self._offsets[topic] = stamp - time.time()
        return list(message.name) if len(message.position) == len(message.name) else []

    def _diagnostics(self, message: Any) -> None:
        for status in message.status:
            self._statuses[status.name] = "" if status.level == DiagnosticStatus.OK else status.message


def _frames(_: str, message: Any) -> list[str]:
    """Return the frames that the transforms of a message place."""
    return [transform.child_frame_id for transform in message.transforms]


def _endpoint(topic: str, publishes: bool, info: TopicEndpointInfo) -> Endpoint:
    return Endpoint(topic, info.topic_type, _full(info.node_name, info.node_namespace), publishes, info.qos_profile)


def _full(name: str, namespace: str) -> str:
    return f"{namespace.rstrip('/')}/{name}"
