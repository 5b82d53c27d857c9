"""Bodies that are added to the scene, replaced or removed, in the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from ...errors import InvalidRequestError, RobotCellError
from ...kinematics.transforms import world_pose
from ...model.bodies import RigidBody
from ...model.cell import RobotCell
from ...model.placement import placements
from ...model.simulated_robot import SimulatedRobot
from ...model.simulated_sensors import CameraSensor
from ...model.state import BodyState, RobotCellState
from ...scene.scene import Scene
from ...simulation.operations import AddBody, Operation, RemoveBody
from ...simulation.process import Answer
from ..common.node import CellNode
from ..common.parameters import Parameter
from ..common.resource_roots import resource_roots
from ..common.scene_monitor import SceneMonitor
from ..conversions.models import ModelReader

FOLLOW_SCENE = Parameter(
    "follow_scene",
    False,
    "Whether bodies that are added to the scene of scene_node, replaced or removed there, are so in the simulation.",
    constraint="false with cameras",
)
JOINTS_RATE = 1.0  # [Hz], since joint states are not used

Request = Callable[[Operation, Callable[[Answer], None]], None]


def check_following(follow: bool, robot: SimulatedRobot) -> None:
    """Check that a simulation may follow the scene.

    Raises:
        InvalidRequestError: It has cameras, which show the bodies of the cell file only.
    """
    cameras = [name for name, each in robot.sensors.items() if isinstance(each, CameraSensor)]
    if follow and cameras:
        text = f"parameter follow_scene is true, expected false with cameras ({', '.join(cameras)})"
        raise InvalidRequestError(text, stage="parameters", subjects=("follow_scene", *cameras))


class SceneFollowing:
    """Asks a simulation for the bodies that the scene has, whenever these change; reports what is refused."""

    def __init__(self, node: CellNode, cell: RobotCell, state: RobotCellState, request: Request) -> None:
        self._node, self._request = node, request
        self._frames = frozenset(placements(cell, state))
        self._bodies = shown_bodies(cell, state)
        self._monitor = SceneMonitor(node, ModelReader(resource_roots(node.parameters)), joints_rate=JOINTS_RATE)
        self._monitor.on_change(self._follow)

    def _follow(self) -> None:
        scene = self._monitor.scene
        bodies = shown_bodies(scene.cell, scene.state)
        for operation in changes(self._bodies, bodies, scene, self._frames):
            name = operation.name if isinstance(operation, RemoveBody) else operation.body.name
            try:
                self._request(operation, lambda answer, name=name: self._report(name, answer.error))  # type: ignore[misc]
            except RobotCellError as error:
                self._report(name, error)
        self._bodies = bodies

    def _report(self, name: str, error: RobotCellError | None) -> None:
        if error is not None:
            self._node.get_logger().warning(f"the simulation does not follow the scene with body {name}: {error}")


def shown_bodies(cell: RobotCell, state: RobotCellState) -> dict[str, RigidBody]:
    """Return the bodies that are not hidden."""
    return {name: body for name, body in cell.bodies.items() if not state.bodies[name].hidden}


def changes(
    before: dict[str, RigidBody], after: dict[str, RigidBody], scene: Scene, frames: frozenset[str]
) -> Iterator[AddBody | RemoveBody]:
    """Yield what turns the bodies of a simulation with some frames into those of a scene."""
    for name, body in before.items():
        if after.get(name) != body:
            yield RemoveBody(name)
    for name, body in after.items():
        if before.get(name) != body:
            yield AddBody(body, _place(name, scene, frames))


def _place(name: str, scene: Scene, frames: frozenset[str]) -> BodyState:
    """Return the state of a body, placed in the world if the simulation does not have its parent frame."""
    at = scene.state.bodies[name]
    if at.attached_to and at.attached_to not in frames | scene.cell.bodies.keys():
        return msgspec.structs.replace(at, attached_to="", pose=world_pose(scene.cell, scene.state, name))
    return at
