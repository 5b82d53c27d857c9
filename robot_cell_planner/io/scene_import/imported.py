"""Result of an import: models, their state, and the parts of the file that were ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from frozendict import frozendict

from ...model.bodies import CollisionSettings, NamedFrame, PairMargin, RigidBody, Tool
from ...model.cell import RobotCell
from ...model.pose import Pose
from ...model.robot import CompositeGroup, Robot
from ...model.state import BodyState, RobotCellState, ToolState
from ...model.value import WORLD
from ..common.defects import Defects
from ..common.resources import NO_ROOTS, ResourceRoots
from ..robot_description.loading import mesh_use_of, robot_from_sources

replace = msgspec.structs.replace
N = TypeVar("N", Tool, RigidBody, NamedFrame)
S = TypeVar("S", ToolState, BodyState)


class Imported(msgspec.Struct, frozen=True):
    """Imported cell and state.

    left_out: Ignored parts of the file, and what is probably not meant as written, one line each.
    warnings: Lines of `left_out` that should be shown: parts that a cell may need, and defects.
    """

    cell: RobotCell
    state: RobotCellState
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def with_defects(imported: Imported, defects: Defects) -> Imported:
    """Return the import with defects of its file among what is left out, and among its warnings."""
    return with_remarks(imported, defects.texts)


def with_remarks(imported: Imported, texts: Iterable[str]) -> Imported:
    """Return the import with texts before what is left out, and before its warnings."""
    return replace(imported, left_out=(*texts, *imported.left_out), warnings=(*texts, *imported.warnings))


def moved(imported: Imported, origin: Pose) -> Imported:
    """Move the origin of an import to a pose in the world; applies to all objects without a parent frame."""

    def at(pose: Pose, parent_frame: str) -> Pose:
        return pose if parent_frame not in ("", WORLD) else origin @ pose

    cell, state = imported.cell, imported.state
    frames = {name: replace(f, pose=at(f.pose, f.attached_to)) for name, f in cell.frames.items()}
    return replace(
        imported,
        cell=replace(cell, frames=frozendict(frames)),
        state=replace(
            state,
            base_poses=frozendict({n: at(pose, cell.robots[n].attached_to) for n, pose in state.base_poses.items()}),
            tools=frozendict({n: replace(s, pose=at(s.pose, s.attached_to)) for n, s in state.tools.items()}),
            bodies=frozendict({n: replace(s, pose=at(s.pose, s.attached_to)) for n, s in state.bodies.items()}),
        ),
    )


def with_prefix(imported: Imported, prefix: str, roots: ResourceRoots = NO_ROOTS) -> Imported:
    """Prepend a prefix to every name of a robot, joint, link, group, tool, body and frame.

    Robots are read again from their texts. roots: Folders that their meshes may be read from.

    Raises:
        FileError, ResourceError, ModelError: The texts of a robot cannot be read any more.
    """
    return _Renamer(prefix, roots).imported(imported) if prefix else imported


class _Renamer:
    def __init__(self, prefix: str, roots: ResourceRoots) -> None:
        self.prefix = prefix
        self.roots = roots

    def name(self, name: str) -> str:
        return name if name in ("", WORLD, "*") else self.prefix + name

    def names(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.name(name) for name in names)

    def renamed(self, items: Mapping[str, N]) -> frozendict[str, N]:
        return frozendict({self.name(name): replace(item, name=self.name(name)) for name, item in items.items()})

    def states(self, states: Mapping[str, S]) -> frozendict[str, S]:
        return frozendict(
            {
                self.name(name): replace(
                    state,
                    attached_to=self.name(state.attached_to),
                    touch_links=self.names(state.touch_links),
                    touch_bodies=self.names(state.touch_bodies),
                )
                for name, state in states.items()
            }
        )

    def robot(self, robot: Robot) -> Robot:
        name, prefix = self.name(robot.name), self.prefix + robot.prefix
        use = mesh_use_of(robot.mechanism, robot.sources)
        renamed = robot_from_sources(name, robot.sources, prefix, self.roots, use)
        return replace(renamed, attached_to=self.name(robot.attached_to))

    def imported(self, imported: Imported) -> Imported:
        cell, state = imported.cell, imported.state
        frames = {name: replace(f, attached_to=self.name(f.attached_to)) for name, f in cell.frames.items()}
        renamed = RobotCell(
            name=cell.name,
            robots=frozendict({self.name(name): self.robot(robot) for name, robot in cell.robots.items()}),
            tools=self.renamed(cell.tools),
            bodies=self.renamed(cell.bodies),
            frames=self.renamed(frames),
            collision=self.settings(cell.collision),
            groups=self.groups(cell.groups),
        )
        return replace(
            imported,
            cell=renamed,
            state=RobotCellState(
                base_poses=frozendict({self.name(name): pose for name, pose in state.base_poses.items()}),
                configuration=frozendict({self.name(name): value for name, value in state.configuration.items()}),
                tools=self.states(state.tools),
                bodies=self.states(state.bodies),
            ),
        )

    def groups(self, groups: frozendict[str, CompositeGroup]) -> frozendict[str, CompositeGroup]:
        renamed = [CompositeGroup(self.name(name), self.names(group.groups)) for name, group in groups.items()]
        return frozendict({group.name: group for group in renamed})

    def settings(self, settings: CollisionSettings) -> CollisionSettings:
        groups = {self.name(name): self.names(members) for name, members in settings.ignore_groups.items()}
        margins = {self.name(name): margin for name, margin in settings.margins.items()}
        pairs = [PairMargin(self.name(p.first), self.name(p.second), p.margin) for p in settings.pair_margins]
        return CollisionSettings(frozendict(groups), frozendict(margins), tuple(pairs))
