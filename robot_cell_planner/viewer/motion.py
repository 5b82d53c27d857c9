"""Poses, joint values, visibility and events over the moments of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kinematics.transforms import WorldTransforms
from ..model.cell import RobotCell
from ..model.mechanism import Variable
from ..model.state import BodyState, RobotCellState, ToolState
from .recording import Moment, Recording

STILL = 1e-9  # [m, 1] a frame whose numbers change by less is static


@dataclass(frozen=True, eq=False)
class Track:
    """World poses of a frame over the moments: (n, 7), position [m] and quaternion x, y, z, w; one row if static."""

    frame: str
    poses: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointSeries:
    """Values of a joint over the moments, (n,) [rad or m]."""

    variable: Variable
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """Event between two moments, with the time [s] of the second."""

    time: float
    text: str


def tracks(cell: RobotCell, moments: Sequence[Moment], frames: Sequence[str]) -> tuple[Track, ...]:
    """Return the poses of each frame over the moments."""
    poses = np.empty((len(frames), len(moments), 7))
    for column, moment in enumerate(moments):
        transforms = WorldTransforms(cell, moment.state)
        for row, frame in enumerate(frames):
            pose = transforms.pose(frame)
            poses[row, column] = (*pose.position, *pose.quaternion)
    return tuple(Track(frame, _shortened(_steady(poses[row]))) for row, frame in enumerate(frames))


def _steady(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Remove sign changes between consecutive quaternions: q and -q are the same orientation."""
    turns = np.sum(poses[1:, 3:] * poses[:-1, 3:], axis=1) < 0.0
    signs = np.cumprod(np.where(turns, -1.0, 1.0))
    poses[1:, 3:] *= signs[:, None]
    return poses


def _shortened(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    return poses[:1] if float(np.ptp(poses, axis=0).max()) < STILL else poses


def joint_series(cell: RobotCell, moments: Sequence[Moment]) -> tuple[JointSeries, ...]:
    """Return the values of all robot joints, then of all tool joints."""
    result = [
        JointSeries(variable, np.array([moment.state.configuration[name] for moment in moments]))
        for name, variable in cell.variables.items()
    ]
    for tool in cell.tools.values():
        for variable in tool.mechanism.variables:
            values = [moment.state.tools[tool.name].configuration[variable.name] for moment in moments]
            result.append(JointSeries(variable, np.array(values)))
    return tuple(result)


def visibility(moments: Sequence[Moment]) -> dict[str, list[tuple[int, bool]]]:
    """Return the visibility changes, with their moments, of each tool and body that is hidden at some moment."""
    result: dict[str, list[tuple[int, bool]]] = {}
    for index, moment in enumerate(moments):
        for name, scene_object in _scene_objects(moment.state).items():
            known = result.setdefault(name, [])
            if not known or known[-1][1] == scene_object.hidden:
                known.append((index, not scene_object.hidden))
    return {name: changes for name, changes in result.items() if changes != [(0, True)]}


def events(recording: Recording) -> tuple[Event, ...]:
    """Return the events: what was attached, detached, hidden or shown, and when."""
    result: list[Event] = []
    for before, after in zip(recording.moments, recording.moments[1:], strict=False):
        if before.state.tools is after.state.tools and before.state.bodies is after.state.bodies:
            continue
        earlier = _scene_objects(before.state)
        for name, now in _scene_objects(after.state).items():
            result.extend(Event(after.time, text) for text in _differences(name, earlier[name], now))
    return tuple(result)


def _scene_objects(state: RobotCellState) -> Mapping[str, ToolState | BodyState]:
    return {**state.tools, **state.bodies}


def _differences(name: str, before: ToolState | BodyState, after: ToolState | BodyState) -> list[str]:
    result = []
    if before.attached_to != after.attached_to:
        gone, come = f"{name} released from {before.attached_to}", f"{name} attached to {after.attached_to}"
        result.append(come if after.attached_to else gone)
    if before.hidden != after.hidden:
        result.append(f"{name} {'hidden' if after.hidden else 'shown'}")
    return result
