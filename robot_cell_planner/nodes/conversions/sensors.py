"""Messages of simulated sensors."""

from __future__ import annotations

import sys
from array import array

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2, PointField

from ...model import value
from ...simulation.camera_view import CameraView

ENCODINGS = {"rgb": ("rgb8", 3), "depth": ("32FC1", 4), "segmentation": ("32SC1", 4)}  # bytes of a pixel
POINT_BYTES = 16
BIG_ENDIAN = sys.byteorder == "big"


def _bytes(content: bytes) -> array[int]:
    """Return the array that the generated code takes without looking at each byte."""
    result = array("B")
    result.frombytes(content)
    return result


def image_to_message(kind: str, content: bytes, view: CameraView, frame: str, stamp: Time) -> Image:
    """Return an image of a kind in ENCODINGS, from rows of pixels."""
    encoding, size = ENCODINGS[kind]
    message = Image(
        height=view.height, width=view.width, encoding=encoding, is_bigendian=BIG_ENDIAN, step=size * view.width
    )
    message.header.frame_id, message.header.stamp = frame, stamp
    message.data = _bytes(content)
    return message


def points_to_message(content: bytes, view: CameraView, frame: str, stamp: Time) -> PointCloud2:
    """Return an organized point cloud from rows of points, see `CameraFrame.points`."""
    names = ("x", "y", "z", "rgb")  # rgb is a float32 by convention
    fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate(names)
    ]
    message = PointCloud2(
        height=view.height,
        width=view.width,
        fields=fields,
        is_bigendian=BIG_ENDIAN,
        point_step=POINT_BYTES,
        row_step=POINT_BYTES * view.width,
        is_dense=False,
    )
    message.header.frame_id, message.header.stamp = frame, stamp
    message.data = _bytes(content)
    return message


def camera_info(view: CameraView, frame: str, stamp: Time) -> CameraInfo:
    """Return the calibration of a camera without distortion; pixel (0, 0) has its centre at the coordinates (0, 0)."""
    f, x, y = view.focal_length, 0.5 * (view.width - 1), 0.5 * (view.height - 1)
    message = CameraInfo(height=view.height, width=view.width, distortion_model="plumb_bob", d=[0.0] * 5)
    message.k = [f, 0.0, x, 0.0, f, y, 0.0, 0.0, 1.0]
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    message.p = [f, 0.0, x, 0.0, 0.0, f, y, 0.0, 0.0, 0.0, 1.0, 0.0]
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def wrench_to_message(force: value.Vector3, torque: value.Vector3, frame: str, stamp: Time) -> WrenchStamped:
    """Return a measured wrench."""
    message = WrenchStamped(wrench=Wrench(force=_vector(force), torque=_vector(torque)))
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def torques_to_message(torques: dict[str, float], stamp: Time) -> JointState:
    """Return measured efforts by joint."""
    message = JointState(name=list(torques), effort=list(torques.values()))
    message.header.stamp = stamp
    return message


def _vector(values: value.Vector3) -> Vector3:
    x, y, z = values
    return Vector3(x=x, y=y, z=z)
