"""Findings about a cell or an installation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ERROR, WARNING, DRAFT = "error", "warning", "draft"
LEVELS = (ERROR, WARNING, DRAFT)
UNITS = "units"  # topic of numbers that are probably in another unit, of which other findings may be consequences


@dataclass(frozen=True)
class Finding:
    """Something about a cell or an installation that its user should know.

    Attributes:
        level: "error" prevents planning, "warning" makes answers wrong or incomplete, "draft" needs confirmation.
        topic: Of a cell "state", "limits", "meshes", "masses", "description", "srdf", "groups", "frames", "names",
            "tools", "simulation", "parameters" or "units"; else what it is about.
        text: What was found, as a clause without a full stop.
        remedy: What to do, as a sentence.
    """

    level: str
    topic: str
    text: str
    remedy: str


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings about units, which explain others, then errors, warnings and drafts."""
    return tuple(sorted(found, key=lambda finding: (finding.topic != UNITS, LEVELS.index(finding.level))))
