"""`robot_cell reproduce`: a request of a case file, answered again."""

from __future__ import annotations

from pathlib import Path

import click

from ...cases import open_case
from ...cases import reproduce as answered_again
from ...errors import RobotCellError
from ...model.cell import RobotCell
from ...model.units import unit_of_joints
from ...planning.problem.plan import Plan
from ...trajectory.tracking import SupervisedMotion, TrackingReport
from ...trajectory.validation import TrajectoryReport
from ..progress import Elapsed
from ..reporting import FAILED, echo_json
from .case_pages import write_case_page


def reproduce(case_file: Path, view: Path | None, as_json: bool) -> int:
    """Print whether the answer of a case is the same again."""
    with open_case(case_file) as case:
        found = answered_again(case)
        if view is not None:
            with Elapsed("writing the page"):
                write_case_page(view, case, found.result)
            click.echo(f"page      {view}", err=True)
        if as_json:
            echo_json({"method": case.method, "same": found.same, "answer": found.found, "versions": found.versions})
            return 0 if found.same else FAILED
        digest = case.cell.digest()
        click.echo(f"case      {case.method} in cell {case.cell.name} ({digest})")
        click.echo(f"answer    {_summary(found.result, case.cell)}")
        if isinstance(case.request, SupervisedMotion):
            click.echo(f"repeated  {_repeated(case.request)}")
        color = "green" if found.same else "red"
        *versions, verdict = str(found).splitlines()
        for line in versions:
            click.echo(f"version   {line}")
        click.echo(f"verdict   {click.style(verdict, fg=color)}")
    return 0 if found.same else FAILED


def _summary(result: object, cell: RobotCell) -> str:
    if isinstance(result, RobotCellError):
        return f"{type(result).__name__}: {result}"
    if isinstance(result, Plan):
        unit = unit_of_joints(cell.variables, result.variables)
        return f"a plan with {len(result.path)} waypoints, {result.path_length:.3f} {unit}"
    if isinstance(result, TrackingReport):
        return f"a motion without a fault, at most {result.max_error:.4g} from its commands ({result.joint or 'none'})"
    if isinstance(result, TrajectoryReport):
        return f"a trajectory of {result.duration:.3f} s, {_first_fault(result)}"
    return f"{len(result)} plans" if isinstance(result, tuple) else type(result).__name__


def _first_fault(report: TrajectoryReport) -> str:
    """Return the first violation or collision of a trajectory."""
    for violation in report.violations:
        return f"not valid: {violation}"
    for found in report.collisions:
        names = f"{found.first} and {found.second} collide" if found.first else "a collision"
        return f"not valid: {names} at {found.time:.3f} s"
    return "valid"


def _repeated(motion: SupervisedMotion) -> str:
    """Return what was repeated of a motion that was executed."""
    text = f"the supervision of {len(motion)} recorded measurements"
    if motion.interruption is None:
        return text
    return f"{text}, which are within their tolerances: it was stopped for another reason, as recorded"
