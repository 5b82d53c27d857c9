"""`robot_cell new`: a folder with a cell file, SRDF, limits and a report, from a robot description."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ...model.geometry import MeshUse
from ...setup_assistant.cell_setup import NewCell, NewCellOptions, new_cell
from ...setup_assistant.finding import ERROR
from ...setup_assistant.options import DraftOptions
from ..options import AUTO
from ..progress import Elapsed
from ..reporting import FAILED, echo_json
from .cells import roots_of
from .findings import echo_findings, summary, warnings_in_findings


def new(
    description: str,
    arguments: dict[str, str],
    folder: Path | None,
    added: str,
    added_arguments: dict[str, str],
    at: str,
    folders: tuple[str, ...],
    meshes: str,
    unchecked: tuple[str, ...],
    samples: int,
    seed: int,
    overwrite: bool,
    as_json: bool,
) -> int:
    """Write a draft of a cell, and print what was found."""
    options = NewCellOptions(
        xacro_arguments=arguments,
        added=added,
        at=at,
        roots=roots_of(folders),
        mesh_use=None if meshes == AUTO else MeshUse(meshes),
        overwrite=overwrite,
        draft=DraftOptions(samples, seed),
        added_arguments=added_arguments,
        unchecked=unchecked,
    )
    name = Path(description.partition("://")[2] or description).name.partition(".")[0]
    with warnings_in_findings(), Elapsed("drafting the cell"):
        made = new_cell(description, folder or Path(f"{name}_cell"), options)
    if as_json:
        echo_json(_entry(made))
    else:
        _echo(made)
    return FAILED if any(finding.level == ERROR for finding in made.findings) else 0


def _entry(made: NewCell) -> dict[str, object]:
    home = made.draft.home
    groups = [found.group for found in made.draft.groups]
    return {
        "folder": str(made.folder),
        "files": list(made.files),
        "groups": [{"name": g.name, "joints": g.variables, "from": g.base_link, "to": g.tip_link} for g in groups],
        "pairs_without_check": len(made.draft.pairs),
        "home": {"joints": dict(home.values), "colliding": home.colliding, "limit_margin": home.limit_margin},
        "meshes": [{"uri": mesh.uri, "use": mesh.use.value} for mesh in made.meshes],
        "frames": {name: frame.attached_to for name, frame in made.cell.frames.items()},
        "findings": [asdict(finding) for finding in made.findings],
    }


def _echo(made: NewCell) -> None:
    for found in made.draft.groups:
        ends = f", {found.group.base_link} to {found.group.tip_link}" if found.group.tip_link else ""
        count = len(found.group.variables)
        click.echo(f"group {found.group.name}: {count} joint{'s' if count != 1 else ''}{ends}")
    decomposed = sum(found.use is MeshUse.DECOMPOSITION for found in made.meshes)
    if decomposed:
        click.echo(
            f"meshes: {decomposed} of {len(made.meshes)} are decomposed, because their hulls fill in too much, or "
            "collide where they do not"
        )
    if exact := sum(found.use is MeshUse.EXACT for found in made.meshes):
        click.echo(
            f"meshes: {exact} of {len(made.meshes)} are checked by their triangles, because their convex pieces "
            "overlap where the triangles do not"
        )
    click.echo(f"pairs that need no check: {len(made.draft.pairs)}")
    home = made.draft.home
    free = "free of collisions" if not home.colliding else "IN COLLISION"
    click.echo(f"home: {free}, {home.from_limits}")
    for name, frame in made.cell.frames.items():
        text = f"frame {name}: tool centre point of the hand, on {frame.attached_to}"
        click.echo(f"{text}; `robot_cell plan --frame {name}` moves it to a pose")
    echo_findings(made.findings)
    click.echo(f"wrote {', '.join(made.files)} to {made.folder}")
    click.echo(summary(made.findings))
