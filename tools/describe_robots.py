"""Writes the first table of docs/robots.md: properties of the robot descriptions of example-robot-data and
pybullet_data. The sections after it are kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pybullet_data

from robot_cell_planner.errors import GeometryError, RobotCellError
from robot_cell_planner.io.mesh.loading import load_mesh
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.geometry import Mesh
from robot_cell_planner.model.mechanism import JointKind, Mechanism

PREFIX = re.compile(r"/\S*/cmeel\.prefix/share/")  # location of packages on this machine
TABLE = Path(__file__).parents[1] / "docs" / "robots.md"
HEAD = """# Tested robot descriptions

Made by `tools/describe_robots.py` from every URDF of the Python package `example-robot-data`, and the panda and kuka of
`pybullet_data`. *Variables* are the independent joint values, *mimic* the joints that follow another. *Meshes* counts
the files, all of which were parsed. *Missing* is what the description leaves out: links without mass, of those that a
joint moves; moving joints without a velocity limit; shapes to check for collisions. A description that contradicts
itself is refused, with the reason.

| Description | Links | Variables | Mimic | Joints | Meshes | Missing |
|---|---|---|---|---|---|---|
"""


def descriptions() -> Iterator[tuple[str, Path]]:
    """Name and path of each description."""
    folders = (Path(entry, "cmeel.prefix", "share", "example-robot-data", "robots") for entry in sys.path)
    robots = next(folder for folder in folders if folder.is_dir())
    for path in sorted(robots.rglob("*.urdf")):
        yield str(path.relative_to(robots)), path
    bullet = Path(pybullet_data.getDataPath())
    for name in ("franka_panda/panda.urdf", "kuka_iiwa/model.urdf"):
        yield f"pybullet_data/{name}", bullet / name


def row(name: str, path: Path) -> str:
    """One line of the table."""
    try:
        mechanism = load_robot("robot", path).mechanism
    except RobotCellError as error:
        reason = PREFIX.sub("", error.message.replace(str(path), path.name)).replace("|", "/")
        reason = reason.replace("<", "\\<")  # would begin a tag of HTML
        return f"| {name} | | | | | | refused: {reason} |\n"
    mimic = sum(joint.mimic is not None for joint in mechanism.joints.values())
    columns = (name, len(mechanism.links), len(mechanism.variables), mimic, _joints(mechanism), _meshes(mechanism))
    return f"| {' | '.join(map(str, columns))} | {_missing(mechanism)} |\n"


def _joints(mechanism: Mechanism) -> str:
    kinds = [joint.kind for joint in mechanism.joints.values()]
    return ", ".join(f"{kinds.count(kind)} {kind.value}" for kind in JointKind if kind in kinds)


def _meshes(mechanism: Mechanism) -> str:
    shapes = [shape for link in mechanism.links.values() for shape in (*link.visuals, *link.collisions)]
    files = {shape.geometry.path: shape.geometry for shape in shapes if isinstance(shape.geometry, Mesh)}
    broken = []
    for path, mesh in sorted(files.items()):
        try:
            load_mesh(mesh)
        except GeometryError:
            broken.append(Path(path).name)
    suffixes = sorted({Path(path).suffix.lower().lstrip(".") for path in files})
    text = f"{len(files)} {', '.join(suffixes)}" if files else "none"
    return f"{text}; not readable: {', '.join(broken)}" if broken else text


def _missing(mechanism: Mechanism) -> str:
    moved = {joint.child for joint in mechanism.joints.values() if joint.kind is not JointKind.FIXED}
    found = []
    if massless := sum(mechanism.links[link].inertial is None for link in moved):
        found.append(f"mass of {massless} links")
    limits = [variable.limits for variable in mechanism.variables]
    if unlimited := sum("velocity" in limit.defaulted for limit in limits):
        found.append(f"velocity limit of {unlimited} joints")
    if not any(link.collisions for link in mechanism.links.values()):
        found.append("collision shapes")
    return ", ".join(found)


if __name__ == "__main__":
    _, separator, rest = TABLE.read_text(encoding="utf-8").partition("\n## ")
    rows = "".join(row(name, path) for name, path in descriptions())
    TABLE.write_text(HEAD + rows + separator + rest, encoding="utf-8")
