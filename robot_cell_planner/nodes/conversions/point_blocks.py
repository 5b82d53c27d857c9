"""Points of a received trajectory as arrays, without a message object for each of them.

rclpy makes six objects of each point. For 100,000 points that takes 0.7 s, in which no other thread of the process
runs, and as long again in garbage collections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectoryPoint

from .filled_messages import filled

KINDS = ("positions", "velocities", "accelerations", "effort")
NANOSECOND = 1e9  # [1/s]


@dataclass(frozen=True, eq=False)
class Block:
    """One kind of numbers of all points, one after the other. sizes (n,): how many of them each point has."""

    values: NDArray[np.float64]
    sizes: NDArray[np.intp]

    @classmethod
    def empty(cls, count: int) -> Block:
        """Return the block of points without such numbers."""
        return cls(np.empty(0), np.zeros(count, dtype=np.intp))

    @classmethod
    def of_rows(cls, rows: NDArray[np.float64] | None, count: int) -> Block:
        """Return the block of rows (count, n), each of them of a point; without such numbers for None."""
        if rows is None:
            return cls.empty(count)
        values = np.ascontiguousarray(rows, dtype=np.float64)
        return cls(values.reshape(-1), np.full(count, values.shape[1], dtype=np.intp))

    def of_point(self, index: int) -> NDArray[np.float64]:
        """Return the numbers of a point."""
        start = int(self.sizes[:index].sum())
        return self.values[start : start + int(self.sizes[index])]

    def equals(self, other: Block) -> bool:
        """Return whether all numbers are the same."""
        return np.array_equal(self.sizes, other.sizes) and np.array_equal(self.values, other.values)


class PointBlocks(Sequence[JointTrajectoryPoint]):
    """A sequence of the points of a trajectory.

    Attributes:
        seconds, nanoseconds: Time from the start of each point, as in its message (n,).
        blocks: The numbers of the points, by kind (KINDS).
        is_complete: Whether the numbers were read; not of more points than any request may have.
    """

    def __init__(
        self,
        seconds: NDArray[np.int32],
        nanoseconds: NDArray[np.uint32],
        blocks: Mapping[str, Block],
        is_complete: bool = True,
    ) -> None:
        self.seconds = seconds
        self.nanoseconds = nanoseconds
        self.blocks = dict(blocks)
        self.is_complete = is_complete

    @property
    def times(self) -> NDArray[np.float64]:
        """Return the times from the start (n,) [s]."""
        return self.seconds.astype(np.float64) + self.nanoseconds.astype(np.float64) / NANOSECOND

    def __len__(self) -> int:
        return len(self.seconds)

    @overload
    def __getitem__(self, index: int) -> JointTrajectoryPoint: ...

    @overload
    def __getitem__(self, index: slice) -> list[JointTrajectoryPoint]: ...

    def __getitem__(self, index: int | slice) -> JointTrajectoryPoint | list[JointTrajectoryPoint]:
        if isinstance(index, slice):
            return [self._point(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"point {index} of {len(self)}")
        return self._point(place)

    def __iter__(self) -> Iterator[JointTrajectoryPoint]:
        rows = [np.split(block.values, np.cumsum(block.sizes)[:-1]) for block in self.blocks.values()]
        for place, values in enumerate(zip(*rows, strict=True)):
            yield self._made(place, dict(zip(self.blocks, values, strict=True)))

    def _point(self, place: int) -> JointTrajectoryPoint:
        return self._made(place, {kind: block.of_point(place) for kind, block in self.blocks.items()})

    def _made(self, place: int, rows: Mapping[str, NDArray[np.float64]]) -> JointTrajectoryPoint:
        time = Duration(sec=int(self.seconds[place]), nanosec=int(self.nanoseconds[place]))
        return filled(JointTrajectoryPoint, **{kind: row.tolist() for kind, row in rows.items()}, time_from_start=time)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PointBlocks):
            return (
                np.array_equal(self.seconds, other.seconds)
                and np.array_equal(self.nanoseconds, other.nanoseconds)
                and all(block.equals(other.blocks[kind]) for kind, block in self.blocks.items())
            )
        return isinstance(other, list) and list(self) == other

    __hash__ = None  # type: ignore[assignment]


def points_of(kind: type[Any]) -> bool:
    """Return whether a message type is that of trajectories, of which points are read as blocks."""
    return kind.__name__ == "JointTrajectory" and kind.__module__.startswith("trajectory_msgs.")
