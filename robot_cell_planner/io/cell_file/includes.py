"""Scenes of other programs that a cell file includes: their bodies and frames become part of the cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from frozendict import frozendict

from ...errors import DuplicateNameError, RobotCellError
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.value import check_name
from ..common.resources import ResourceRoots, resolve, roots_for
from ..common.sections import Section
from ..scene_import.imported import Imported, moved, with_prefix
from ..scene_import.scene_files import read_scene
from .shape_sections import read_pose

STAGE = "include"
COUNTED = re.compile(r"\d+ x ")


def read_includes(root: Section, folder: str, roots: ResourceRoots, *, strict: bool) -> Iterator[Imported]:
    """Read the scenes in the list `include`, each with its prefix and at its pose. What is left out names the file.

    Raises:
        FileError: An entry is malformed, or a file is of another kind.
        ResourceError: A file is missing or outside the roots.
        RobotCellError: As the readers of scenes; the message names the entry.
    """
    for section in root.listed_sections("include"):
        section.allow("file", "prefix", "pose")
        prefix, pose = section.text("prefix", ""), read_pose(section)
        try:
            if prefix:
                check_name(prefix, "prefix")
            path = resolve(section.text("file"), folder, roots)
            found = read_scene(path, roots_for(path, roots), STAGE, strict=strict)
        except RobotCellError as error:
            location = section.error("").message
            raise error.with_message(location + error.message) from error
        section.finish()
        named = msgspec.structs.replace(
            found,
            left_out=tuple(_located(line, path) for line in found.left_out),
            warnings=tuple(_located(line, path) for line in found.warnings),
        )
        yield moved(with_prefix(named, prefix), pose)


def _located(line: str, path: Path) -> str:
    """Return a line about what is left out with the file; a defect has its place already."""
    return f"{path}: left out: {line}" if COUNTED.match(line) else line


def with_scene(cell: RobotCell, state: RobotCellState, scene: Imported) -> tuple[RobotCell, RobotCellState]:
    """Return cell and state with the bodies, frames and allowed collisions of a scene.

    Raises:
        DuplicateNameError: A body or frame is in the cell already.
    """
    added = scene.cell
    double = next((name for name in (*added.bodies, *added.frames) if name in cell.bodies or name in cell.frames), None)
    if double is not None:
        text = f"{double!r} of scene {added.name} is in the cell already; a prefix makes names different"
        raise DuplicateNameError(text, stage=STAGE, subjects=(double,))
    settings = cell.collision
    groups = frozendict({**added.collision.ignore_groups, **settings.ignore_groups})
    merged = msgspec.structs.replace(
        cell,
        bodies=frozendict({**cell.bodies, **added.bodies}),
        frames=frozendict({**cell.frames, **added.frames}),
        collision=msgspec.structs.replace(settings, ignore_groups=groups),
    )
    bodies = frozendict({**state.bodies, **scene.state.bodies})
    return merged, msgspec.structs.replace(state, bodies=bodies)
