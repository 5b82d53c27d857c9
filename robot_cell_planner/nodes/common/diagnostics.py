"""Diagnostics that every node publishes about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from .node import CellNode, reliable
from .waiting import steady_timer

Check = Callable[[], "tuple[bytes, str, Mapping[str, object]]"]
READY, REVISION = "ready", "revision"  # message of a prepared node, and key of the revision of the scene it refers to
OVERSIZED = "joint states refused as too large"  # key of their number
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Diagnostics:
    """Publishes one status periodically, on the steady clock. check: returns its level, message and values. Checks that
    protect the robot and are turned off are added; they are a warning."""

    def __init__(self, node: CellNode, name: str, check: Check) -> None:
        self._node = node
        self._name = f"{node.get_namespace().strip('/')}/{name}".strip("/")
        self._check = check
        self._faults = 0
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", reliable(10))
        steady_timer(node, node.parameters["diagnostics_period"], self._publish, may_be_early=True)

    def _publish(self) -> None:
        level, message, values = self._check()
        off = self._node.parameters.checks_off
        if off:
            level, message = WARN if level == OK else level, "; ".join((message, *off))
        faults = self._node.faults
        failed, self._faults = faults.count - self._faults, faults.count
        if failed:
            level, message = ERROR, f"{message}; {failed} callbacks have failed, last {faults.latest}"
        pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
        pairs.append(KeyValue(key="failed callbacks", value=str(faults.count)))
        status = DiagnosticStatus(
            level=level, name=self._name, message=message, hardware_id="robot_cell_planner", values=pairs
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
