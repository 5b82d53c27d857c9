"""Drafts of planning groups: arms with their tips, hands, torsos, heads and composite groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..model.mechanism import Joint, JointKind, Mechanism
from ..model.robot import PlanningGroup
from .group_names import name_of, names_of_arms, part_of
from .kinematic_tree import Hand, Structure, structure_of
from .names import free_name

MAIN_GROUP = "manipulator"
COMPOSITE_GROUP, ALL_LEGS = "all_arms", "all_legs"
# Names of tips, preferred first: ROS-Industrial's tool frame, REP-199's flange, and what vendors use.
TIP_NAMES = (
    "tool0", "flange", "tool_flange", "tool_frame", "ee_link", "link_ee", "link_eef", "eef", "end_effector_link",
    "end_effector", "tcp", "tool_link", "tool", "gripper_link", "hand",
)  # fmt: skip
MAX_RAIL = 3  # prismatic joints in a row before an arm that move its base; more are a telescope, a part of the arm
NO_ARMS = frozenset(("leg", "head", "torso", "neck"))


@dataclass(frozen=True)
class DraftedGroup:
    """Planning group of a draft.

    Attributes:
        group: The group.
        kind: "arm", "hand", "composite" or "other".
        reason: How it was found, as a sentence.
        subgroups: Names of the groups that it consists of.
        hand: The hand, for a group of fingers.
        arm: Name of the group of the arm that a hand is mounted on.
    """

    group: PlanningGroup
    kind: str
    reason: str
    subgroups: tuple[str, ...] = ()
    hand: Hand | None = None
    arm: str = ""


def draft_groups(mechanism: Mechanism, is_hand: bool = False) -> tuple[DraftedGroup, ...]:
    """Derive planning groups from the kinematic tree (see `structure_of`).

    A single arm is named "manipulator", several are named after their side or their links (see `names_of_arms`), and
    legs as legs. Several arms also form one composite group, as do the legs of a robot without arms. A rail before an
    arm is in its group; another group has the arm alone. A lift or rail below several arms is a group, and each of them
    has another group with it. Hands are named after their arm. Wheels are in no group.
    """
    return _Drafter(mechanism, structure_of(mechanism, is_hand)).groups()


class _Drafter:
    def __init__(self, mechanism: Mechanism, structure: Structure) -> None:
        self.mechanism = mechanism
        self.structure = structure
        self.names: set[str] = set()

    def groups(self) -> tuple[DraftedGroup, ...]:
        chains = self.structure.arms
        names = names_of_arms(self.mechanism, chains) if len(chains) > 1 else [MAIN_GROUP] * len(chains)
        arms = [self._arm(*found) for found in zip(names, chains, strict=True)]
        result: list[DraftedGroup] = list(arms)
        together = self._moved_together(arms)
        if together:
            variables = {name for arm in together for name in arm.group.variables}
            ordered = tuple(v.name for v in self.mechanism.variables if v.name in variables)
            legs = {part_of(joints) for arm, joints in zip(arms, chains, strict=True) if arm in together} == {"leg"}
            name, parts = self._unique(ALL_LEGS if legs else COMPOSITE_GROUP), tuple(arm.group.name for arm in together)
            links = tuple(link for arm in together for link in arm.group.links)
            reason = f"All {len(together)} {'legs' if legs else 'arms'} together."
            result.append(DraftedGroup(PlanningGroup(name, ordered, links), "composite", reason, parts))
        for arm, joints in zip(arms, chains, strict=True):
            result += self._without_rail(arm, joints)
        for arm, joints, base in zip(arms, chains, self.structure.bases, strict=True):
            if part_of(joints) not in NO_ARMS:
                result += self._with_base(arm, base)
        for hand, index in self.structure.hands:
            result.append(self._hand(hand, arms[index] if 0 <= index < len(arms) else None))
        result += [self._other(joints) for joints in self.structure.others]
        return tuple(result)

    def _moved_together(self, arms: list[DraftedGroup]) -> list[DraftedGroup]:
        """Return the groups of the composite group: without legs, heads and the like if there are at least two arms."""
        found = list(zip(arms, self.structure.arms, strict=True))
        together = [arm for arm, joints in found if part_of(joints) not in NO_ARMS]
        return next((groups for groups in (together, arms) if len(groups) > 1), [])

    def _arm(self, name: str, joints: tuple[Joint, ...]) -> DraftedGroup:
        tip, why = self._tip(joints)
        group = self._chain(self._unique(name), joints[0].parent, tip)
        side = "" if len(joints) == len(group.variables) else ", some of which follow others"
        return DraftedGroup(group, "arm", f"{len(joints)} joints in a row{side}; its tip is {tip}, {why}.")

    def _without_rail(self, arm: DraftedGroup, joints: tuple[Joint, ...]) -> list[DraftedGroup]:
        first = next((i for i, joint in enumerate(joints) if joint.kind is not JointKind.PRISMATIC), len(joints))
        if not 0 < first < min(MAX_RAIL + 1, len(joints) - 2):
            return []
        name = self._unique(f"{arm.group.name}_without_rail")
        group = self._chain(name, joints[first].parent, arm.group.tip_link)
        moving = ", ".join(joint.name for joint in joints[:first])
        return [DraftedGroup(group, "arm", f"{arm.group.name} without what moves its base: {moving}.")]

    def _with_base(self, arm: DraftedGroup, base: tuple[Joint, ...]) -> list[DraftedGroup]:
        """Return the group of an arm with the lift or rail below it and others, if there is one."""
        if not 0 < len(base) <= MAX_RAIL or any(joint.kind is not JointKind.PRISMATIC for joint in base):
            return []
        name = self._unique(f"{arm.group.name}_with_{part_of(base) or 'rail'}")
        moving = ", ".join(joint.name for joint in base)
        reason = f"{arm.group.name} with what moves it and other arms: {moving}."
        return [DraftedGroup(self._chain(name, base[0].parent, arm.group.tip_link), "arm", reason)]

    def _hand(self, hand: Hand, arm: DraftedGroup | None) -> DraftedGroup:
        variables = tuple(variable for joint in hand.joints for variable in joint.variables)
        links = tuple(joint.child for joint in hand.joints)
        owner = arm.group.name if arm is not None else ""
        name = self._unique("hand" if owner in ("", MAIN_GROUP) else f"{owner.removesuffix('_arm')}_hand")
        mimics = sum(1 for joint in hand.joints if joint.mimic is not None)
        follows = f", {mimics} of which follow others" if mimics else ""
        reason = f"{len(hand.joints)} joints of fingers{follows}, mounted on {hand.base}."
        return DraftedGroup(PlanningGroup(name, variables, links), "hand", reason, hand=hand, arm=owner)

    def _other(self, joints: tuple[Joint, ...]) -> DraftedGroup:
        name = self._unique(name_of(joints, "chain"))
        return DraftedGroup(
            self._chain(name, joints[0].parent, joints[-1].child),
            "other",
            "No arm: a chain beside or below.",
        )

    def _chain(self, name: str, base: str, tip: str) -> PlanningGroup:
        joints = self.mechanism.chain(base, tip)
        variables = tuple(variable for joint in joints for variable in joint.variables)
        return PlanningGroup(name, variables, tuple(joint.child for joint in joints), base, tip)

    def _unique(self, name: str) -> str:
        result = free_name((name,), self.names)
        self.names.add(result)
        return result

    def _tip(self, joints: tuple[Joint, ...]) -> tuple[str, str]:
        """Return the tip link of an arm, and why it was chosen."""
        last = joints[-1].child
        fixed = self._fixed_below(last)
        plain = {link: link.lower().rpartition("/")[2] for link in fixed}
        for known in TIP_NAMES[:3]:
            for link, name in plain.items():
                if name == known or name.endswith(f"_{known}"):
                    return link, "by its name"
        for hand, _ in self.structure.hands:
            if hand.base == last:
                mounts = [joint.parent for joint in hand.joints if joint.parent in fixed]
                if mounts:
                    return mounts[0], "which carries the fingers"
        for known in TIP_NAMES[3:]:
            for link, name in plain.items():
                if name == known or name.endswith(f"_{known}"):
                    return link, "by its name"
        end = last
        while len(following := [j.child for j in self.mechanism.joints.values() if j.parent == end]) == 1:
            if following[0] not in fixed:
                break
            end = following[0]
        return end, "the last link" if end == last else "the end of what is fixed to the last joint"

    def _fixed_below(self, link: str) -> list[str]:
        """Return a link and the links that are fixed to it below, nearest first."""
        found, pending = [], [link]
        while pending:
            link = pending.pop(0)
            found.append(link)
            pending += [
                joint.child
                for joint in self.mechanism.joints.values()
                if joint.parent == link and joint.kind is JointKind.FIXED
            ]
        return found


def passive_joints(mechanism: Mechanism) -> Iterable[Joint]:
    """Return the joints of wheels and of a free base, which belong to no group."""
    return structure_of(mechanism).wheels
