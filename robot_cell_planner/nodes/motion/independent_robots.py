"""Robots of a cell that different clients may move at the same time, distinguished by the prefixes of their joints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..common.exclusive_access import WHOLE


@dataclass(frozen=True)
class IndependentRobots:
    """Prefixes of the robots, such as `left/`. Joints without any of them are one further part, "", as are all joints
    of a cell without prefixes."""

    prefixes: tuple[str, ...] = ()

    @property
    def all(self) -> frozenset[str]:
        """All parts."""
        return WHOLE.union(self.prefixes)

    def of_joint(self, name: str) -> str:
        """Return the part of a joint: its longest prefix."""
        return max((prefix for prefix in self.prefixes if name.startswith(prefix)), key=len, default="")

    def of_joints(self, names: Collection[str]) -> frozenset[str]:
        """Return the parts that joints belong to; all without any joint, as it is not known then what moves."""
        return frozenset(map(self.of_joint, names)) if names else self.all

    def of_group(self, name: str) -> frozenset[str]:
        """Return the parts that a planning group moves, as far as its name tells: `left/manipulator` and
        `left/manipulator+right/manipulator`; all for any other name."""
        found = self.of_joints(name.split("+"))
        return self.all if "" in found else found
