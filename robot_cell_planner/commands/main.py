"""Entry point of the command `robot_cell`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from ..errors import RobotCellError
from .group import COMMANDS, commands

UP = "up"
OPTIONS = ("--help", "-h", "--version")  # that do not belong to `up`, which is meant without a command
FAILED = 1
PROGRAM, COMPLETION = "robot_cell", "_ROBOT_CELL_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. The supervisor of the nodes does not import the library.

    Returns:
        Its exit status: 0 if it succeeded, 1 if it failed, 2 for a command line that is wrong.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if COMPLETION in os.environ:  # the shell requests a script, or the words that may follow
            commands.main([], prog_name=PROGRAM, complete_var=COMPLETION)
        if not words or words[0] not in (*COMMANDS, *OPTIONS):
            return _up(words[1:] if words[:1] == [UP] else words)
        status = commands.main(words, prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.Abort:
        return FAILED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except RobotCellError as error:
        click.echo(f"robot_cell: {error}\n  -> {error.remedy}", err=True)
        return FAILED
    return status if isinstance(status, int) else 0


def _up(words: Sequence[str]) -> int:
    """Start the nodes; the words are those of `nodes.bringup`, which has a client's command line among them."""
    try:
        from ..nodes.bringup.command_line import main as start
    except ImportError as error:
        raise click.ClickException(f"the nodes need ROS 2, which cannot be imported: {error}") from error
    return start(words)


if __name__ == "__main__":
    sys.exit(main())
