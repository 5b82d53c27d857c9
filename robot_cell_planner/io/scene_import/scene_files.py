"""Scenes of other programs: SDFormat worlds and models, MoveIt .scene files. The extension selects the format."""

from __future__ import annotations

from pathlib import Path

from ...errors import FileError
from ..common.defects import Defects
from ..common.resources import ResourceRoots, read_text
from .imported import Imported, with_defects
from .moveit_scene import read_moveit_scene
from .sdformat import read_sdf

SDF, SCENES = (".sdf", ".world"), (".scene",)


def read_scene(path: Path, roots: ResourceRoots, stage: str, *, strict: bool = False) -> Imported:
    """Read the bodies and frames of a scene.

    Args:
        path: File of the scene.
        roots: Folders that models and meshes of the scene may be read from.
        stage: Stage of errors.
        strict: Refuse defects that do not prevent the use of the bodies; otherwise they are in `left_out`.

    Raises:
        FileError: The extension is not supported, or the file is missing or malformed.
        RobotCellError: As `read_sdf` and `read_moveit_scene`.
    """
    folder, source = str(path.parent), str(path)
    if path.suffix in SDF:
        defects = Defects(strict)
        found = read_sdf(read_text(path, stage, roots.text_bytes, defects), folder, roots, source, strict=strict)
        return with_defects(found, defects)
    if path.suffix in SCENES:
        return read_moveit_scene(read_text(path, stage, roots.text_bytes), source)
    suffixes = ", ".join((*SDF, *SCENES))
    raise FileError(f"{path} ends in {path.suffix or 'nothing'}, expected one of {suffixes}", stage=stage)
