"""Answers and errors of commands, as text or as JSON. Needs no library: commands without a cell start fast."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from ..errors import RobotCellError

Command: TypeAlias = Callable[..., int]
FAILED = 1
json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer, or the error, as JSON.")


def reporting(command: Callable[..., int]) -> Command:
    """Add `--json`; an error is printed as JSON then, and the exit status is 1."""

    @json_option
    @functools.wraps(command)
    def reported(as_json: bool, **others: Any) -> int:
        try:
            return command(as_json=as_json, **others)
        except RobotCellError as error:
            if not as_json:
                raise
            echo_json({"error": error_entry(error)})
            return FAILED

    return reported


def error_entry(error: RobotCellError) -> dict[str, object]:
    """Return an error as JSON."""
    return {
        "name": error.name,
        "code": error.code,
        "stage": error.stage,
        "message": error.message,
        "subjects": list(error.subjects),
        "values": [{"name": v.name, "value": v.value, "limit": v.limit, "unit": v.unit} for v in error.values],
        "remedy": error.remedy,
    }


def echo_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=1))


def warn(text: str) -> None:
    """Print a warning on the standard error stream."""
    click.echo(f"{click.style('warning', fg='yellow')} {text}", err=True)
