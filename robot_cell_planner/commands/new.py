"""Declaration of `robot_cell new`."""

from __future__ import annotations

from pathlib import Path

import click

from ..setup_assistant.draft_defaults import MAX_SAMPLES, SAMPLES, SEED
from .deferred import deferred
from .options import AUTO, MESHES, root_option, seed, xacro_arguments
from .reporting import json_option


@click.command()
@json_option
@click.argument("description")
@click.argument("arguments", nargs=-1, metavar="[NAME:=VALUE]...", callback=xacro_arguments)
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where to write (default: the name of the file and _cell)."
)
@click.option(
    "--add", "added", default="", metavar="FILE", help="URDF, xacro or SDF file of a gripper, added as a tool."
)
@click.option(
    "--add-argument", "added_arguments", multiple=True, metavar="NAME:=VALUE", callback=xacro_arguments,
    help="Argument of xacro for the file of --add; repeatable.",
)  # fmt: skip
@click.option("--at", default="", metavar="LINK", help="Link it is mounted on (default: the tip of the main group).")
@root_option
@click.option("--meshes", type=click.Choice(MESHES), default=AUTO,
              show_default=True, help="Shapes that collision meshes are checked as (auto: by mesh).")  # fmt: skip
@click.option("--unchecked", multiple=True, metavar="URI",
              help="Collision mesh of DESCRIPTION that is left out of all checks; repeatable.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1, MAX_SAMPLES), default=SAMPLES, show_default=True,
              help="Number of random configurations to check.")  # fmt: skip
@click.option("--seed", type=seed, default=SEED, show_default=True,
              help="Seed of the random configurations.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@deferred
def new(added: str, at: str, added_arguments: dict[str, str], **others: object) -> None:
    """Draft a cell from DESCRIPTION, a URDF, xacro or SDF file or its package:// URI.

    Arguments of xacro are written as ROS does: robot_cell new ur.urdf.xacro ur_type:=ur5e name:=ur5e

    The folder gets cell.yaml, an SRDF with planning groups, named states and disabled pairs, a limits file and
    report.md, which describes how each part was found and how sure it is. The exit status is 1 if the check of the
    new cell finds an error, as that of `check` is.
    """
    for option in (name for name, value in (("--add-argument", added_arguments), ("--at", at)) if value and not added):
        raise click.UsageError(f"{option} is for the file of --add, which is missing")
