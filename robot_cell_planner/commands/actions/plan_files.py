"""`robot_cell verify` and `view`: plan files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import is_zipfile

import click

from ...cases import open_case, reproduce
from ...errors import FileError
from ...io.common.resources import NO_ROOTS, read_text
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...planning.path.plan_check import verify_plan
from ...planning.problem.plan import Plan
from ...planning.problem.plan_file import plan_from_json
from ...viewer.page import write_html
from ...viewer.plans import plan_details, plan_recording
from ...viewer.recording import Moment, Recording
from ..options import JointValue
from ..progress import Elapsed
from ..remedies import remedy_of
from ..reporting import FAILED, echo_json, error_entry, warn
from .case_pages import write_case_page
from .cells import with_cell
from .verdicts import START_REMEDY, explained


@with_cell
def verify(cell: RobotCell, state: RobotCellState, plan_file: Path, as_json: bool) -> int:
    """Print the violations of a plan."""
    given = read_plan(plan_file)
    with Elapsed("verifying"):
        verdict = verify_plan(cell, state, given)
    violations = tuple(explained(verdict.violations, cell, state, given))
    if as_json:
        echo_json({"valid": verdict.valid, "violations": [error_entry(error) for error in violations]})
    else:
        for error in violations:
            click.echo(f"{click.style('violation', fg='red')} {error}\n  -> {remedy_of(error)}")
        record = verdict.record
        click.echo(f"{'valid' if verdict.valid else 'NOT VALID'}: {record.states_checked} states checked")
    return 0 if verdict.valid else FAILED


def view(
    cell_file: Path,
    folders: tuple[str, ...],
    start: str,
    start_values: tuple[JointValue, ...],
    plan_files: tuple[Path, ...],
    output: Path,
    as_json: bool,
) -> int:
    """Write the page of a cell, of plans or of a case."""
    if is_zipfile(cell_file):
        with open_case(cell_file) as case, Elapsed("writing the page"):
            path = write_case_page(output, case, reproduce(case).result)
        _echo_page(path, as_json)
        return 0
    return _view_cell(
        cell_file=cell_file,
        folders=folders,
        start=start,
        start_values=start_values,
        plan_files=plan_files,
        output=output,
        as_json=as_json,
    )


@with_cell
def _view_cell(
    cell: RobotCell, state: RobotCellState, plan_files: tuple[Path, ...], output: Path, as_json: bool
) -> int:
    with Elapsed("writing the page"):
        if not plan_files:
            path = write_html(output, cell, Recording((Moment(0.0, state),)), cell.name)
        else:
            plans = {click.format_filename(file): read_plan(file) for file in plan_files}
            for name, plan in plans.items():
                for text in _doubts(cell, state, plan):
                    warn(f"{name} {text}")
            first = plans[click.format_filename(plan_files[0])]
            details = plan_details(cell, state, first)
            details["trajectories"] = {
                name: plan.trajectory for name, plan in plans.items() if plan.trajectory is not None
            }
            path = write_html(output, cell, plan_recording(state, first), cell.name, **details)
    _echo_page(path, as_json)
    return 0


def _doubts(cell: RobotCell, state: RobotCellState, plan: Plan) -> Iterator[str]:
    """Yield why a plan may not be what its page shows: it was made for another cell, or in another state of it.

    The joints of the plan may be elsewhere: its page begins where the plan does.
    """
    if plan.cell_digest != cell.digest():
        yield f"is for a cell with digest {plan.cell_digest or 'unknown'}, this one has {cell.digest()}: it may not fit"
    begin = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
    if not begin.keys() <= state.configuration.keys():
        return  # which the recording refuses
    states = state.digest(), state.with_configuration(begin).digest()
    if plan.start_state_digest not in states:
        digest = plan.start_state_digest or "unknown"
        yield (
            f"was made in a state with digest {digest}, this one has {states[0]}, and more differs than the plan's "
            f"joints: collisions and certificates are those of this state. {START_REMEDY}"
        )


def _echo_page(path: Path, as_json: bool) -> None:
    if as_json:
        echo_json({"page": str(path)})
    else:
        click.echo(f"wrote {path}")


def read_plan(path: Path) -> Plan:
    """Return the plan of a file.

    Raises:
        FileError, InvalidRequestError: It cannot be read, or is no plan.
    """
    text = read_text(path, "read plan", NO_ROOTS.text_bytes)
    try:
        return plan_from_json(text, str(path))
    except FileError as error:
        reason = error.message.removeprefix(f"{path}: ") if text.strip() else "it is empty"
        error.remedy = "Give a file that `robot_cell plan --output` of this version wrote."
        raise error.with_message(f"{path} is no plan file that can be read: {reason}") from error
