"""Speed scales of the robots of a cell."""

from __future__ import annotations

from collections.abc import Collection

from .independent_robots import IndependentRobots


class SpeedScales:
    """The speed scale of each robot, 0 to 1; a motion of several robots has the smallest of theirs."""

    def __init__(self, robots: IndependentRobots) -> None:
        self._robots = robots
        self._scales = dict.fromkeys(robots.all, 1.0)

    def smallest(self, robots: Collection[str]) -> float:
        """Return the smallest scale of some robots; at least one."""
        return min(self._scales[robot] for robot in robots)

    def of_joints(self, names: Collection[str]) -> float:
        """Return the scale of a motion of joints."""
        return self.smallest(self._robots.of_joints(names))

    def set(self, robots: Collection[str], scale: float) -> None:
        """Set the scale of some robots."""
        self._scales.update(dict.fromkeys(robots, scale))
