"""Protrusion of spheres by object: finer for objects that determine how narrow a passage can be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from ...model.cell import RobotCell
from ...model.mechanism import JointKind, Mechanism
from ...system.cache import IdentityCache

FAR_ALONG = 4  # preceding joints of a link that enters narrow spaces: the wrist of most arms and beyond
FINER = 0.7  # fraction of the protrusion for these links
_OF_CELL: IdentityCache[Mapping[str, float]] = IdentityCache(size=32)


def joints_before(mechanism: Mechanism) -> dict[str, int]:
    """Return the number of movable joints between the root of a mechanism and each of its links."""
    found = {mechanism.root: 0}
    for joint in mechanism.tree_order:
        found[joint.child] = found[joint.parent] + (joint.kind is not JointKind.FIXED)
    return found


def protrusions(cell: RobotCell, protrusion: float) -> Mapping[str, float]:
    """Return the maximum protrusion [m] of all links, tool links and bodies of a cell, by frame; cached.

    It is `protrusion` for links near the base of a robot, and less for links far along the arm, tools and bodies, which
    come closest to other objects.
    """
    return _OF_CELL.get((cell,), (protrusion,), partial(_protrusions, cell, protrusion))


def _protrusions(cell: RobotCell, protrusion: float) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for robot in cell.robots.values():
        before = joints_before(robot.mechanism)
        found.update((link, protrusion * (FINER if before[link] >= FAR_ALONG else 1.0)) for link in before)
    for tool in cell.tools.values():
        found.update((tool.frame_of(link), protrusion * FINER) for link in tool.mechanism.links)
    found.update((body, protrusion * FINER) for body in cell.bodies)
    return MappingProxyType(found)
