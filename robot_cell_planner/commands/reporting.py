"""Answers and errors of commands, as text or as JSON. Needs no library: commands without a cell start fast."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from ..errors import InternalError, NotSupportedError, RobotCellError
from .remedies import remedy_of

FAILED = 1
PACKAGE = __name__.partition(".")[0]
INTERFACES = ("msg", "srv", "action")
INCONSISTENT = "Install it again, into an environment without another version, or build its workspace again."
json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer, or the error, as JSON.")


def error_entry(error: RobotCellError) -> dict[str, object]:
    """Return an error as JSON."""
    return {
        "name": error.name,
        "code": error.code,
        "stage": error.stage,
        "message": error.message,
        "subjects": list(error.subjects),
        "values": [{"name": v.name, "value": v.value, "limit": v.limit, "unit": v.unit} for v in error.values],
        "remedy": remedy_of(error),
    }


def import_failure(needed: str, error: ImportError, remedy: str = "") -> RobotCellError:
    """Return the error about modules that cannot be imported.

    needed: What needs them, as the begin of a sentence: "the nodes need ROS 2". remedy: Besides that of the module.
    """
    module = error.name or ""
    if module.partition(".")[0] == PACKAGE and not _is_interface(module, str(error)):
        text = f"the installation of {PACKAGE} is inconsistent, its parts are of several versions: {error}"
        return InternalError(text, stage="import", subjects=(module,), remedy=INCONSISTENT)
    from ..nodes.common.dependencies import remedy as remedy_of

    found = remedy_of(module.partition(".")[0]) if module else str(error)
    text = f"{needed}, which cannot be imported: {error}"
    return NotSupportedError(text, stage="import", subjects=(module,), remedy=f"{remedy}{found}.")


def _is_interface(module: str, text: str) -> bool:
    """Return whether a module has the generated interfaces, which a library without ROS 2 lacks."""
    if module != PACKAGE:
        return module.split(".")[1] in INTERFACES
    return any(f"cannot import name '{name}'" in text for name in INTERFACES)


def echo_json(value: object) -> None:
    """Print a value as JSON, with null for numbers that are not finite, which JSON does not have."""
    click.echo(json.dumps(_with_finite_numbers(value), indent=1, allow_nan=False))


def _with_finite_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _with_finite_numbers(item) for key, item in value.items()}
    return [_with_finite_numbers(item) for item in value] if isinstance(value, (list, tuple)) else value


def warn(text: str) -> None:
    """Print a warning on the standard error stream."""
    click.echo(f"{click.style('warning', fg='yellow')} {text}", err=True)
