"""`robot_cell check`: what is wrong, missing or a draft in a cell file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ...errors import RobotCellError
from ...setup_assistant.check_file import check_cell_file
from ...setup_assistant.finding import ERROR, Finding
from ..progress import Elapsed
from ..remedies import remedy_of
from .cells import roots_of
from .findings import echo_findings, summary, warnings_in_findings


def check(cell_file: Path, folders: tuple[str, ...], parameters: Path | None, as_json: bool) -> int:
    """Print the findings about a cell file."""
    try:
        with warnings_in_findings(), Elapsed("checking the cell"):
            findings = check_cell_file(cell_file, roots_of(folders), parameters or "")
    except RobotCellError as error:
        findings = (Finding(ERROR, error.stage, error.message, remedy_of(error)),)
    if as_json:
        click.echo(
            json.dumps({"cell": str(cell_file), "findings": [asdict(finding) for finding in findings]}, indent=1)
        )
    else:
        echo_findings(findings)
        click.echo(summary(findings))
    return 1 if any(finding.level == ERROR for finding in findings) else 0
