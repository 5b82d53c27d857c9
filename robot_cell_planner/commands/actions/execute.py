"""`robot_cell execute`: plan files, in the simulation of a cell or on the running nodes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from ...errors import InvalidRequestError, RobotCellError, ServiceUnavailableError, TrajectoryStartError
from ...io.cell_file.simulation_section import load_simulated_robot
from ...model.mechanism import Variable
from ...model.units import unit_of_joints
from ...offline.cell import OfflineCell
from ...planning.path.plan_check import verify_plan
from ...planning.problem.plan import Plan, check_alone
from ...simulation.options import SimulationOptions
from ..options import JointValue, is_running
from ..progress import Elapsed, Progress
from ..reporting import echo_json
from .cells import opened, roots_of
from .plan_files import read_plan
from .running import running_client
from .verdicts import explained, explained_start

if TYPE_CHECKING:
    from ...nodes.client.client import CellClient

# What is printed of each executed plan, with units; "" is that of its joints.
FIGURES = {"duration": "s", "longest_interval": "s between commands", "max_tracking_error": "", "goal_error": ""}
# The variables of the cell, and what is printed of each plan.
Executed: TypeAlias = tuple[Mapping[str, Variable], list[dict[str, object]]]


def execute(
    cell_file: Path,
    folders: tuple[str, ...],
    start: str,
    start_values: tuple[JointValue, ...],
    plan_files: tuple[Path, ...],
    speed: float,
    view: Path | None,
    as_json: bool,
) -> int:
    """Execute plans, and print how far each was from its commands."""
    plans = [(click.format_filename(file), read_plan(file)) for file in plan_files]
    for name, plan in plans:
        if plan.trajectory is None:
            raise InvalidRequestError(f"{name} is a path without timing; plan it with timing", stage="request")
        check_alone(plan, name)
    if is_running(cell_file):
        variables, entries = _on_nodes(cell_file, plans, speed, with_variables=not as_json)
    else:
        variables, entries = _in_simulation(cell_file, folders, (start, start_values), plans, view)
    if as_json:
        echo_json({"executed": entries})
    else:
        for entry, (_, plan) in zip(entries, plans, strict=True):
            joint = unit_of_joints(variables, plan.variables)
            figures = ", ".join(
                f"{name.replace('_', ' ')} {entry[name]:.4g} {unit or joint}"
                for name, unit in FIGURES.items()
                if name in entry
            )
            click.echo(f"{click.style('executed', fg='green')} {entry['plan']}: {figures}")
    return 0


def _on_nodes(cell_file: Path, plans: list[tuple[str, Plan]], speed: float, with_variables: bool) -> Executed:
    progress, entries = Progress(), list[dict[str, object]]()
    with running_client(cell_file) as client:
        from ...nodes.client.plan_execution import execute_plan

        for name, plan in plans:
            try:
                done = execute_plan(client, plan, speed, progress.of(name))
            except KeyboardInterrupt:
                click.echo(f"{name}: cancelled, the robot comes to rest on its path", err=True)
                raise
            except TrajectoryStartError as error:
                with suppress(ServiceUnavailableError):
                    scene, _ = client.scene(retries=0, measured=True)
                    raise explained_start(error, scene.cell, scene.state, plan) from error
                raise
            progress(f"{name}: done", 1.0)
            entries.append({"plan": name, **asdict(done)})
        return _variables(client) if with_variables else {}, entries


def _variables(client: CellClient) -> Mapping[str, Variable]:
    """Return the variables of the running cell. None without a scene node: the robot has moved, which counts."""
    try:
        return client.scene(retries=0)[0].cell.variables
    except RobotCellError:
        return {}


def _in_simulation(
    cell_file: Path,
    folders: tuple[str, ...],
    start: tuple[str, tuple[JointValue, ...]],
    plans: list[tuple[str, Plan]],
    view: Path | None,
) -> Executed:
    cell, state = opened(cell_file, folders, *start)
    options = SimulationOptions(robot=load_simulated_robot(cell_file, roots_of(folders)))
    with OfflineCell(cell, state, on_progress=Progress(), simulation_options=options) as simulated:
        try:
            for name, plan in plans:
                _require_valid(simulated, name, plan)
                simulated.follow(name, plan)
        finally:
            if view is not None:
                with Elapsed("writing the page"):
                    simulated.write_replay(view)
        return cell.variables, [
            {
                "plan": name,
                "duration": done.plan.duration,
                "max_tracking_error": max(done.lag.values(), default=0.0),
                "goal_error": max(done.end_errors.values()),
            }
            for (name, _), done in zip(plans, simulated.motions, strict=True)
        ]


def _require_valid(simulated: OfflineCell, name: str, plan: Plan) -> None:
    """Raise the first violation of a plan."""
    cell, state = simulated.cell, simulated.state
    violations = tuple(explained(verify_plan(cell, state, plan).violations, cell, state, plan))
    if violations:
        for error in violations[1:]:
            click.echo(f"{name}: also {error}", err=True)
        raise violations[0]
