"""Parts of SDFormat documents: files, collected contents, versions and poses."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from ...errors import NotSupportedError
from ...model.pose import IDENTITY, Pose
from ..common.xml_reader import Element, XmlReader, tag
from .frames import Reference, Scope, SdfFrames

STAGE = "read sdf"
VERSIONS = tuple(f"1.{minor}" for minor in range(3, 13))
# Names that are reserved since this version.
RESERVED_SINCE = VERSIONS.index("1.7")
# Elements that describe neither objects nor their places.
HARMLESS = frozenset(
    (
        "atmosphere",
        "audio",
        "battery",
        "gripper",
        "gui",
        "light",
        "magnetic_field",
        "physics",
        "plugin",
        "scene",
        "sensor",
        "spherical_coordinates",
        "wind",
    )
)


@dataclass(frozen=True)
class SdfFile:
    """Document. `folder`: base folder of relative URIs; `version`: index in VERSIONS."""

    xml: XmlReader
    folder: str
    version: int = len(VERSIONS) - 1


@dataclass(frozen=True)
class SdfLink:
    """Link; `scope`: scope in which names inside the link are resolved."""

    element: Element
    file: SdfFile
    scope: Scope


@dataclass(frozen=True)
class SdfJoint:
    """Parent and child of a joint."""

    kind: str
    parent: Reference
    child: Reference


@dataclass
class SdfContents:
    """Collected contents of all files. `groups`: links of each model of the world, which may touch each other."""

    frames: SdfFrames = field(default_factory=SdfFrames)
    links: dict[str, SdfLink] = field(default_factory=dict)
    joints: dict[str, SdfJoint] = field(default_factory=dict)
    groups: list[list[str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    includes: int = 0

    def left_out_lines(self) -> tuple[str, ...]:
        """Return one line for each kind of parts that are left out."""
        return tuple(f"{count} x {kind}" for kind, count in sorted(self.left_out.items()))

    def warnings(self) -> tuple[str, ...]:
        """Return the lines about parts that a cell or robot may need: all but those of `HARMLESS` kinds."""
        return tuple(f"{count} x {kind}" for kind, count in sorted(self.left_out.items()) if kind not in HARMLESS)


def read_root(xml: XmlReader, folder: str, text: str) -> tuple[Element, SdfFile]:
    """Return the root element of a document.

    Raises:
        FileError: The document is malformed, has no <sdf>, or has an unsupported version.
    """
    root = xml.parse(text)
    if tag(root) != "sdf":
        raise xml.error(root, "is the root element, expected <sdf>")
    version = xml.attribute(root, "version")
    if version not in VERSIONS:
        raise xml.error(root, f"has version {version!r}, expected {VERSIONS[0]} to {VERSIONS[-1]}")
    return root, SdfFile(xml, folder, VERSIONS.index(version))


def not_supported(file: SdfFile, element: Element, text: str) -> NotSupportedError:
    """Return an error at the line of an element."""
    error = file.xml.error(element, text)
    return NotSupportedError(error.message, stage=error.stage, subjects=error.subjects)


def read_pose(file: SdfFile, parent: Element) -> tuple[Pose, str]:
    """Return the <pose> of an element and the frame that it refers to; identity and "" without one."""
    element = file.xml.child(parent, "pose")
    if element is None:
        return IDENTITY, ""
    # SDFormat 1.5 and 1.6 use the attribute `frame`, which was renamed in 1.7.
    relative_to = file.xml.attribute(element, "relative_to", element.get("frame", ""))
    if not (element.text or "").split():
        return IDENTITY, relative_to
    rotation = file.xml.attribute(element, "rotation_format", "euler_rpy")
    degrees = file.xml.attribute(element, "degrees", "false") in ("true", "1")
    try:
        if rotation == "quat_xyzw":
            x, y, z, qx, qy, qz, qw = file.xml.text_numbers(element, 7)
            return Pose((x, y, z), (qx, qy, qz, qw)), relative_to
        if rotation != "euler_rpy":
            raise file.xml.error(element, f"has rotation_format {rotation!r}, expected euler_rpy or quat_xyzw")
        x, y, z, *rpy = file.xml.text_numbers(element, 6)
        return Pose.from_rpy((x, y, z), [math.radians(angle) for angle in rpy] if degrees else rpy), relative_to
    except ValueError as error:
        raise file.xml.error(element, f"is refused: {error}") from error
