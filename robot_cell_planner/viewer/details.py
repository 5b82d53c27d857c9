"""Contents of the replay page besides the motion: collisions and closest pairs over time, and curves with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..collision.checker import CollisionChecker
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..trajectory.trajectory import Trajectory
from .overlays import PairMark
from .packing import Block
from .recording import Moment
from .state_checks import check_state
from .tool_paths import CertifiedPath, group_of, tool_frame, trajectory_path

MAX_CHECKED = 200  # moments whose closest pair is computed
MAX_COLLIDING = 1000  # moments whose colliding pairs are computed
CURVE_SAMPLES = 500
ORDERS = ("position", "velocity", "acceleration", "jerk")


def checks(cell: RobotCell, moments: Sequence[Moment]) -> list[dict[str, Any]]:
    """Return the colliding pairs and the closest pair from a moment on, by the index of the moment.

    All moments are checked for collisions, the closest pair at up to MAX_CHECKED of them.

    Raises:
        GeometryError: A collision shape cannot be built.
    """
    stride = -(-len(moments) // MAX_CHECKED)
    found: list[dict[str, Any]] = []
    colliding = 0
    was_colliding = False
    previous: RobotCellState | None = None
    for index, moment in enumerate(moments):
        if moment.state == previous:
            continue
        previous = moment.state
        collides = CollisionChecker(cell, moment.state).first_pair(_joints(cell, moment.state)) is not None
        colliding += collides
        if index % stride and collides == was_colliding and not (collides and colliding <= MAX_COLLIDING):
            continue
        was_colliding = collides
        result = check_state(cell, moment.state)
        closest = None if result.closest is None or result.collisions else _mark(result.closest)
        found.append({"moment": index, "pairs": [_mark(mark) for mark in result.collisions], "closest": closest})
    return found


def _joints(cell: RobotCell, state: RobotCellState) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([state.configuration[name] for name in cell.variables])


def _mark(mark: PairMark) -> dict[str, Any]:
    return {"first": mark.first, "second": mark.second, "label": mark.label, "points": mark.segments}


def curves(
    cell: RobotCell, state: RobotCellState, trajectories: Mapping[str, Trajectory], block: Block
) -> list[dict[str, Any]]:
    """Return positions, velocities, accelerations and jerks of trajectories, and the paths of their tools.

    Arrays are added to the block: (n,) times, and for each order of ORDERS (n, dof).
    """
    result = []
    for name, trajectory in trajectories.items():
        first, last = float(trajectory.times[0]), trajectory.duration
        times = np.linspace(first, last, CURVE_SAMPLES if last > first else 1)
        group = group_of(cell, trajectory.variables)
        frame = tool_frame(cell, state, group) if group else ""
        path = trajectory_path(cell, state, frame, trajectory).points if frame else np.empty((0, 3))
        result.append(
            {
                "name": name,
                "joints": list(trajectory.variables),
                "times": block.add(times, "float32"),
                "path": block.add(path, "float32"),
                **{order: block.add(trajectory.at(times, number), "float32") for number, order in enumerate(ORDERS)},
            }
        )
    return result


def limits(cell: RobotCell) -> dict[str, dict[str, float | None]]:
    """Return velocity, acceleration and jerk limits of all joints of the robots; None for unknown ones."""
    return {
        name: {
            "velocity": _finite(variable.limits.velocity),
            "acceleration": _finite(variable.limits.acceleration),
            "jerk": _finite(variable.limits.jerk),
        }
        for name, variable in cell.variables.items()
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def certificate(path: CertifiedPath | None, block: Block) -> dict[str, Any] | None:
    """Return a certified path: its points, and the verdict of the line from each to the next."""
    if path is None:
        return None
    verdicts = [verdict.value if verdict is not None else "" for verdict in path.verdicts]
    return {"points": block.add(path.points, "float32"), "verdicts": verdicts}
