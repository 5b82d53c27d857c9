"""Takes a snapshot of the ROS graph of the present domain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo
from sensor_msgs.msg import JointState

from ..common.callback_guard import Faults, GuardedExecutor
from ..common.dds_profile import set_dds_profile
from ..common.node import reliable, sensor
from .graph import CLOCK, JOINT_STATE, Endpoint, Graph, JointPublisher

if TYPE_CHECKING:
    from rclpy.subscription import MessageInfo  # not in rclpy of Jazzy

NAME = "robot_cell_doctor"
HIDDEN = "/_"
DEPTH = 100  # of joint states, so that rare messages among frequent ones are read
MAX_PUBLISHERS = 1000  # of joint states
MAX_JOINTS = 5000  # of one publisher
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
        self._publishers: dict[tuple[str, bytes], JointPublisher] = {}

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
            tuple(self._named_publishers()),
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
        """Read all topics of joint states."""
        for topic, kinds in self._node.get_topic_names_and_types():
            if JOINT_STATE in kinds and topic not in self._read and topic.endswith("joint_states"):
                self._read.add(topic)
                self._node.create_subscription(JointState, topic, self._reader(topic), sensor(DEPTH))

    def _reader(self, topic: str) -> Callable[[Any, MessageInfo], None]:
        """Return the callback of a topic; rclpy counts its arguments."""

        def read(message: Any, info: MessageInfo) -> None:
            self._joints(topic, message)
            self._note_publisher(topic, message, info)

        return read

    def _note_publisher(self, topic: str, message: Any, info: MessageInfo) -> None:
        gid = info.get("publisher_gid")  # not with each middleware
        if not gid or len(message.position) != len(message.name):
            return
        now, key = time.monotonic(), (topic, bytes(gid["data"]))
        known = self._publishers.get(key) or JointPublisher(topic, UNNAMED, frozenset(), now, now)
        if len(self._publishers) < MAX_PUBLISHERS or key in self._publishers:
            joints = known.joints.union(message.name) if len(known.joints) < MAX_JOINTS else known.joints
            self._publishers[key] = replace(known, joints=joints, last=now)

    def _named_publishers(self) -> Iterator[JointPublisher]:
        """Return the publishers with the names of their nodes, as far as those still run."""
        for topic in sorted({topic for topic, _ in self._publishers}):
            names = {
                bytes(info.endpoint_gid): _full(info.node_name, info.node_namespace)
                for info in self._node.get_publishers_info_by_topic(topic)
            }
            for (of, gid), publisher in self._publishers.items():
                if of == topic:
                    yield replace(publisher, node=names.get(gid, UNNAMED))

    def _joints(self, topic: str, message: Any) -> None:
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if stamp:
            self._offsets[topic] = stamp - time.time()

    def _diagnostics(self, message: Any) -> None:
        for status in message.status:
            self._statuses[status.name] = "" if status.level == DiagnosticStatus.OK else status.message


def _endpoint(topic: str, publishes: bool, info: TopicEndpointInfo) -> Endpoint:
    return Endpoint(topic, info.topic_type, _full(info.node_name, info.node_namespace), publishes, info.qos_profile)


def _full(name: str, namespace: str) -> str:
    return f"{namespace.rstrip('/')}/{name}"
