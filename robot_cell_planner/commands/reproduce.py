"""`robot_cell reproduce`: a request of a case file, answered again."""

from __future__ import annotations

from pathlib import Path

import click

from ..cases import Case, Reproduction, open_case
from ..cases import reproduce as answered_again
from ..errors import NotSupportedError, RobotCellError
from ..planning.problem.plan import Plan
from ..viewer.page import write_html
from ..viewer.plans import plan_recording
from ..viewer.recording import Moment, Recording
from .options import FAILED, echo_json, reporting


@click.command()
@reporting
@click.argument("case_file", type=click.Path(path_type=Path))
@click.option(
    "--view", type=click.Path(path_type=Path), help="Write a page that shows start or plan to this HTML file."
)
def reproduce(case_file: Path, view: Path | None, as_json: bool) -> int:
    """Answer the request of CASE_FILE again, and say whether the answer is the same, byte for byte.

    A case file has a request with its cell, meshes, state and answer: `robot_cell plan --case`, the parameter
    `case_folder` of the planning node, or `save_case` of the library write one. The exit status is 1 if the answer
    differs.
    """
    with open_case(case_file) as case:
        found = answered_again(case)
        if view is not None:
            _write_page(view, case, found)
        if as_json:
            echo_json({"method": case.method, "same": found.same, "answer": found.found, "versions": found.versions})
            return 0 if found.same else FAILED
        digest = case.cell.digest()
        click.echo(f"case      {case.method} in cell {case.cell.name} ({digest})")
        click.echo(f"answer    {_summary(found.result)}")
        color = "green" if found.same else "red"
        *versions, verdict = str(found).splitlines()
        for line in versions:
            click.echo(f"version   {line}")
        click.echo(f"verdict   {click.style(verdict, fg=color)}")
    return 0 if found.same else FAILED


def _summary(result: object) -> str:
    if isinstance(result, RobotCellError):
        return f"{type(result).__name__}: {result}"
    if isinstance(result, Plan):
        return f"a plan with {len(result.path)} waypoints, {result.path_length:.3f} rad or m"
    return f"{len(result)} plans" if isinstance(result, tuple) else "a report of a validation"


def _write_page(path: Path, case: Case, found: Reproduction) -> None:
    result = found.result
    if isinstance(result, tuple):
        raise NotSupportedError("--view shows single motions, not those of several steps", stage="view")
    recording = (
        plan_recording(case.state, result) if isinstance(result, Plan) else Recording((Moment(0.0, case.state),))
    )
    write_html(path, case.cell, recording, f"{case.cell.name}: {case.method}")
    click.echo(f"page      {path}", err=True)
