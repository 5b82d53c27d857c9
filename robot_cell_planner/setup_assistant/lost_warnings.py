"""Warnings about a description that its copy does not have any more."""

from __future__ import annotations

import re

from ..model.sources import ModelSources

LINES = re.compile(r" \(also in lines? [^()]*\)$")


def lost_warnings(original: ModelSources, copy: ModelSources) -> tuple[str, ...]:
    """Return the warnings about a description that do not appear when its copy is read: arguments of xacro, which a
    copy does not have, and what the copy leaves out. Warnings that differ only in the place in the file are the same.
    """
    kept = {_bare(text, copy) for text in copy.warnings}
    return tuple(text for text in original.warnings if _bare(text, original) not in kept)


def _bare(text: str, sources: ModelSources) -> str:
    """Return a warning without the file and the lines that it is about."""
    place = re.compile(rf"{re.escape(sources.urdf_uri)}(?: \(expanded\))?(?::\d+)?: ")
    return LINES.sub("", place.sub("", text, count=1))
