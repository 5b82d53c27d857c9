"""The commands of `robot_cell` that need the library alone."""

from __future__ import annotations

import click

from .. import __version__
from .check import check
from .new import new


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="robot_cell")
def commands() -> None:
    """Robot cells: draft one from a robot description, check it, and start its nodes.

    Without a command, `up` is meant: `robot_cell --cell cell.yaml -- client` starts the nodes and the client.
    """


@commands.command("up")
def up() -> None:
    """Start the nodes of a cell, and end them together."""


commands.add_command(new)
commands.add_command(check)
