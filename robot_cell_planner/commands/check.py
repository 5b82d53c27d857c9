"""Declaration of `robot_cell check`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .options import cell_file_argument, root_option
from .reporting import json_option


@click.command()
@cell_file_argument
@root_option
@click.option(
    "--params", "parameters", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
    help="Parameters of the nodes, whose ranges of grippers are checked (default: parameters.yaml beside CELL_FILE, if "
         "there is one).",
)  # fmt: skip
@json_option
@deferred
def check(**options: object) -> None:
    """Check CELL_FILE: its units, state, limits, meshes, masses, SRDF, groups and frames, and what is a draft.

    The exit status is 1 if there is an error. Each finding says what to do about it.
    """
