"""Who else publishes a topic that one node alone should."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from .node import CellNode
from .presence import of_one_computer


def other_publishers(node: Node, topic: str) -> list[str]:
    """Full names of the nodes that publish a topic, besides this one.

    DDS lists a killed process for some time. One that bore the name of this node on this computer is left
    out: as this process shows the name, no other can.
    """
    publishers = node.get_publishers_info_by_topic(topic)
    own = f"{node.get_namespace().rstrip('/')}/{node.get_name()}"
    others = [name for found in publishers if (name := _full_name(found)) != own]
    alike = [bytes(found.endpoint_gid) for found in publishers if _full_name(found) == own]
    presence = node.presence if isinstance(node, CellNode) else None
    if presence is None or not of_one_computer(alike):
        others += [own] * (len(alike) - 1)
    return sorted(others)


def _full_name(endpoint: TopicEndpointInfo) -> str:
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
