"""Errors about joint names that have no value: misspelt ones, and those of joints that cannot be given here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from ..errors import UnknownNameError
from .bodies import Tool
from .mechanism import COMPOUND_SUFFIXES, Joint, JointKind, Mechanism, Variable
from .name_suggestions import listed, unknown_name
from .robot import Robot

GROUP_REMEDY = "Give joints of the planning group, or name a group that has this joint."
TOOL_REMEDY = "Leave the joint out: planning groups have joints of robots; grippers have motions of their own."
VALUE_REMEDY = "Give the values that the message names."
FIXED_REMEDY = "Leave the joint out, or make it movable in the description."


class Models(Protocol):
    """The parts of a `RobotCell` that have joints."""

    @property
    def robots(self) -> Mapping[str, Robot]: ...

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    @property
    def variables(self) -> Mapping[str, Variable]: ...


def unknown_joint(cell: Models, name: str, known: Collection[str], what: str = "", stage: str = "") -> UnknownNameError:
    """Return the error about a name that is none of `known`. It says what the cell has by this name, if anything.

    what: What the joint is named in, such as " of joint goal 0".
    """
    text = f"joint {name!r}{what}"
    for prefix, mechanism in _mechanisms(cell):
        joint = mechanism.joints.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        reason, remedy = _without_value(mechanism, joint, prefix) if joint else ("", "")
        if joint and prefix and not reason:
            reason, remedy = f"is of tool {prefix[:-1]}; known are {listed(known)}", TOOL_REMEDY
        if reason:
            return UnknownNameError(f"{text} {reason}", stage=stage, subjects=(name,), remedy=remedy)
    if name in cell.variables:
        groups = [group for robot in cell.robots.values() for group, g in robot.groups.items() if name in g.variables]
        own = f"; groups with it: {listed(groups)}" if groups else ", nor of any other group"
        text = f"{text} is not of the planning group, whose joints are {listed(known)}{own}"
        return UnknownNameError(text, stage=stage, subjects=(name,), remedy=GROUP_REMEDY)
    return UnknownNameError(unknown_name(text, name, known), stage=stage, subjects=(name,))


def _mechanisms(cell: Models) -> list[tuple[str, Mechanism]]:
    """Return the mechanisms of robots and tools, with the prefix of their joint names."""
    robots = [("", robot.mechanism) for robot in cell.robots.values()]
    return robots + [(f"{name}/", tool.mechanism) for name, tool in cell.tools.items()]


def _without_value(mechanism: Mechanism, joint: Joint, prefix: str) -> tuple[str, str]:
    """Return why a joint has no value of its own, and what to do; "" if it has one."""
    if joint.mimic is not None:
        source = f"{prefix}{mechanism.mimic_source(joint.name)[0]}"
        return (
            f"follows joint {source} (mimic) and has no value of its own; the value to give is {source}",
            VALUE_REMEDY,
        )
    if joint.kind is JointKind.FIXED:
        return "is fixed and has no value", FIXED_REMEDY
    if joint.kind in COMPOUND_SUFFIXES:
        names = ", ".join(f"{prefix}{variable}" for variable in joint.variables)
        return f"is {joint.kind.value}; its values are {names}", VALUE_REMEDY
    return "", ""
