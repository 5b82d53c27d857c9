"""`robot_cell bench`: how fast the library is for a cell on this computer."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict

import click

from ... import __version__
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...offline.speed import Speed, measure_speed
from ..progress import Progress
from ..reporting import echo_json
from .cells import with_cell

UNITS = ((1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (float("inf"), 1.0, "s"))  # below which time [s], factor, unit


@with_cell
def bench(cell: RobotCell, state: RobotCellState, group: str, motions: int, seed: int, as_json: bool) -> int:
    """Print the times of calls of the library."""
    found = measure_speed(cell, state, group, motions=motions, seed=seed, on_progress=Progress())
    load = os.getloadavg()[0]
    if as_json:
        machine = {"cores": os.cpu_count(), "load": load, "python": platform.python_version()}
        echo_json({"version": __version__, "seed": seed, **machine, "figures": [asdict(speed) for speed in found]})
        return 0
    click.echo(f"{'':20}{'median':>12}{'95 %':>12}{'calls':>8}{'solved':>8}")
    for speed in found:
        click.echo(_line(speed))
    click.echo(f"seed {seed}, {os.cpu_count()} cores, load {load:.1f}, version {__version__}")
    return 0


def _line(speed: Speed) -> str:
    times = "".join(f"{_time(seconds):>12}" for seconds in (speed.median, speed.p95))
    return f"{speed.operation:20}{times}{speed.calls:8}{speed.succeeded:8}"


def _time(seconds: float) -> str:
    factor, unit = next((factor, unit) for limit, factor, unit in UNITS if seconds < limit)
    return f"{factor * seconds:.3g} {unit}"
