"""Names of drafted groups: from sides, parts and common beginnings in the names of joints and links."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.mechanism import Joint, Mechanism

SIDES = ("left", "right", "front", "rear", "back")
SHORT_SIDES = {"left": {"l", "larm"}, "right": {"r", "rarm"}}  # words of names
# Words in the names of joints and links of the parts of a robot.
PARTS = {
    "leg": ("leg", "hip", "thigh", "knee", "calf", "shank", "ankle", "foot"),
    "head": ("head",), "torso": ("torso", "waist"), "neck": ("neck",), "lift": ("lift",), "arm": ("arm",),
}  # fmt: skip
MIN_APART = 0.01  # [m] bases that are closer have no side


def name_of(joints: Sequence[Joint], kind: str) -> str:
    """Return a name from the side, the part or the common beginning in the names of joints and links."""
    texts = _names_of(joints)
    part = part_of(joints) or kind
    sides = [side for side in SIDES if sum(side in text for text in texts) * 2 >= len(joints)]
    if not sides:
        words = [set(re.split(r"[\W_]+", text)) for text in texts]
        sides = [side for side, marks in SHORT_SIDES.items() if all(marks & found for found in words)]
    if sides:
        return "_".join((sides[0], part))
    common = _common_beginning(texts).rstrip("_-0123456789")
    if part in PARTS:
        return part if any(word in common for word in PARTS[part]) else _with_part(common, part)
    return f"{common or joints[0].child}_{kind}"


def part_of(joints: Sequence[Joint]) -> str:
    """Return the part of a robot that a chain of joints is by its names, "" for none."""
    texts = _names_of(joints)
    for part, words in PARTS.items():
        if sum(any(word in text for word in words) for text in texts) * 2 >= len(joints):
            return part
    return ""


def names_of_arms(mechanism: Mechanism, arms: Sequence[Sequence[Joint]]) -> list[str]:
    """Return a name for each of several arms or legs.

    Arms for which `name_of` gives the same name are distinguished by a number that begins all of their names, as in
    `panda_1_joint1`; two by an l and r in their names, such as `link_6l` and `link_6r`, or by the positions of their
    bases, left in the direction of y from right (REP 103). What remains equal is numbered by the caller.
    """
    names = [name_of(joints, "arm") for joints in arms]
    result = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        same = [index for index, found in enumerate(names) if found == name]
        chosen = _distinguished(mechanism, [arms[index] for index in same])
        if chosen and not set(chosen) & set(names):
            for index, better in zip(same, chosen, strict=True):
                result[index] = better
    return result


def _distinguished(mechanism: Mechanism, arms: Sequence[Sequence[Joint]]) -> list[str]:
    """Return different names of arms whose names are equal; none if nothing distinguishes them."""
    numbered = [_numbered_beginning(joints) for joints in arms]
    if all(numbered) and len(set(numbered)) == len(arms):
        return [_with_part(text, part_of(joints) or "arm") for text, joints in zip(numbered, arms, strict=True)]
    if len(arms) != 2:
        return []
    sides = _sides_by_letter(*arms) or _sides_by_position(mechanism, *arms)
    return [f"{side}_{part_of(joints) or 'arm'}" for side, joints in zip(sides, arms, strict=False)]


def _with_part(text: str, part: str) -> str:
    """Return a name with the part, unless it has that already."""
    if part in text:
        return text
    return f"{text}_{part}" if text else part


def _numbered_beginning(joints: Sequence[Joint]) -> str:
    """Return the words that all names begin with, if the last of them is a number or ends with one."""
    text = _common_beginning(_names_of(joints))
    found = re.match(r"(.*[^\W\d_][\W_]*\d+)[\W_]", text)
    return re.sub(r"\W", "_", found.group(1)) if found else ""


def _sides_by_letter(first: Sequence[Joint], second: Sequence[Joint]) -> tuple[str, ...]:
    """Return left and right in the order of two arms whose names differ by an l and an r only."""
    pairs = list(zip(_names_of(first), _names_of(second), strict=False))
    if len(first) != len(second) or any(len(one) != len(other) for one, other in pairs):
        return ()
    changed = {"".join(x + y for x, y in zip(one, other, strict=True) if x != y) for one, other in pairs}
    if changed == {"lr"}:
        return ("left", "right")
    return ("right", "left") if changed == {"rl"} else ()


def _sides_by_position(mechanism: Mechanism, first: Sequence[Joint], second: Sequence[Joint]) -> tuple[str, ...]:
    """Return left and right in the order of two arms whose bases are beside each other."""
    x, y, _ = _base(mechanism, first[0]) - _base(mechanism, second[0])
    if abs(y) < max(MIN_APART, abs(x)):
        return ()
    return ("left", "right") if y > 0.0 else ("right", "left")


def _base(mechanism: Mechanism, joint: Joint) -> NDArray[np.float64]:
    """Return the position (3,) of a joint in the root frame, with all joints at zero [m]."""
    parents, found = mechanism.parent_joints, joint.origin.matrix
    while joint.parent in parents:
        joint = parents[joint.parent]
        found = joint.origin.matrix @ found
    return np.asarray(found[:3, 3])


def _names_of(joints: Sequence[Joint]) -> list[str]:
    """Return the names of joints and of the links that they move, in lower case."""
    return [text.lower() for joint in joints for text in (joint.name, joint.child)]


def _common_beginning(texts: Sequence[str]) -> str:
    """Return the longest text that all texts begin with."""
    first, last = min(texts), max(texts)
    count = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:count]
