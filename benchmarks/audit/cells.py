"""Cells of an audit, as files that both sides read: a robot among obstacles of all kinds, with tools and held bodies.

The library drafts the pairs of links that are always in contact; all others are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import yaml

from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.setup_assistant.draft import draft_robot
from robot_cell_planner.setup_assistant.options import DraftOptions

from .robots import ARM, DEMO_CELLS, ROBOTIQ, SOURCES, Source, written
from .urdf import SITE

ROOT = Path(__file__).resolve().parents[2]
GROUP = "manipulator"
OBSTACLES = 9
HELD = ("box", "cone", "hull", "capsule", "exact", "cylinder", "decomposition", "sphere")
DRAFTED = 1_000  # random configurations that show which links always touch
# The body between fingers that can close on it, by robot: size and place [m].
GRIPPED = {
    "demo": ((0.03, 0.04, 0.03), (0.0, 0.0, 0.165)),
    "panda": ((0.02, 0.03, 0.02), (0.0, 0.0, 0.105)),
    "pincer": ((0.03, 0.03, 0.03), (0.0, 0.015, 0.07)),
}
# Uses of a robot's own meshes, by robot and variant; a hull elsewhere.
USES = {("ur5", 1): "decomposition", ("ur3", 1): "exact", ("panda", 3): "exact"}


@dataclass(frozen=True)
class CellFile:
    """A cell that was written: its file, the group to plan for, and folders that it may read."""

    name: str
    path: Path
    group: str
    others: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def roots(self) -> ResourceRoots:
        return ResourceRoots(folders=self.folders)


def write_cell(robot: str, variant: int, seed: int, folder: Path, robot_folder: Path | None = None) -> CellFile:
    """Write the files of one cell. variant: which tool, held body, margins and use of meshes it has."""
    place = folder / f"{robot}_{variant}"
    place.mkdir(parents=True, exist_ok=True)
    folders = (str(ROOT), str(SITE), str(place), *(() if robot_folder is None else (str(robot_folder),)))
    if robot in DEMO_CELLS:
        data, others = _demo_cell(robot, variant), ()
    else:
        data, others = _random_cell(robot, variant, seed, place, robot_folder, folders)
    path = place / "cell.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return CellFile(f"{robot}_{variant}", path, GROUP, others, folders)


def _demo_cell(name: str, variant: int) -> dict[str, Any]:
    """The demonstration's cell; in every second variant the gripper holds the workpiece."""
    source = ROOT / "config" / name.removesuffix("_cell") / "cell.yaml"
    data: dict[str, Any] = yaml.safe_load(source.read_text())
    for entry in (*data["robots"].values(), *data["tools"].values()):
        for key in ("urdf", "srdf", "limits"):
            if key in entry and "://" not in entry[key]:
                entry[key] = str((source.parent / entry[key]).resolve())
    data["frames"] = {}
    if variant % 2:
        wide = data["bodies"]["workpiece"]["collisions"][0]["size"][1]
        data["tools"]["gripper"]["configuration"]["finger_joint"] = 0.5 * wide
        data["bodies"]["workpiece"].update(
            attached_to="gripper", pose={"position": [0.0, 0.0, 0.165]}, touch_bodies=["gripper"]
        )
    return data


