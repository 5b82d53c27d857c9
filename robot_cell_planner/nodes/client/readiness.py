"""Readiness of the planning node, as its diagnostics report it."""

from __future__ import annotations

import threading
import time

from diagnostic_msgs.msg import DiagnosticArray

from robot_cell_planner import srv

from ...errors import ServiceUnavailableError
from ..common.diagnostics import READY, REVISION
from ..common.node import reliable
from .connection import CellConnection
from .waits import check_timeout


def wait_until_ready(connection: CellConnection, timeout: float = 300.0) -> None:
    """Wait until the planning node has sphere models and prepared workers for the present scene.

    Raises:
        ServiceUnavailableError: It is not ready within `timeout` [s], and the message has its last report; or the scene
            node has not appeared by then.
    """
    check_timeout(timeout)
    until = time.monotonic() + timeout
    connection.wait_for_service(srv.GetCell, "scene/get_cell", timeout)
    scene = connection.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request()).scene
    revision = scene.state.revision
    name = f"{connection.node.get_namespace().strip('/')}/planning".strip("/")
    done, latest = threading.Event(), ["none"]

    def take(message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name != name:
                continue
            latest[0] = status.message
            values = {pair.key: pair.value for pair in status.values}
            if status.message == READY and int(values[REVISION]) >= revision:
                done.set()

    with connection.subscribed(DiagnosticArray, "/diagnostics", take, reliable(10)) as wait:
        ready = wait(done, max(until - time.monotonic(), 0.0))
    if not ready:
        text = f"planning_node was not ready within {timeout:g} s; its last report in /diagnostics: {latest[0]}"
        raise ServiceUnavailableError(text, subjects=("planning_node",))
