"""The replay page of an offline cell."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from frozendict import frozendict

from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..scene.scene import Scene
from ..viewer import Moment, Recorder, Recording, write_html

logger = logging.getLogger(__name__)


def write_recorded(
    path: str | Path, recorder: Recorder, simulated: RobotCell, present: Scene, facts: Mapping[str, str]
) -> Path:
    """Write what was simulated, or the present state if nothing was.

    simulated: Cell that the recorded states belong to. Objects that the present one does not share with it are named by
    a warning in the log.
    """
    title = f"Cell {present.cell.name}"
    if recorder.empty:
        return write_html(path, present.cell, _still(present.state, facts), title)
    if changed := sorted(_objects(simulated) ^ _objects(present.cell)):
        text = "the replay shows the simulation, which began before the change of"
        logger.warning(f"{text} {', '.join(changed)}")
    return write_html(path, simulated, recorder.recording(facts), title)


def _still(state: RobotCellState, facts: Mapping[str, str]) -> Recording:
    return Recording((Moment(0.0, state),), summary=frozendict(facts))


def _objects(cell: RobotCell) -> set[str]:
    return {*cell.bodies, *cell.tools}
