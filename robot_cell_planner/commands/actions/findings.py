"""Printing of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from ...setup_assistant.finding import DRAFT, ERROR, WARNING, Finding

COLOURS = {ERROR: "red", WARNING: "yellow", DRAFT: "cyan"}


def echo_findings(findings: Sequence[Finding]) -> None:
    """Print each finding with its remedy; coloured on a terminal."""
    for finding in findings:
        level = click.style(f"{finding.level:8}", fg=COLOURS[finding.level])
        click.echo(f"{level}{finding.topic}: {finding.text}")
        click.echo(f"{'':8}-> {finding.remedy}")


def summary(findings: Sequence[Finding]) -> str:
    """Return the numbers of findings by level."""
    counts = Counter(finding.level for finding in findings)
    levels = (ERROR, WARNING, DRAFT)
    return ", ".join(f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in levels) + " to confirm"
