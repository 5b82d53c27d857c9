"""A cell as plain values, read from its files: links, joints, shapes, and contacts that are allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from .urdf import Joint, Link, Shape, read_robot, read_srdf, rotation

Floats = NDArray[np.float64]
WORLD = "world"
KNOWN_BODY_KEYS = frozenset(
    ("collisions", "visuals", "pose", "attached_to", "touch_links", "touch_bodies", "hidden", "mass", "density")
)


@dataclass
class Description:
    """All links of a cell below one root, "world": those of robots under their names, those of tools as "tool/link",
    bodies and named frames as links without joints of their own.

    units: by link the robot, tool or body it belongs to. kinds: by unit "robot", "tool" or "body". touching: by unit
    the names it may touch. disabled: by robot the pairs of its SRDF; a robot that has none is missing. values: of
    joints that do not mimic, where the cell's state has them. pieces: by path of a mesh and its scale the corners of
    the convex pieces that represent it.
    """

    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    touching: dict[str, frozenset[str]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    disabled: dict[str, set[frozenset[str]]] = field(default_factory=dict)
    tips: dict[str, str] = field(default_factory=dict)
    ignore_groups: dict[str, list[str]] = field(default_factory=dict)
    margins: dict[str, float] = field(default_factory=dict)
    pair_margins: list[tuple[str, str, float]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    pieces: dict[tuple[str, tuple[float, ...]], list[Floats]] = field(default_factory=dict)

    def parent_joint(self, link: str) -> Joint | None:
        """The joint that carries a link; None for the root."""
        return self._carriers.get(link)

    @property
    def _carriers(self) -> dict[str, Joint]:
        return {joint.child: joint for joint in self.joints.values()}


class _Loader(yaml.SafeLoader):
    """YAML with the tag !degrees, and numbers such as 1e-3."""


_Loader.add_constructor("!degrees", lambda loader, node: math.radians(float(loader.construct_scalar(node))))


def read_cell(path: Path) -> Description:
    """The cell of a file, in the state that the file puts it in.

    Raises:
        ValueError: the file uses a key that this reader does not support.
    """
    # The loader is a safe one with a tag more.
    data = yaml.load(path.read_text(), Loader=_Loader)
    if float(data.get("native_scale", 1.0)) != 1.0:
        raise ValueError(f"{path}: this reader takes metres alone")
    cell = Description()
    cell.links[WORLD] = Link(WORLD, ())
    for name, entry in (data.get("robots") or {}).items():
        _add_robot(cell, name, entry, path.parent)
    for name, entry in (data.get("tools") or {}).items():
        _add_tool(cell, name, entry, path.parent)
    for name, entry in (data.get("bodies") or {}).items():
        _add_body(cell, name, entry, path.parent)
    for name, entry in (data.get("frames") or {}).items():
        if not entry.get("relative_to"):  # those are for targets; nothing is attached to them here
            _add_fixed(cell, name, name, (), entry)
    settings = data.get("collision") or {}
    cell.ignore_groups = dict(settings.get("ignore_groups") or {})
    cell.margins = {name: float(value) for name, value in (settings.get("margins") or {}).items()}
    pairs = settings.get("pair_margins") or []
    cell.pair_margins = [(entry["first"], entry["second"], float(entry["margin"])) for entry in pairs]
    state = data.get("state") or {}
    if state.get("named"):
        raise ValueError(f"{path}: this reader takes no named states")
    cell.values.update({name: float(value) for name, value in (state.get("configuration") or {}).items()})
    _require_one_tree(cell)
    return cell


def _add_robot(cell: Description, name: str, entry: Mapping[str, Any], folder: Path) -> None:
    if entry.get("prefix"):
        raise ValueError(f"robot {name}: this reader takes no prefixes")
    links, joints = read_robot(entry["urdf"], folder, str(entry.get("meshes", "hull")), entry.get("xacro_arguments"))
    if entry.get("srdf"):
        disabled, tips = read_srdf(folder / entry["srdf"])
        cell.tips.update(tips)
        if disabled:
            cell.disabled[name] = disabled
    root = _add_mechanism(cell, name, "robot", "", links, joints, {})
    base = Joint(f"{name}#base", "fixed", WORLD, root, pose_matrix(entry.get("base_pose")))
    cell.joints[base.name] = base


def _add_tool(cell: Description, name: str, entry: Mapping[str, Any], folder: Path) -> None:
    if entry.get("urdf"):
        links, joints = read_robot(entry["urdf"], folder, str(entry.get("meshes", "hull")), None)
    else:
        links, joints = [Link("body", _shapes(entry, folder))], []
    values = {f"{name}/{joint}": float(value) for joint, value in (entry.get("configuration") or {}).items()}
    root = _add_mechanism(cell, name, "tool", f"{name}/", links, joints, values)
    _note_unit(cell, name, entry)
    carrier = cell.tips[entry["attached_to"]] if entry.get("attached_to") else WORLD
    cell.links[name] = Link(name, ())
    cell.units[name] = name
    cell.joints[f"{name}#at"] = Joint(f"{name}#at", "fixed", carrier, name, pose_matrix(entry.get("pose")))
    cell.joints[f"{name}#root"] = Joint(f"{name}#root", "fixed", name, root, np.eye(4))
    centre, link = f"{name}/tcp", f"{name}/{entry['tcp_link']}" if entry.get("tcp_link") else root
    cell.links[centre] = Link(centre, ())
    cell.units[centre] = name
    at = pose_matrix(entry.get("tcp"))
    cell.joints[f"{centre}#at"] = Joint(f"{centre}#at", "fixed", link, centre, at)


def _add_mechanism(
    cell: Description,
    unit: str,
    kind: str,
    prefix: str,
    links: Iterable[Link],
    joints: Iterable[Joint],
    values: Mapping[str, float],
) -> str:
    """Add links and joints of a robot or tool; the name of their root in the cell."""
    cell.kinds[unit] = kind
    # "world" is the root of everything, so that a robot's link of that name has another one.
    names = {link.name: f"{unit}_world" if link.name == WORLD and not prefix else prefix + link.name for link in links}
    for link in links:
        cell.links[names[link.name]] = Link(names[link.name], link.shapes)
        cell.units[names[link.name]] = unit
    for joint in joints:
        moved = joint.renamed(prefix + joint.name, names[joint.parent], names[joint.child], prefix)
        cell.joints[moved.name] = moved
        if not moved.mimic and moved.kind != "fixed":
            cell.values[moved.name] = values.get(moved.name, float(np.clip(0.0, moved.lower, moved.upper)))
    return names[_root(links, joints)]


def _add_body(cell: Description, name: str, entry: Mapping[str, Any], folder: Path) -> None:
    unknown = set(entry) - KNOWN_BODY_KEYS
    if unknown:
        raise ValueError(f"body {name}: this reader takes no {', '.join(sorted(unknown))}")
    cell.kinds[name] = "body"
    _note_unit(cell, name, entry)
    _add_fixed(cell, name, name, _shapes(entry, folder), entry)


def _add_fixed(cell: Description, name: str, unit: str, shapes: tuple[Shape, ...], entry: Mapping[str, Any]) -> None:
    cell.links[name] = Link(name, shapes)
    cell.units[name] = unit
    carrier = entry.get("attached_to") or WORLD
    cell.joints[f"{name}#at"] = Joint(f"{name}#at", "fixed", carrier, name, pose_matrix(entry.get("pose")))


def _note_unit(cell: Description, name: str, entry: Mapping[str, Any]) -> None:
    names = [*(entry.get("touch_links") or ()), *(entry.get("touch_bodies") or ())]
    cell.touching[name] = frozenset(names)
    if entry.get("hidden"):
        cell.hidden.add(name)


def _shapes(entry: Mapping[str, Any], folder: Path) -> tuple[Shape, ...]:
    return tuple(_shape(item, folder) for item in entry.get("collisions") or ())


def _shape(item: Mapping[str, Any], folder: Path) -> Shape:
    pose, use = pose_matrix(item.get("pose")), str(item.get("use", "hull"))
    kind = item["type"]
    if kind == "mesh":
        scale = item.get("scale", 1.0)
        factors = (float(scale),) * 3 if isinstance(scale, int | float) else tuple(float(value) for value in scale)
        return Shape("mesh", factors, pose, str((folder / item["uri"]).resolve()), use)
    if kind == "triangles":
        vertices = np.array(item["vertices"], dtype=np.float64)
        return Shape("triangles", (), pose, use=use, vertices=vertices, faces=np.array(item["faces"], dtype=np.int64))
    numbers = (
        item["size"] if kind == "box" else [item["radius"], item["length"]] if kind != "sphere" else [item["radius"]]
    )
    return Shape(kind, tuple(float(value) for value in numbers), pose)


def pose_matrix(entry: Mapping[str, Any] | None) -> Floats:
    """A pose of a cell file as a transform (4, 4)."""
    matrix = np.eye(4)
    if not entry:
        return matrix
    matrix[:3, 3] = [float(value) for value in entry.get("position", (0.0, 0.0, 0.0))]
    if entry.get("quaternion"):
        x, y, z, w = np.array(entry["quaternion"], dtype=np.float64) / np.linalg.norm(entry["quaternion"])
        skew = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
        matrix[:3, :3] = np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew
    elif entry.get("rpy"):
        matrix[:3, :3] = rotation([float(value) for value in entry["rpy"]])
    return matrix


def _root(links: Iterable[Link], joints: Iterable[Joint]) -> str:
    children = {joint.child for joint in joints}
    (root,) = [link.name for link in links if link.name not in children]
    return root


def _require_one_tree(cell: Description) -> None:
    children = [joint.child for joint in cell.joints.values()]
    loose = set(cell.links) - set(children) - {WORLD}
    if loose or len(set(children)) != len(children):
        raise ValueError(f"the links are no tree below the world: {sorted(loose)}")
