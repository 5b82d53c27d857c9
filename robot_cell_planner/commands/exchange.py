"""`robot_cell import` and `robot_cell export`: cells of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..exchange import ImportedCell, export_compas, import_compas, import_moveit
from ..io.cell_file.cell_file import load_cell
from ..model.geometry import MeshUse
from .options import roots_of, xacro_arguments
from .outputs import check_outputs
from .progress import Elapsed
from .reporting import echo_json, reporting, warn


@click.command("import")
@reporting
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, metavar="[NAME:=VALUE]...")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write (default: that of SOURCE and _cell).")
@click.option("--state", type=click.Path(path_type=Path), help="compas_fab: JSON file of the RobotCellState.")
@click.option("--urdf", default="", metavar="FILE", help="MoveIt: description, if the package has several or none.")
@click.option("--srdf", default="", metavar="FILE", help="MoveIt: SRDF or xacro file, if the package has several.")
@click.option("--scene", "scenes", multiple=True, metavar="FILE", help="MoveIt: .scene or SDF file; repeatable.")
@click.option("--meshes", type=click.Choice([use.value for use in MeshUse]), default=MeshUse.HULL.value,
              show_default=True, help="MoveIt: shapes that collision meshes are checked as.")  # fmt: skip
@click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes; repeatable.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def import_(
    source: Path,
    arguments: tuple[str, ...],
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
    """Make a cell of SOURCE: a JSON file with a RobotCell of compas_fab, or the folder of a MoveIt configuration
    package.

    The folder gets cell.yaml, descriptions and meshes; with MoveIt also parameters.yaml for the nodes. What the cell
    does not have, or has in another form, is listed. Arguments of xacro are written as ROS does: name:=ur5e
    """
    target = folder or Path(f"{source.resolve().name.partition('.')[0] or 'imported'}_cell")
    roots = roots_of(folders)
    is_moveit = source.is_dir()
    if not is_moveit and (urdf or srdf or scenes or arguments):
        raise click.UsageError(f"{source} is no folder: --urdf, --srdf, --scene and arguments are for MoveIt's")
    with Elapsed("importing"):
        if is_moveit:
            values, use = xacro_arguments(arguments), MeshUse(meshes)
            made = import_moveit(source, target, urdf, srdf, scenes, values, roots, use, overwrite=overwrite)
        else:
            made = import_compas(source, target, state or "", roots, overwrite=overwrite)
    if as_json:
        lists = {"left_out": list(made.left_out), "warnings": list(made.warnings)}
        echo_json({"folder": str(made.folder), "files": list(made.files), **lists})
    else:
        _echo(made)
    return 0


@click.command("export")
@reporting
@click.argument("cell_file", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="JSON file of the RobotCell (default: NAME.json).")
@click.option("--state", type=click.Path(path_type=Path), help="File of its state (default: NAME.state.json).")
@click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes; repeatable.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def export(
    cell_file: Path, output: Path | None, state: Path | None, folders: tuple[str, ...], overwrite: bool, as_json: bool
) -> int:
    """Write the cell of CELL_FILE and its state as RobotCell and RobotCellState of compas_fab 2."""
    cell, cell_state = load_cell(cell_file, roots_of(folders))
    target = output or Path(f"{cell.name}.json")
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
