"""Declaration of `robot_cell reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .inputs import InputPath
from .outputs import check_outputs
from .reporting import json_option


@click.command()
@json_option
@click.argument("case_file", type=InputPath("case"))
@click.option("--view", type=click.Path(path_type=Path), help="Write a page that shows the case to this HTML file.")
@deferred
def reproduce(case_file: Path, view: Path | None, **others: object) -> None:
    """Answer the request of CASE_FILE again, and print whether the answer is the same, byte for byte.

    A case file has a request with its cell, meshes, state and answer: `robot_cell plan --case`, the parameter
    `case_folder` of the planning node, or `save_case` of the library write one. Of a motion that was executed, the
    recorded measurements are supervised again; nothing moves. The exit status is 1 if the answer differs.
    """
    check_outputs({"--view": view}, [case_file])
