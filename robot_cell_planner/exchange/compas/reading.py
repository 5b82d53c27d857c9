"""Import of compas_fab's RobotCell and RobotCellState.

The frames of both are the same up to one: a body that is attached to a tool has its pose in the tool centre point in
compas_fab, so that it is attached to the frame "<tool>/tcp" here. compas_fab checks the convex hull of each mesh.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from frozendict import frozendict

from ...errors import FileError
from ...io.common.file_kinds import refuse_description
from ...io.common.file_names import file_name
from ...io.common.resources import MAX_MESH_BYTES, NO_ROOTS, ResourceRoots, read_bytes
from ...io.mesh.loading import MeshData, is_flat, mesh_reference
from ...io.robot_description.loading import load_robot, load_tool
from ...io.robot_description.urdf_names import link_name
from ...model.arguments import public
from ...model.bodies import RigidBody, Tool
from ...model.cell import RobotCell
from ...model.geometry import Geometry, Mesh, MeshUse, Shape
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.state import BodyState, RobotCellState, ToolState
from ..imported_cell import CellFolder, ImportedCell
from . import data
from .descriptions import UrdfWriter, srdf
from .meshes import MeshFiles, triangles

ROBOT = "robot"


@public
def import_compas(
    cell_file: str | Path,
    folder: str | Path,
    state_file: str | Path = "",
    roots: ResourceRoots = NO_ROOTS,
    *,
    overwrite: bool = False,
) -> ImportedCell:
    """Write a cell file, descriptions and meshes for a RobotCell of compas_fab 2, without COMPAS.

    Args:
        cell_file: JSON file of a RobotCell, or of a mapping or list that has one.
        folder: Folder to write to; it is made if it does not exist.
        state_file: JSON file of its RobotCellState; "": in `cell_file`, or the default state if that has none.
        roots: Folders with the packages of meshes that the file only names.
        overwrite: Allow replacing files.

    Raises:
        FileError: A file is malformed, has what a cell cannot have, or cannot be read or written.
        RobotCellError: As `load_robot`, `load_tool` and `load_cell`.
    """
    source = str(cell_file)
    text = read_bytes(cell_file, data.STAGE, MAX_MESH_BYTES)
    refuse_description(text, source, "a JSON file with a RobotCell of compas_fab", data.STAGE)
    given = data.decode(text, data.Cell, data.CELL_TYPE, source)
    state: data.State | None = None
    if str(state_file):
        state_text = read_bytes(state_file, data.STAGE, MAX_MESH_BYTES)
        state = data.decode(state_text, data.State, data.STATE_TYPE, str(state_file))
    elif data.contains(text, data.STATE_TYPE):
        state = data.decode(text, data.State, data.STATE_TYPE, source)
    with CellFolder(folder, roots, overwrite=overwrite, source=source) as target:
        return _Importer(target, given, Path(cell_file).name.partition(".")[0]).imported(state)


class _Importer:
    def __init__(self, folder: CellFolder, given: data.Cell, name: str) -> None:
        self.folder = folder
        self.given = given
        self.name = name
        self.meshes = MeshFiles(folder)
        self.descriptions = UrdfWriter(self.meshes)
        self.left_out = self.descriptions.left_out

    def imported(self, given_state: data.State | None) -> ImportedCell:
        robot = self._robot()
        cell = RobotCell(
            self.name or "cell",
            frozendict({robot.name: robot} if robot is not None else {}),
            frozendict({name: self._tool(name, model) for name, model in self.given.tool_models.items()}),
            frozendict(self._bodies()),
        )
        state = cell.default_state()
        if given_state is not None:
            state = _StateReader(cell, given_state, self.left_out).state(state)
        return self.folder.finish(cell, state, tuple(dict.fromkeys(self.left_out)))

    def _robot(self) -> Robot | None:
        model, semantics = self.given.robot_model, self.given.robot_semantics
        if model is None:
            return None
        urdf = self.folder.write(f"{ROBOT}.urdf", self.descriptions.urdf(model, ROBOT))
        srdf_file: Path | str = ""
        if semantics is not None:
            srdf_file = self.folder.write(f"{ROBOT}.srdf", srdf(model, semantics))
        robot = load_robot(ROBOT, urdf, srdf_file, roots=self.folder.roots)
        if semantics is not None:
            self._check_groups(robot, semantics)
        return robot

    def _check_groups(self, robot: Robot, semantics: data.Semantics) -> None:
        """Note groups whose last link differs, where tools are mounted in compas_fab, and another main group."""
        for name, group in semantics.groups.items():
            found = robot.groups.get(name)
            tip = link_name(group.links[-1], "", robot.mechanism.name) if group.links else ""
            if found is not None and found.tip_link and tip and found.tip_link != tip:
                self.left_out.append(f"group {name} ends at {found.tip_link}, in compas_fab at {tip}")
        main = semantics.main_group_name
        if main and robot.groups and robot.main_group != main:
            self.left_out.append(f"main group {main}: here it is {robot.main_group}; name the group in requests")

    def _tool(self, name: str, model: data.Model) -> Tool:
        urdf = self.folder.write(f"{file_name(name)}.urdf", self.descriptions.urdf(model, name))
        tcp = _pose(model.frame, f"the TCF of {name}")
        return load_tool(name, urdf, tcp, roots=self.folder.roots)

    def _bodies(self) -> dict[str, RigidBody]:
        bodies: dict[str, RigidBody] = {}
        for name, body in self.given.rigid_body_models.items():
            if not body.collision_meshes and not body.visual_meshes:
                self.left_out.append(f"rigid body {name}, which has no mesh")
                continue
            collisions = self._shapes(name, "collision", body.collision_meshes, body.native_scale)
            visuals = self._shapes(name, "visual", body.visual_meshes, body.native_scale)
            bodies[name] = RigidBody(name, collisions, () if visuals == collisions else visuals)
        return bodies

    def _shapes(self, body: str, kind: str, meshes: list[data.MeshData], scale: float) -> tuple[Shape, ...]:
        shapes: list[Shape] = []
        for mesh in meshes:
            found = triangles(mesh, f"rigid body {body}")
            file = self.meshes.file(found, f"{body} {kind}")
            shapes.append(Shape(self._geometry(file, found, scale)))
        return tuple(shapes)

    def _geometry(self, file: str, mesh: MeshData, scale: float) -> Geometry:
        roots = self.folder.roots.with_file(self.folder.path / file)
        found: Mesh = mesh_reference(file, str(self.folder.path), roots, (scale, scale, scale))
        if not is_flat(found):
            return found
        return mesh_reference(file, str(self.folder.path), roots, (scale, scale, scale), MeshUse.EXACT)


class _StateReader:
    def __init__(self, cell: RobotCell, given: data.State, left_out: list[str]) -> None:
        self.cell = cell
        self.given = given
        self.left_out = left_out
        robots = list(cell.robots.values())
        self.robot = robots[0] if robots else None

    def state(self, default: RobotCellState) -> RobotCellState:
        given, cell = self.given, self.cell
        self._check_names("tool", given.tool_states, cell.tools)
        self._check_names("rigid body", given.rigid_body_states, cell.bodies)
        base = _pose(given.robot_base_frame, "the robot base")
        configuration = dict(default.configuration)
        if given.robot_configuration is None:
            self.left_out.append("the state has no robot configuration: joints are at zero or at the nearest limit")
        elif self.robot is not None:
            configuration |= self._values(given.robot_configuration, configuration, ROBOT)
        tools = {name: self._tool(name, given.tool_states[name], default.tools[name]) for name in cell.tools}
        return RobotCellState(
            frozendict({robot: base for robot in cell.robots}),
            frozendict(configuration),
            frozendict(tools),
            frozendict({name: self._body(name, given.rigid_body_states[name]) for name in cell.bodies}),
        )

    def _check_names(self, kind: str, have: Mapping[str, object], want: Mapping[str, object]) -> None:
        """Refuse a state that lacks an object; note objects of the state that the cell does not have."""
        missing = [name for name in want if name not in have]
        if missing:
            text = f"the state has no {kind} {missing[0]}"
            raise FileError(text, stage=data.STAGE, subjects=tuple(missing))
        self.left_out += [f"state of {kind} {name}, which is not in the cell" for name in have if name not in want]

    def _values(self, given: data.Configuration, known: dict[str, float], owner: str) -> dict[str, float]:
        if len(given.joint_names) != len(given.joint_values):
            text = (
                f"the configuration of {owner} has {len(given.joint_values)} values for {len(given.joint_names)} joints"
            )
            raise FileError(text, stage=data.STAGE, subjects=(owner,))
        values = dict(zip(given.joint_names, given.joint_values, strict=True))
        ignored = [name for name in values if name not in known]
        if ignored:
            self.left_out.append(f"values of joints of {owner} without a variable: {', '.join(ignored)[:300]}")
        return {name: value for name, value in values.items() if name in known}

    def _links(self, names: list[str]) -> tuple[str, ...]:
        robot = self.robot.mechanism.name if self.robot is not None else ""
        return tuple(dict.fromkeys(link_name(name, "", robot) for name in names))

    def _tool(self, name: str, given: data.ToolState, default: ToolState) -> ToolState:
        configuration = dict(default.configuration)
        if given.configuration is not None:
            configuration |= self._values(given.configuration, configuration, name)
        group = given.attached_to_group or ""
        frame = given.attachment_frame if group else given.frame
        return ToolState(
            _pose(frame, f"tool {name}"),
            group,
            frozendict(configuration),
            self._links(given.touch_links),
            hidden=given.is_hidden,
        )

    def _body(self, name: str, given: data.BodyState) -> BodyState:
        if given.attached_to_tool and given.attached_to_link:
            raise FileError(f"rigid body {name} is attached to a link and a tool", stage=data.STAGE, subjects=(name,))
        parent = ""
        if given.attached_to_tool:
            if given.attached_to_tool not in self.cell.tools:
                text = f"rigid body {name} is attached to an unknown tool {given.attached_to_tool}"
                raise FileError(text, stage=data.STAGE, subjects=(name, given.attached_to_tool))
            parent = self.cell.tools[given.attached_to_tool].tcp_frame
        elif given.attached_to_link:
            (parent,) = self._links([given.attached_to_link])
        return BodyState(
            _pose(given.attachment_frame if parent else given.frame, f"rigid body {name}"),
            parent,
            self._links(given.touch_links),
            tuple(dict.fromkeys(given.touch_bodies)),
            given.is_hidden,
        )


def _pose(frame: data.Frame | None, what: str) -> Pose:
    try:
        return frame.pose() if frame is not None else IDENTITY
    except ValueError as error:
        raise FileError(f"the frame of {what}: {error}", stage=data.STAGE, subjects=(what,)) from error
