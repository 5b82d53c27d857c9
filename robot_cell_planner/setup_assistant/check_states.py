"""Check of the named states of robots: their joints, and their collisions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec
import numpy as np

from ..collision.checker import CollisionChecker
from ..errors import RobotCellError
from ..model.cell import RobotCell
from ..model.frames import FrameTree
from ..model.name_suggestions import listed
from ..model.robot import Robot
from ..model.state import RobotCellState
from .check_hulls import remedy_of_collision
from .finding import WARNING, Finding


def named_state_findings(cell: RobotCell, state: RobotCellState, robot: Robot) -> Iterator[Finding]:
    """Find named states with joints of other groups, and those in which something collides that their joints move.

    What else collides does so in the state of the cell, whose findings name it.
    """
    try:
        checker = CollisionChecker(cell, state)
    except RobotCellError:
        return  # reported with the state
    columns = {name: column for column, name in enumerate(checker.variables)}
    tree = FrameTree(cell, state)
    for key, values in robot.named_states.items():
        group = robot.groups.get(key.rpartition("/")[0])
        if group is not None and (others := [name for name in values if name not in group.variables]):
            text = f"named state {key} gives joints that are not in its group, which motions to it do not move"
            yield Finding(WARNING, "srdf", f"{text}: {listed(others)}", "Delete them, or name a group that has them.")
        q = np.array(checker.default)
        for name, value in values.items():
            q[columns[name]] = value
        report = checker.report(q)
        moved = _moved_links(robot, values)
        pairs = [pair for pair in report.pairs if _above(tree, pair.first, moved) != _above(tree, pair.second, moved)]
        if pairs:
            report = msgspec.structs.replace(report, pairs=tuple(pairs))
            text = f"named state {key} is in collision: {report}"
            remedy = "Change the values of the state in the SRDF."
            yield Finding(WARNING, "state", text, remedy_of_collision(cell, state, values, report, remedy))


def _moved_links(robot: Robot, values: Collection[str]) -> frozenset[str]:
    """Return the links at the ends of the joints that some variables move, also by mimic joints."""
    mechanism = robot.mechanism
    return frozenset(
        joint.child
        for joint in mechanism.joints.values()
        if not set(values).isdisjoint(mechanism.joints[mechanism.mimic_source(joint.name)[0]].variables)
    )


def _above(tree: FrameTree, name: str, moved: frozenset[str]) -> frozenset[str]:
    """Return the moved links above an object: two objects with the same do not move relative to each other."""
    return moved & {name, *tree.ancestors(name)}
