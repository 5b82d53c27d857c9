"""Entry point of the command `robot_cell`, and its subcommands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from .. import __version__
from ..errors import RobotCellError
from .check import check
from .new import new

DEFAULT_COMMAND = "up"
FAILED = 1
WRONG_USE = 2
OWN_OPTIONS = ("--help", "-h", "--version")


class _Commands(click.Group):
    """Group of commands; words that name none of them belong to `up`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in OWN_OPTIONS):
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="robot_cell")
def commands() -> None:
    """Robot cells: draft one from a robot description, check it, and start its nodes.

    Without a command, `up` is meant: `robot_cell --cell cell.yaml -- client` starts the nodes and the client.
    """


@commands.command(
    DEFAULT_COMMAND,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
    short_help="Start the nodes of a cell, and end them together.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def up(words: tuple[str, ...]) -> int:
    """Start the nodes of a cell; see `robot_cell up --help`."""
    try:
        from ..nodes.bringup.command_line import main as start
    except ImportError as error:
        raise click.ClickException(f"the nodes need ROS 2, which is not there: {error}") from error
    return start(words)


commands.add_command(new)
commands.add_command(check)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        Its exit status: 0 if it did what was asked, 1 if it failed, 2 for a command line that is wrong.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = commands.main(words, prog_name="robot_cell", standalone_mode=False)
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.Abort:
        return FAILED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except RobotCellError as error:
        click.echo(f"robot_cell: {error}", err=True)
        return FAILED
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    sys.exit(main())
