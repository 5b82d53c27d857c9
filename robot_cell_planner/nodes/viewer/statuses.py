"""Rows of the page about the other nodes. The last state of a node that has ended is not shown as its present one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from robot_cell_planner.msg import ExecutionStatus, ServoStatus

from ..common.scene_monitor import SceneMonitor
from ..common.server_monitor import STATUS_TIMEOUT, ServerMonitor
from ..conversions.basic import duration_from_message, error_from_message

Clock = Callable[[], float]

STATES = {
    getattr(ExecutionStatus, name): name.lower()
    for name in ("IDLE", "MOVING", "PAUSED", "STOPPING", "SERVOING", "BLOCKED")
}
SERVO_STATES = {
    getattr(ServoStatus, name): name.lower().replace("_", " ")
    for name in (
        "FOLLOWING",
        "NO_COMMAND",
        "SLOWED_BY_SINGULARITY",
        "STOPPED_BY_SINGULARITY",
        "SLOWED_BY_COLLISION",
        "STOPPED_BY_COLLISION",
        "STOPPED_BY_LIMIT",
    )
}
HAVE_MOTION = (ExecutionStatus.MOVING, ExecutionStatus.PAUSED, ExecutionStatus.STOPPING)
# Times after the last message in which a publisher counts as running [s].
EXECUTION_SHOWN, JOINTS_SHOWN, SERVO_SHOWN = STATUS_TIMEOUT, 3.0, 1.0
FIND_PERIOD = 1.0  # [s] between searches for the scene node
NEVER = float("-inf")


class Statuses:
    """The latest messages of the execution node, of servo and of the robots, with their age. clock: time [s]."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._executed_at = self._servo_at = self._joints_at = NEVER
        self._execution: Mapping[str, str] = {}
        self._servo = ""

    def take_execution(self, message: ExecutionStatus) -> None:
        """Take a status of the execution node."""
        state = STATES.get(message.state, str(message.state))
        owner = f" for {message.owner}" if message.owner else ""
        found = {"execution": f"{state}{owner}, speed {100.0 * message.speed_scale:.0f} %"}
        if message.state in HAVE_MOTION:
            reached, left = duration_from_message(message.reached), duration_from_message(message.remaining)
            found["motion"] = f"{reached:.1f} s, {left:.1f} s left"
        error = error_from_message(message.error)
        if error is not None:
            found["last error"] = str(error)
        self._execution, self._executed_at = found, self._clock()

    def take_servo(self, message: ServoStatus) -> None:
        """Take a status of servo."""
        text = SERVO_STATES.get(message.state, str(message.state))
        self._servo, self._servo_at = f"{text}, {100.0 * message.scale:.0f} % of the commanded speed", self._clock()

    def take_joints(self) -> None:
        """Take newer joint states."""
        self._joints_at = self._clock()

    @property
    def executes(self) -> bool:
        """Whether the execution node publishes its status."""
        return self._clock() - self._executed_at <= EXECUTION_SHOWN

    def rows(self) -> dict[str, str]:
        """Return the rows: states of what publishes, and the silence of what has published before."""
        found: dict[str, str] = {}
        if self.executes:
            found.update(self._execution)
        elif self._execution:
            lost = self._silence("execution/status", self._executed_at)
            found["execution"] = f"unknown, {lost}; before: {self._execution['execution']}"
        if self._clock() - self._servo_at <= SERVO_SHOWN:
            found["servo"] = self._servo
        if NEVER < self._joints_at < self._clock() - JOINTS_SHOWN:
            found["joints"] = f"{self._silence('joint_states', self._joints_at)}; the last ones are shown"
        return found

    def _silence(self, topic: str, since: float) -> str:
        return f"no {topic} for {self._clock() - since:.0f} s: its node has ended or is not reachable"


class SceneNode:
    """Whether the node whose scene is shown runs. scene: gets that scene."""

    def __init__(self, monitor: ServerMonitor, scene: SceneMonitor, clock: Clock = time.monotonic) -> None:
        self._monitor, self._scene, self._clock = monitor, scene, clock
        self._found = self._ended = False
        self._sought_at = NEVER

    def rows(self) -> dict[str, str]:
        """Return a row if the node has ended; call it regularly."""
        if self._found and self._monitor.lost(self._scene.has_node):
            self._found, self._ended = False, True
        elif not self._found and self._clock() - self._sought_at >= FIND_PERIOD:
            self._sought_at = self._clock()
            if self._scene.has_node and self._monitor.begin():
                self._found, self._ended = True, False
        if not self._ended:
            return {}
        return {"scene": f"{self._monitor.node} has ended or is not reachable; its last revision is shown"}
