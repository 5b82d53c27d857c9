"""apply_planning_scene, get_planning_scene, clear_octomap, and the topics of scenes and objects."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    PlanningScene,
    PlanningSceneComponents,
    PlanningSceneWorld,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from std_srvs.srv import Empty

from robot_cell_planner.msg import SceneChange

from ...errors import RobotCellError
from ...scene.scene import Scene
from ..common.node import CellNode, reliable
from ..common.scene_monitor import SceneMonitor
from ..common.waiting import steady_timer
from .allowed_collisions import MAX_NAMES, matrix_names
from .octomap import NAME
from .scene_access import Changes, SceneAccess
from .scene_messages import ALL, SceneWriter
from .scene_updates import frames_elsewhere, scene_changes
from .world_editor import WorldEditor

M = TypeVar("M")
MAX_PENDING = 1_000  # changes that wait for those before them
DEPTH = 100  # messages of each topic that wait
STATE_PERIOD = 0.1  # [s] between messages of moving joints


class SceneServices:
    """Changes of the scene by MoveIt's messages, and the scene as one.

    Each message is one change: one revision, all or none. What cannot be applied changes nothing; topics have no reply,
    so the log contains the reason.
    """

    def __init__(self, node: CellNode, access: SceneAccess, monitor: SceneMonitor) -> None:
        self._node, self._access, self._monitor = node, access, monitor
        node.serve(ApplyPlanningScene, "apply_planning_scene", self._apply, self._fail)
        node.serve(GetPlanningScene, "get_planning_scene", self._get, self._fail)
        node.serve(Empty, "clear_octomap", self._clear_octomap, self._fail)
        self._listen(PlanningScene, "planning_scene", self._scene_changes)
        self._listen(PlanningSceneWorld, "planning_scene_world", self._world_changes)
        self._listen(CollisionObject, "collision_object", _object_changes)
        self._listen(AttachedCollisionObject, "attached_collision_object", _attached_changes)
        self._publisher = node.create_publisher(PlanningScene, "monitored_planning_scene", reliable(1, latched=True))
        self._published = (0, "")
        self._matrix_left_out = False
        steady_timer(node, STATE_PERIOD, self._publish, may_be_early=True)

    def _listen(self, kind: type[M], name: str, changes: Callable[[M], Changes]) -> None:
        """Apply the messages of a topic, in their order."""

        async def apply(change: Coroutine[Any, Any, int]) -> None:
            try:
                await change
            except RobotCellError as error:
                self._node.get_logger().error(f"{name}: {error}; the scene is unchanged")

        def on_message(message: M) -> None:
            if not self._node.requests.accepted:
                self._node.get_logger().warning(f"{name}: the node is not active; the message is ignored")
                return
            if self._access.pending >= MAX_PENDING:
                self._node.get_logger().error(f"{name}: {MAX_PENDING} changes are pending; the message is ignored")
                return
            self._node.soon(partial(apply, self._access.change(changes(message))))

        self._node.create_subscription(kind, name, on_message, reliable(DEPTH))

    def _scene_changes(self, message: PlanningScene) -> Changes:
        def changes(scene: Scene) -> Sequence[SceneChange]:
            found = scene_changes(scene, message, self._access.measured)
            frames = frames_elsewhere(scene, message)
            if frames:
                names = ", ".join(frames[:5])
                text = f"fixed_frame_transforms of a whole scene are not used, and the cell does not have {names} there"
                self._node.get_logger().warning(text)
            return found

        return changes

    def _world_changes(self, message: PlanningSceneWorld) -> Changes:
        """Replace the objects of the world, as a whole scene does; attached objects stay."""

        def changes(scene: Scene) -> Sequence[SceneChange]:
            whole = PlanningScene(world=message)
            whole.robot_state.attached_collision_objects = SceneWriter(scene).attached_objects()
            return scene_changes(scene, whole, self._access.measured)

        return changes

    async def _apply(self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response) -> None:
        await self._access.change(self._scene_changes(request.scene))
        response.success = True

    async def _get(self, request: GetPlanningScene.Request, response: GetPlanningScene.Response) -> None:
        present = await self._access.current()
        response.scene = self._written(present.scene, request.components.components)

    async def _clear_octomap(self, request: Empty.Request, response: Empty.Response) -> None:
        """Remove the body of the octomap, if there is one."""

        def changes(scene: Scene) -> Sequence[SceneChange]:
            editor = WorldEditor(scene)
            if NAME in editor.free:
                editor.remove_body(NAME)
            return editor.changes

        await self._access.change(changes)

    def _written(self, scene: Scene, components: int = ALL) -> PlanningScene:
        """Return a scene as a message, with one warning as long as its matrix is too large."""
        message = SceneWriter(scene).scene(components)
        if (components or ALL) & PlanningSceneComponents.ALLOWED_COLLISION_MATRIX:
            count = 0 if message.allowed_collision_matrix.entry_names else len(matrix_names(scene.cell))
            if count > MAX_NAMES and not self._matrix_left_out:
                text = f"the allowed collision matrix would have {count} names, more than {MAX_NAMES}; scenes are sent"
                self._node.get_logger().warning(f"{text} without it")
            self._matrix_left_out = count > MAX_NAMES
        return message

    def _fail(self, response: object, error: RobotCellError) -> None:
        """The replies have no field for an error; `success` is false, and the log contains the reason."""
        self._node.get_logger().error(f"{type(response).__qualname__}: {error}; the scene is unchanged")

    def _publish(self) -> None:
        """Publish the scene after each revision, and joint values that have changed since."""
        revision, digest = self._published
        changed = revision != self._monitor.revision
        if not self._monitor.revision or not (changed or self._publisher.get_subscription_count()):
            return
        state = self._monitor.current_state()
        scene = Scene(self._monitor.scene.cell, state)
        self._published = self._monitor.revision, state.digest()  # a scene that cannot be written is tried once
        if changed:
            self._publisher.publish(self._written(scene))
        elif digest != state.digest():
            message = PlanningScene(is_diff=True, robot_state=SceneWriter(scene).robot_state(attached=False))
            message.robot_state.is_diff = True
            self._publisher.publish(message)


def _object_changes(message: CollisionObject) -> Changes:
    def changes(scene: Scene) -> Sequence[SceneChange]:
        editor = WorldEditor(scene)
        editor.world_object(message, "collision_object")
        return editor.changes

    return changes


def _attached_changes(message: AttachedCollisionObject) -> Changes:
    def changes(scene: Scene) -> Sequence[SceneChange]:
        editor = WorldEditor(scene)
        editor.attached_object(message, "attached_collision_object")
        return editor.changes

    return changes
