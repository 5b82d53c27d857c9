"""Defects of descriptions that do not prevent their use: warnings, or errors where the reader is strict."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...errors import RobotCellError
from ...model.name_suggestions import listed

MAX_DEFECTS = 1000
PLACED = re.compile(r"(.+?):(\d+): (.*)", re.DOTALL)  # file, line, text


class Defects:
    """Collects the defects that are found while a description is read.

    Args:
        strict: Raise each defect as an error.
    """

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self._texts: dict[str, None] = {}

    def note(self, error: RobotCellError, consequence: str) -> None:
        """Take note of a defect. `consequence`: What is done instead, as a clause ("the mesh is not shown").

        Raises:
            RobotCellError: The defect, if the reader is strict.
        """
        if self.strict:
            raise error
        if len(self._texts) < MAX_DEFECTS:
            self._texts[f"{error.message}; {consequence}"] = None

    def remark(self, text: str) -> None:
        """Take note of a part of a correct description that has no effect here, or that changes what others say.

        It is a warning in strict readers too.
        """
        if len(self._texts) < MAX_DEFECTS:
            self._texts[text] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One text for each defect, in the order in which they were found; those that differ only in the line of the
        file are one text with all lines."""
        return with_common_lines(self._texts)


def with_common_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts of the form FILE:LINE: TEXT with those that differ only in the line merged at the first one."""
    lines: dict[tuple[str, str], list[str]] = {}
    for text in texts:
        placed = PLACED.fullmatch(text)
        file, line, rest = placed.groups() if placed else (text, "", "")
        lines.setdefault((file, rest), []).append(line)
    return tuple(_with_lines(*found, *numbers) for found, numbers in lines.items())


def _with_lines(file: str, text: str, line: str, *more: str) -> str:
    also = f" (also in line{'s' if len(more) > 1 else ''} {listed(more)})" if more else ""
    return f"{file}:{line}: {text}{also}" if line else file
