"""Initial planning groups and joint limits for a robot description without them, as files to be reviewed and edited."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from xml.sax.saxutils import quoteattr

from ..io.robot_description.limits import with_default_limits
from ..model.mechanism import Joint, JointKind, Mechanism
from ..model.robot import DisabledPair, PlanningGroup
from ..model.value import WORLD

MAIN_GROUP = "manipulator"
TOOL_FRAME = "tool0"  # ROS-Industrial's name of the tool flange frame of an arm
# Max number of joints per finger of a hand; longer branches are arms.
LONGEST_FINGER = 4


def draft_groups(mechanism: Mechanism) -> tuple[PlanningGroup, ...]:
    """Derive planning groups from the shape of the kinematic tree.

    From the root, and from each branching, the joints up to the next branching form a chain. A chain begins at its
    first movable joint, and its tip is the last link with a single child, or the link "tool0". Short branches from the
    same link are the fingers of a hand and form one group. A single chain is named "manipulator"; several chains are
    named after the first link that they move.
    """
    return _Drafter(mechanism).groups()


class _Drafter:
    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.children: dict[str, list[Joint]] = {link: [] for link in mechanism.links}
        for joint in mechanism.tree_order:
            self.children[joint.parent].append(joint)
        self.moving: dict[str, int] = {}  # number of movable joints below each link
        for joint in reversed(mechanism.tree_order):
            below = self.moving.get(joint.child, 0) + (joint.kind is not JointKind.FIXED)
            self.moving[joint.parent] = self.moving.get(joint.parent, 0) + below

    def groups(self) -> tuple[PlanningGroup, ...]:
        chains: list[tuple[str, list[Joint]]] = []
        hands: list[tuple[str, list[Joint]]] = []
        pending = [(self.mechanism.root, self.children[self.mechanism.root])]
        while pending:
            base, starts = pending.pop(0)
            chain, branches = self._chain(starts)
            end = chain[-1].child if chain else base
            first = next((i for i, joint in enumerate(chain) if joint.kind is not JointKind.FIXED), len(chain))
            if any(joint.variables for joint in chain):
                chains.append((chain[first].child, chain[first:]))
            if branches and all(self._size(joint) <= LONGEST_FINGER for joint in branches):
                hands.append((end, [joint for branch in branches for joint in self._below(branch)]))
            else:
                pending += [(end, [branch]) for branch in branches]
        found = [self._group(MAIN_GROUP if len(chains) == 1 else f"{link}_chain", joints) for link, joints in chains]
        found += [self._group(f"{link}_fingers", joints) for link, joints in hands]
        return tuple(_with_unique_names(found))

    def _size(self, joint: Joint) -> int:
        return self.moving.get(joint.child, 0) + (joint.kind is not JointKind.FIXED)

    def _chain(self, starts: list[Joint]) -> tuple[list[Joint], list[Joint]]:
        """Return the joints up to the next branching, and the joints that begin there."""
        chain: list[Joint] = []
        while True:
            branches = [joint for joint in starts if self._size(joint)]
            if len(branches) > 1:
                return chain, branches
            ends = starts if len(starts) == 1 else [joint for joint in starts if joint.child == TOOL_FRAME]
            following = branches or ends
            if not following:
                return chain, []
            chain.append(following[0])
            starts = self.children[following[0].child]

    def _below(self, joint: Joint) -> list[Joint]:
        found, pending = [], [joint]
        while pending:
            joint = pending.pop(0)
            found.append(joint)
            pending += self.children[joint.child]
        return found

    def _group(self, name: str, joints: list[Joint]) -> PlanningGroup:
        selected = {joint.name for joint in joints}
        ordered = [joint for joint in self.mechanism.tree_order if joint.name in selected]
        serial = all(below.parent == above.child for above, below in pairwise(ordered))
        variables = tuple(variable for joint in ordered for variable in joint.variables)
        links = tuple(joint.child for joint in ordered)
        ends = (ordered[0].parent, ordered[-1].child) if serial else ("", "")
        return PlanningGroup(name, variables, links, *ends)


def _with_unique_names(groups: list[PlanningGroup]) -> Iterable[PlanningGroup]:
    seen: dict[str, int] = {}
    for group in groups:
        seen[group.name] = seen.get(group.name, 0) + 1
        number = seen[group.name]
        name = group.name if number == 1 else f"{group.name}_{number}"
        yield PlanningGroup(name, group.variables, group.links, group.base_link, group.tip_link)


def srdf_text(mechanism: Mechanism, groups: Iterable[PlanningGroup], pairs: Iterable[DisabledPair], note: str) -> str:
    """Return an SRDF with the groups and disabled pairs; `note`: comment at its beginning."""

    def named(role: str, link: str) -> str:
        """Return an attribute with the name of the link in the original description."""
        return f"{role}={quoteattr(WORLD if link == f'{mechanism.name}_{WORLD}' else link)}"

    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!-- {note.replace('--', '- -')} -->"]
    lines.append(f"<robot name={quoteattr(mechanism.name)}>")
    for group in groups:
        lines.append(f"  <group name={quoteattr(group.name)}>")
        if group.tip_link:
            lines.append(f"    <chain {named('base_link', group.base_link)} {named('tip_link', group.tip_link)}/>")
        else:
            lines += [f"    <link {named('name', link)}/>" for link in group.links]
        lines.append("  </group>")
    for pair in pairs:
        ends = f"{named('link1', pair.first)} {named('link2', pair.second)}"
        lines.append(f"  <disable_collisions {ends} reason={quoteattr(pair.reason)}/>")
    return "\n".join([*lines, "</robot>", ""])


def limits_text(mechanism: Mechanism) -> str:
    """Return a limits file with the limits of all movable joints; limits that no file gave are marked as assumed."""
    lines = ["# Limits in rad or m, per s, s2 and s3. What is marked is assumed: edit it.", "joint_limits:"]
    for joint in with_default_limits(mechanism).joints.values():
        if joint.kind is JointKind.FIXED or joint.mimic is not None:
            continue
        lines.append(f"  {_key(joint.name)}:")
        for name in ("velocity", "acceleration", "jerk"):
            value = getattr(joint.limits, name)
            number = f"{value:.6g}  # assumed" if name in joint.limits.defaulted else repr(value)
            lines += [f"    has_{name}_limits: true", f"    max_{name}: {number}"]
    return "\n".join([*lines, ""])


def _key(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
