"""Findings about joints whose limits those of their mimic joints narrow."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.mechanism import Mechanism
from ..model.mimic_texts import mimic_limit_texts
from .finding import WARNING, Finding

REMEDY = "Correct the limits, multiplier and offset of the mimic joints in the description, if they are not right."


def follower_findings(mechanism: Mechanism, name: str) -> Iterator[Finding]:
    """Yield a finding about joints that the limits of mimic joints narrow, and one about limits that have no effect."""
    return (Finding(WARNING, "limits", f"{name}: {text}", REMEDY) for text in mimic_limit_texts(mechanism))
