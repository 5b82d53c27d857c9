"""Targets of motions and of inverse kinematics, and poses as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from ...errors import InvalidValueError, InverseKinematicsError, MPNoIKSolutionError, UnknownNameError
from ...kinematics.ik.failure import DIRECTIONS_MOVED
from ...kinematics.targets import FrameTarget, TargetMode, target_frame, tolerances_of_free
from ...model.cell import RobotCell
from ...model.frames import FrameTree
from ...model.name_suggestions import unknown_name
from ...model.pose import IDENTITY, Pose
from ...model.state import RobotCellState
from ..options import PoseNumbers

MODES = {"flange": TargetMode.ROBOT, "tool": TargetMode.TOOL, "workpiece": TargetMode.WORKPIECE}
MILLIMETRES = 10.0, 1e5  # [m] positions between are probably in mm


def pose_of(numbers: PoseNumbers) -> Pose:
    """Return the pose of `--pose`.

    Raises:
        click.BadParameter: The quaternion has another length than 1.
    """
    try:
        return pose_from_numbers(numbers)
    except InvalidValueError as error:
        raise click.BadParameter(str(error), param_hint="'--pose'") from error


def pose_from_numbers(numbers: PoseNumbers) -> Pose:
    """Return the pose of 3, 6 or 7 numbers, as POSE_HELP describes them.

    Raises:
        InvalidValueError: A number is not finite, or the quaternion has another length than 1.
    """
    x, y, z, *rotation = numbers
    if len(rotation) == 4:
        qx, qy, qz, qw = rotation
        return Pose((x, y, z), (qx, qy, qz, qw))
    return Pose.from_rpy((x, y, z), rotation or (0.0, 0.0, 0.0))


def frame_target(
    cell: RobotCell,
    state: RobotCellState,
    group: str,
    moved: str | None,
    pose: PoseNumbers | None,
    reference: str,
    free: str,
    native_scale: float = 1.0,
) -> FrameTarget:
    """Return the target of `--pose`, `--in`, `--frame` and `--free`; without a pose, the frame of `--in`.

    native_scale: Metres per unit of positions.

    Raises:
        UnknownNameError: `--frame` is neither a mode nor a frame of the cell; suggests similar names.
        click.BadParameter: The pose is none.
    """
    mode, frame = frame_of(cell, state, group, moved)
    return FrameTarget(
        mode=mode,
        frame=frame,
        pose=IDENTITY if pose is None else pose_of(pose),
        reference_frame=reference,
        tolerance_angles=tolerances_of_free(free),
        native_scale=native_scale,
    )


def frame_of(cell: RobotCell, state: RobotCellState, group: str, moved: str | None) -> tuple[TargetMode, str]:
    """Return the mode and the frame of targets that `--frame` selects; without it, the tool, or the flange of a group
    without a tool.

    Raises:
        UnknownNameError: `--frame` is neither a mode nor a frame of the cell; suggests similar names.
    """
    if not moved:
        return TargetMode.TOOL if cell.tool_of_group(state, group) else TargetMode.ROBOT, ""
    if moved in MODES:
        return MODES[moved], ""
    if moved not in (names := set(FrameTree(cell, state))):
        raise UnknownNameError(unknown_name(f"frame {moved!r}", moved, names | set(MODES)), subjects=(moved,))
    return TargetMode.FRAME, moved


def moved_frame(cell: RobotCell, state: RobotCellState, group: str, target: FrameTarget) -> str:
    """Return the name of the frame that a target moves."""
    return target_frame(cell, state, group, target.mode, target.frame)


def pose_entry(pose: Pose) -> dict[str, list[float]]:
    """Return a pose as JSON: position [m] and quaternion x, y, z, w."""
    return {"position": list(pose.position), "quaternion": list(pose.quaternion)}


def pose_text(pose: Pose) -> str:
    """Return a pose as text: position [m] and quaternion x, y, z, w."""
    numbers = [f"{value + 0.0:9.5f}" for value in (*pose.position, *pose.quaternion)]
    return " ".join(numbers[:3]) + "  " + " ".join(numbers[3:])


@contextmanager
def pose_explained(pose: PoseNumbers | None, poses: Sequence[Pose] = (), unit: str = "m") -> Iterator[None]:
    """Give errors about a pose that is not reached a remedy: the unit, if a coordinate is large; `--free`, if the
    joints do not move the frame in all directions.

    poses: Those of a file, with positions in the unit.
    """
    try:
        yield
    except (InverseKinematicsError, MPNoIKSolutionError) as error:
        if pose is not None and _is_in_millimetres(pose[:3]):
            metres = ",".join(f"{value / 1e3:g}" for value in pose[:3])
            error.remedy = f"Positions of --pose are in m: if these are in mm, write {metres}."
        elif unit == "m" and any(_is_in_millimetres(each.position) for each in poses):
            error.remedy = "Positions of --poses are in m: if these are in mm, add `--unit mm`."
        elif any(value.name == DIRECTIONS_MOVED for value in error.values):
            error.remedy = "Free rotations of the pose: `--free xyz` for its position only, or single axes."
        raise


def _is_in_millimetres(position: Sequence[float]) -> bool:
    """Return whether a position [m] is probably in mm."""
    return MILLIMETRES[0] <= max(map(abs, position)) <= MILLIMETRES[1]
