"""Defects of descriptions that do not prevent their use: warnings, or errors where the reader is strict."""

from __future__ import annotations

from ...errors import RobotCellError

MAX_DEFECTS = 1000


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
        """One line for each defect, in the order in which they were found."""
        return tuple(self._texts)
