"""Poses in the world where the joints are measured, which scene changes retain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import StaleStateError
from ...kinematics.transforms import world_pose
from ...model.cell import RobotCell
from ...model.pose import Pose
from ...model.state import RobotCellState
from ...scene.scene import joint_names
from ..common.joint_state_monitor import REJECTED, JointStateMonitor
from ..common.monitored_scene import MonitoredScene

SHIFT = 0.1  # [rad or m] of joints, to see whether they move a frame
SAME = 1e-9  # [m and rad] within which poses are the same


class MeasuredPoses:
    """Poses in the world where the joints of a view of the scene are measured."""

    def __init__(self, view: MonitoredScene) -> None:
        self._view = view
        self._measured: JointStateMonitor | None = None

    @contextmanager
    def of_one_time(self) -> Iterator[None]:
        """Context in which all poses are those of the joint states that have arrived before it."""
        self._measured = self._view.measured.copy() if self._view.revision else None
        try:
            yield
        finally:
            self._measured = None

    def world_pose(self, cell: RobotCell, state: RobotCellState, frame: str) -> Pose:
        """Return world_T_frame.

        Raises:
            StaleStateError: As of `world_pose_as_measured`.
        """
        return world_pose_as_measured(self._measured or self._view.last_measured, cell, state, frame)


def world_pose_as_measured(monitor: JointStateMonitor, cell: RobotCell, state: RobotCellState, frame: str) -> Pose:
    """Return world_T_frame with the joints of a state where they are measured.

    With the joints of the state of the scene, what is attached in place, detached, or placed relative to a link would
    move. monitor: of the measured joints; the cell may have other joints, by changes before.

    Raises:
        StaleStateError: The frame is moved by a joint of which only invalid values arrive.
    """
    names = joint_names(cell)
    values = {name: value for name, value in monitor.values.items() if name in names}
    found = world_pose(cell, monitor.applied_to(state, values), frame)
    for name in monitor.outdated:
        if name not in values:
            continue
        shifted = monitor.applied_to(state, {**values, name: values[name] + SHIFT})
        if max(found.distance_to(world_pose(cell, shifted, frame))) > SAME:
            text = f"where {frame} is now is unknown; received joint_states are rejected: {monitor.rejected((name,))}"
            raise StaleStateError(text, subjects=(frame, name), remedy=REJECTED)
    return found
