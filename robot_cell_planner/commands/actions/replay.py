"""`robot_cell replay`: the requests of a record, given to another system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from ..reporting import FAILED, echo_json, import_failure, warn
from .cells import roots_of
from .graph import connected


def replay(
    folder: Path,
    offline: bool,
    recorded_namespace: str,
    folders: tuple[str, ...],
    namespace: str,
    domain_id: int | None,
    timeout: float,
    as_json: bool,
) -> int:
    """Print which replies differ from those of a record."""
    ros, roots = _ros(), roots_of(folders)

    def report(difference: object) -> None:
        click.echo(str(difference), err=True)

    if offline:
        outcome = ros.replay(folder, ros.Library(ros.ModelReader(roots)), roots, recorded_namespace, report, warn)
    else:
        with connected(namespace, domain_id, timeout) as connection:
            outcome = ros.replay(folder, ros.RunningNodes(connection), roots, recorded_namespace, report, warn)
    if as_json:
        echo_json(
            {
                "repeated": dict(outcome.repeated),
                "skipped": {name: [count, outcome.reasons[name]] for name, count in outcome.skipped.items()},
                "unanswered": outcome.unanswered,
                "warnings": list(outcome.warnings),
                "differences": [vars(difference) for difference in outcome.differences],
            }
        )
    else:
        _echo(outcome.repeated, outcome.skipped, outcome.reasons)
        if outcome.unanswered:
            click.echo(f"{outcome.unanswered} requests have no reply in the record")
        differ, repeated = len(outcome.differences), sum(outcome.repeated.values())
        verdict = f"{repeated} replies, {differ} differ" if differ else "no difference but times"
        if not repeated:
            verdict = "none, no request was repeated"
        click.echo(f"verdict   {click.style(verdict, fg='red' if differ or not repeated else 'green')}")
    return FAILED if outcome.differences or not outcome.repeated else 0


def _ros() -> ModuleType:
    try:
        from ...nodes.replaying import api
    except ImportError as error:
        raise import_failure("records are read with the messages of ROS 2 and rosbags", error) from error
    return api


def _echo(repeated: Mapping[str, int], skipped: Mapping[str, int], reasons: Mapping[str, Any]) -> None:
    for name, count in sorted(repeated.items()):
        click.echo(f"{count:6}  {name}")
    for name, count in sorted(skipped.items()):
        click.echo(f"{count:6}  {name}: not repeated, {reasons[name]}")
