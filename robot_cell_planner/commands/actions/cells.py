"""The cell and the state that a command is for."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ...errors import JointLimitError, RobotCellError, StartBeyondLimitsError
from ...io.cell_file.cell_file import load_cell
from ...io.common.resources import ResourceRoots
from ...kinematics.transforms import world_pose
from ...model.angles import MAX_ANGLE
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.units import POSITIONS, common_unit
from ...scene.changes import apply_changes
from ...scene.scene import Scene
from ...scene.state_changes import SetJoints
from ..options import JointValue, is_running
from .running import running_scene

ANSWERED = f"{__name__}.answered"  # in the context of a command


def with_cell(action: Callable[..., int]) -> Callable[..., int]:
    """Load what `cell_options` describe; the action gets `cell` and `state` in their place."""

    @functools.wraps(action)
    def run(
        cell_file: Path, folders: tuple[str, ...], start: str, start_values: tuple[JointValue, ...], **others: Any
    ) -> int:
        cell, state = opened(cell_file, folders, start, start_values)
        with units_explained("--from-joint", start_values):
            return action(cell=cell, state=state, **others)

    return run


def with_held_warnings(action: Callable[..., int]) -> Callable[..., int]:
    """Log the warnings of the library when the action has ended, without those that `warnings_are_in_answer` named."""

    @functools.wraps(action)
    def run(**options: Any) -> int:
        held: list[logging.LogRecord] = []

        def hold(record: logging.LogRecord) -> bool:
            held.append(record)
            return False

        handlers = tuple(logging.getLogger().handlers)
        for handler in handlers:
            handler.addFilter(hold)
        try:
            return action(**options)
        finally:
            for handler in handlers:
                handler.removeFilter(hold)
            answered = click.get_current_context().meta.get(ANSWERED, ())
            for record in dict.fromkeys(held):  # each handler has held it
                if not any(record.getMessage().endswith(text) for text in answered):
                    logging.getLogger(record.name).handle(record)

    return run


def warnings_are_in_answer(texts: Iterable[str]) -> None:
    """Take note of warnings that the answer of a command has, see `with_held_warnings`."""
    click.get_current_context().meta.setdefault(ANSWERED, []).extend(texts)


def opened(
    cell_file: Path, folders: tuple[str, ...], start: str, start_values: Sequence[JointValue]
) -> tuple[RobotCell, RobotCellState]:
    """Return the cell and the start state that `cell_options` describe.

    cell_file: or `@running` for the scene of the running nodes.

    Raises:
        RobotCellError: The cell cannot be loaded, or has no such state or joint.
        click.UsageError: Folders are given for the scene of the running nodes.
    """
    if is_running(cell_file) and folders:
        raise click.UsageError("--root is for a cell file; the nodes have a scene of their own")
    cell, state = running_scene(cell_file) if is_running(cell_file) else load_cell(cell_file, roots_of(folders))
    values = dict(cell.robot_of_group().named_state(cell.group().name, start)) if start else {}
    return cell, with_joints(cell, state, values | dict(start_values))


def roots_of(folders: tuple[str, ...]) -> ResourceRoots:
    """Return the roots that options name."""
    return ResourceRoots(folders=tuple(str(Path(folder).resolve()) for folder in folders))


def with_joints(cell: RobotCell, state: RobotCellState, values: Mapping[str, float]) -> RobotCellState:
    """Return the state with joint values [rad or m].

    Raises:
        UnknownNameError: The cell does not have a joint.
    """
    try:
        return apply_changes(Scene(cell, state), (SetJoints(values),), world_pose).state if values else state
    except RobotCellError as error:
        error.stage = "start state"
        raise


@contextmanager
def units_explained(option: str, values: Sequence[JointValue]) -> Iterator[None]:
    """Give errors about limits of joints whose values an option has a remedy with the unit."""
    try:
        yield
    except (JointLimitError, StartBeyondLimitsError) as error:
        if given := [value for joint, value in values if joint in error.subjects]:
            degrees = (
                f": {given[0]:g} degrees are {math.radians(given[0]):.5g} rad" if abs(given[0]) > MAX_ANGLE else ""
            )
            unit = common_unit(number.unit for number in error.values if number.unit in POSITIONS)
            error.remedy = f"Values of {option} are in {unit}, and within the limits of the joint{degrees}."
        raise
