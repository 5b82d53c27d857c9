"""The parts of URDF, xacro and SRDF that an audit needs, read with Python's own XML parser."""

from __future__ import annotations

import math
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SITE = Path(sysconfig.get_paths()["purelib"])
SHARES = (SITE / "cmeel.prefix" / "share", SITE)  # folders that hold packages by name


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape of a link. kind: box, sphere, cylinder, capsule, cone, mesh or triangles. numbers: sizes [m], or the
    scale of a mesh. pose (4, 4): in the link. use: of a mesh (hull, exact, decomposition)."""

    kind: str
    numbers: tuple[float, ...]
    pose: Floats
    path: str = ""
    use: str = "hull"
    vertices: Floats | None = None
    faces: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Link:
    name: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, eq=False)
class Joint:
    """origin (4, 4): in the parent link. mimic: the joint that it follows, multiplier and offset; empty: none."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Floats
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    lower: float = -math.inf
    upper: float = math.inf
    mimic: tuple[str, float, float] | tuple[()] = ()

    def renamed(self, name: str, parent: str, child: str, prefix: str) -> Joint:
        """The joint under other names; the one that it mimics gets the prefix too."""
        mimic = (prefix + self.mimic[0], *self.mimic[1:]) if self.mimic else ()
        return replace(self, name=name, parent=parent, child=child, mimic=mimic)


def read_robot(uri: str, folder: Path, use: str, arguments: Mapping[str, Any] | None) -> tuple[list[Link], list[Joint]]:
    """Links and joints of a URDF or xacro file, in its order; meshes count as `use` says.

    Raises:
        ValueError: a joint has several degrees of freedom.
    """
    path = located(uri, folder)
    if path.suffix == ".xacro":
        import xacro  # read where it is needed: nothing else here does

        given = {name: str(value) for name, value in (arguments or {}).items()}
        text = xacro.process_file(str(path), mappings=given).toxml()
    else:
        text = path.read_text()
    root = ElementTree.fromstring(text)
    links = [
        Link(str(element.get("name")), tuple(_shape(item, path.parent, use) for item in element.findall("collision")))
        for element in root.findall("link")
    ]
    return links, [_joint(element) for element in root.findall("joint")]


def read_srdf(path: Path) -> tuple[set[frozenset[str]], dict[str, str]]:
    """Pairs of links that need no check, and the tip links of groups that are chains."""
    root = ElementTree.parse(path).getroot()
    pairs = {frozenset((str(item.get("link1")), str(item.get("link2")))) for item in root.findall("disable_collisions")}
    tips = {}
    for group in root.findall("group"):
        chain = group.find("chain")
        if chain is not None:
            tips[str(group.get("name"))] = str(chain.get("tip_link"))
    return pairs, tips


def located(uri: str, folder: Path) -> Path:
    """The file of a URI or of a path that starts in a folder.

    Raises:
        ValueError: there is none.
    """
    if uri.startswith(("package://", "model://")):
        package, _, rest = uri.partition("://")[2].partition("/")
        found = [share / package / rest for share in SHARES]
        found += [parent / rest for parent in (folder, *folder.parents) if parent.name == package]
        found += [parent / package / rest for parent in (folder, *folder.parents)]
        for path in found:
            if path.exists():
                return path.resolve()
        raise ValueError(f"{uri} was not found from {folder}")
    path = Path(uri.removeprefix("file://"))
    return (path if path.is_absolute() else folder / path).resolve()


def rotation(rpy: Sequence[float]) -> Floats:
    """Rotation (3, 3) of roll, pitch and yaw about fixed axes."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    about_x = np.array(((1.0, 0.0, 0.0), (0.0, cr, -sr), (0.0, sr, cr)))
    about_y = np.array(((cp, 0.0, sp), (0.0, 1.0, 0.0), (-sp, 0.0, cp)))
    about_z = np.array(((cy, -sy, 0.0), (sy, cy, 0.0), (0.0, 0.0, 1.0)))
    return about_z @ about_y @ about_x


def _numbers(text: str | None, default: Sequence[float]) -> list[float]:
    return [float(value) for value in text.split()] if text else list(default)


def _origin(element: ElementTree.Element) -> Floats:
    matrix, origin = np.eye(4), element.find("origin")
    if origin is not None:
        matrix[:3, 3] = _numbers(origin.get("xyz"), (0.0, 0.0, 0.0))
        matrix[:3, :3] = rotation(_numbers(origin.get("rpy"), (0.0, 0.0, 0.0)))
    return matrix


def _shape(element: ElementTree.Element, folder: Path, use: str) -> Shape:
    pose, (item,) = _origin(element), list(element.find("geometry") or ())
    if item.tag == "mesh":
        scale = tuple(_numbers(item.get("scale"), (1.0, 1.0, 1.0)))
        return Shape("mesh", scale, pose, str(located(str(item.get("filename")), folder)), use)
    if item.tag == "box":
        return Shape("box", tuple(_numbers(item.get("size"), ())), pose)
    names = ("radius",) if item.tag == "sphere" else ("radius", "length")
    return Shape(item.tag, tuple(float(str(item.get(name))) for name in names), pose)


def _joint(element: ElementTree.Element) -> Joint:
    name, kind = str(element.get("name")), str(element.get("type"))
    if kind not in ("fixed", "revolute", "continuous", "prismatic"):
        raise ValueError(f"joint {name} is {kind}: this reader takes joints of one degree of freedom")
    ends = {role: str(found.get("link")) for role in ("parent", "child") if (found := element.find(role)) is not None}
    axis, limit, mimic = element.find("axis"), element.find("limit"), element.find("mimic")
    lower, upper = -math.inf, math.inf
    if kind in ("revolute", "prismatic") and limit is not None:
        lower, upper = float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
    x, y, z = _numbers(None if axis is None else axis.get("xyz"), (1.0, 0.0, 0.0))
    follows: tuple[str, float, float] | tuple[()] = ()
    if mimic is not None and kind != "fixed":
        follows = (str(mimic.get("joint")), float(mimic.get("multiplier", 1.0)), float(mimic.get("offset", 0.0)))
    return Joint(name, kind, ends["parent"], ends["child"], _origin(element), (x, y, z), lower, upper, follows)
