"""Detection of other publishers of a topic that must have only one."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from .node import CellNode
from .presence import of_one_computer

UNKNOWN = "_NODE_NAME_UNKNOWN_"  # of the middleware: the name arrives after the publisher
NOT_YET_NAMED = "a node that has just begun, whose name is not known yet"


def other_publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the other nodes that publish a topic; NOT_YET_NAMED for one that has just begun.

    DDS lists a killed process for some time. One with the name of this node on this computer is left out: only this
    process can have that name now.
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
    if endpoint.node_name == UNKNOWN:
        return NOT_YET_NAMED
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
