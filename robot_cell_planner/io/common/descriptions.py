"""Descriptions of robots that are given in place of another file."""

from __future__ import annotations

import re

from ...errors import FileError

XML = re.compile(rb"(\xef\xbb\xbf)?\s*<[?!A-Za-z]")
HEAD = 4096  # [characters]
REMEDY = (
    "`robot_cell new FILE` drafts a cell of a URDF, xacro or SDF file. A cell file names such a file as `urdf` of a "
    "robot, and an SRDF file as `srdf`."
)


def refuse_description(text: str | bytes, source: str, expected: str, stage: str) -> None:
    """Refuse a description of a robot where another file is expected.

    expected: What is expected, as the end of a sentence: "a cell file in YAML".

    Raises:
        FileError: The text is XML.
    """
    head = text[:HEAD]
    if XML.match(head.encode(errors="replace") if isinstance(head, str) else head):
        raise FileError(f"{source} is XML, expected {expected}", stage=stage, subjects=(source,), remedy=REMEDY)
