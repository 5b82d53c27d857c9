"""Declarations of `robot_cell import` and `robot_cell export`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .inputs import InputPath
from .options import AUTO, MESHES, cell_file_argument, root_option, xacro_arguments
from .reporting import json_option

SCENE = ".scene"


@click.command("import")
@json_option
@click.argument("source", type=InputPath("import"))
@click.argument("arguments", nargs=-1, metavar="[NAME:=VALUE]...", callback=xacro_arguments)
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write (default: that of SOURCE and _cell).")
@click.option("--state", type=InputPath("read compas_fab"), help="compas_fab: JSON file of the RobotCellState.")
@click.option("--urdf", default="", metavar="FILE", help="MoveIt: description, if the package has several or none.")
@click.option("--srdf", default="", metavar="FILE", help="MoveIt: SRDF or xacro file, if the package has several.")
@click.option("--scene", "scenes", multiple=True, metavar="FILE", help="MoveIt: .scene or SDF file; repeatable.")
@click.option("--meshes", type=click.Choice(MESHES), default=AUTO, show_default=True,
              help="MoveIt: shapes that collision meshes are checked as (auto: by mesh).")  # fmt: skip
@root_option
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@deferred
def import_(
    source: Path,
    arguments: dict[str, str],
    state: Path | None,
    urdf: str,
    srdf: str,
    scenes: tuple[str, ...],
    **others: object,
) -> None:
    """Make a cell of SOURCE: a JSON file with a RobotCell of compas_fab, or the folder of a MoveIt configuration
    package.

    The folder gets cell.yaml, descriptions and meshes; with MoveIt also parameters.yaml for the nodes. What the cell
    does not have, or has in another form, is listed. Arguments of xacro are written as ROS does: name:=ur5e
    """
    if source.is_dir() and state is not None:
        raise click.UsageError(f"{source} is a folder: --state is for a JSON file of compas_fab")
    if not source.is_dir() and (urdf or srdf or scenes or arguments):
        raise click.UsageError(f"{source} is no folder: --urdf, --srdf, --scene and arguments are for MoveIt's")


@click.command("export")
@json_option
@cell_file_argument
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="JSON file of the RobotCell (default: NAME.json), or .scene file of MoveIt.",
)
@click.option(
    "--state", type=click.Path(path_type=Path), help="compas_fab: file of the state (default: NAME.state.json)."
)
@root_option
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@deferred
def export(output: Path | None, state: Path | None, **options: object) -> None:
    """Write the cell of CELL_FILE and its state as RobotCell and RobotCellState of compas_fab 2, or with an output that
    ends in .scene, its bodies as a scene of MoveIt. What the files do not have, or have in another form, is listed.
    """
    if state is not None and output is not None and output.suffix == SCENE:
        raise click.UsageError(f"{output} has the poses of the bodies: --state is for files of compas_fab")
