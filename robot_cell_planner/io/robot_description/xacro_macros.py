"""Recognition of xacro files that only define macros for other files."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import FileError
from ...model.name_suggestions import listed
from ..common.resources import read_text

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
MACRO = re.compile(r"<xacro:macro\b[^>]*?\bname\s*=\s*[\"']([^\"']{1,200})[\"'].*?</xacro:macro\s*>", re.DOTALL)
ELEMENT = re.compile(r"<([A-Za-z_][\w:.\-]*)")
NO_CONTENT = frozenset(("robot", "material", "color", "texture"))
REMEDY = "Give the file that calls the macro, or write one that includes it by <xacro:include> and calls it."
DEFINITIONS = frozenset(("robot", "xacro:include", "xacro:property", "xacro:arg"))


def unused_macros(text: str) -> tuple[str, ...]:
    """Return the names of the macros of a xacro file that has nothing but definitions and includes; empty for others.

    The expansion of such a file has no content of its own, unless an included file has some.
    """
    plain = COMMENT.sub("", text)
    names = tuple(match[1] for match in MACRO.finditer(plain))
    rest = {match[1] for match in ELEMENT.finditer(MACRO.sub("", plain))}
    return names if rest <= DEFINITIONS else ()


def require_content(expanded: str, path: Path, stage: str, max_bytes: int) -> None:
    """Refuse an expansion without content of a file that only defines macros.

    Raises:
        FileError: The file is one; the message names its macros.
    """
    if {match[1] for match in ELEMENT.finditer(COMMENT.sub("", expanded))} - NO_CONTENT:
        return
    if names := unused_macros(read_text(path, stage, max_bytes)):
        text = f"{path} only defines macros ({listed(names)}) and calls none, so that its expansion is empty"
        raise FileError(text, stage=stage, subjects=(str(path), *names), remedy=REMEDY)
