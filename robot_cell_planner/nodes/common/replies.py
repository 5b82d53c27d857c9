"""Replies to clients that the middleware does not know yet.

rmw_fastrtps sends a reply once it has discovered the client, for which it waits 100 ms; after that rclpy warns, and the
reply is lost. A client that has just started on a busy computer would then wait for nothing. Replies are therefore sent
again, after 0.1 s, 0.2 s, 0.4 s and so on. A client that has ended meanwhile is no such case, and gets no reply.
"""

from __future__ import annotations

import warnings
from typing import Any

from rclpy.node import Node
from rclpy.service import Service

from .waiting import call_later

FIRST_DELAY = 0.1  # [s], doubled after each attempt
ATTEMPTS = 8
# Of rclpy. As an error, it can be caught; the filter concerns no other warning.
UNKNOWN_CLIENT = r"failed to send response \(timeout\)"
warnings.filterwarnings("error", UNKNOWN_CLIENT, RuntimeWarning)


def repeat_replies(node: Node, service: Service[Any, Any]) -> None:
    """Let a service send replies again while their client is not discovered."""
    send = service.send_response

    def try_to_send(response: Any, header: Any, attempt: int = 1) -> None:
        if _is_sent(send, response, header):
            return
        if attempt == ATTEMPTS:
            waited = FIRST_DELAY * (2 ** (ATTEMPTS - 1) - 1)
            text = f"service {service.srv_name}: a client was not discovered within {waited:.0f} s, and gets no reply"
            node.get_logger().warning(text)
            return

        call_later(node, FIRST_DELAY * 2 ** (attempt - 1), lambda: try_to_send(response, header, attempt + 1))

    service.send_response = try_to_send  # type: ignore[method-assign]


def _is_sent(send: Any, response: Any, header: Any) -> bool:
    """Send a reply. Returns False if its client is not known."""
    try:
        send(response, header)
    except RuntimeWarning:
        return False
    except SystemError as error:  # rclpy returns normally after the warning, which Python does not allow
        if not isinstance(error.__cause__, RuntimeWarning):
            raise
        return False
    return True
