"""Reader of cell files: a complete cell with its state as YAML or JSON, format "robot_cell/1"."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from frozendict import frozendict

from ...errors import (
    DuplicateNameError,
    FrameCycleError,
    ResourceError,
    RobotCellError,
    StateError,
    UnknownNameError,
)
from ...model.bodies import CollisionSettings, NamedFrame, PairMargin, RigidBody, Tool, rigid_tool
from ...model.cell import RobotCell
from ...model.geometry import MeshUse
from ...model.placement import Placements, placements
from ...model.pose import Pose
from ...model.robot import CompositeGroup, Robot
from ...model.sources import ModelSources
from ...model.state import BodyState, RobotCellState, ToolState
from ...model.value import WORLD
from ..common.file_kinds import refuse_description
from ..common.resources import NO_ROOTS, ResourceRoots
from ..common.sections import ConfigurationFile, Section, path_to
from ..robot_description.loading import read_sources, robot_from_sources, sources_roots, tool_from_sources
from ..scene_import.imported import Imported
from .angles import IN_DEGREES, doubtful_angles
from .includes import read_includes, with_scene
from .shape_sections import read_collisions, read_inertial, read_pose, read_shapes
from .simulation_section import SECTION, read_simulated_robot
from .writer import FORMAT

STAGE = "read cell"
OTHER_FORMAT = "Give a cell file first, plan files after it; a file of a later version needs that version."
OTHER_FILE = "Give a cell file, which has `format: robot_cell/1`; `robot_cell new FILE` drafts one of a description."
CELL_KEYS = (
    "format",
    "name",
    "native_scale",
    "strict",
    "robots",
    "tools",
    "bodies",
    "frames",
    "groups",
    "include",
    "collision",
    "state",
    SECTION,
)
MODEL_KEYS = (
    "urdf", "srdf", "limits", "urdf_text", "srdf_text", "limits_text", "folder", "xacro_arguments", "meshes",
    "mesh_uses",
)  # fmt: skip
ROBOT_KEYS = (*MODEL_KEYS, "prefix", "base_pose", "attached_to")
KEYS_OF_STATE = dict.fromkeys(("configuration", "joints"), "`state: {configuration: ...}` at the top of the file")
SHAPE_KEYS = ("native_scale", "collisions", "visuals", "inertial", "mass", "density")
PLACE_KEYS = ("pose", "attached_to", "relative_to")
STATE_KEYS = (*PLACE_KEYS, "touch_links", "touch_bodies", "hidden")
BODY_KEYS = (*SHAPE_KEYS, *STATE_KEYS)
TOOL_KEYS = (*MODEL_KEYS, *SHAPE_KEYS, *STATE_KEYS, "tcp", "tcp_link", "configuration")
log = logging.getLogger(__name__)
OF_THE_CELL = (UnknownNameError, DuplicateNameError, StateError, FrameCycleError, ResourceError)
POSITION = re.compile(r":\d+: ")  # line of a file, in a message
T = TypeVar("T", ToolState, BodyState, NamedFrame)


def read_cell(
    text: str, folder: str = "", roots: ResourceRoots = NO_ROOTS, source: str = "cell", *, strict: bool = False
) -> tuple[RobotCell, RobotCellState]:
    """Read the cell and state from a text. What included files have and a cell may need is logged as a warning.

    Referenced files must be located in installed packages or below the roots.

    Args:
        text: Content of the cell file.
        folder: Base folder of relative URIs.
        roots: Folders that may be read.
        source: Name of the text in messages.
        strict: Refuse defects that do not prevent the use of the models, as `strict: true` in the text does. Otherwise
            they are in the `sources.warnings` of robots and tools.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: The text, or a file that it references,
            is missing or malformed.
        DuplicateNameError, UnknownNameError, StateError, FrameCycleError: The parts of the file are inconsistent.
    """
    found = read_parts(text, folder, roots, source, strict=strict)
    log_left_out(found)
    return found.cell, found.state


def log_left_out(found: Imported) -> None:
    """Log what a cell may need as warnings, and the other parts that are left out as information."""
    for line in found.left_out:
        log.log(logging.WARNING if line in found.warnings else logging.INFO, "%s", line)


def read_parts(text: str, folder: str, roots: ResourceRoots, source: str, *, strict: bool = False) -> Imported:
    """As `read_cell`, with what is left out of included files.

    Raises:
        RobotCellError: As `read_cell`.
    """
    refuse_description(text, source, "a cell file in YAML", STAGE)
    file = ConfigurationFile(text, source, STAGE)
    try:
        found = _Reader(file, folder, roots, strict).cell()
    except RobotCellError as error:
        if source in error.message:
            raise
        raise error.with_message(f"{_place_of(error, file)}: {error.message}") from error
    for doubt in doubtful_angles(file):
        log.warning("%s, or `%s`", doubt, IN_DEGREES)
    return found


def _place_of(error: RobotCellError, file: ConfigurationFile) -> str:
    """Return the file, and the line and keys of the first subject of an error that a key or text in the file is.

    Errors about the content of other files name these, and the position in them.
    """
    if not isinstance(error, OF_THE_CELL) or POSITION.search(error.message):
        return file.source
    for subject in error.subjects:
        path = path_to(file.root.values, subject)
        if path:
            return file.place(path)
    return file.source


class _Reader:
    def __init__(self, file: ConfigurationFile, folder: str, roots: ResourceRoots, strict: bool) -> None:
        self.file = file
        self.strict = strict
        self.folder = folder
        self.roots = roots
        # Poses given relative to a frame other than the parent frame.
        self.relative: dict[str, str] = {}
        # Texts by files and xacro arguments: those of equal robots are read, and expanded, once.
        self._read: dict[tuple[str, str, str, frozendict[str, str]], ModelSources] = {}

    def cell(self) -> Imported:
        root = self.file.root
        if root.has("format") and (found := root.text("format")) != FORMAT:
            error = root.error(f"is {found!r}, expected {FORMAT!r}", "format")
            error.remedy = OTHER_FORMAT
            raise error
        if root.values and root.values.keys().isdisjoint(CELL_KEYS):
            error = root.error("lacks 'format', and all other keys of a cell file")
            error.remedy = OTHER_FILE
            raise error
        root.allow(*CELL_KEYS)
        root.required("format")
        self.strict = root.flag("strict") or self.strict
        root = root.in_own_units()
        robots, base_poses = self._robots(root)
        tools, tool_states = self._tools(root)
        bodies, body_states = self._bodies(root)
        cell = RobotCell(
            name=root.text("name", "cell"),
            robots=frozendict(robots),
            tools=frozendict(tools),
            bodies=frozendict(bodies),
            frames=frozendict({section.name: self._frame(section) for section in root.sections("frames")}),
            collision=_collision(root.section("collision")),
            groups=frozendict({section.name: _composite_group(section) for section in root.sections("groups")}),
        )
        state = RobotCellState(
            base_poses=frozendict(base_poses),
            configuration=_configuration(root.section("state"), cell),
            tools=frozendict(tool_states),
            bodies=frozendict(body_states),
        )
        read_simulated_robot(root.section(SECTION))  # checked here, used by `load_simulated_robot`
        scenes = tuple(read_includes(root, self.folder, self.roots, strict=self.strict))
        for scene in scenes:
            cell, state = with_scene(cell, state, scene)
        root.finish()
        cell, state = self._without_relative_poses(cell, state)
        cell.check_state(state)
        left_out = tuple(line for scene in scenes for line in scene.left_out)
        return Imported(cell, state, left_out, tuple(line for scene in scenes for line in scene.warnings))

    def _robots(self, root: Section) -> tuple[dict[str, Robot], dict[str, Pose]]:
        robots: dict[str, Robot] = {}
        base_poses: dict[str, Pose] = {}
        for section in root.sections("robots"):
            section.allow(*ROBOT_KEYS, elsewhere=KEYS_OF_STATE)
            sources, roots = self._sources(section, ("urdf", "srdf", "limits"))
            prefix, meshes = section.text("prefix", ""), section.choice("meshes", MeshUse, MeshUse.HULL)
            base_poses[section.name] = read_pose(section, "base_pose")
            attached_to = section.text("attached_to", "")
            section.finish()
            robot = robot_from_sources(section.name, sources, prefix, roots, meshes, strict=self.strict)
            robots[section.name] = msgspec.structs.replace(robot, attached_to=attached_to) if attached_to else robot
        return robots, base_poses

    def _sources(self, section: Section, parts: tuple[str, ...]) -> tuple[ModelSources, ResourceRoots]:
        """Return the texts of a model, from the files that the section references or from the section itself."""
        chosen = section.section("mesh_uses")
        uses = frozendict({uri: chosen.choice(uri, MeshUse, MeshUse.HULL) for uri in chosen.values})
        texts = {part: section.text(f"{part}_text", "") for part in parts}
        _check_forms(section, texts, parts)
        if texts["urdf"]:
            folder = section.text("folder", "")
            absolute = str(Path(self.folder, folder).absolute()) if folder else ""
            sources = ModelSources(texts["urdf"], texts.get("srdf", ""), texts["limits"], absolute, mesh_uses=uses)
            return sources, self.roots
        given = section.section("xacro_arguments")
        arguments = frozendict({name: given.argument(name) for name in given.values})
        srdf = section.text("srdf", "") if "srdf" in parts else ""
        files = (section.text("urdf"), srdf, section.text("limits", ""), arguments)
        if files not in self._read:
            self._read[files] = read_sources(*files, self.folder, self.roots, strict=self.strict)
        sources = self._read[files]
        return msgspec.structs.replace(sources, mesh_uses=uses), sources_roots(sources, self.roots)

    def _tools(self, root: Section) -> tuple[dict[str, Tool], dict[str, ToolState]]:
        tools: dict[str, Tool] = {}
        states: dict[str, ToolState] = {}
        for section in root.sections("tools"):
            section.allow(*TOOL_KEYS)
            tool = tools[section.name] = self._tool(section.in_own_units())
            configuration = {**tool.mechanism.neutral(), **section.number_table("configuration")}
            state = ToolState(configuration=frozendict(configuration))
            states[section.name] = self._state(section, state)
            section.finish()
        return tools, states

    def _tool(self, section: Section) -> Tool:
        tcp = read_pose(section, "tcp")
        if section.has("urdf") or section.has("urdf_text"):
            sources, roots = self._sources(section, ("urdf", "limits"))
            meshes = section.choice("meshes", MeshUse, MeshUse.HULL)
            tcp_link = section.text("tcp_link", "")
            return tool_from_sources(section.name, sources, tcp, tcp_link, roots, meshes, strict=self.strict)
        collisions = read_collisions(section, self.folder, self.roots)
        visuals = read_shapes(section, "visuals", self.folder, self.roots)
        inertial = read_inertial(section, collisions or visuals)
        try:
            return rigid_tool(section.name, collisions, visuals, inertial, tcp)
        except ValueError as error:
            raise section.error(str(error)) from error

    def _bodies(self, root: Section) -> tuple[dict[str, RigidBody], dict[str, BodyState]]:
        bodies: dict[str, RigidBody] = {}
        states: dict[str, BodyState] = {}
        for section in root.sections("bodies"):
            section.allow(*BODY_KEYS)
            own = section.in_own_units()
            collisions = read_collisions(own, self.folder, self.roots)
            visuals = read_shapes(own, "visuals", self.folder, self.roots)
            inertial = read_inertial(own, collisions or visuals)
            try:
                bodies[section.name] = RigidBody(section.name, collisions, visuals, inertial)
            except ValueError as error:
                raise section.error(str(error)) from error
            states[section.name] = self._state(section, BodyState())
            section.finish()
        return bodies, states

    def _state(self, section: Section, state: T) -> T:
        """Return the state with the entries of the section applied."""
        try:
            result = msgspec.structs.replace(
                state,
                pose=read_pose(section),
                attached_to=section.text("attached_to", ""),
                touch_links=section.texts("touch_links"),
                touch_bodies=section.texts("touch_bodies"),
                hidden=section.flag("hidden"),
            )
        except ValueError as error:
            raise section.error(str(error)) from error
        if section.has("relative_to"):
            self.relative[section.name] = section.text("relative_to")
        return result

    def _frame(self, section: Section) -> NamedFrame:
        section.allow(*PLACE_KEYS)
        try:
            frame = NamedFrame(section.name, section.text("attached_to", WORLD), read_pose(section))
        except ValueError as error:
            raise section.error(str(error)) from error
        if section.has("relative_to"):
            self.relative[section.name] = section.text("relative_to")
        section.finish()
        return frame

    def _without_relative_poses(self, cell: RobotCell, state: RobotCellState) -> tuple[RobotCell, RobotCellState]:
        """Convert poses given relative to other frames to poses in the parent frames."""
        placed = placements(cell, state)
        as_written = {name: (self.relative.get(name, parent), pose) for name, (parent, pose) in placed.items()}
        resolved = Placements(as_written)

        def resolved_item(name: str, item: T) -> T:
            parent = placed[name][0]
            if self.relative.get(name, parent) == parent:
                return item
            return msgspec.structs.replace(item, pose=resolved.between(parent, name))

        return (
            msgspec.structs.replace(cell, frames=frozendict({k: resolved_item(k, v) for k, v in cell.frames.items()})),
            msgspec.structs.replace(
                state,
                tools=frozendict({k: resolved_item(k, v) for k, v in state.tools.items()}),
                bodies=frozendict({k: resolved_item(k, v) for k, v in state.bodies.items()}),
            ),
        )


def _check_forms(section: Section, texts: Mapping[str, str], parts: tuple[str, ...]) -> None:
    """Check that a model consists of files or of texts.

    Raises:
        FileError: It has a file beside the text of its URDF, or a text beside the file.
    """
    if texts["urdf"]:
        given, keys, alone = "urdf_text", [part for part in parts if section.has(part)], "texts"
    else:
        given, keys, alone = "urdf", [f"{part}_text" for part in parts if texts[part] and section.has("urdf")], "files"
    if keys:
        raise section.error(f"has {given} and {keys[0]}, expected {alone} alone", keys[0])


def _collision(section: Section) -> CollisionSettings:
    section.allow("ignore_groups", "margins", "pair_margins")
    groups = section.section("ignore_groups")
    ignore = {name: groups.texts(name) for name in groups.values}
    metres = section.native_scale
    margins = {name: margin * metres for name, margin in section.number_table("margins").items()}
    pairs = []
    for pair in section.listed_sections("pair_margins"):
        pairs.append(PairMargin(pair.text("first"), pair.text("second"), pair.length("margin")))
        pair.finish()
    section.finish()
    try:
        return CollisionSettings(frozendict(ignore), frozendict(margins), tuple(pairs))
    except ValueError as error:
        raise section.error(str(error)) from error


def _composite_group(section: Section) -> CompositeGroup:
    section.allow("groups")
    try:
        group = CompositeGroup(section.name, section.texts("groups"))
    except ValueError as error:
        raise section.error(str(error)) from error
    section.finish()
    return group


def _configuration(section: Section, cell: RobotCell) -> frozendict[str, float]:
    """Return the neutral values, overridden by the named states, then by the individual values."""
    section.allow("named", "configuration")
    values = dict(cell.default_state().configuration)
    named = section.section("named")
    for group in named.values:
        values.update(cell.named_state(group, named.text(group)))
    values.update(section.number_table("configuration"))
    section.finish()
    return frozendict(values)
