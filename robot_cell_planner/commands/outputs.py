"""Streams and files that a command writes. Needs no library: commands without a cell start fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from ..errors import FileError
from ..system.private_files import check_output

STANDARD_STREAMS = (0, 1, 2)  # descriptors


def open_standard_streams() -> None:
    """Open the null device in place of each standard stream that is closed, as by `>&-` of a shell.

    The next file that is opened would otherwise get its descriptor, and what libraries print would be written to it.
    """
    for descriptor in STANDARD_STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest descriptor that is free: this one
            os.set_inheritable(descriptor, True)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def discard_standard_output() -> None:
    """Discard what the standard output did not take: Python would write it again at its exit, and fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def are_same(first: Path, second: Path) -> bool:
    """Return whether two paths are of one file, also through links, or of one that does not exist yet."""
    return first.resolve() == second.resolve() or (first.exists() and second.exists() and first.samefile(second))


def check_outputs(written: Mapping[str, Path | None], read: Iterable[Path] = ()) -> None:
    """Check that no output replaces another output or an input, and that all can be written: a command that takes long
    refuses others at its begin.

    written: Files to write, by option. read: Files that the command reads.

    Raises:
        click.UsageError: Two of them are the same file.
        FileError: A file cannot be written.
    """
    others = [(str(path), path) for path in read]
    for option, path in written.items():
        if path is None:
            continue
        for name, other in others:
            if are_same(path, other):
                raise click.UsageError(f"{option} and {name} are the same file {path}; give each a file of its own")
        others.append((option, path))
        try:
            check_output(path)
        except OSError as error:
            raise FileError.of(path, error, option) from error
