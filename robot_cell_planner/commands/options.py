"""Options that several commands have: the cell, its state, goals and poses."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import click

from ..errors import (
    InverseKinematicsError,
    JointLimitError,
    MPNoIKSolutionError,
    RobotCellError,
    StartBeyondLimitsError,
    UnknownNameError,
)
from ..io.cell_file.cell_file import load_cell
from ..io.common.resources import ResourceRoots
from ..kinematics.ik.failure import DIRECTIONS_MOVED
from ..kinematics.targets import FrameTarget, TargetMode, target_frame, tolerances_of_free
from ..kinematics.transforms import world_pose
from ..model.angles import MAX_ANGLE, degrees_doubt
from ..model.cell import RobotCell
from ..model.frames import FrameTree
from ..model.name_suggestions import unknown_name
from ..model.pose import IDENTITY, Pose
from ..model.state import RobotCellState
from ..model.value import WORLD
from ..scene.changes import apply_changes
from ..scene.scene import Scene
from ..scene.state_changes import SetJoints
from .reporting import warn
from .running import is_running, running_scene

JointValue: TypeAlias = tuple[str, float]  # joint, and its value [rad or m]
ARGUMENT = ":="
MILLIMETRES = 10.0  # [m] positions beyond are probably in mm
POSE_HELP = (
    "x,y,z [m], then roll,pitch,yaw [rad] or a quaternion qx,qy,qz,qw; without these, the orientation is that of the "
    "frame in --in (default: the world's)."
)


def joint_value(text: str) -> JointValue:
    """Convert JOINT=VALUE.

    Raises:
        click.BadParameter: The text has another form.
    """
    joint, separator, number = text.partition("=")
    try:
        if joint and separator:
            return joint, float(number)
    except ValueError:
        pass
    raise click.BadParameter(f"{text!r} is not JOINT=VALUE with a number in rad or m")


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
            error.remedy = f"Values of {option} are in rad or m, and within the limits of the joint{degrees}."
        raise


@contextmanager
def pose_explained(pose: Pose | None) -> Iterator[None]:
    """Give errors about a pose that is not reached a remedy: the unit, if a coordinate is large; `--free`, if the
    joints do not move the frame in all directions."""
    try:
        yield
    except (InverseKinematicsError, MPNoIKSolutionError) as error:
        if pose is not None and max(map(abs, pose.position)) >= MILLIMETRES:
            metres = ",".join(f"{value / 1e3:g}" for value in pose.position)
            error.remedy = f"Positions of --pose are in m: if these are in mm, write {metres}."
        elif any(value.name == DIRECTIONS_MOVED for value in error.values):
            error.remedy = "Free rotations of the pose: `--free xyz` for its position only, or single axes."
        raise


def pose_value(text: str) -> Pose:
    """Convert 3, 6 or 7 numbers with commas, as POSE_HELP describes them.

    Raises:
        click.BadParameter: The text has another form, or is no pose.
    """
    try:
        numbers = [float(number) for number in text.split(",")]
        if len(numbers) == 6 and (doubt := degrees_doubt(numbers[3:])):
            warn(f"--pose {text}: {doubt}")
        if len(numbers) in (3, 6):
            return Pose.from_rpy(numbers[:3], numbers[3:] or (0.0, 0.0, 0.0))
        x, y, z, qx, qy, qz, qw = numbers
        return Pose((x, y, z), (qx, qy, qz, qw))
    except RobotCellError as error:
        raise click.BadParameter(str(error)) from error
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a pose, expected {POSE_HELP}") from error


def joint_values(context: click.Context, option: click.Parameter, values: tuple[JointValue, ...]) -> object:
    """Check that no joint has two values.

    Raises:
        click.BadParameter: A joint is given twice.
    """
    counts = Counter(joint for joint, _ in values)
    if twice := [joint for joint, count in counts.items() if count > 1]:
        given = ", ".join(f"{joint}={value:g}" for joint, value in values if joint in twice)
        raise click.BadParameter(f"a joint has more than one value: {given}", context, option)
    return values


MODES = {"flange": TargetMode.ROBOT, "tool": TargetMode.TOOL, "workpiece": TargetMode.WORKPIECE}
frame_option = click.option(
    "--frame",
    "moved",
    metavar="FRAME",
    help="Frame that goes to the pose: flange, tool or workpiece of the group, or the name of a frame that the group "
    "moves, such as tcp (default: tool, or flange without a tool).",
)


def axes_value(text: str) -> str:
    """Convert letters of axes, each of x, y and z at most once; none are no axes.

    Raises:
        click.BadParameter: The text has another form.
    """
    if set(text) <= set("xyz") and len(set(text)) == len(text):
        return text
    raise click.BadParameter(f"{text!r} names no axes, expected letters of xyz, such as z, or xyz for all")


free_option = click.option(
    "--free",
    type=axes_value,
    default="",
    metavar="AXES",
    help="Axes of the pose about which the rotation is free, such as z, the axis of a tool; xyz for a position only.",
)
reference_option = click.option(
    "--in", "reference", default=WORLD, show_default=True, help="Frame that the pose is expressed in."
)
group_option = click.option("--group", default="", help="Planning group (default: the chain with the most joints).")


def start_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add CELL_FILE and the options that change its state, which `opened` takes."""
    for add in (
        click.option(
            "--from-joint",
            "start_values",
            type=joint_value,
            multiple=True,
            callback=joint_values,
            metavar="JOINT=VALUE",
            help="Joint value of the start state; repeatable.",
        ),
        click.option("--from", "start", default="", metavar="STATE", help="Named state of the main group to begin at."),
        click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes."),
        click.argument("cell_file", type=click.Path(path_type=Path)),
    ):
        command = add(command)
    return command


