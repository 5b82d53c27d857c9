"""Texts of a draft: SRDF and limits file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import quoteattr

from ..io.robot_description.limits import with_default_limits
from ..model.mechanism import JointKind, Mechanism
from ..model.robot import Robot
from ..model.value import WORLD
from .groups import DraftedGroup

LIMITS_NOTE = """\
# Limits in rad or m, per s, s2 and s3. Those listed as assumed are in no file of the maker: enter the maker's values,
# and take their names from the list. Plans warn of limits that are assumed."""


def srdf_text(robot: Robot, groups: Sequence[DraftedGroup], passive: Iterable[str], note: str) -> str:
    """Return an SRDF with groups, their named states, end effectors, passive joints and disabled pairs.

    Args:
        robot: Robot with the groups, states and pairs.
        groups: What its groups consist of, in the order of the file.
        passive: Joints in no group.
        note: Comment at the beginning.
    """
    mechanism = robot.mechanism

    def named(role: str, link: str) -> str:
        """Return an attribute with the name of the link in the original description."""
        return f"{role}={quoteattr(WORLD if link == f'{mechanism.name}_{WORLD}' else link)}"

    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _comment(note), f"<robot name={quoteattr(mechanism.name)}>"]
    for found in groups:
        group = found.group
        lines += [f"  {_comment(found.reason)}", f"  <group name={quoteattr(group.name)}>"]
        if found.subgroups:
            lines += [f"    <group name={quoteattr(name)}/>" for name in found.subgroups]
        elif group.tip_link:
            lines.append(f"    <chain {named('base_link', group.base_link)} {named('tip_link', group.tip_link)}/>")
        else:
            lines += [f"    <link {named('name', link)}/>" for link in group.links]
        lines.append("  </group>")
    for key, values in robot.named_states.items():
        name, _, state = key.rpartition("/")
        lines.append(f"  <group_state name={quoteattr(state)} group={quoteattr(name)}>")
        for joint, value in values.items():
            lines.append(f"    <joint name={quoteattr(joint)} value={quoteattr(repr(value))}/>")
        lines.append("  </group_state>")
    for found in groups:
        if found.hand is not None and found.hand.joints:
            mount = named("parent_link", found.hand.joints[0].parent)
            owner = f" parent_group={quoteattr(found.arm)}" if found.arm else ""
            name = quoteattr(found.group.name)
            lines.append(f"  <end_effector name={name} {mount} group={name}{owner}/>")
    lines += [f"  <passive_joint name={quoteattr(joint)}/>" for joint in passive]
    for pair in robot.disabled_pairs:
        ends = f"{named('link1', pair.first)} {named('link2', pair.second)}"
        lines.append(f"  <disable_collisions {ends} reason={quoteattr(pair.reason)}/>")
    return "\n".join([*lines, "</robot>", ""])


def _comment(text: str) -> str:
    return f"<!-- {text.replace('--', '- -')} -->"


def limits_text(mechanism: Mechanism) -> str:
    """Return a limits file with the limits of all movable joints; limits that no file gave are listed as assumed."""
    lines = [LIMITS_NOTE, "joint_limits:"]
    for joint in with_default_limits(mechanism).joints.values():
        if joint.kind is JointKind.FIXED or joint.mimic is not None:
            continue
        lines.append(f"  {_key(joint.name)}:")
        for name in ("velocity", "acceleration", "jerk"):
            value = getattr(joint.limits, name)
            number = f"{value:.6g}" if name in joint.limits.defaulted else repr(value)
            lines += [f"    has_{name}_limits: true", f"    max_{name}: {number}"]
        if joint.limits.defaulted:
            lines.append(f"    assumed: [{', '.join(joint.limits.defaulted)}]")
    if len(lines) == 2:
        lines[-1] = "joint_limits: {}"
    return "\n".join([*lines, ""])


def _key(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
