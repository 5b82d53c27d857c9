"""Printing of findings."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from ...setup_assistant.finding import DRAFT, ERROR, WARNING, Finding
from ..reporting import PACKAGE

COLOURS = {ERROR: "red", WARNING: "yellow", DRAFT: "cyan"}


@contextmanager
def warnings_in_findings() -> Iterator[None]:
    """Log no warnings of the library, which the findings have."""
    library = logging.getLogger(PACKAGE)
    level = library.level
    library.setLevel(logging.ERROR)
    try:
        yield
    finally:
        library.setLevel(level)


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
