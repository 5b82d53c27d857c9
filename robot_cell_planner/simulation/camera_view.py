"""Images of a simulation: colours, depth and segmentation as a pinhole camera sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.arguments import checked_fields
from ..model.pose import Pose, quaternion_from_rotation

NEAR, FAR = 0.02, 20.0  # [m]
NOTHING = -1
VIEW_ANGLE = math.radians(50.0)
MARGIN = 1.1  # of the distance from which everything is in view

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CameraImage:
    """Image of a camera.

    Attributes:
        rgb: Colours (height, width, 3), uint8.
        depth: Distances along the view axis (height, width) [m], float32; infinite where nothing is seen.
        segmentation: Index of the object in `names` (height, width), int32; -1 where nothing is seen.
        names: Links, tool links and bodies.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    segmentation: NDArray[np.int32]
    names: tuple[str, ...]


@checked_fields
@dataclass(frozen=True)
class CameraView:
    """Pinhole camera, with the axes of REP 103 for optical frames: z forward, x right, y down.

    Attributes:
        pose: world_T_camera.
        width, height: Size [pixels].
        view_angle: Vertical angle of view [rad].
        near, far: Range of the depth [m].
    """

    pose: Pose
    width: int
    height: int
    view_angle: float = VIEW_ANGLE
    near: float = NEAR
    far: float = FAR

    @property
    def focal_length(self) -> float:
        """Focal length [pixels], the same for both axes."""
        return 0.5 * self.height / math.tan(0.5 * self.view_angle)

    @classmethod
    def looking(cls, eye: Array, target: Array, width: int, height: int) -> CameraView:
        """Return a view from one point at another [m], upright; they must not be above each other."""
        forward = (target - eye) / np.linalg.norm(target - eye)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        rotation = np.column_stack((right, np.cross(forward, right), forward))
        x, y, z = eye.tolist()
        return cls(Pose((x, y, z), quaternion_from_rotation(rotation)), width, height)

    @classmethod
    def around(cls, lower: Array, upper: Array, width: int, height: int) -> CameraView:
        """Return a view of a box with the given corners (3,) [m]."""
        centre, radius = 0.5 * (lower + upper), 0.5 * float(np.linalg.norm(upper - lower))
        direction = np.array((0.75, -0.5, 0.45))
        distance = MARGIN * max(radius, 0.1) / math.sin(0.5 * VIEW_ANGLE)
        return cls.looking(centre + distance * direction / np.linalg.norm(direction), centre, width, height)

    def pixel(self, point: Array) -> tuple[int, int]:
        """Return column and row at which a point (3,) of the world is seen; (-1, -1) if it is behind the camera."""
        x, y, z = (np.linalg.inv(self.pose.matrix) @ np.append(point, 1.0))[:3]
        if z <= 0.0:
            return -1, -1
        column, row = 0.5 * self.width + self.focal_length * x / z, 0.5 * self.height + self.focal_length * y / z
        return (int(column), int(row)) if column >= 0.0 and row >= 0.0 else (-1, -1)

    def view_matrix(self) -> list[float]:
        """Return camera_T_world in the convention of OpenGL (y up, looking along -z), column by column."""
        flip = np.diag((1.0, -1.0, -1.0, 1.0))
        return [float(v) for v in (flip @ np.linalg.inv(self.pose.matrix)).T.ravel()]

    def projection_matrix(self) -> list[float]:
        """Return the projection matrix of OpenGL, column by column."""
        f, n, r = self.far, self.near, 1.0 / math.tan(0.5 * self.view_angle)
        rows = np.zeros((4, 4))
        rows[0, 0], rows[1, 1] = r * self.height / self.width, r
        rows[2] = 0.0, 0.0, -(f + n) / (f - n), -2.0 * f * n / (f - n)
        rows[3, 2] = -1.0
        return [float(v) for v in rows.T.ravel()]

    def metres(self, buffer: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return distances [m] from values of a depth buffer of OpenGL, 0 to 1."""
        f, n = self.far, self.near
        distances = f * n / (f - (f - n) * buffer.astype(np.float64))
        return np.where(buffer >= 1.0, np.inf, distances).astype(np.float32)

    def points(self, depth: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the points (height, width, 3) [m] that are seen, in the axes of the camera.

        Args:
            depth: Distances along the view axis (height, width) [m]; points at infinite distance are NaN.
        """
        rows, columns = np.indices(depth.shape, dtype=np.float32)
        z = np.where(np.isfinite(depth), depth, np.nan).astype(np.float32)
        x = (columns + 0.5 - 0.5 * self.width) / self.focal_length * z
        y = (rows + 0.5 - 0.5 * self.height) / self.focal_length * z
        return np.stack((x, y, z), axis=-1).astype(np.float32)
