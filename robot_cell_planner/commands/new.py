"""`robot_cell new`: a folder with a cell file, SRDF, limits and a report, from a robot description."""

from __future__ import annotations

from pathlib import Path

import click

from ..model.geometry import MeshUse
from ..setup_assistant.cell_setup import NewCell, NewCellOptions, new_cell
from ..setup_assistant.options import DraftOptions
from .findings import echo_findings, summary
from .options import roots_of

ARGUMENT = ":="
AUTO = "auto"


@click.command()
@click.argument("description")
@click.argument("arguments", nargs=-1, metavar="[NAME:=VALUE]...")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where to write (default: a folder of the robot's name)."
)
@click.option(
    "--add", "added", default="", metavar="FILE", help="URDF, xacro or SDF file of a gripper, added as a tool."
)
@click.option("--at", default="", metavar="LINK", help="Link it is mounted on (default: the tip of the main group).")
@click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes; repeatable.")
@click.option("--meshes", type=click.Choice([AUTO, *(use.value for use in MeshUse)]), default=AUTO,
              show_default=True, help="Shapes that collision meshes are checked as (auto: by mesh).")  # fmt: skip
@click.option("--samples", default=DraftOptions.samples, show_default=True, help="Random configurations to look at.")
@click.option("--seed", default=DraftOptions.seed, show_default=True, help="Seed of the random configurations.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def new(
    description: str,
    arguments: tuple[str, ...],
    folder: Path | None,
    added: str,
    at: str,
    folders: tuple[str, ...],
    meshes: str,
    samples: int,
    seed: int,
    overwrite: bool,
) -> int:
    """Draft a cell from DESCRIPTION, a URDF, xacro or SDF file or its package:// URI.

    Arguments of xacro are written as ROS does: robot_cell new ur.urdf.xacro ur_type:=ur5e name:=ur5e

    The folder gets cell.yaml, an SRDF with planning groups, named states and disabled pairs, a limits file and
    report.md, which says how each part was found and how sure it is.
    """
    options = NewCellOptions(
        xacro_arguments=_xacro_arguments(arguments),
        added=added,
        at=at,
        roots=roots_of(folders),
        mesh_use=None if meshes == AUTO else MeshUse(meshes),
        overwrite=overwrite,
        draft=DraftOptions(samples, seed),
    )
    name = Path(description.partition("://")[2] or description).name.partition(".")[0]
    made = new_cell(description, folder or Path(f"{name}_cell"), options)
    _echo(made)
    return 0


def _xacro_arguments(words: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(ARGUMENT)
        if not (name and separator):
            raise click.BadParameter(f"{word!r} is no xacro argument, expected name:=value", param_hint="arguments")
        found[name] = value
    return found


def _echo(made: NewCell) -> None:
    for found in made.draft.groups:
        ends = f", {found.group.base_link} to {found.group.tip_link}" if found.group.tip_link else ""
        click.echo(f"group {found.group.name}: {len(found.group.variables)} joints{ends}")
    decomposed = sum(found.use is MeshUse.DECOMPOSITION for found in made.meshes)
    if decomposed:
        click.echo(f"meshes: {decomposed} of {len(made.meshes)} are decomposed, because their hulls fill in too much")
    click.echo(f"pairs that need no check: {len(made.draft.pairs)}")
    home = made.draft.home
    free = "free of collisions" if not home.colliding else "IN COLLISION"
    click.echo(f"home: {free}, {home.limit_margin:.3g} rad or m from the nearest limit")
    echo_findings(made.findings)
    click.echo(f"wrote {', '.join(made.files)} to {made.folder}")
    click.echo(summary(made.findings))
