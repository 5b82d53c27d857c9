"""Findings about a cell or an installation."""

from __future__ import annotations

from dataclasses import dataclass

ERROR, WARNING, DRAFT = "error", "warning", "draft"


@dataclass(frozen=True)
class Finding:
    """Something about a cell or an installation that its user should know.

    Attributes:
        level: "error" prevents planning, "warning" makes answers wrong or incomplete, "draft" needs confirmation.
        topic: Of a cell "state", "limits", "meshes", "masses", "description", "srdf", "groups", "frames", "names" or
            "tools"; else what it is about.
        text: What was found, as a clause without a full stop.
        remedy: What to do, as a sentence.
    """

    level: str
    topic: str
    text: str
    remedy: str
