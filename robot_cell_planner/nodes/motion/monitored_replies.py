"""Replies of the nodes without which obstacles would not be detected while a robot moves."""

from __future__ import annotations

from typing import TypeVar

from rclpy.client import Client

from robot_cell_planner.srv import WaitForState

from ...errors import ServiceUnavailableError, Value
from ..common.cancellation import CancellationToken, available, reply_of
from ..common.node import CellNode
from ..conversions.basic import duration_to_message

MONITOR = "monitoring"  # stage of errors because a node does not reply
SCENE = "scene/wait_for_state"
PERIOD = 0.5  # [s] after which the nodes reply without a change
AT_ONCE = 1e-3  # [s] after which the scene node replies before a motion; 0 would be its default timeout
NEVER = 2**63  # a revision that no scene reaches

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


async def monitored_reply(
    node: CellNode,
    client: Client[RequestT, ResponseT],
    request: RequestT,
    token: CancellationToken,
    who: str,
    name: str,
) -> ResponseT:
    """Return the reply of a service, which waits for PERIOD at most. who: its node; name: of the service.

    Raises:
        ServiceUnavailableError: There is no reply within that and `monitor_timeout`.
        RobotCellError: The reason of a cancellation.
    """
    timeout = node.parameters["monitor_timeout"]
    try:
        return await reply_of(node, client, request, token, PERIOD + timeout, name)
    except ServiceUnavailableError:
        text = f"{who} does not reply to {name}, so that obstacles would not be detected"
        values = (Value("silence", PERIOD + timeout, PERIOD + timeout, "s"),)
        raise ServiceUnavailableError(text, stage=MONITOR, subjects=(name,), values=values) from None


async def scene_node_replies(
    node: CellNode, client: Client[WaitForState.Request, WaitForState.Response], token: CancellationToken
) -> None:
    """Wait for a reply of the scene node, before a robot moves: one that was killed is still listed for a while.

    Raises:
        ServiceUnavailableError: It does not appear within `server_timeout`, or does not reply.
        RobotCellError: The reason of the cancellation.
    """
    await available(node, client.service_is_ready, token, node.parameters["server_timeout"], SCENE)
    request = WaitForState.Request(min_revision=NEVER, timeout=duration_to_message(AT_ONCE))
    await monitored_reply(node, client, request, token, "the scene node", SCENE)


async def follow_scene_node(
    node: CellNode, client: Client[WaitForState.Request, WaitForState.Response], token: CancellationToken
) -> None:
    """Send requests to the scene node until the token is set: without it, nobody notices changes of the scene.

    Raises:
        ServiceUnavailableError: It does not reply.
        RobotCellError: The reason of the cancellation.
    """
    request = WaitForState.Request(min_revision=NEVER, timeout=duration_to_message(PERIOD))
    while True:
        await monitored_reply(node, client, request, token, "the scene node", SCENE)
