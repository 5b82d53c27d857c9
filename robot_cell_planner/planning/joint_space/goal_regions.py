"""Sampling of poses in goal regions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pinocchio as pin

from ...kinematics.targets import FrameTarget
from ...model.pose import Pose
from ..problem.request import GoalRegion

# Half size of a free direction [m]; free rotations are limited to +- pi.
FREE_DISTANCE = 3.0


def sampled_targets(region: GoalRegion, count: int, seed: int) -> Iterator[FrameTarget]:
    """Yield the centre of a region, then uniform samples of its boxes (rotations as rotation vectors)."""
    random = np.random.Generator(np.random.PCG64(seed))
    scale = region.center.native_scale
    position = np.minimum(region.position_extent, FREE_DISTANCE) / scale
    rotation = np.minimum(region.rotation_extent, np.pi)
    yield region.center
    for _ in range(count - 1):
        offset = np.eye(4)
        offset[:3, 3] = random.uniform(-1.0, 1.0, 3) * position
        offset[:3, :3] = pin.exp3(random.uniform(-1.0, 1.0, 3) * rotation)
        pose = Pose.from_matrix(region.center.pose.matrix @ offset)
        yield msgspec.structs.replace(region.center, pose=pose)
