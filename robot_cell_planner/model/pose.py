"""Poses: position and orientation of one frame relative to another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValueError
from .value import Vector3, finite, vector3

Matrix = NDArray[np.float64]
Quaternion = tuple[float, float, float, float]
QUATERNION_TOLERANCE = 1e-3


class Pose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Position [m] and orientation (unit quaternion x, y, z, w) of a frame in its parent frame.

    The numbers are stored unchanged, so that files and messages reproduce a pose exactly. The length of the quaternion
    may differ from 1 by up to 1e-3; the quaternion is normalised wherever it is used.

    Raises:
        InvalidValueError: A number is not finite, or the length of the quaternion differs from 1 by more than 1e-3.
    """

    position: Vector3 = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if self._is_plainly_right():
            return
        position, quaternion = vector3(self.position, "position"), finite(self.quaternion, "quaternion")
        if len(quaternion) != 4:
            raise InvalidValueError(f"quaternion has {len(quaternion)} numbers, expected 4")
        norm = math.sqrt(sum(value * value for value in quaternion))
        if abs(norm - 1.0) > QUATERNION_TOLERANCE:
            raise InvalidValueError(f"quaternion {list(quaternion)} has length {norm:.6g}, expected 1 within 1e-3")
        # Lists and arrays become tuples, numbers of numpy those of Python, and integers floats.
        msgspec.structs.force_setattr(self, "position", position)
        msgspec.structs.force_setattr(self, "quaternion", quaternion)

    def _is_plainly_right(self) -> bool:
        """Return whether the types are exact and the numbers valid; if not, every field is checked in full."""
        position, quaternion = self.position, self.quaternion
        if type(position) is not tuple or type(quaternion) is not tuple:
            return False
        try:
            (px, py, pz), (x, y, z, w) = position, quaternion
            if not type(px) is type(py) is type(pz) is type(x) is type(y) is type(z) is type(w) is float:
                return False
            return math.isfinite(px + py + pz) and abs(x * x + y * y + z * z + w * w - 1.0) <= QUATERNION_TOLERANCE
        except (TypeError, ValueError, OverflowError):
            return False

    @classmethod
    def from_matrix(cls, matrix: Matrix) -> Pose:
        """Create a pose from a homogeneous transform (4, 4).

        Raises:
            InvalidValueError: The shape is wrong, a number is not finite, or the rotation deviates from a right-handed
                orthonormal matrix by more than 1e-6.
        """
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as unusable:
            raise InvalidValueError("a transform is an array (4, 4) of numbers") from unusable
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
            raise InvalidValueError(f"a transform has shape (4, 4) and finite numbers, got {matrix.shape}")
        rotation = matrix[:3, :3]
        error = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
        if not error <= 1e-6 or np.linalg.det(rotation) < 0.0:
            raise InvalidValueError(f"rotation is not orthonormal and right-handed (off by {error:.3g})")
        x, y, z = (float(value) for value in matrix[:3, 3])
        return cls((x, y, z), quaternion_from_rotation(rotation))

    @classmethod
    def from_rpy(cls, position: Sequence[float], rpy: Sequence[float]) -> Pose:
        """Create a pose from position [m] and roll, pitch, yaw [rad] about the fixed x, y, z axes (URDF)."""
        roll, pitch, yaw = (0.5 * angle for angle in vector3(rpy, "rpy"))
        cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
        cy, sy = math.cos(yaw), math.sin(yaw)
        quaternion = (
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        )
        return cls(vector3(position, "position"), quaternion)

    @property
    def matrix(self) -> Matrix:
        """Homogeneous transform parent_T_frame, (4, 4)."""
        x, y, z, w = self.quaternion
        scale = 2.0 / (x * x + y * y + z * z + w * w)
        result = np.empty((4, 4))
        result[0] = (1 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w), self.position[0])
        result[1] = (scale * (x * y + z * w), 1 - scale * (x * x + z * z), scale * (y * z - x * w), self.position[1])
        result[2] = (scale * (x * z - y * w), scale * (y * z + x * w), 1 - scale * (x * x + y * y), self.position[2])
        result[3] = (0.0, 0.0, 0.0, 1.0)
        return result

    @property
    def rpy(self) -> Vector3:
        """Roll, pitch and yaw [rad] about the fixed x, y, z axes (URDF): the inverse of `from_rpy`. The pitch is within
        a quarter turn; at a quarter turn, one of several equal triples is returned.

        Method: half the sum and half the difference of roll and yaw (Bernardes and Viollet, Quaternion to Euler angles
        conversion, 2022), which is accurate at any pitch.
        """
        x, y, z, w = self.quaternion
        half_sum, half_difference = math.atan2(x + z, w - y), math.atan2(z - x, w + y)
        pitch = 2.0 * math.atan2(math.hypot(w + y, z - x), math.hypot(w - y, x + z)) - 0.5 * math.pi
        roll, yaw = half_sum - half_difference, half_sum + half_difference
        return math.remainder(roll, math.tau), pitch, math.remainder(yaw, math.tau)

    def __matmul__(self, other: Pose) -> Pose:
        """Compose two poses: a_T_c = a_T_b @ b_T_c."""
        x, y, z = rotate(self.quaternion, other.position)
        px, py, pz = self.position
        return Pose((px + x, py + y, pz + z), multiply(self.quaternion, other.quaternion))

    def inverse(self) -> Pose:
        """Return the inverse pose: b_T_a for a_T_b."""
        x, y, z, w = normalised(self.quaternion)
        back = (-x, -y, -z, w)
        px, py, pz = self.position
        return Pose(rotate(back, (-px, -py, -pz)), back)

    def distance_to(self, other: Pose) -> tuple[float, float]:
        """Return the distance of the origins [m] and the angle between the orientations [rad, 0 to pi]."""
        position = math.dist(self.position, other.position)
        a, b = normalised(self.quaternion), normalised(other.quaternion)
        # |a - b| and |a + b| are accurate for small angles; acos of the dot product is not.
        return position, 4.0 * math.atan2(*sorted((math.dist(a, b), math.dist(a, tuple(-v for v in b)))))


