"""Declaration of `robot_cell warm`."""

from __future__ import annotations

import click

from .deferred import deferred
from .options import cell_file_argument, root_option
from .reporting import json_option


@click.command()
@json_option
@cell_file_argument
@root_option
@deferred
def warm(**options: object) -> None:
    """Compile the kernels and make the sphere models of CELL_FILE, so that nodes and scripts are ready at once.

    Both are cached for this user; a second call takes a few seconds. Progress goes to the standard error stream.
    """
