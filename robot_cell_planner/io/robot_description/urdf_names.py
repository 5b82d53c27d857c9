"""Names in a URDF: of the robot, of its links in the cell, and of the joints that others mimic."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.name_suggestions import unknown_name
from ...model.value import WORLD
from ..common.xml_reader import Element, XmlReader

UNNAMED = "robot"  # name of a robot without one


def robot_name(xml: XmlReader, robot: Element) -> str:
    """Return the name of a robot; `UNNAMED` for one without, which is noted.

    Raises:
        FileError: There is none, and the reader is strict.
    """
    name = xml.attribute(robot, "name", "")
    if not name:
        xml.defects.note(xml.error(robot, "has no attribute 'name'"), f"the robot is named {UNNAMED}")
    return name or UNNAMED


def link_name(name: str, prefix: str, robot: str) -> str:
    """Return the name in the cell of a link named `name` in the description of `robot`."""
    return f"{robot}_{WORLD}" if prefix + name == WORLD else prefix + name


def mimicked_joint(xml: XmlReader, joint: Element, mimic: Element, joints: Iterable[str]) -> str | None:
    """Return the name of the joint that a joint mimics; None if no joint has it, which is noted.

    Args:
        mimic: The element of the joint that names it.
        joints: Names of all joints, without prefix.

    Raises:
        FileError: No joint has it, and the reader is strict.
    """
    name, mimicked = xml.attribute(joint, "name"), xml.attribute(mimic, "joint")
    if mimicked in joints:
        return mimicked
    error = xml.error(mimic, f"of {name}: {unknown_name(f'joint {mimicked!r}', mimicked, joints)}", name)
    xml.defects.note(error, f"{name} follows no joint, its position is independent")
    return None
