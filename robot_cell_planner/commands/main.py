"""Entry point of the command `robot_cell`."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ..errors import FileError, RobotCellError
from ..system.compilation_notice import on_compilation
from .group import COMMANDS, commands
from .interruption import ended_as_by_ctrl_c
from .options import CELL_FILE
from .outputs import discard_standard_output, open_standard_streams
from .progress import echo_compilation
from .remedies import remedy_of
from .reporting import echo_json, error_entry, import_failure

UP = "up"
OPTIONS = ("--help", "-h", "--version")  # that do not belong to `up`, which is meant without a command
FAILED, JSON = 1, "--json"
PROGRAM, COMPLETION = "robot_cell", "_ROBOT_CELL_COMPLETE"
OUTPUT = "standard output"
DESCRIPTIONS = (".urdf", ".xacro", ".sdf")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. The supervisor of the nodes does not import the library.

    Returns:
        Its exit status: 0 if it succeeded, 1 if it failed, 2 for a command line that is wrong.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_standard_streams()
    try:
        if COMPLETION in os.environ:  # the shell requests a script, or the words that may follow
            commands.main([], prog_name=PROGRAM, complete_var=COMPLETION)
        if words[:1] == [UP]:
            return _up(words[1:])
        if not words or (words[0].startswith("-") and words[0] not in OPTIONS):
            return _up(words)
        if words[0] not in (*COMMANDS, *OPTIONS):
            raise _unknown(words[0])
        logging.basicConfig(format="%(levelname)s: %(message)s")
        with ended_as_by_ctrl_c(), on_compilation(echo_compilation):
            status = commands.main(words, prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except (click.Abort, KeyboardInterrupt):
        return FAILED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        discard_standard_output()  # nobody reads the output any longer
        return FAILED
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        failed = _failed(FileError.of(error.filename or OUTPUT, error, next(iter(words), UP)), words)
        if error.filename is None:
            discard_standard_output()
        return failed
    except RobotCellError as error:
        return _failed(error, words)
    return status if isinstance(status, int) else 0


def _failed(error: RobotCellError, words: Sequence[str]) -> int:
    """Print an error, and return the exit status. On the standard error stream if the standard output takes nothing."""
    if JSON in words:
        try:
            echo_json({"error": error_entry(error)})
            return FAILED
        except BrokenPipeError:
            discard_standard_output()
            return FAILED
        except OSError as full:
            discard_standard_output()
            error = FileError.of(OUTPUT, full, words[0])
    click.echo(f"robot_cell: {error}\n  -> {remedy_of(error)}", err=True)
    return FAILED


def _unknown(word: str) -> click.UsageError:
    from ..model.name_suggestions import unknown_name

    if Path(word).suffix in DESCRIPTIONS and Path(word).is_file():
        return click.UsageError(f"{word!r} is no command; `{PROGRAM} new {word}` drafts a cell of a description")
    cell_file = Path(word, CELL_FILE) if Path(word, CELL_FILE).is_file() else Path(word)
    if cell_file.is_file():
        return click.UsageError(f"{word!r} is no command; `{PROGRAM} {UP} {cell_file}` starts the nodes of a cell file")
    text = unknown_name(f"command {word!r}", word, (UP, *COMMANDS))
    return click.UsageError(f"{text}\nTry '{PROGRAM} --help' for help.")


def _up(words: Sequence[str]) -> int:
    """Start the nodes; the words are those of `nodes.bringup`, which has a client's command line among them."""
    try:
        from ..nodes.bringup.command_line import main as start
    except ImportError as error:
        raise import_failure("the nodes need ROS 2", error) from error
    return start(words)


if __name__ == "__main__":
    sys.exit(main())
