"""Writer of serialized SimulationState messages, in which most bodies are where they were in the one before.

Source: OMG Common Data Representation, in DDSI-RTPS 2.5, chapter 10.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from robot_cell_planner.msg import SimulationContact, SimulationState

from ...model.pose import Pose
from ..common.transform_messages import HEADER
from ..conversions.basic import pose_to_message

FRAME = "world"
_LENGTH = struct.Struct("=I")
_POSE = struct.Struct("=7d")
# Place of the number of bodies, after the stamp and the frame; bodies and contacts begin after it, at a multiple of 8.
_COUNT = HEADER + 20


class SimulationStateWriter:
    """Writes messages as rclpy does, without the conversion of bodies that did not move: those of a cell of thousands
    take longer than a report may."""

    def __init__(self) -> None:
        self._bodies: dict[str, tuple[Pose, bytes]] = {}

    def write(self, stamp: Time, bodies: Mapping[str, Pose], contacts: list[SimulationContact]) -> bytes:
        """Return a message in CDR. bodies: world_T_body; the same object for those that did not move."""
        header = Header(stamp=stamp, frame_id=FRAME)
        data = serialize_message(SimulationState(header=header, contacts=contacts))
        return b"".join((data[:_COUNT], _LENGTH.pack(len(bodies)), *self._parts(bodies), data[_COUNT + _LENGTH.size :]))

    def _parts(self, bodies: Mapping[str, Pose]) -> list[bytes]:
        found: dict[str, tuple[Pose, bytes]] = {}
        for name, pose in bodies.items():
            known = self._bodies.get(name)
            if known is None or known[0] is not pose:
                known = pose, _named_pose(name, pose)
            found[name] = known
        self._bodies = found
        return [part for _, part in found.values()]


def _named_pose(name: str, pose: Pose) -> bytes:
    """Return a NamedPose that begins at a multiple of 8, and so ends at one."""
    text = name.encode() + b"\x00"
    part = _LENGTH.pack(len(text)) + text
    message = pose_to_message(pose)
    at, turn = message.position, message.orientation
    return part + bytes(-len(part) % 8) + _POSE.pack(at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
