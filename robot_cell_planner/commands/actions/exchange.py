"""`robot_cell import` and `robot_cell export`: cells of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ...exchange import ImportedCell, export_compas, export_moveit_scene, import_compas, import_moveit
from ...io.cell_file.cell_file import load_cell
from ...model.cell import RobotCell
from ...model.geometry import MeshUse
from ...model.state import RobotCellState
from ..exchange import SCENE
from ..options import AUTO
from ..outputs import check_outputs
from ..progress import Elapsed
from ..reporting import echo_json, warn
from .cells import roots_of


def import_(
    source: Path,
    arguments: dict[str, str],
    folder: Path | None,
    state: Path | None,
    urdf: str,
    srdf: str,
    scenes: tuple[str, ...],
    meshes: str,
    folders: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
) -> int:
    """Write a cell made of files of another program, and print what differs."""
    target = folder or Path(f"{source.resolve().name.partition('.')[0] or 'imported'}_cell")
    roots = roots_of(folders)
    is_moveit = source.is_dir()
    with Elapsed("importing"):
        if is_moveit:
            use = None if meshes == AUTO else MeshUse(meshes)
            made = import_moveit(source, target, urdf, srdf, scenes, arguments, roots, use, overwrite=overwrite)
        else:
            made = import_compas(source, target, state or "", roots, overwrite=overwrite)
    if as_json:
        lists = {"left_out": list(made.left_out), "warnings": list(made.warnings)}
        echo_json({"folder": str(made.folder), "files": list(made.files), **lists})
    else:
        _echo(made)
    return 0


def export(
    cell_file: Path, output: Path | None, state: Path | None, folders: tuple[str, ...], overwrite: bool, as_json: bool
) -> int:
    """Write a cell for another program, and print what differs."""
    cell, cell_state = load_cell(cell_file, roots_of(folders))
    target = output or Path(f"{cell.name}.json")
    if target.suffix == SCENE:
        return _export_scene(cell, cell_state, target, cell_file, overwrite, as_json)
    state_file = state or target.with_suffix(".state.json")
    check_outputs({"--output": target, "--state": state_file}, [cell_file])
    with Elapsed("exporting"):
        made = export_compas(cell, cell_state, target, state_file, overwrite=overwrite)
    if as_json:
        echo_json({"cell": str(target), "state": str(state_file), "left_out": list(made.left_out)})
    else:
        _echo_differences(made.left_out)
        click.echo(f"wrote {target} and {state_file}")
    return 0


def _export_scene(
    cell: RobotCell, state: RobotCellState, target: Path, cell_file: Path, overwrite: bool, as_json: bool
) -> int:
    """Write the bodies of a cell for MoveIt, and print what differs."""
    check_outputs({"--output": target}, [cell_file])
    with Elapsed("exporting"):
        made = export_moveit_scene(cell, state, target, overwrite=overwrite)
    if as_json:
        echo_json({"scene": str(target), "left_out": list(made.left_out)})
    else:
        _echo_differences(made.left_out)
        click.echo(f"wrote {target}")
    return 0


def _echo(made: ImportedCell) -> None:
    for text in made.warnings:
        warn(text)
    _echo_differences(made.left_out)
    cell = made.cell
    counts = f"robots {len(cell.robots)}, tools {len(cell.tools)}, bodies {len(cell.bodies)}"
    click.echo(f"wrote {len(made.files)} files to {made.folder}: {counts}")
    click.echo(f"next: robot_cell check {made.folder / made.files[0]}")


def _echo_differences(lines: Sequence[str]) -> None:
    """Print what is left out, or has another form."""
    for line in lines:
        click.echo(f"{click.style('differs', fg='yellow')} {line}")
