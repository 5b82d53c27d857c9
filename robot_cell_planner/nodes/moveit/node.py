"""The MoveIt adapter: MoveIt's services, actions and topics, served by the other nodes of the cell."""

from __future__ import annotations

from collections.abc import Mapping

from moveit_msgs.msg import DisplayTrajectory

from ...system.heap import keep_heap_small
from ..common.diagnostics import OK, WARN
from ..common.external_frames import TRANSFORM_PARAMETERS, ExternalFrames
from ..common.lifecycle import NODE_PARAMETERS, ManagedNode
from ..common.node import LATCHED, end, run
from ..common.parameters import Parameter
from ..common.remote_calls import REMOTE_PARAMETERS
from ..common.resource_roots import RESOURCE_PARAMETERS, resource_roots
from ..common.scene_monitor import SceneMonitor
from ..conversions.models import ModelReader
from .kinematics_services import KinematicsServices
from .model_parameters import ModelParameters
from .motion_actions import OWNER, MotionActions
from .motion_requests import robot_trajectory
from .planning_services import RESERVE, Planned, PlanningServices
from .scene_access import SceneAccess
from .scene_messages import SceneWriter
from .scene_services import SceneServices
from .sequences import MotionSequences
from .servo_relay import SERVO_PARAMETERS, ServoRelay
from .suite import Suite

PARAMETERS = (
    Parameter("wait_timeout", 5.0, "Default timeout for the scene and joint states [s].", 0.0, 600.0),
    RESERVE,
    *SERVO_PARAMETERS,
    *REMOTE_PARAMETERS,
    *TRANSFORM_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)


class MoveItAdapterNode(ManagedNode):
    """Converts each request of a MoveIt client, calls the node of the cell that serves it, and converts its reply."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("moveit_adapter_node")

    def configure(self) -> None:
        models = ModelReader(resource_roots(self.parameters))
        self._monitor = SceneMonitor(self, models, self.parameters["wait_timeout"], frames=ExternalFrames(self))
        suite, access = Suite(self), SceneAccess(self, self._monitor)
        self._display = self.create_publisher(DisplayTrajectory, "display_planned_path", LATCHED)
        self._model_parameters = ModelParameters(self)
        self._cell_digest = ""
        self._monitor.on_change(self._on_scene)
        KinematicsServices(self, suite, access)
        planning = PlanningServices(self, suite, access, self._show)
        sequences = MotionSequences(self, suite, access, planning.pilz)
        MotionActions(self, suite, access, planning, sequences, self._show)
        SceneServices(self, access, self._monitor)
        ServoRelay(self, access, OWNER)

    def _on_scene(self) -> None:
        """Update the parameters of the robots when these have changed."""
        robots = self._monitor.scene.cell.robots
        digest = repr([(name, hash(robot)) for name, robot in robots.items()])
        if digest != self._cell_digest:
            self._cell_digest = digest
            self._model_parameters.update(self._monitor.scene.cell)

    def _show(self, planned: Planned) -> None:
        """Publish a planned motion for RViz."""
        if not self._display.get_subscription_count() or not planned.plan.trajectory.points:
            return
        robots = list(planned.start.scene.cell.robots.values())
        message = DisplayTrajectory(model_id=robots[0].mechanism.name if robots else "")
        message.trajectory = [robot_trajectory(planned.plan.trajectory)]
        message.trajectory_start = SceneWriter(planned.start.scene).robot_state()
        self._display.publish(message)

    def check(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return whether the scene has been received."""
        values = self._monitor.diagnostics
        return (OK, "serving", values) if self._monitor.revision else (WARN, "no cell received yet", values)


def main() -> None:
    """Entry point of the executable."""
    keep_heap_small()
    end(run(MoveItAdapterNode, "moveit_adapter_node"))
