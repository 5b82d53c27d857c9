"""Structure of a mechanism: which joints form arms, hands, wheels and other chains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..model.mechanism import COMPOUND_SUFFIXES, Joint, JointKind, Mechanism

# Names of joints, in lower case, that move fingers or wheels.
HAND_NAME = re.compile(r"finger|gripper|knuckle|jaw|claw|thumb|digit|grasp|(^|_)hand_")
FINGER_LINK = re.compile(r"thumb|knuckle|metacarp|phalan")  # names of links
# Names of fingers, which also have other meanings: they count beside other fingers.
FINGER_WORD = re.compile(r"(^|[\W_])(index|middle|ring|pinky|pinkie|little)([\W_\d]|$)")
LIMB_WORD = re.compile(r"shoulder|(^|[\W_])(arm|leg|hip|neck|head)([\W_\d]|$)")  # in names of no finger
HAND_WORD = re.compile(r"(^|[\W_])(hand|gripper)([\W_\d]|$)")  # in the name of a robot that is a hand
WHEEL_NAME = re.compile(r"wheel|caster|castor|roller|steer")
MIN_ARM = 3  # variables in a row of an arm beside which there are others
MIN_BEFORE_HAND = 3  # variables in a row before branches are taken for fingers
LONGEST_FINGER = 4  # variables in a row of a finger
LONGEST_OF_MANY = 5  # of a finger of a hand that has at least
MANY_FINGERS = 4
MIN_LIKENESS = 3  # fingers found by name, to which others are compared
PARALLEL = 1.0 - 1e-6  # cosine of the angle between axes that count as parallel
LONGEST_NAMED_FINGER = 8  # of a finger recognised by its name, whose couplings the description may leave out


@dataclass(frozen=True)
class Hand:
    """Fingers that are mounted on one rigid part. `joints`: all joints below it that move, in tree order."""

    base: str
    joints: tuple[Joint, ...]


@dataclass
class Structure:
    """Parts of a mechanism.

    Attributes:
        arms: Movable joints of each arm, from its base to its flange.
        bases: Movable joints of the chain that moves each arm together with others, such as a lift; () without one.
        hands: Hands, with the index of the arm that each is mounted on; -1 without an arm.
        others: Movable joints of chains that are no arms: torsos, heads, covers with a drive of their own.
        wheels: Joints of wheels and casters, and those of a planar or floating base.
    """

    arms: list[tuple[Joint, ...]] = field(default_factory=list)
    bases: list[tuple[Joint, ...]] = field(default_factory=list)
    hands: list[tuple[Hand, int]] = field(default_factory=list)
    others: list[tuple[Joint, ...]] = field(default_factory=list)
    wheels: list[Joint] = field(default_factory=list)


def slide_along_each_other(mechanism: Mechanism, first: str, second: str) -> bool:
    """Return whether one link carries the other by prismatic joints with parallel axes, as parts of a telescope do."""
    return _carries_along(mechanism, first, second) or _carries_along(mechanism, second, first)


def _carries_along(mechanism: Mechanism, base: str, link: str) -> bool:
    joints, axes = mechanism.parent_joints, []
    tip_R_link = np.eye(3)
    while link != base:
        joint = joints.get(link)
        if joint is None or joint.kind not in (JointKind.FIXED, JointKind.PRISMATIC):
            return False
        if joint.kind is JointKind.PRISMATIC:
            axes.append(tip_R_link @ np.array(joint.axis))
        tip_R_link = tip_R_link @ joint.origin.matrix[:3, :3].T
        link = joint.parent
    return all(abs(float(axis @ axes[0])) > PARALLEL for axis in axes)


def structure_of(mechanism: Mechanism, is_hand: bool = False) -> Structure:
    """Find the arms, hands and other parts of a mechanism.

    Links that are fixed to each other count as one part. From the root, the branch with the most variables in a row is
    followed; side branches (covers, parallelogram rods, heads) do not end it. Several branches with at least three
    variables in a row are several arms, and the joints before them a chain of its own. An arm ends at fingers: joints
    with such a name and others of the same size beside them, or branches of the same size after at least three joints.
    A robot that is called a hand, or is known to be one (`is_hand`), consists of fingers.
    """
    return _Finder(mechanism, is_hand or HAND_WORD.search(mechanism.name.lower()) is not None).structure()


class _Finder:
    def __init__(self, mechanism: Mechanism, is_hand: bool) -> None:
        self.mechanism = mechanism
        self.is_hand = is_hand
        self.part: dict[str, str] = {mechanism.root: mechanism.root}  # first link of the part of each link
        self.below: dict[str, list[Joint]] = {mechanism.root: []}  # movable joints at each part
        for joint in mechanism.tree_order:
            fixed = joint.kind is JointKind.FIXED
            self.part[joint.child] = self.part[joint.parent] if fixed else joint.child
            if not fixed:
                self.below.setdefault(self.part[joint.parent], []).append(joint)
                self.below.setdefault(joint.child, [])
        self.depth: dict[str, int] = {}  # max number of variables in a row from each joint on
        self.size: dict[str, int] = {}  # number of movable joints from each joint on
        for joint in reversed(mechanism.tree_order):
            if joint.kind is not JointKind.FIXED:
                inner = self.below[joint.child]
                self.depth[joint.name] = len(joint.variables) + max((self.depth[j.name] for j in inner), default=0)
                self.size[joint.name] = 1 + sum(self.size[j.name] for j in inner)
        self.found = Structure()

    def structure(self) -> Structure:
        self._follow(self.mechanism.root, [], ())
        return self.found

    def _follow(self, part: str, path: list[Joint], base: tuple[Joint, ...]) -> None:
        """Follow a chain from a part on; `path`: its joints so far; `base`: those that it shares with other chains."""
        joints = list(self.below[part])
        wheels = [joint for joint in joints if self._is_wheel(joint, path)]
        for joint in wheels:
            self.found.wheels += [j for j in self._all(joint) if j.variables]
        joints = [joint for joint in joints if joint not in wheels]
        for joint in [joint for joint in joints if joint.kind in COMPOUND_SUFFIXES]:
            self.found.wheels.append(joint)  # a base that moves freely: what is attached to it counts as fixed
            joints[joints.index(joint) : joints.index(joint) + 1] = self.below[joint.child]
        fingers = self._fingers(joints, path)
        if fingers:
            moving = tuple(j for joint in fingers for j in self._all(joint))
            rest = [joint for joint in joints if joint not in fingers]
            self.found.hands.append((Hand(part, moving), len(self.found.arms) if path else -1))
            joints = rest
        strong = [joint for joint in joints if self.depth[joint.name] >= MIN_ARM]
        if len(strong) > 1:
            if any(joint.variables for joint in path):
                self.found.others.append(tuple(path))
            for joint in strong:
                self._follow(joint.child, [joint], (*base, *path))
            self._sides([joint for joint in joints if joint not in strong])
            return
        driven = [joint for joint in joints if self.depth[joint.name]]
        main = max(driven, key=lambda joint: self.depth[joint.name], default=None)
        self._sides([joint for joint in joints if joint is not main])
        if main is None:
            if any(joint.variables for joint in path):
                self.found.arms.append(tuple(path))
                self.found.bases.append(base)
        else:
            self._follow(main.child, [*path, main], base)

    def _sides(self, joints: list[Joint]) -> None:
        for joint in joints:
            chain = self._longest(joint)
            if any(j.variables for j in chain):
                self.found.others.append(tuple(chain))

    def _longest(self, joint: Joint) -> list[Joint]:
        chain = [joint]
        while following := [j for j in self.below[chain[-1].child] if self.depth[j.name]]:
            chain.append(max(following, key=lambda j: self.depth[j.name]))
        return chain

    def _is_wheel(self, joint: Joint, path: list[Joint]) -> bool:
        """Return whether a joint begins the drive of a wheel, which can be steered."""
        names = (inner.name.lower() for inner in self._all(joint))
        return not path and self.depth[joint.name] <= 2 and any(map(WHEEL_NAME.search, names))

    def _fingers(self, joints: list[Joint], path: list[Joint]) -> list[Joint]:
        """Return the joints of a part that begin fingers."""
        named = _named_fingers(joints)
        if named and all(self.depth[joint.name] <= LONGEST_NAMED_FINGER for joint in named):
            drives = {inner.mimic.joint for joint in named for inner in self._all(joint) if inner.mimic is not None}
            sizes = {self.size[joint.name] for joint in named} if len(named) >= MIN_LIKENESS else set()
            alike = [j for j in joints if self.size[j.name] in sizes and self.depth[j.name] <= LONGEST_OF_MANY]
            return [joint for joint in joints if joint in named or joint in alike or joint.name in drives]
        longest = LONGEST_FINGER if len(joints) < MANY_FINGERS else LONGEST_OF_MANY
        short = all(self.depth[joint.name] <= longest for joint in joints)
        if len(joints) < 2 or not short or any(LIMB_WORD.search(joint.name.lower()) for joint in joints):
            return []
        if not path and self.is_hand:
            return joints
        if sum(len(joint.variables) for joint in path) < MIN_BEFORE_HAND:
            return []
        sizes_in_order = sorted(self.size[joint.name] for joint in joints)
        return joints if any(first == second for first, second in pairwise(sizes_in_order)) else []

    def _all(self, joint: Joint) -> Iterator[Joint]:
        """Yield a joint and all movable joints below it."""
        yield joint
        for inner in self.below[joint.child]:
            yield from self._all(inner)


def _named_fingers(joints: list[Joint]) -> list[Joint]:
    """Return the joints that begin fingers by their names."""
    words = [joint for joint in joints if FINGER_WORD.search(joint.name.lower())]
    sure = [
        joint for joint in joints if HAND_NAME.search(joint.name.lower()) or FINGER_LINK.search(joint.child.lower())
    ]
    several = bool(sure) or len(words) > 1
    return [joint for joint in joints if joint in sure or (several and joint in words)]
