"""Robots of a cell that different clients may move at the same time, distinguished by the prefixes of their joints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ...errors import UnknownNameError
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

    def named(self, names: Collection[str], field: str) -> frozenset[str]:
        """Return the parts that a field of a request names, with or without the last slash; all without any name, and
        "" for the joints without a prefix.

        Raises:
            UnknownNameError: there is no such robot, or the robots of the node are not independent.
        """
        found = [name if not name or name.endswith("/") else f"{name}/" for name in names]
        unknown = sorted(set(found) - self.all)
        if unknown or (found and not self.prefixes):
            known = ", ".join(self.prefixes) or "none"
            text = f"{field} names {', '.join(unknown) or 'a robot'}; independent_robots of this node: {known}"
            raise UnknownNameError(text, subjects=tuple(unknown))
        return frozenset(found) or self.all

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


def robot_finder(prefixes: Collection[str], topic_of: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function from a joint to the prefix of its robot: that of its name, or else that of the topic that has
    its joint states; "" for a joint with neither."""
    named = IndependentRobots(tuple(prefixes))
    return lambda joint: named.of_joint(joint) or topic_of(joint)
