"""TF of the whole cell, as robot_state_publisher does it for a robot.

Transforms that change only with the scene's revision (fixed joints, tools, bodies, named frames) are static; those of
joints are not. Every static transform is in each message of /tf_static, whose subscribers keep one message.
"""

from __future__ import annotations

import math
from time import monotonic

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from ...kinematics.transforms import WorldTransforms
from ...model.bodies import NamedFrame, Tool
from ...model.cell import RobotCell
from ...model.mechanism import JointKind
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.state import BodyState, RobotCellState
from ...model.value import WORLD
from ...scene.scene import Scene
from ..common.frame_names import frame_in_tf
from ..common.node import LATCHED, CellNode, reliable
from ..conversions.basic import time_to_message, transform_to_message
from ..conversions.cached_messages import CachedMessages

AT_REST = 1e-7  # [rad or m] from the values that transforms were computed for
REST_PERIOD = 50_000_000  # [ns] between messages of /tf while no joint moves, if tf_rate is higher
REST_MARGIN = 0.9  # of that period, by which a timer with it may be early
REST_AFTER = 1.0  # [s] without movement


class FramesPublisher:
    """Publishes /tf_static when the scene changes, /tf when joints move. prefix: of every frame except world.

    A static transform has the stamp of its last change.
    """

    def __init__(self, node: CellNode, prefix: str = "") -> None:
        self._node = node
        self._prefix = prefix
        self._moving: list[tuple[str, str]] = []
        self._moving_in: RobotCell | None = None
        self._placed: list[TransformStamped] = []
        self._placed_at = np.empty(0)  # joint values that they are computed for
        self._published_at = self._moved_at = -math.inf  # steady clock [s]
        self._mechanisms: CachedMessages[Robot | Tool, list[TransformStamped]] = CachedMessages(self._fixed)
        self._bodies: CachedMessages[BodyState, TransformStamped] = CachedMessages(self._body)
        self._frames: CachedMessages[NamedFrame, TransformStamped] = CachedMessages(self._frame)
        self._static_publisher = node.create_publisher(TFMessage, "/tf_static", LATCHED)
        self._moving_publisher = node.create_publisher(TFMessage, "/tf", reliable(100))

    def publish_static(self, scene: Scene) -> None:
        """Publish the transforms that are constant until the next revision."""
        cell, state = scene.cell, scene.state
        entries = [
            self._transform(robot.attached_to or WORLD, robot.mechanism.root, state.base_poses[name])
            for name, robot in cell.robots.items()
        ]
        for name, tool in state.tools.items():
            parent = cell.tip_link(tool.attached_to) if tool.attached_to else WORLD
            entries.append(self._transform(parent, name, tool.pose))
        for fixed in self._mechanisms.messages({**cell.robots, **cell.tools}):
            entries.extend(fixed)
        entries.extend(self._bodies.messages(state.bodies))
        entries.extend(self._frames.messages(cell.frames))
        self._static_publisher.publish(TFMessage(transforms=entries))

    def publish_moving(self, scene: Scene, state: RobotCellState, stamp: int) -> bool:
        """Publish the transforms that depend on joint values, at a stamp [ns]. They are computed if a joint has moved
        since they were computed last; if none has, they are published every REST_PERIOD. Returns whether they are
        published, or need not be."""
        cell = scene.cell
        if self._moving_in is not cell:
            parents = cell.mechanism_frames
            self._moving_in, self._moving = cell, [(parents[c], c) for c in parents if c in cell.moved_frames]
            self._placed_at = np.full(len(cell.variables), np.nan)
        if not self._moving:
            return True
        values = np.array([state.configuration[name] for name in cell.variables])
        if not (np.abs(values - self._placed_at) <= AT_REST).all():
            transforms = WorldTransforms(cell, state)
            self._placed = [self._transform(a, b, transforms.between(a, b)) for a, b in self._moving]
            self._placed_at, self._moved_at = values, monotonic()
        elif monotonic() - self._published_at < REST_MARGIN * REST_PERIOD * 1e-9:
            return False
        self._published_at = monotonic()
        time = time_to_message(stamp)
        for entry in self._placed:
            entry.header.stamp = time
        self._moving_publisher.publish(TFMessage(transforms=self._placed))
        return True

    @property
    def at_rest(self) -> bool:
        """Whether no joint has moved for a while."""
        return monotonic() - self._moved_at > REST_AFTER

    def _fixed(self, _: str, model: Robot | Tool) -> list[TransformStamped]:
        """Return the transforms of fixed joints, and the tool centre point."""
        tool = model if isinstance(model, Tool) else None
        joints = [joint for joint in model.mechanism.tree_order if joint.kind is JointKind.FIXED]
        if tool is None:
            return [self._transform(joint.parent, joint.child, joint.origin) for joint in joints]
        root, tcp_link = tool.mechanism.root, tool.tcp_link or tool.mechanism.root
        return [
            self._transform(tool.name, tool.frame_of(root), IDENTITY),
            *(self._transform(tool.frame_of(j.parent), tool.frame_of(j.child), j.origin) for j in joints),
            self._transform(tool.frame_of(tcp_link), tool.tcp_frame, tool.tcp),
        ]

    def _body(self, name: str, body: BodyState) -> TransformStamped:
        return self._transform(body.attached_to or WORLD, name, body.pose)

    def _frame(self, name: str, frame: NamedFrame) -> TransformStamped:
        return self._transform(frame.attached_to or WORLD, name, frame.pose)

    def _transform(self, parent: str, child: str, pose: Pose, time: Time | None = None) -> TransformStamped:
        entry = TransformStamped(transform=transform_to_message(pose))
        entry.header.stamp = time or self._node.get_clock().now().to_msg()
        entry.header.frame_id = self._named(parent)
        entry.child_frame_id = self._named(child)
        return entry

    def _named(self, frame: str) -> str:
        return frame_in_tf(self._prefix, frame)
