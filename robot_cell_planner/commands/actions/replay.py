"""`robot_cell replay`: the requests of a record, given to another system."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from ..reporting import FAILED, echo_json, import_failure, warn
from .cells import roots_of
from .graph import connected

if TYPE_CHECKING:
    from ...nodes.replaying.replay import Outcome


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
            nodes = ros.RunningNodes(connection)
            start = partial(nodes.wait, timeout)
            outcome = ros.replay(folder, nodes, roots, recorded_namespace, report, warn, start)
    is_failed = bool(outcome.differences) or not outcome.compared
    if as_json:
        echo_json(
            {
                "repeated": dict(outcome.repeated),
                "skipped": {name: [count, outcome.reasons[name]] for name, count in outcome.skipped.items()},
                "unanswered": outcome.unanswered,
                "warnings": list(outcome.warnings),
                "differences": [vars(difference) for difference in outcome.differences],
                "time_limits": [vars(limit) for limit in outcome.time_limits],
            }
        )
    else:
        _echo(outcome.repeated, outcome.skipped, outcome.reasons)
        if outcome.unanswered:
            click.echo(f"{outcome.unanswered} requests have no reply in the record")
        color = "red" if is_failed else "yellow" if outcome.time_limits else "green"
        click.echo(f"verdict   {click.style(_verdict(outcome), fg=color)}")
    return FAILED if is_failed else 0


def _verdict(outcome: Outcome) -> str:
    if not outcome.repeated:
        return "none, no request was repeated"
    differ, limits = len(outcome.differences), len(outcome.time_limits)
    if not outcome.compared:
        return f"none, a time limit ended {limits} replies in the record or now, and there are no others"
    verdict = f"{outcome.compared} replies, {differ} differ" if differ else "no difference but times"
    if limits:
        verdict += f"; {limits} not compared, which a time limit ended in the record or now"
    return verdict


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
