"""Buffer of stamped transforms between named frames, with the semantics of tf2's BufferCore.

Transforms form trees: a frame has one parent at a time. Static transforms hold at all times. Between two samples of a
moving frame, the translation is interpolated linearly and the rotation by slerp; a lookup before the first or after the
last sample fails. Stamps are in nanoseconds; a lookup at stamp 0 uses the latest time for which all frames on the path
have data.

Unlike tf2 0.39, which normalises any quaternion but zero, the buffer refuses a quaternion that is clearly not of unit
length, and infinite numbers.

Source: ros2/geometry2, tf2/src/buffer_core.cpp and cache.cpp.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import (
    InvalidValueError,
    LimitExceededError,
    TransformConnectivityError,
    TransformError,
    TransformExtrapolationError,
    TransformLookupError,
    Value,
)
from ..model.pose import IDENTITY, Pose, Quaternion
from ..model.value import Vector3

CACHE_TIME = 10.0  # [s] that samples of a frame are kept behind its latest one
UNIT_TOLERANCE = 0.01  # deviation of the squared length of a quaternion from 1
MAX_DEPTH = 1000  # frames between a frame and the root of its tree
MAX_FRAMES = 100_000
MAX_SAMPLES = 1_000_000  # of all frames together
MAX_NAME = 300  # [characters]


@dataclass(frozen=True)
class StampedPose:
    """Pose target_T_source at a stamp [ns]; a stamp of 0 means at all times."""

    pose: Pose
    stamp: int


@dataclass
class _Samples:
    """Samples of a moving frame: stamps [ns], ascending, with the parent and parent_T_frame at each."""

    stamps: list[int] = field(default_factory=list)
    values: list[tuple[str, Pose]] = field(default_factory=list)

    def expire(self, before: int) -> None:
        """Remove samples with earlier stamps."""
        count = bisect_left(self.stamps, before)
        del self.stamps[:count], self.values[:count]

    def insert(self, stamp: int, value: tuple[str, Pose], cache_time: int) -> bool:
        """Return whether the stamp is recent enough."""
        oldest = (self.stamps[-1] if self.stamps else stamp) - cache_time
        self.expire(oldest)
        if stamp < oldest:
            return False
        end = bisect_right(self.stamps, stamp)
        if value not in self.values[bisect_left(self.stamps, stamp) : end]:
            self.stamps.insert(end, stamp)
            self.values.insert(end, value)
        return True

    def at(self, stamp: int) -> tuple[str, Pose] | None:
        """Return parent and parent_T_frame at a stamp, 0 for the latest; None where that would be extrapolated."""
        stamps, values = self.stamps, self.values
        if not stamps or (stamp and not stamps[0] <= stamp <= stamps[-1]):
            return None
        if not stamp or stamp == stamps[-1]:
            return values[-1]
        if stamp == stamps[0]:
            return values[0]
        after = bisect_right(stamps, stamp)
        (parent, first), (next_parent, second) = values[after - 1], values[after]
        if parent != next_parent:
            return parent, first
        fraction = (stamp - stamps[after - 1]) / (stamps[after] - stamps[after - 1])
        return parent, interpolated(first, second, fraction)


class TransformBuffer:
    """Transforms by child frame, kept for a cache time [s]."""

    def __init__(self, cache_time: float = CACHE_TIME) -> None:
        self._cache_time = round(cache_time * 1e9)
        self._static: dict[str, tuple[str, Pose]] = {}
        self._moving: dict[str, _Samples] = {}
        self._frames: set[str] = set()
        self._count = 0

    @property
    def frames(self) -> frozenset[str]:
        """All frames, children and parents."""
        return frozenset(self._frames)

    def insert(
        self,
        parent: str,
        child: str,
        translation: Vector3,
        quaternion: Quaternion,
        stamp: int = 0,
        *,
        static: bool = False,
    ) -> bool:
        """Add parent_T_child at a stamp [ns], and return whether it is recent enough to be kept.

        A frame whose transforms change between static and moving loses those that it had.

        Raises:
            InvalidValueError: A name is empty or too long, parent and child are the same, a number is not finite, or
                the quaternion is not of unit length.
            LimitExceededError: The buffer is full.
        """
        parent, child = parent.removeprefix("/"), child.removeprefix("/")
        _check_names(parent, child)
        value = parent, _pose(child, translation, quaternion)
        if len(self._frames) >= MAX_FRAMES and not {parent, child} <= self._frames:
            raise LimitExceededError(f"frame {child} exceeds the {MAX_FRAMES} frames of the buffer", stage="transform")
        self._frames.update((parent, child))
        if static:
            self._count -= len(self._moving.pop(child, _Samples()).stamps)
            self._static[child] = value
            return True
        self._static.pop(child, None)
        self._make_room(child, stamp)
        samples = self._moving.setdefault(child, _Samples())
        before = len(samples.stamps)
        recent = samples.insert(stamp, value, self._cache_time)
        self._count += len(samples.stamps) - before
        return recent

    def _make_room(self, child: str, stamp: int) -> None:
        """Forget frames without recent samples if the buffer is full."""
        if self._count < MAX_SAMPLES:
            return
        for samples in self._moving.values():
            samples.expire(stamp - self._cache_time)
        self._count = sum(len(samples.stamps) for samples in self._moving.values())
        if self._count >= MAX_SAMPLES:
            values = (Value("samples", self._count, MAX_SAMPLES),)
            raise LimitExceededError(f"no room for a transform of {child}", stage="transform", values=values)

    def clear(self) -> None:
        """Forget all samples of moving frames, as tf2 does when time jumps back."""
        for child in self._moving:
            self._moving[child] = _Samples()
        self._count = 0

    def lookup(self, target: str, source: str, stamp: int = 0) -> StampedPose:
        """Return target_T_source at a stamp [ns]; 0: at the latest time for which there are data.

        Raises:
            TransformLookupError: A frame is unknown, or the frames form a loop.
            TransformExtrapolationError: A frame has data only before or after the stamp.
            TransformConnectivityError: The frames are in separate trees.
        """
        if target == source:
            return StampedPose(IDENTITY, stamp or (self._latest(target) or (0, ""))[0])
        for frame in (target, source):
            if frame not in self._frames:
                raise TransformLookupError(f"TF has no frame {frame}", subjects=(frame,))
        stamp = stamp or self._latest_common_stamp(target, source)
        return StampedPose(self._pose_at(target, source, stamp), stamp)

    def _pose_at(self, target: str, source: str, stamp: int) -> Pose:
        top, top_T_source, missing = self._to_ancestor(source, (target,), stamp)
        if top == target:
            return top_T_source
        end, end_T_target, error = self._to_ancestor(target, (top, source), stamp)
        if end == top:
            return end_T_target.inverse() @ top_T_source
        if end == source:
            return end_T_target.inverse()
        raise error or missing or _disconnected(target, source)

    def _to_ancestor(self, frame: str, stops: Sequence[str], stamp: int) -> tuple[str, Pose, TransformError | None]:
        """Follow parents from a frame up to one of some frames, the root, or a frame without data at the stamp.

        Returns:
            That frame, its pose end_T_frame, and the error if data are missing.
        """
        start, pose = frame, IDENTITY
        for _ in range(MAX_DEPTH + 1):
            if frame in stops:
                return frame, pose, None
            samples = self._moving.get(frame)
            found = self._static.get(frame) if samples is None else samples.at(stamp)
            if found is None:
                return frame, pose, None if samples is None else _extrapolation(frame, samples.stamps, stamp)
            frame, parent_T_frame = found
            pose = parent_T_frame @ pose
        raise _loop(start)

    def _latest(self, frame: str) -> tuple[int, str] | None:
        """Return the latest stamp of a frame, 0 if it is static, and its parent then; None for a root."""
        if frame in self._static:
            return 0, self._static[frame][0]
        samples = self._moving.get(frame)
        return (samples.stamps[-1], samples.values[-1][0]) if samples and samples.stamps else None

    def _latest_common_stamp(self, target: str, source: str) -> int:
        """Return the earliest of the latest stamps between two frames, 0 if all are static."""
        above_source = self._latest_up_to(source, {target})
        if above_source and above_source[-1][1] == target:
            return _earliest(above_source)
        above_target = self._latest_up_to(target, {source, *(parent for _, parent in above_source)})
        if not above_target:
            raise _disconnected(target, source)
        common = above_target[-1][1]
        if common == source:
            return _earliest(above_target)
        parents = [parent for _, parent in above_source]
        if common not in parents:
            raise _disconnected(target, source)
        return _earliest([*above_target, *above_source[: parents.index(common) + 1]])

    def _latest_up_to(self, frame: str, stops: set[str]) -> list[tuple[int, str]]:
        """Return latest stamp and parent of a frame and those above it, until a parent is one of `stops`."""
        start, found = frame, list[tuple[int, str]]()
        while (latest := self._latest(frame)) is not None:
            found.append(latest)
            frame = latest[1]
            if frame in stops:
                break
            if len(found) > MAX_DEPTH:
                raise _loop(start)
        return found


def interpolated(first: Pose, second: Pose, fraction: float) -> Pose:
    """Return the pose between two: linear translation, and slerp of the rotation along the shorter arc."""
    position = [(1.0 - fraction) * a + fraction * b for a, b in zip(first.position, second.position, strict=True)]
    a, b = first.quaternion, second.quaternion
    if sum(x * y for x, y in zip(a, b, strict=True)) < 0.0:
        b = (-b[0], -b[1], -b[2], -b[3])
    # Half the angle between the quaternions on the unit sphere, which is accurate for small angles too.
    angle = 2.0 * math.atan2(math.dist(a, b), math.hypot(*(x + y for x, y in zip(a, b, strict=True))))
    weights = (1.0 - fraction, fraction)
    if angle > 1e-12:
        weights = (math.sin((1.0 - fraction) * angle) / math.sin(angle), math.sin(fraction * angle) / math.sin(angle))
    x, y, z, w = (weights[0] * p + weights[1] * q for p, q in zip(a, b, strict=True))
    return Pose((position[0], position[1], position[2]), (x, y, z, w))


def _check_names(parent: str, child: str) -> None:
    for name in (parent, child):
        if not 0 < len(name) <= MAX_NAME:
            raise InvalidValueError(f"a frame name has {len(name)} characters, expected 1 to {MAX_NAME}")
    if parent == child:
        raise InvalidValueError(f"frame {child} is its own parent")


def _pose(child: str, translation: Vector3, quaternion: Quaternion) -> Pose:
    x, y, z, w = quaternion
    squared = x * x + y * y + z * z + w * w
    if not (math.isfinite(sum(translation)) and abs(squared - 1.0) < UNIT_TOLERANCE):
        numbers = f"translation {list(translation)} and quaternion {list(quaternion)}"
        raise InvalidValueError(f"frame {child} has {numbers}, expected finite numbers and a unit quaternion")
    scale = 1.0 / math.sqrt(squared)
    return Pose(translation, (scale * x, scale * y, scale * z, scale * w))


def _earliest(latest: Sequence[tuple[int, str]]) -> int:
    return min((stamp for stamp, _ in latest if stamp), default=0)


def _extrapolation(frame: str, stamps: Sequence[int], stamp: int) -> TransformExtrapolationError:
    where = "has no data"
    if stamps:
        side = "into the future" if stamp > stamps[-1] else "into the past"
        where = f"would be extrapolated {side}; TF has it from {seconds(stamps[0])} s to {seconds(stamps[-1])} s"
    return TransformExtrapolationError(f"frame {frame} at {seconds(stamp)} s {where}", subjects=(frame,))


def _disconnected(target: str, source: str) -> TransformConnectivityError:
    text = f"TF does not connect {source} to {target}: they are in separate trees"
    return TransformConnectivityError(text, subjects=(source, target))


def _loop(frame: str) -> TransformLookupError:
    return TransformLookupError(f"the frames of TF above {frame} form a loop", subjects=(frame,))


def seconds(stamp: int) -> str:
    """Return a stamp [ns] as seconds with all digits."""
    whole, rest = divmod(stamp, 1_000_000_000)
    return f"{whole}.{rest:09d}"
