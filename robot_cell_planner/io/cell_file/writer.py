"""Writer of cell files. `reader.read_cell` reads the result back to the same values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from ...errors import NotSupportedError, RobotCellError
from ...model.bodies import CollisionSettings, NamedFrame, RigidBody, Tool, rigid_tool
from ...model.cell import RobotCell
from ...model.geometry import Mesh, MeshUse, Shape
from ...model.mechanism import Inertial, Mechanism
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.sources import ModelSources
from ...model.state import BodyState, RobotCellState, ToolState
from ..common.resources import NO_ROOTS, ResourceRoots
from ..robot_description.loading import mesh_use_of, read_sources

FORMAT = "robot_cell/1"
Entry = dict[str, Any]


def cell_entries(
    cell: RobotCell, state: RobotCellState | None, folder: str | Path, roots: ResourceRoots = NO_ROOTS
) -> Entry:
    """Return the entries of a cell file in `folder` for a cell, and for a state if given.

    A robot or tool whose files are unchanged and may be read from `folder` is written as references to its files,
    otherwise with its texts. Numbers are exact.

    Raises:
        NotSupportedError: A robot, or a tool with joints, was not read from a description.
    """
    return _Writer(Path(folder).absolute(), roots).cell(cell, state)


class _Writer:
    def __init__(self, folder: Path, roots: ResourceRoots) -> None:
        self.folder = folder
        # Folders that a reader of the file may read.
        self.roots = roots.with_file(folder / "cell.yaml")

    def cell(self, cell: RobotCell, state: RobotCellState | None) -> Entry:
        result: Entry = {"format": FORMAT, "name": cell.name}
        parts: dict[str, Entry] = {"robots": {}, "tools": {}, "bodies": {}, "frames": {}}
        for name, robot in cell.robots.items():
            parts["robots"][name] = self._robot(robot)
            if state is not None and not _is_identity(state.base_poses[name]):
                parts["robots"][name]["base_pose"] = _pose(state.base_poses[name])
        for name, tool in cell.tools.items():
            parts["tools"][name] = {**self._tool(tool), **(_tool_state(state.tools[name]) if state else {})}
        for name, body in cell.bodies.items():
            parts["bodies"][name] = {**self._body(body), **(_state(state.bodies[name]) if state else {})}
        for name, frame in cell.frames.items():
            parts["frames"][name] = _frame(frame)
        result.update((key, part) for key, part in parts.items() if part)
        if cell.groups:
            result["groups"] = {name: {"groups": list(group.groups)} for name, group in cell.groups.items()}
        if cell.collision != CollisionSettings():
            result["collision"] = _collision(cell.collision)
        if state is not None and state.configuration:
            result["state"] = {"configuration": dict(state.configuration)}
        return result

    def _robot(self, robot: Robot) -> Entry:
        if not robot.sources.urdf:
            raise NotSupportedError(f"robot {robot.name} was not read from a description", subjects=(robot.name,))
        entry = self._sources(robot.sources, robot.mechanism)
        entry.update((key, value) for key in ("prefix", "attached_to") if (value := getattr(robot, key)))
        return entry

    def _sources(self, sources: ModelSources, mechanism: Mechanism) -> Entry:
        entry: Entry = {}
        if self._still_readable(sources):
            for key in ("urdf", "srdf", "limits"):
                if uri := getattr(sources, f"{key}_uri"):
                    entry[key] = self._relative(uri)
            if sources.xacro_arguments:
                entry["xacro_arguments"] = dict(sources.xacro_arguments)
        else:
            for key in ("urdf", "srdf", "limits"):
                if text := getattr(sources, key):
                    entry[f"{key}_text"] = text
            if sources.folder:
                entry["folder"] = self._relative(sources.folder)
        use = mesh_use_of(mechanism, sources)
        if use is not MeshUse.HULL:
            entry["meshes"] = use.value
        if sources.mesh_uses:
            entry["mesh_uses"] = {uri: chosen.value for uri, chosen in sources.mesh_uses.items()}
        return entry

    def _still_readable(self, sources: ModelSources) -> bool:
        """Return whether a reader of the written file would get the same texts from the files."""
        if not sources.urdf_uri:
            return False
        uris = (sources.urdf_uri, sources.srdf_uri, sources.limits_uri)
        try:
            return read_sources(*uris, sources.xacro_arguments, self.folder, self.roots).as_read() == sources.as_read()
        except RobotCellError:
            return False

    def _relative(self, uri: str) -> str:
        return uri if "://" in uri else os.path.relpath(uri, self.folder)

    def _tool(self, tool: Tool) -> Entry:
        entry: Entry = {}
        if tool.sources.urdf:
            entry = self._sources(tool.sources, tool.mechanism)
            if tool.tcp_link:
                entry["tcp_link"] = tool.tcp_link
        else:
            link = tool.mechanism.links[tool.mechanism.root]
            if rigid_tool(tool.name, link.collisions, link.visuals, link.inertial, tool.tcp) != tool:
                raise NotSupportedError(f"tool {tool.name} was not read from a description", subjects=(tool.name,))
            visuals = () if link.visuals == link.collisions else link.visuals
            entry = self._shapes(link.collisions, visuals, link.inertial)
        if not _is_identity(tool.tcp):
            entry["tcp"] = _pose(tool.tcp)
        return entry

    def _body(self, body: RigidBody) -> Entry:
        return self._shapes(body.collisions, body.visuals, body.inertial)

    def _shapes(self, collisions: tuple[Shape, ...], visuals: tuple[Shape, ...], inertial: Inertial | None) -> Entry:
        entry: Entry = {}
        if collisions:
            entry["collisions"] = [self._shape(shape) for shape in collisions]
        if visuals:
            entry["visuals"] = [self._shape(shape) for shape in visuals]
        if inertial is not None:
            entry["inertial"] = _inertial(inertial)
        return entry

    def _shape(self, shape: Shape) -> Entry:
        entry: Entry = dict(msgspec.to_builtins(shape.geometry))
        if isinstance(shape.geometry, Mesh):
            entry = {"type": "mesh", "uri": self._mesh_uri(shape.geometry)}
            if shape.geometry.scale != (1.0, 1.0, 1.0):
                entry["scale"] = list(shape.geometry.scale)
            entry["use"] = shape.geometry.use.value
        if not _is_identity(shape.pose):
            entry["pose"] = _pose(shape.pose)
        if shape.rgba is not None:
            entry["rgba"] = list(shape.rgba)
        entry.update((key, value) for key in ("name", "material", "texture") if (value := getattr(shape, key)))
        return entry

    def _mesh_uri(self, mesh: Mesh) -> str:
        """Return the URI as originally written, if it resolves to the same file from the target folder."""
        if "://" in mesh.uri or os.path.realpath(self.folder / mesh.uri) == mesh.path:
            return mesh.uri
        return os.path.relpath(mesh.path, self.folder)


def _is_identity(pose: Pose) -> bool:
    """Exact comparison: -0.0 differs from 0.0."""
    return msgspec.json.encode(pose) == msgspec.json.encode(IDENTITY)


def _pose(pose: Pose) -> Entry:
    entry: Entry = {"position": list(pose.position)}
    if pose.quaternion != IDENTITY.quaternion:
        entry["quaternion"] = list(pose.quaternion)
    return entry


def _inertial(inertial: Inertial) -> Entry:
    entry: Entry = {"mass": inertial.mass}
    if not _is_identity(inertial.pose):
        entry["pose"] = _pose(inertial.pose)
    entry["inertia"] = list(inertial.inertia)
    return entry


def _state(state: ToolState | BodyState) -> Entry:
    entry: Entry = {}
    if state.attached_to:
        entry["attached_to"] = state.attached_to
    if not _is_identity(state.pose):
        entry["pose"] = _pose(state.pose)
    for key in ("touch_links", "touch_bodies"):
        if names := getattr(state, key):
            entry[key] = list(names)
    if state.hidden:
        entry["hidden"] = True
    return entry


def _tool_state(state: ToolState) -> Entry:
    entry = _state(state)
    if state.configuration:
        entry["configuration"] = dict(state.configuration)
    return entry


def _frame(frame: NamedFrame) -> Entry:
    entry: Entry = {"attached_to": frame.attached_to}
    if not _is_identity(frame.pose):
        entry["pose"] = _pose(frame.pose)
    return entry


def _collision(settings: CollisionSettings) -> Entry:
    entry: Entry = {}
    if settings.ignore_groups:
        entry["ignore_groups"] = {name: list(members) for name, members in settings.ignore_groups.items()}
    if settings.margins:
        entry["margins"] = dict(settings.margins)
    if settings.pair_margins:
        entry["pair_margins"] = [msgspec.to_builtins(pair) for pair in settings.pair_margins]
    return entry
