"""TF of the whole cell, as robot_state_publisher does it for a robot.

What only changes with the scene's revision (fixed joints, tools, bodies, named frames) is static; what follows from
joint values is not. Every static transform is in each message of /tf_static, whose subscribers keep one message.
"""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from ..cell.changes import Scene
from ..cell.mechanism import JointKind, Mechanism
from ..cell.state import RobotCellState
from ..cell.value import WORLD
from ..kinematics.transforms import WorldTransforms
from .conversions.basic import time_to_message, transform_to_message
from .node import LATCHED, CellNode, reliable


class FramesPublisher:
    """Publishes /tf_static when the scene changes, /tf when joints move. prefix: put before every frame but world."""

    def __init__(self, node: CellNode, prefix: str = "") -> None:
        self._node = node
        self._prefix = prefix
        self._moving: list[tuple[str, str]] = []
        self._static_publisher = node.create_publisher(TFMessage, "/tf_static", LATCHED)
        self._moving_publisher = node.create_publisher(TFMessage, "/tf", reliable(100))

    def publish_static(self, scene: Scene) -> None:
        """Everything that holds until the next revision."""
        cell, state = scene.cell, scene.state
        fixed: list[tuple[str, str]] = [(WORLD, robot.mechanism.root) for robot in cell.robots.values()]
        self._moving = []
        for robot in cell.robots.values():
            self._sort(robot.mechanism, "", fixed)
        for name, tool in cell.tools.items():
            group = state.tools[name].attached_to
            fixed.append((cell.tip_link(group) if group else WORLD, name))
            fixed.append((name, tool.frame_of(tool.mechanism.root)))
            fixed.append((tool.frame_of(tool.tcp_link or tool.mechanism.root), tool.tcp_frame))
            self._sort(tool.mechanism, f"{name}/", fixed)
        fixed.extend((body.attached_to or WORLD, name) for name, body in state.bodies.items())
        fixed.extend((frame.attached_to or WORLD, frame.name) for frame in cell.frames.values())
        stamp = self._node.get_clock().now().nanoseconds
        self._static_publisher.publish(self._message(fixed, WorldTransforms(cell, state), stamp))

    def publish_moving(self, scene: Scene, state: RobotCellState, stamp: int) -> None:
        """What depends on joint values, at a stamp [ns]."""
        if self._moving:
            self._moving_publisher.publish(self._message(self._moving, WorldTransforms(scene.cell, state), stamp))

    def _sort(self, mechanism: Mechanism, prefix: str, fixed: list[tuple[str, str]]) -> None:
        for joint in mechanism.tree_order:
            pair = (prefix + joint.parent, prefix + joint.child)
            (fixed if joint.kind is JointKind.FIXED else self._moving).append(pair)

    def _message(self, pairs: Iterable[tuple[str, str]], transforms: WorldTransforms, stamp: int) -> TFMessage:
        time = time_to_message(stamp)
        message = TFMessage()
        for parent, child in pairs:
            entry = TransformStamped(transform=transform_to_message(transforms.between(parent, child)))
            entry.header.stamp = time
            entry.header.frame_id = self._named(parent)
            entry.child_frame_id = self._named(child)
            message.transforms.append(entry)
        return message

    def _named(self, frame: str) -> str:
        return frame if frame == WORLD else f"{self._prefix}{frame}"
