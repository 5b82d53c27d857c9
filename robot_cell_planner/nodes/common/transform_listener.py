"""Transforms of TF: /tf and /tf_static, read in batches into tf2's buffer or a compatible one."""

from __future__ import annotations

import struct
import time
from typing import Protocol

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_msgs.msg import TFMessage

from ...errors import (
    RobotCellError,
    TransformConnectivityError,
    TransformError,
    TransformExtrapolationError,
    TransformLookupError,
)
from ...kinematics.transform_buffer import CACHE_TIME, StampedPose, TransformBuffer
from ...model.pose import Pose
from ..conversions.basic import time_from_message
from .cancellation import CancellationToken, pause
from .node import CellNode, reliable
from .polled_subscription import MAX_SIZE, PolledSubscription
from .transform_messages import deserialized, transforms_of
from .waiting import steady_timer

try:
    import tf2_ros
except ImportError:  # the wheels of the Python index do not include it
    tf2_ros = None

AUTHORITY = "default_authority"  # tf2_ros' name of all publishers
DEPTH = 500  # of /tf: messages of all publishers between two reads
STATIC_DEPTH = 100
READ_PERIOD = 0.2  # [s]
WAIT_PERIOD = 0.02  # [s] between reads while a request waits
REPORT_PERIOD = 10.0  # [s] between warnings of invalid transforms


class _Buffer(Protocol):
    """Buffer of stamped transforms."""

    def insert(self, serialized: bytes, *, static: bool) -> None:
        """Add the transforms of a serialized TFMessage."""

    def lookup(self, target: str, source: str, stamp: int) -> StampedPose:
        """As `TransformBuffer.lookup`."""

    def clear(self) -> None:
        """As `TransformBuffer.clear`."""


class _OwnBuffer:
    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._buffer = TransformBuffer()
        self.lookup = self._buffer.lookup
        self.clear = self._buffer.clear

    def insert(self, serialized: bytes, *, static: bool) -> None:
        for received in transforms_of(serialized):
            parent, child, stamp, translation, quaternion = received
            try:
                if self._buffer.insert(parent, child, translation, quaternion, stamp, static=static):
                    continue
                text = f"transform of {child} in TF ignored: it is more than {CACHE_TIME:g} s older than the latest one"
            except RobotCellError as error:
                text = f"invalid transform of TF ignored: {error.message}"
            self._node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)


class _Tf2Buffer:
    def __init__(self) -> None:
        self._buffer = tf2_ros.Buffer(Duration(seconds=CACHE_TIME))
        self.clear = self._buffer.clear

    def insert(self, serialized: bytes, *, static: bool) -> None:
        add = self._buffer.set_transform_static if static else self._buffer.set_transform
        for transform in deserialized(serialized, TFMessage).transforms:
            add(transform, AUTHORITY)

    def lookup(self, target: str, source: str, stamp: int) -> StampedPose:
        try:
            found = self._buffer.lookup_transform_core(target, source, Time(nanoseconds=stamp))
        except tf2_ros.ConnectivityException as error:
            raise TransformConnectivityError(str(error), subjects=(source, target)) from error
        except tf2_ros.ExtrapolationException as error:
            raise TransformExtrapolationError(str(error), subjects=(source, target)) from error
        except (tf2_ros.LookupException, tf2_ros.InvalidArgumentException) as error:
            raise TransformLookupError(str(error), subjects=(source, target)) from error
        except tf2_ros.TransformException as error:
            raise TransformError(str(error), subjects=(source, target)) from error
        moved, turned = found.transform.translation, found.transform.rotation
        pose = Pose((moved.x, moved.y, moved.z), (turned.x, turned.y, turned.z, turned.w))
        return StampedPose(pose, time_from_message(found.header.stamp))


class TransformListener:
    """Looks up transforms. The buffer is that of tf2_ros if installed, else `TransformBuffer`.

    Unlike with tf2_ros.TransformListener, messages do not wake the node: they are read every READ_PERIOD and on demand.
    """

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._buffer: _Buffer = _OwnBuffer(node) if tf2_ros is None else _Tf2Buffer()
        self._topics = {
            static: PolledSubscription(node, TFMessage, topic, quality, raw=True, max_size=MAX_SIZE)
            for static, topic, quality in (
                (False, "/tf", reliable(DEPTH)),
                (True, "/tf_static", reliable(STATIC_DEPTH, latched=True)),
            )
        }
        # As tf2_ros.Buffer: any jump back in time, and changes between simulated and system time.
        backwards = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        jumps = node.get_clock().create_jump_callback(backwards, post_callback=self._on_jump)
        node.on_release(jumps.unregister)
        steady_timer(node, READ_PERIOD, self.read, may_be_early=True)

    def _on_jump(self, _: TimeJump) -> None:
        self.read()
        self._buffer.clear()

    def read(self) -> None:
        """Read the messages since the last call."""
        for static, topic in self._topics.items():
            for serialized in topic.take_raw():
                try:
                    self._buffer.insert(serialized, static=static)
                except (struct.error, UnicodeDecodeError) as error:
                    text = f"a message of TF cannot be read: {error}"
                    self._node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)

    def lookup(self, target: str, source: str, stamp: int = 0) -> StampedPose:
        """Return target_T_source at a stamp [ns]; 0: at the latest time with data.

        Raises:
            TransformLookupError, TransformExtrapolationError, TransformConnectivityError: As tf2's exceptions.
        """
        self.read()
        return self._buffer.lookup(target, source, stamp)

    async def wait_for(
        self, target: str, source: str, stamp: int, timeout: float, token: CancellationToken
    ) -> StampedPose:
        """As `lookup`, repeated after errors up to a timeout [s].

        Raises:
            RobotCellError: Those of `lookup`, or the reason of a cancellation.
        """
        until = time.monotonic() + timeout
        while True:
            try:
                return self.lookup(target, source, stamp)
            except TransformError:
                if time.monotonic() >= until or self._is_past(stamp):
                    raise
            await pause(self._node, WAIT_PERIOD, token)

    def _is_past(self, stamp: int) -> bool:
        """Return whether a stamp is too old for data to arrive."""
        return 0 < stamp < self._node.get_clock().now().nanoseconds - CACHE_TIME * 1e9
