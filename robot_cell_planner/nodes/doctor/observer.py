"""Takes a snapshot of the ROS graph of the present domain."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo
from sensor_msgs.msg import JointState

from ..common.callback_guard import Faults, GuardedExecutor
from ..common.dds_profile import set_dds_profile
from ..common.node import reliable, sensor
from .graph import CLOCK, JOINT_STATE, Endpoint, Graph

NAME = "robot_cell_doctor"
HIDDEN = "/_"


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
                self._node.create_subscription(JointState, topic, partial(self._joints, topic), sensor(10))

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
