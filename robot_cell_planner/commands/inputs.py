"""Files that a command reads. Needs no library: one that does not exist is reported before it is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ..errors import FileError


class InputPath(click.Path):
    """Type of the path of a file or folder that has to exist when the command runs.

    stage: of the error about one that does not exist. names_file: False for values that are no path.
    """

    def __init__(self, stage: str, names_file: Callable[[Path], bool] = lambda _: True) -> None:
        super().__init__(path_type=Path)
        self.stage = stage
        self.names_file = names_file


def check_inputs(context: click.Context) -> None:
    """Check that the files and folders exist that a command line names.

    Raises:
        FileError: One of them does not.
    """
    for parameter in context.command.params:
        kind = parameter.type
        if not isinstance(kind, InputPath):
            continue
        for path in filter(kind.names_file, _paths_of(context.params.get(parameter.name or ""))):
            try:
                os.stat(path)
            except (OSError, ValueError) as error:
                raise FileError.of(path, error, kind.stage) from error


def _paths_of(value: Any) -> Iterator[Path]:
    """Yield the paths of a parameter that has one, several or none."""
    if isinstance(value, Path):
        yield value
    elif value is not None:
        yield from value
