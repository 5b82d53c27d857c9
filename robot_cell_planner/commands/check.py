"""Declaration of `robot_cell check`."""

from __future__ import annotations

import click

from .deferred import deferred
from .options import cell_file_argument, root_option
from .reporting import json_option


@click.command()
@cell_file_argument
@root_option
@json_option
@deferred
def check(**options: object) -> None:
    """Check CELL_FILE: its units, state, limits, meshes, masses, SRDF, groups and frames, and what is a draft.

    The exit status is 1 if there is an error. Each finding says what to do about it.
    """
