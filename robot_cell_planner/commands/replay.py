"""`robot_cell replay`: the requests of a record, given to another system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from .graph import connected, graph_options
from .options import roots_of
from .reporting import FAILED, echo_json, import_failure, reporting, warn


@click.command()
@reporting
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Answer by the library in this process, without nodes.")
@click.option("--recorded-namespace", default="", help="Namespace of the nodes that were recorded.")
@click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes; repeatable.")
@graph_options
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
    """Give the requests of FOLDER, a bag of `robot_cell record`, to running nodes, and print which replies differ.

    Each request gets the state that its recorded reply was computed for. Times are not compared. Nothing moves:
    requests to the execution node are not repeated. With --offline, the library answers requests to plan and to
    validate. The exit status is 1 if a reply differs.
    """
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
        count = len(outcome.differences)
        verdict = f"{sum(outcome.repeated.values())} replies, {count} differ" if count else "no difference but times"
        click.echo(f"verdict   {click.style(verdict, fg='red' if count else 'green')}")
    return FAILED if outcome.differences else 0


def _ros() -> ModuleType:
    try:
        from ..nodes.replaying import api
    except ImportError as error:
        raise import_failure("records are read with the messages of ROS 2 and rosbags", error) from error
    return api


def _echo(repeated: Mapping[str, int], skipped: Mapping[str, int], reasons: Mapping[str, Any]) -> None:
    for name, count in sorted(repeated.items()):
        click.echo(f"{count:6}  {name}")
    for name, count in sorted(skipped.items()):
        click.echo(f"{count:6}  {name}: not repeated, {reasons[name]}")