def _random_cell(
    robot: str, variant: int, seed: int, place: Path, robot_folder: Path | None, folders: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    source = _source(robot, robot_folder)
    uri = source.uri
    if robot in ("rail", "pincer", "slides"):
        (place / uri).write_text(written(robot))
        uri = str(place / uri)
    rng = np.random.default_rng([seed, variant, sum(robot.encode())])
    srdf, near, values = _semantics(robot, uri, source, ResourceRoots(folders=folders))
    (place / "robot.srdf").write_text(srdf)
    entry = {"urdf": uri, "srdf": "robot.srdf", "meshes": USES.get((robot, variant % 4), "hull")}
    data: dict[str, Any] = {
        "format": "robot_cell/1",
        "name": f"{robot}_{variant}",
        "robots": {robot: entry},
        "tools": {},
        "bodies": _obstacles(source, variant, rng, place),
        "collision": {},
        "state": {"configuration": values},
    }
    if _has_tool(robot, variant):
        shape = {"type": "cylinder", "radius": 0.03, "length": 0.12, "pose": {"position": [0.0, 0.0, 0.08]}}
        tool = {"collisions": [shape], "attached_to": GROUP, "touch_links": near}
        data["tools"]["spindle"] = {**tool, "tcp": {"position": [0.0, 0.0, 0.14]}}
    if variant % 4 in (2, 3):
        data["bodies"]["held"] = _held(robot, variant, source, near, rng, place)
    if variant % 4 == 3:
        data["collision"]["margins"] = {"held": 0.005, "obstacle0": 0.01, robot: 0.002}
        data["collision"]["pair_margins"] = [{"first": "obstacle1", "second": robot, "margin": 0.02}]
    return data, source.others


def _has_tool(robot: str, variant: int) -> bool:
    return variant % 4 in (1, 2) and robot != "pincer"  # there is no room for a body between its fingers


def _held(
    robot: str, variant: int, source: Source, near: list[str], rng: np.random.Generator, place: Path
) -> dict[str, Any]:
    """A body that the tool or the tip carries."""
    at_tool = _has_tool(robot, variant)
    if not at_tool and robot in GRIPPED:
        size, at = GRIPPED[robot]
        shape = {"type": "box", "size": list(size)}
        return {"collisions": [shape], "attached_to": source.tip, "pose": {"position": list(at)}, "touch_links": near}
    shape = _shape(HELD[(variant // 4 + 2 * (variant % 4) + len(robot)) % len(HELD)], rng, place)
    height = 0.3 if robot == ARM else 0.22 if at_tool else 0.2
    return {
        "collisions": [shape],
        "attached_to": "spindle" if at_tool else source.tip,
        "pose": {"position": [0.0, 0.0, height], "rpy": rng.uniform(-3.0, 3.0, 3).tolist()},
        "touch_links": near,
        "touch_bodies": ["spindle"] if at_tool else [],
    }


def _source(robot: str, robot_folder: Path | None) -> Source:
    if robot == ARM:
        uri = str(ROOT / "urdf" / "arm_with_gripper.urdf.xacro")
        return Source(uri, "base_link", "tool0", ("finger_joint",))
    if robot == ROBOTIQ:
        assert robot_folder is not None
        return Source(str(robot_folder / "ur5.urdf"), "base_link", "ee_link")
    return SOURCES[robot]


def _semantics(robot: str, uri: str, source: Source, roots: ResourceRoots) -> tuple[str, list[str], dict[str, float]]:
    """An SRDF text, the links at the tip, and values of joints, halfway between their limits."""
    found = load_robot(robot, uri, roots=roots)
    chain = found.mechanism.chain(source.base, source.tip)
    pairs = [p for p in draft_robot(found, DraftOptions(samples=DRAFTED)).robot.disabled_pairs if p.reason != "Never"]
    lines = [f'<disable_collisions link1="{p.first}" link2="{p.second}" reason="{p.reason}"/>' for p in pairs]
    group = f'<group name="{GROUP}"><chain base_link="{source.base}" tip_link="{source.tip}"/></group>'
    text = f'<robot name="{found.mechanism.name}">{group}{"".join(lines)}</robot>'
    values = {}
    for variable in found.mechanism.variables:
        low, high = variable.limits.lower, variable.limits.upper
        values[variable.name] = 0.5 * (low + high) if np.isfinite(high - low) else 0.0
    near = [source.base, *(joint.child for joint in chain)][-4:]
    # And links fixed to the tip.
    for joint in found.mechanism.tree_order:
        if joint.parent in near and joint.kind is JointKind.FIXED and joint.child not in near:
            near.append(joint.child)
    return text, near, values


def _obstacles(source: Source, variant: int, rng: np.random.Generator, place: Path) -> dict[str, Any]:
    kinds = ("box", "sphere", "cylinder", "capsule", "cone", "hull", "decomposition", "exact", "box")
    bodies: dict[str, Any] = {}
    for index in range(OBSTACLES):
        angle, far = rng.uniform(-np.pi, np.pi), source.reach * rng.uniform(0.35, 1.0)
        height = source.above * rng.uniform(-0.2, 2.2)
        at = [float(far * np.cos(angle)), float(far * np.sin(angle)), float(height)]
        shape = _shape(kinds[(index + variant) % len(kinds)], rng, place, 0.22 * min(1.0, source.reach))
        pose = {"position": at, "rpy": rng.uniform(-3.0, 3.0, 3).tolist()}
        bodies[f"obstacle{index}"] = {"collisions": [shape], "pose": pose}
    return bodies


def _shape(kind: str, rng: np.random.Generator, place: Path, largest: float = 0.12) -> dict[str, Any]:
    a, b, c = rng.uniform(0.25 * largest, largest, 3).tolist()
    if kind == "box":
        return {"type": "box", "size": [a, b, c]}
    if kind == "sphere":
        return {"type": "sphere", "radius": 0.5 * a}
    if kind in ("cylinder", "capsule", "cone"):
        return {"type": kind, "radius": 0.4 * a, "length": b}
    if kind == "hull":
        corners = np.round(rng.uniform(-0.5 * largest, 0.5 * largest, (12, 3)), 4)
        faces = trimesh.convex.convex_hull(corners)
        return {"type": "triangles", "vertices": faces.vertices.tolist(), "faces": faces.faces.tolist(), "use": "hull"}
    path = place / f"ring_{kind}.stl"
    ring = trimesh.creation.annulus(0.04, 0.07, 0.05, sections=16)
    path.write_bytes(trimesh.exchange.stl.export_stl(ring))
    return {"type": "mesh", "uri": str(path), "use": kind}
