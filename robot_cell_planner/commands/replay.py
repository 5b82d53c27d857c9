"""Declaration of `robot_cell replay`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .graph import graph_options
from .options import root_option
from .reporting import json_option


@click.command()
@json_option
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Answer by the library in this process, without nodes.")
@click.option("--recorded-namespace", default="", help="Namespace of the nodes that were recorded.")
@root_option
@graph_options
@deferred
def replay(**options: object) -> None:
    """Give the requests of FOLDER, a bag of `robot_cell record`, to running nodes, and print which replies differ.

    Each request gets the state that its recorded reply was computed for. Times are not compared. Nothing moves:
    requests to the execution node are not repeated. With --offline, the library answers requests to plan and to
    validate. The exit status is 1 if a reply differs, or if none was compared. Replies that a time limit ended in the
    record or now, not both, are named and not compared.
    """
