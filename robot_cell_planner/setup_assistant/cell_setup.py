"""New cells: from robot descriptions to a folder with everything that planning needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from frozendict import frozendict

from ..errors import FileError, InvalidRequestError
from ..io.cell_file.cell_file import load_cell
from ..io.cell_file.writer import FORMAT
from ..io.common.packages import enclosing_folder
from ..io.common.resources import NO_ROOTS, ResourceRoots, write_text
from ..io.common.serialisation import dump_yaml
from ..io.robot_description.loading import load_robot, load_tool, robot_from_sources, tool_from_sources
from ..model.arguments import checked_fields, public
from ..model.bodies import Tool
from ..model.cell import RobotCell
from ..model.geometry import MeshUse
from ..model.mechanism import JointKind, Mechanism
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.sources import ModelSources
from ..model.state import RobotCellState
from ..model.value import WORLD
from ..system.physics import MAX_LINKS
from .check import check_cell
from .description_copy import MESHES, copy_description
from .draft import HOME, Draft, draft_robot
from .files import limits_text
from .finding import DRAFT, WARNING, Finding, in_order
from .groups import draft_groups
from .hands import HandDraft, draft_hand
from .lost_warnings import lost_warnings
from .mesh_uses import MeshDraft, draft_mesh_uses, simulated_links
from .names import free_name, robot_name
from .new_files import NewFiles
from .options import DraftOptions
from .pairs import DraftedPair, overlapping_pairs
from .report import report_text

STAGE = "new cell"
CELL_FILE, LIMITS_FILE, REPORT_FILE = "cell.yaml", "joint_limits.yaml", "report.md"
TCP_FRAME, TOOL = "tcp", "gripper"


@checked_fields
@dataclass(frozen=True)
class NewCellOptions:
    """Options of a new cell.

    Attributes:
        xacro_arguments: Arguments of the xacro expansion.
        added: URDF, xacro or SDF file of a gripper to add as a tool; "" for none.
        added_arguments: Arguments of the xacro expansion of the gripper.
        unchecked: URIs of collision meshes of the description that are left out of checks, because they cannot be used.
        at: Link that the gripper is mounted on; "" for the tip of the main group.
        roots: Additional folders that may be read.
        mesh_use: Collision representation of meshes; None: hull, pieces or triangles, chosen for each mesh.
        overwrite: Allow replacing existing files.
        draft: Options of the draft.
    """

    xacro_arguments: Mapping[str, str] = field(default_factory=dict)
    added: str = ""
    at: str = ""
    roots: ResourceRoots = NO_ROOTS
    mesh_use: MeshUse | None = None
    overwrite: bool = False
    draft: DraftOptions = field(default_factory=DraftOptions)
    added_arguments: Mapping[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewCell:
    """A new cell.

    Attributes:
        folder: Folder of the files.
        files: Names of the files that were written.
        draft: Draft of the robot.
        meshes: Collision representations that were chosen, of the robot and of the gripper.
        cell, state: What the cell file contains.
        findings: Result of the check of the cell file.
    """

    folder: Path
    files: tuple[str, ...]
    draft: Draft
    meshes: tuple[MeshDraft, ...]
    cell: RobotCell
    state: RobotCellState
    findings: tuple[Finding, ...]


@public
def new_cell(description: str | Path, folder: str | Path, options: NewCellOptions = NewCellOptions()) -> NewCell:
    """Write a cell file, SRDF, limits and a report for a robot description, so that motions can be planned at once.

    Descriptions outside the new folder's package are copied, xacro expanded, with their meshes.

    Args:
        description: URDF, xacro or SDF file, or its package:// URI.
        folder: Folder to write to; it is made if it does not exist.
        options: What to add, and how to draft.

    Raises:
        FileError: A file exists and must not be overwritten, or cannot be written.
        RobotCellError: As `load_robot` and `draft_robot`.
    """
    return _Writer(Path(folder).absolute(), options).write(str(description))


class _Writer:
    def __init__(self, folder: Path, options: NewCellOptions) -> None:
        self.folder = folder
        self.options = options
        self.files: list[str] = []
        self.new_files = NewFiles(folder, STAGE)
        self.meshes: list[MeshDraft] = []
        self.tool_pairs: tuple[DraftedPair, ...] = ()

    def write(self, description: str) -> NewCell:
        options = self.options
        given = load_robot(
            "robot",
            description,
            xacro_arguments=options.xacro_arguments,
            roots=options.roots,
            mesh_use=options.mesh_use or MeshUse.HULL,
            mesh_uses={uri: MeshUse.UNCHECKED for uri in options.unchecked},
        )
        if uses := self._chosen_uses(given.mechanism):
            sources = msgspec.structs.replace(given.sources, mesh_uses=given.sources.mesh_uses | uses)
            given = robot_from_sources("robot", sources, roots=options.roots)
        draft = draft_robot(given, options.draft)
        name = robot_name(given.mechanism)
        tool_name = free_name((TOOL,), _names(given, name))
        tool = self._tool(tool_name, MAX_LINKS - simulated_links(given.mechanism, self.meshes))
        mount = self._group_at(draft) if tool is not None else ""
        if not options.overwrite and (self.folder / CELL_FILE).exists():
            raise FileError.existing(self.folder / CELL_FILE, STAGE)
        with self.new_files:
            entries = self._entries(name, given, draft, tool, mount)
            self._text(CELL_FILE, _cell_note(description) + dump_yaml(entries))
            cell, state = load_cell(self.folder / CELL_FILE, options.roots)
            findings = in_order(
                [
                    *check_cell(cell, state),
                    *_renamed(given.mechanism.name, name),
                    *_guessed_hands(draft.hands),
                    *_lost(given, cell.robots[name]),
                ]
            )
            if tool is not None:
                lost = _lost(tool[0], cell.tools[tool[0].name])
                guessed = _guessed_hands({} if tool[1] is None else {tool[0].name: tool[1]})
                findings = in_order([*findings, *lost, *guessed, *_without_tcp(*tool)])
            self._text(REPORT_FILE, report_text(description, draft, findings, self.meshes, tool, self.tool_pairs))
        return NewCell(self.folder, tuple(self.files), draft, tuple(self.meshes), cell, state, findings)

    def _chosen_uses(self, mechanism: Mechanism, max_links: int = MAX_LINKS) -> frozendict[str, MeshUse]:
        """Return the collision representation of each mesh that is not checked as its hull, by URI."""
        if self.options.mesh_use is not None:
            return frozendict()
        drafted = draft_mesh_uses(mechanism, max_links)
        self.meshes += drafted
        return frozendict({found.uri: found.use for found in drafted if found.use is not MeshUse.HULL})

    def _tool(self, name: str, max_links: int) -> tuple[Tool, HandDraft | None] | None:
        """Return the tool to add, and the draft of its hand. max_links: That the simulation has left for it."""
        if not self.options.added:
            return None
        use = self.options.mesh_use or MeshUse.HULL
        loaded = load_tool(
            name,
            self.options.added,
            xacro_arguments=self.options.added_arguments,
            roots=self.options.roots,
            mesh_use=use,
        )
        if uses := self._chosen_uses(loaded.mechanism, max_links):
            sources = msgspec.structs.replace(loaded.sources, mesh_uses=uses)
            loaded = tool_from_sources(name, sources, roots=self.options.roots)
        robot = Robot(name, loaded.mechanism, sources=loaded.sources)
        self.tool_pairs = tuple(
            replace(pair, first=loaded.frame_of(pair.first), second=loaded.frame_of(pair.second))
            for pair in overlapping_pairs(robot, self.options.draft)
        )
        hands = [found.hand for found in draft_groups(loaded.mechanism, is_hand=True) if found.hand is not None]
        return loaded, draft_hand(robot, hands[0]) if hands else None

    def _entries(
        self, name: str, given: Robot, draft: Draft, tool: tuple[Tool, HandDraft | None] | None, mount: str
    ) -> dict[str, Any]:
        self._text(f"{name}.srdf", draft.srdf)
        self._text(LIMITS_FILE, draft.limits)
        robot: dict[str, Any] = self._reference(given.sources, name)
        robot |= {"srdf": f"{name}.srdf", "limits": LIMITS_FILE}
        entries: dict[str, Any] = {"format": FORMAT, "name": name, "robots": {name: robot}}
        if tool is not None:
            entries["tools"] = {tool[0].name: self._tool_entry(draft, *tool, mount)}
        frames = _frames(draft, {*_names(given, name), *entries.get("tools", ())})
        if frames:
            entries["frames"] = frames
        if self.tool_pairs:
            groups = {f"{TOOL}_{n}": [pair.first, pair.second] for n, pair in enumerate(self.tool_pairs, 1)}
            entries["collision"] = {"ignore_groups": groups}
        entries["state"] = {"configuration": dict(draft.home.values)}
        return entries

    def _reference(self, sources: ModelSources, name: str) -> dict[str, Any]:
        """Return the entries for a description: its file where the cell file may refer to it, else a copy."""
        path = Path(sources.folder, "x")
        home = enclosing_folder(self.folder / CELL_FILE)
        uses = {uri: use.value for uri, use in sources.mesh_uses.items()}
        settings: dict[str, Any] = {} if self.options.mesh_use is None else {"meshes": self.options.mesh_use.value}
        files = [Path(file) for file in sources.files.values() if file]
        if "://" not in sources.urdf_uri and all(file.is_relative_to(home) for file in (path, *files)):
            entry: dict[str, Any] = {"urdf": os.path.relpath(sources.urdf_uri, self.folder)}
            if sources.xacro_arguments:
                entry["xacro_arguments"] = dict(sources.xacro_arguments)
            return entry | settings | ({"mesh_uses": uses} if uses else {})
        self.new_files.will_write(f"{name}.urdf", MESHES, f"{MESHES}/{name}")
        written, uris = copy_description(sources, self.folder, name, self.options.overwrite)
        self.files.append(written)
        uses = {uris.get(uri, uri): use for uri, use in uses.items()}
        return {"urdf": written, **settings} | ({"mesh_uses": uses} if uses else {})

    def _tool_entry(self, draft: Draft, tool: Tool, hand: HandDraft | None, group: str) -> dict[str, Any]:
        entry = self._reference(tool.sources, tool.name)
        limits = f"{tool.name}_limits.yaml"
        if tool.mechanism.variables:
            self._text(limits, limits_text(tool.mechanism))
            entry["limits"] = limits
        entry["attached_to"] = group
        tip = draft.robot.groups[group].tip_link
        entry["touch_links"] = [tip, *_touchable_links(draft.robot, tip)]
        if hand is not None:
            entry["tcp_link"], entry["tcp"] = hand.base, _pose(hand.tcp)
            entry["configuration"] = dict(hand.opened)
        return entry

    def _group_at(self, draft: Draft) -> str:
        """Return the group whose tip the added gripper is mounted on.

        Raises:
            InvalidRequestError: No group ends there.
        """
        chains = {name: group.tip_link for name, group in draft.robot.groups.items() if group.tip_link}
        if not self.options.at and chains:
            return draft.robot.group().name
        found = [name for name, tip in chains.items() if self.options.at in (name, tip)]
        if not found:
            listed = ", ".join(f"{tip} of {name}" for name, tip in chains.items()) or "none"
            text = f"no group ends at {self.options.at!r}; there are {listed}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(self.options.at,))
        return found[0]

    def _text(self, name: str, text: str) -> None:
        self.new_files.will_write(name)
        write_text(self.folder / name, text, STAGE, self.options.overwrite, mode=0o644)
        self.files.append(name)


def _renamed(given: str, name: str) -> Iterator[Finding]:
    """Find the name of a robot that is not that of its description."""
    if name != given:
        text = f"robot {name}: the description names it {given!r}, which is no name in a cell"
        yield Finding(DRAFT, "names", text, "Rename it in the cell file; names have letters A to Z, digits, - and _.")


def _guessed_hands(hands: Mapping[str, HandDraft]) -> Iterator[Finding]:
    """Find hands whose open and closed states are guesses."""
    remedy = "Enter both states in the SRDF, and the range of the joints in the limits file."
    for name, hand in hands.items():
        if hand.doubt:
            yield Finding(DRAFT, "state", f"open and closed of the hand {name} are guesses: {hand.doubt}", remedy)


def _without_tcp(tool: Tool, hand: HandDraft | None) -> Iterator[Finding]:
    """Find an added tool without fingers, whose tool centre point is its root."""
    if hand is None:
        text = (
            f"tool {tool.name}: no fingers were found, so that its tool centre point is its root {tool.mechanism.root}"
        )
        yield Finding(DRAFT, "tools", text, "Write `tcp` of the tool in the cell file.")


def _lost(original: Robot | Tool, written: Robot | Tool) -> Iterator[Finding]:
    """Find the warnings about a description that its copy does not have."""
    remedy = "Mend the description or the arguments, and draft it again."
    return (Finding(WARNING, "description", text, remedy) for text in lost_warnings(original.sources, written.sources))


def _names(robot: Robot, name: str) -> set[str]:
    """Return the names that what is added to the cell of a robot must not have."""
    return {WORLD, name, *robot.mechanism.links, *robot.mechanism.joints, *robot.groups}


def _frames(draft: Draft, taken: set[str]) -> dict[str, Any]:
    """Return the frames at the tool centre points of the hands, with names that are not taken."""
    frames: dict[str, Any] = {}
    for group, hand in draft.hands.items():
        of_group = f"{group}_{TCP_FRAME}"
        wanted = (TCP_FRAME, of_group) if len(draft.hands) == 1 else (of_group,)
        frames[free_name(wanted, taken | set(frames))] = {"attached_to": hand.base, "pose": _pose(hand.tcp)}
    return frames


def _touchable_links(robot: Robot, tip: str) -> list[str]:
    """Return the links with shapes around a tip that a tool mounted there can touch: up to two above it, and those that
    are fixed to it, which the tool never moves against."""
    mechanism = robot.mechanism
    found: list[str] = []
    link = tip
    while link in mechanism.parent_joints and len(found) < 2:
        link = mechanism.parent_joints[link].parent
        if mechanism.links[link].collisions:
            found.append(link)
    part = tip
    while (joint := mechanism.parent_joints.get(part)) is not None and joint.kind is JointKind.FIXED:
        part = joint.parent
    fixed = [part]
    for joint in mechanism.tree_order:
        if joint.kind is JointKind.FIXED and joint.parent in fixed:
            fixed.append(joint.child)
    return found + [name for name in fixed if mechanism.links[name].collisions and name not in (tip, *found)]


def _cell_note(description: str) -> str:
    return (
        f"# Drafted from {Path(description).name}; {REPORT_FILE} rates each part. Lengths in m, angles in\n"
        f"# rad, masses in kg. The state is `{HOME}`. After a change run `robot_cell check {CELL_FILE}`.\n"
    )


def _pose(pose: Pose) -> dict[str, list[float]]:
    return {"position": list(pose.position), "quaternion": list(pose.quaternion)}