IDENTITY = Pose()


def normalised(quaternion: Sequence[float]) -> Quaternion:
    """Return the quaternion scaled to unit length.

    Raises:
        InvalidValueError: The quaternion is zero or not finite.
    """
    x, y, z, w = finite(quaternion, "quaternion")
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if norm < 1e-12:
        raise InvalidValueError(f"quaternion {[x, y, z, w]} has no direction")
    return x / norm, y / norm, z / norm, w / norm


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the Hamilton product of two quaternions, normalised."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return normalised(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def rotate(quaternion: Quaternion, vector: Vector3) -> Vector3:
    """Rotate a vector by a quaternion."""
    x, y, z, w = normalised(quaternion)
    vx, vy, vz = vector
    tx, ty, tz = 2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)
    return (
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


def quaternion_from_rotation(rotation: Matrix) -> Quaternion:
    """Return the unit quaternion (x, y, z, w), w >= 0, of a rotation matrix (3, 3).

    Uses the largest of the four components as the pivot (Shepperd, 1978).
    """
    m = rotation
    squares = (
        1 + m[0, 0] - m[1, 1] - m[2, 2],
        1 - m[0, 0] + m[1, 1] - m[2, 2],
        1 - m[0, 0] - m[1, 1] + m[2, 2],
        1 + m[0, 0] + m[1, 1] + m[2, 2],
    )
    largest = max(range(4), key=squares.__getitem__)
    if largest == 3:
        raw = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], squares[3])
    elif largest == 0:
        raw = (squares[0], m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2])
    elif largest == 1:
        raw = (m[1, 0] + m[0, 1], squares[1], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0])
    else:
        raw = (m[0, 2] + m[2, 0], m[2, 1] + m[1, 2], squares[2], m[1, 0] - m[0, 1])
    x, y, z, w = normalised(raw)
    return (x, y, z, w) if w >= 0.0 else (-x, -y, -z, -w)
