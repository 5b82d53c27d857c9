"""Parts of robots and tools that compas_fab's types do not have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ...model.mechanism import Joint, JointKind, Mechanism
from ...model.name_suggestions import listed
from ...model.robot import Robot

TAG = re.compile(r"<([A-Za-z_][\w.\-]*)")
RATES = ("acceleration", "jerk")


def exported_kind(joint: Joint) -> JointKind:
    """Return the type of a joint in compas_fab, where continuous joints have no limits."""
    bounded = math.isfinite(joint.limits.lower) and math.isfinite(joint.limits.upper)
    return JointKind.REVOLUTE if joint.kind is JointKind.CONTINUOUS and bounded else joint.kind


def passive_joints(robot: Robot) -> tuple[str, ...]:
    """Return the joints that move a link of a group, and are a variable of none."""
    links = {link for group in robot.groups.values() for link in group.links}
    variables = {name for group in robot.groups.values() for name in group.variables}
    return tuple(
        joint.name
        for joint in robot.mechanism.tree_order
        if joint.child in links and joint.variables and variables.isdisjoint(joint.variables)
    )


def mechanism_losses(mechanism: Mechanism, owner: str) -> Iterator[str]:
    """Yield what is lost of a mechanism, one line each. owner: name of its robot or tool."""
    joints = [joint for joint in mechanism.joints.values() if joint.kind is not JointKind.FIXED]
    assumed = [joint.name for joint in joints if "velocity" in joint.limits.defaulted]
    if assumed:
        yield f"assumed velocity limits of {owner}, which are 0 (unknown) in compas_fab: {listed(assumed)}"
    for rate in RATES:
        given = [joint.name for joint in joints if getattr(joint.limits, rate) and rate not in joint.limits.defaulted]
        if given:
            yield f"{rate} limits of {owner}: {listed(given)}"
    one_sided = [
        f"{joint.name} {joint.limits.lower:g} to {joint.limits.upper:g}"
        for joint in joints
        if math.isfinite(joint.limits.lower) != math.isfinite(joint.limits.upper)
    ]
    if one_sided:
        yield f"position limits with one bound of {owner}: {listed(one_sided)}"
    texts = [
        *mechanism.blocks,
        *(text for link in mechanism.links.values() for text in link.blocks),
        *(text for joint in mechanism.joints.values() for text in joint.extras.blocks),
    ]
    tags = sorted({found[1] for text in texts if (found := TAG.search(text))})
    if tags:
        yield f"elements of the description of {owner}: {listed(tags)}"


def group_losses(robot: Robot) -> Iterator[str]:
    """Yield the groups that have other variables in compas_fab."""
    passive = set(passive_joints(robot))
    for name, group in robot.groups.items():
        if not group.tip_link:
            continue
        chain = robot.mechanism.chain(group.base_link, group.tip_link)
        added = [
            joint.name
            for joint in chain
            if joint.name not in passive and not set(joint.variables).issubset(group.variables)
        ]
        if added:
            yield f"group {name} is without {listed(added)}, which it has in compas_fab"


def reason_losses(robot: Robot) -> Iterator[str]:
    """Yield the reasons of disabled pairs, each with its pairs."""
    pairs: dict[str, list[str]] = {}
    for pair in robot.disabled_pairs:
        if pair.reason:
            pairs.setdefault(pair.reason, []).append(f"{pair.first} - {pair.second}")
    for reason, found in pairs.items():
        yield f"reason {reason[:100]!r} of disabled pairs, which have none in compas_fab: {listed(found)}"
