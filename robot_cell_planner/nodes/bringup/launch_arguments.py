"""Checks of the arguments of launch files: launch ignores unknown ones, and only warns of missing files of parameters,
without which nodes would run with defaults, such as commands of their own instead of those of controllers."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping

from ...errors import FileError

MISSPELT = 0.75  # similarity; a launch file that includes this one has arguments of its own, of other names


def check_arguments(
    given: Iterable[str], known: Iterable[str], files: Mapping[str, str], warn: Callable[[str], object]
) -> None:
    """Check the arguments of a launch file.

    Args:
        given: Words of the command line.
        known: Names of its arguments.
        files: Paths of files of parameters, by argument.
        warn: Called with each warning, see `misspelt_arguments`.

    Raises:
        FileError: A file does not exist.
    """
    for text in misspelt_arguments(given, known):
        warn(text)
    check_files(files)


def check_files(files: Mapping[str, str]) -> None:
    """Check that the files that arguments name exist.

    Raises:
        FileError: One does not.
    """
    for argument, path in files.items():
        if not os.path.isfile(path):
            where = os.path.abspath(path)
            text = f"{argument}:={path} is no file: {where}; paths are relative to the current folder"
            raise FileError(text, stage="launch", subjects=(argument, path))


def misspelt_arguments(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a warning for each argument `NAME:=VALUE` of a command line whose name is unknown, but similar to a known
    one."""
    names, found = list(known), []
    for word in given:
        name, separator, _ = word.partition(":=")
        near = difflib.get_close_matches(name, names, 1, MISSPELT)
        if separator and near and name not in names:
            found.append(f"this launch file has no argument {name}, which {word} gives; nearest: {near[0]}")
    return found
