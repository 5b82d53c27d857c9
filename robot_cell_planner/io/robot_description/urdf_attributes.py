"""Attributes of URDF: the version of the document, and attributes that are not part of the format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from frozendict import frozendict

from ..common.xml_reader import Element, XmlReader

VERSION = re.compile(r"(\d{1,3})(?:\.(\d{1,3}))?")
FIRST, LAST = (1, 0), (1, 2)
QUATERNION_SINCE = (1, 1)
# Attributes of the elements that are interpreted, by the element that holds them.
SHAPES: Mapping[str, frozenset[str]] = frozendict(
    box=frozenset(("size",)),
    sphere=frozenset(("radius",)),
    cylinder=frozenset(("radius", "length")),
    capsule=frozenset(("radius", "length")),
    mesh=frozenset(("filename", "scale")),
)
ORIGIN = frozenset(("xyz", "rpy", "quat_xyzw"))
OF_JOINTS: Mapping[str, frozenset[str]] = frozendict(
    origin=ORIGIN,
    axis=frozenset(("xyz",)),
    limit=frozenset(("lower", "upper", "velocity", "effort", "acceleration", "deceleration", "jerk")),
    mimic=frozenset(("joint", "multiplier", "offset")),
)


def check_attributes(xml: XmlReader, robot: Element) -> None:
    """Check the version of a URDF, and note attributes of interpreted elements that the reader does not know.

    Attributes with a namespace are extensions, and are left alone.

    Raises:
        FileError: The version is not 1.0 to 1.2, or an origin has a quaternion before version 1.1.
    """
    version = _version(xml, robot)
    for element, known in _interpreted(robot):
        if version < QUATERNION_SINCE and known is ORIGIN and element.get("quat_xyzw") is not None:
            text = 'has quat_xyzw, which URDF has since version 1.1; write rpy, or version="1.1" in <robot>'
            raise xml.error(element, text)
        unknown = [name for name in map(str, element.attrib) if name not in known and not name.startswith("{")]
        if unknown:
            text = f"has the unknown attribute {unknown[0]!r}, expected {', '.join(sorted(known))}"
            xml.defects.note(xml.error(element, text), "the attribute has no effect")


def _version(xml: XmlReader, robot: Element) -> tuple[int, int]:
    text = xml.attribute(robot, "version", "1.0")
    found = VERSION.fullmatch(text)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if not FIRST <= version <= LAST:
        raise xml.error(robot, f"has version {text[:20]!r}, expected 1.0, 1.1 or 1.2")
    return version


def _interpreted(robot: Element) -> Iterator[tuple[Element, frozenset[str]]]:
    """Yield the elements of links and joints whose attributes are read, with those that are known."""
    for joint in robot.iterchildren("joint"):
        for name, known in OF_JOINTS.items():
            if name != "mimic" or joint.get("type") != "fixed":
                yield from ((element, known) for element in joint.iterchildren(name))
    for link in robot.iterchildren("link"):
        for part in link.iterchildren("inertial", "visual", "collision"):
            yield from ((element, ORIGIN) for element in part.iterchildren("origin"))
            for geometry in part.iterchildren("geometry"):
                yield from ((shape, SHAPES[str(shape.tag)]) for shape in geometry.iterchildren(*SHAPES))
