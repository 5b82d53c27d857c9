"""How far balls may stick out of what they cover: less where that decides how narrow a place can be."""

from __future__ import annotations

from ...model.cell import RobotCell
from ...model.mechanism import JointKind, Mechanism

FAR_ALONG = 4  # joints that move a link which reaches into places: the wrist of most arms, and what comes after it
FINER = 0.7  # share of the protrusion there


def joints_before(mechanism: Mechanism) -> dict[str, int]:
    """How many joints that are not fixed lie between the root of a mechanism and each of its links."""
    found = {mechanism.root: 0}
    for joint in mechanism.tree_order:
        found[joint.child] = found[joint.parent] + (joint.kind is not JointKind.FIXED)
    return found


def protrusions(cell: RobotCell, protrusion: float) -> dict[str, float]:
    """Protrusion [m] of the covers of all links, tools' links and bodies of a cell, by their frames: `protrusion` for
    links near the base of a robot, less for those far along it, tools and bodies, which come nearest to things."""
    found: dict[str, float] = {}
    for robot in cell.robots.values():
        before = joints_before(robot.mechanism)
        found.update((link, protrusion * (FINER if before[link] >= FAR_ALONG else 1.0)) for link in before)
    for tool in cell.tools.values():
        found.update((tool.frame_of(link), protrusion * FINER) for link in tool.mechanism.links)
    found.update((body, protrusion * FINER) for body in cell.bodies)
    return found
