"""Collisions of what a planning group moves."""

from __future__ import annotations

from collections.abc import Sequence

from robot_cell_planner.msg import CollisionPair, CollisionReport

from ...errors import LimitExceededError, Value
from ...model.frames import FrameTree
from ...model.mechanism import Mechanism
from ...scene.scene import Scene


def frames_moved_by(scene: Scene, group: str) -> frozenset[str]:
    """Return the links, tools, bodies and frames that the joints of a group move, also by mimic joints."""
    planned, tree = set(scene.cell.group(group).variables), FrameTree(scene.cell, scene.state)
    children = {
        joint.child
        for robot in scene.cell.robots.values()
        for joint in robot.mechanism.joints.values()
        if not planned.isdisjoint(_variables_of(robot.mechanism, joint.name))
    }
    return frozenset(name for name in tree if not children.isdisjoint((name, *tree.ancestors(name))))


def _variables_of(mechanism: Mechanism, joint: str) -> Sequence[str]:
    """Return the variables that a joint follows."""
    return mechanism.joints[mechanism.mimic_source(joint)[0]].variables


def pairs_of_group(scene: Scene, group: str, report: CollisionReport) -> list[CollisionPair]:
    """Return the colliding pairs that a group takes part in; all for an empty name.

    Raises:
        LimitExceededError: The report ended before a pair of the group was found.
    """
    if not group:
        return list(report.pairs)
    moved = frames_moved_by(scene, group)
    found = [pair for pair in report.pairs if pair.name_a in moved or pair.name_b in moved]
    if report.truncated and not found:
        text = f"more pairs collide than are reported, and group {group} moves none of those; use an empty group_name"
        number = Value("pairs", len(report.pairs), len(report.pairs))
        raise LimitExceededError(text, stage="collision", subjects=(group,), values=(number,))
    return found
