"""`robot_cell warm`: kernels and sphere models are made before the nodes need them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ...io.cell_file.cell_file import load_cell
from ...planning.workers.warm_up import warm_up
from ..progress import Progress
from ..reporting import echo_json
from .cells import roots_of


def warm(cell_file: Path, folders: tuple[str, ...], as_json: bool) -> int:
    """Make the kernels and sphere models of a cell file."""
    cell, state = load_cell(cell_file, roots_of(folders))
    found = warm_up(cell, state, Progress())
    if as_json:
        echo_json(asdict(found))
        return 0
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    total = sum(found.seconds.values())
    click.echo(f"{cell_file} is ready: {found.spheres} spheres, {total:.1f} s in all")
    return 0