def cell_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add CELL_FILE and the options that change its state; the command gets `cell` and `state`."""

    @start_options
    @functools.wraps(command)
    def with_cell(
        cell_file: Path, folders: tuple[str, ...], start: str, start_values: tuple[JointValue, ...], **others: Any
    ) -> Any:
        cell, state = opened(cell_file, folders, start, start_values)
        with units_explained("--from-joint", start_values):
            return command(cell=cell, state=state, **others)

    return with_cell


def opened(
    cell_file: Path, folders: tuple[str, ...], start: str, start_values: Sequence[JointValue]
) -> tuple[RobotCell, RobotCellState]:
    """Return the cell and the start state that `start_options` describe.

    cell_file: or `@running` for the scene of the running nodes.

    Raises:
        RobotCellError: The cell cannot be loaded, or has no such state or joint.
    """
    cell, state = running_scene(cell_file) if is_running(cell_file) else load_cell(cell_file, roots_of(folders))
    values = dict(cell.robot_of_group().named_state(cell.group().name, start)) if start else {}
    return cell, with_joints(cell, state, values | dict(start_values))


def xacro_arguments(words: tuple[str, ...], hint: str = "arguments") -> dict[str, str]:
    """Convert words NAME:=VALUE. hint: What they are on the command line, for errors.

    Raises:
        click.BadParameter: A word has another form.
    """
    found: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(ARGUMENT)
        if not (name and separator):
            where = "; --folder says where to write" if hint == "arguments" else ""
            raise click.BadParameter(f"{word!r} is no xacro argument, expected name:=value{where}", param_hint=hint)
        found[name] = value
    return found


def roots_of(folders: tuple[str, ...]) -> ResourceRoots:
    """Return the roots that options name.

    Raises:
        click.BadParameter: One of them is not a folder.
    """
    for folder in folders:
        if not Path(folder).is_dir():
            raise click.BadParameter(f"{folder} is not a folder", param_hint="--root")
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


def pose_target(
    cell: RobotCell, state: RobotCellState, group: str, moved: str | None, pose: Pose | None, reference: str, free: str
) -> FrameTarget | None:
    """Return the target of `--pose`, `--in`, `--frame` and `--free`: without a pose, the frame of `--in`; without both,
    None.

    Raises:
        UnknownNameError: `--frame` is neither a mode nor a frame of the cell; suggests similar names.
        click.UsageError: Axes are free, and there is no pose.
    """
    if pose is None and reference == WORLD:
        if free:
            raise click.UsageError("--free needs a pose")
        return None
    mode, frame = frame_of(cell, state, group, moved)
    return FrameTarget(
        mode=mode,
        frame=frame,
        pose=pose or IDENTITY,
        reference_frame=reference,
        tolerance_angles=tolerances_of_free(free),
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
