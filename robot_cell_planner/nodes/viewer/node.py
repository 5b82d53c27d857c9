"""The viewer node: a page on this computer (http://127.0.0.1:8080) that follows the cell, for people to see and act.

The page is drawn by viser. The node is an observer: no other node waits for it, and acts from the page are ordinary
calls of services and actions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

# The page draws with it. Imported in a callback, it takes seconds and catches the interrupt that ends the node.
import trimesh  # noqa: F401
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.msg import ErrorReport, ExecutionStatus, MotionPlan, PlanningOutcome, ServoStatus

from ...errors import RobotCellError
from ...system.heap import keep_heap_small
from ...viewer.live.act_panel import ActPanel
from ...viewer.live.panel import Panel
from ...viewer.live.server import start_server
from ...viewer.live.view import LiveView, PlanShown
from ...viewer.tool_paths import group_of
from ..client.client import CellClient
from ..common.diagnostics import OK, WARN
from ..common.lifecycle import NODE_PARAMETERS, ManagedNode
from ..common.node import LATCHED, end, reliable, run
from ..common.parameters import Parameter
from ..common.resource_roots import RESOURCE_PARAMETERS, resource_roots
from ..common.scene_monitor import SceneMonitor
from ..common.server_monitor import ServerMonitor
from ..common.waiting import steady_timer
from ..conversions.basic import error_from_message
from ..conversions.models import ModelReader
from ..conversions.path_requests import plan_from_message
from ..conversions.trajectories import MAX_POINTS, trajectory_from_message
from .acts import CellActs
from .statuses import SceneNode, Statuses

PARAMETERS = (
    Parameter("port", 8080, "Port of the page, which only this computer can open; 0: any free port.", 0, 65_535),
    Parameter("acts", True, "Whether people can plan, execute, stop and edit the scene from the page."),
    Parameter("refresh_rate", 30.0, "Rate at which the page follows joint_states [Hz].", 1.0, 60.0),
    Parameter("check_period", 0.2, "Time between collision checks of the state that is shown [s].", 0.05, 60.0),
    Parameter(
        "certify", True, "Whether latest plans are certified again, line by line, to show where they are proven."
    ),
    Parameter("wait_timeout", 5.0, "Default timeout of min_revision and min_joint_stamp [s].", 0.0, 600.0),
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)
TITLE = "robot cell"
IDLE_PERIOD = 1.0  # [s] between updates while no browser is connected


class ViewerNode(ManagedNode):
    """Follows the scene and the topics of planning and execution, and shows them on a page."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("viewer_node")

    def configure(self) -> None:
        models, timeout = ModelReader(resource_roots(self.parameters)), self.parameters["wait_timeout"]
        rate = self.parameters["refresh_rate"]
        self._server = start_server(self.parameters["port"], TITLE)
        self.on_release(self._server.stop)
        self._scene_monitor = SceneMonitor(self, models, timeout, joints_rate=rate)
        self._view = LiveView(self._server)
        self._panel = Panel(self._server, self._view)
        self._act_panel = self._make_act_panel()
        self._worker = ThreadPoolExecutor(1, "certificates")
        self.on_release(lambda: self._worker.shutdown(wait=False, cancel_futures=True))
        self._drawn_at = 0.0
        self._statuses = Statuses()
        self._scene_monitor.on_joints(lambda _: self._statuses.take_joints())
        monitor = ServerMonitor(self, "scene/get_cell", is_action=False)
        self.on_release(monitor.close)
        self._scene_node = SceneNode(monitor, self._scene_monitor)
        self._trajectory: JointTrajectory | None = None  # of the motion that runs
        self._drawn: JointTrajectory | None = None
        self.create_subscription(ExecutionStatus, "execution/status", self._on_execution, LATCHED)
        self.create_subscription(JointTrajectory, "execution/trajectory", self._on_trajectory, LATCHED)
        self.create_subscription(PlanningOutcome, "planning/outcome", self._on_outcome, LATCHED)
        self.create_subscription(ServoStatus, "servo/status", self._statuses.take_servo, reliable(10))
        steady_timer(self, 1.0 / rate, self._draw)
        steady_timer(self, self.parameters["check_period"], self._check, may_be_early=True)
        host = f"http://127.0.0.1:{self._server.get_port()}"
        self.get_logger().info(f"the page is {host}{'' if self._act_panel else ' (without acts)'}")

    def _make_act_panel(self) -> ActPanel | None:
        if not self.parameters["acts"]:
            return None
        client = CellClient("viewer_client", self.get_namespace())
        self.on_release(client.close)
        return ActPanel(self._server, self._view, CellActs(client))

    @property
    def _is_due(self) -> bool:
        """Whether a browser shows the page, or the time without a browser has passed."""
        return bool(self._server.get_clients()) or time.monotonic() - self._drawn_at >= IDLE_PERIOD

    def _draw(self) -> None:
        if not self._scene_monitor.revision or not self._is_due:
            return
        self._drawn_at = time.monotonic()
        scene = self._scene_monitor.scene
        self._view.show(scene.cell, self._scene_monitor.current_state(), self._scene_monitor.revision)
        self._view.step_preview()
        if self._act_panel is not None:
            self._act_panel.refresh()

    def _check(self) -> None:
        try:
            self._view.check()
        except RobotCellError as error:
            self.get_logger().warning(f"the state is not checked: {error}", throttle_duration_sec=10.0)
        self._view.status = {**self._scene_node.rows(), **self._statuses.rows()}
        self._show_running()
        self._panel.refresh()

    # Topics.

    def _on_execution(self, message: ExecutionStatus) -> None:
        self._statuses.take_execution(message)
        if message.state == ExecutionStatus.IDLE:
            self._trajectory = None
        self._show_running()

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self._trajectory = message
        self._show_running()

    def _show_running(self) -> None:
        """Show the motion that runs; none while the execution node does not publish its status."""
        running = self._trajectory if self._statuses.executes else None
        if running is self._drawn:
            return
        self._drawn = running
        self._guarded(
            lambda: self._view.show_running(None if running is None else trajectory_from_message(running, "trajectory"))
        )

    def _on_outcome(self, message: PlanningOutcome) -> None:
        if message.error.code != ErrorReport.NONE:
            error = error_from_message(message.error)
            self._view.show_failure(f"{message.action}: {error}")
        elif message.plans:
            self._guarded(lambda: self._show_plan(message.plans[-1]))

    def _show_plan(self, message: MotionPlan) -> None:
        if not self._scene_monitor.revision:
            return
        plan = plan_from_message(message, "plan", MAX_POINTS)
        cell = self._scene_monitor.scene.cell
        values = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
        state = self._scene_monitor.current_state().with_configuration(values)
        cell.check_state(state)
        plan = replace(plan, group=group_of(cell, plan.variables))
        shown = PlanShown(cell, state, plan)
        self._view.show_plan(shown)
        if self.parameters["certify"]:
            self._worker.submit(self._view.certify, shown).add_done_callback(self._on_certified)

    def _on_certified(self, future: Future[None]) -> None:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, RobotCellError):
            self.get_logger().info(f"the plan is not certified: {error}")
        elif error is not None:
            self.get_logger().error(f"the plan is not certified: {error!r}")

    def _guarded(self, work: Callable[[], None]) -> None:
        """Call a function; what does not fit the present cell is reported, and not shown."""
        try:
            work()
        except RobotCellError as error:
            self.get_logger().info(f"not shown: {error}", throttle_duration_sec=10.0)

    def check(self) -> tuple[bytes, str, dict[str, object]]:
        values = {**self._scene_monitor.diagnostics, "browsers": len(self._server.get_clients())}
        if not self._scene_monitor.revision:
            return WARN, "no cell received yet", values
        return OK, f"http://127.0.0.1:{self._server.get_port()}", values


def main() -> None:
    """Entry point of the executable."""
    keep_heap_small()
    end(run(ViewerNode, "viewer_node"))
