"""Options that several commands have: the cell, its state, goals and poses. Needs no library: values are refused, and
help is printed, before it is imported."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

from ..errors import FileError
from ..errors.remedies import NO_FILE
from ..model.angles import degrees_doubt
from ..model.mesh_use import REPRESENTATIONS
from ..model.value import WORLD
from .inputs import InputPath
from .reporting import warn

JointValue: TypeAlias = tuple[str, float]  # joint, and its value [rad or m]
PoseNumbers: TypeAlias = tuple[float, ...]  # as POSE_HELP describes them
ARGUMENT = ":="
CELL_FILE = "cell.yaml"
AUTO = "auto"
MESHES = (AUTO, *(use.value for use in REPRESENTATIONS))  # shapes that collision meshes are checked as
POSE_SIZES = (3, 6, 7)
MAX_SEED = 2**63 - 1
POSE_HELP = (
    "x,y,z [m], then roll,pitch,yaw [rad] or a quaternion qx,qy,qz,qw; without these, the orientation is that of the "
    "frame in --in (default: the world's)."
)
RUNNING = "@running"
RUNNING_HELP = (
    f"CELL_FILE may be {RUNNING}, or {RUNNING}/NAMESPACE: the present scene of the nodes in this ROS_DOMAIN_ID, with "
    "measured joints."
)


def joint_value(text: str) -> JointValue:
    """Convert JOINT=VALUE.

    Raises:
        click.BadParameter: The text has another form.
    """
    joint, separator, number = text.partition("=")
    try:
        if joint and separator and math.isfinite(value := float(number)):
            return joint, value
    except ValueError:
        pass
    raise click.BadParameter(f"{text!r} is not JOINT=VALUE with a number in rad or m")


def joint_values(
    context: click.Context, option: click.Parameter, values: tuple[JointValue, ...]
) -> tuple[JointValue, ...]:
    """Check that no joint has two values.

    Raises:
        click.BadParameter: A joint is given twice.
    """
    counts = Counter(joint for joint, _ in values)
    if twice := [joint for joint, count in counts.items() if count > 1]:
        given = ", ".join(f"{joint}={value:g}" for joint, value in values if joint in twice)
        raise click.BadParameter(f"a joint has more than one value: {given}", context, option)
    return values


def pose_value(text: str) -> PoseNumbers:
    """Convert 3, 6 or 7 numbers with commas, as POSE_HELP describes them.

    Raises:
        click.BadParameter: The text has another form.
    """
    try:
        numbers = tuple(float(number) for number in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in POSE_SIZES:
        raise click.BadParameter(f"{text!r} is not a pose, expected {POSE_HELP}")
    if not all(map(math.isfinite, numbers)):
        raise click.BadParameter(f"{text!r} is not a pose, expected finite numbers")
    if len(numbers) == 6 and (doubt := degrees_doubt(numbers[3:])):
        warn(f"--pose {text}: {doubt}")
    return numbers


def seed(value: str | int) -> int:
    """Convert a seed of random numbers.

    Raises:
        click.BadParameter: It is not a whole number from 0 to 2^63 - 1.
    """
    try:
        if 0 <= (number := int(value)) <= MAX_SEED:
            return number
    except ValueError:
        pass
    raise click.BadParameter(f"{value!r} is not a whole number from 0 to 2^63 - 1")


def axes_value(text: str) -> str:
    """Convert letters of axes, each of x, y and z at most once; none are no axes.

    Raises:
        click.BadParameter: The text has another form.
    """
    if set(text) <= set("xyz") and len(set(text)) == len(text):
        return text
    raise click.BadParameter(f"{text!r} names no axes, expected letters of xyz, such as z, or xyz for all")


def xacro_arguments(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    """Convert words NAME:=VALUE.

    Raises:
        click.BadParameter: A word has another form.
    """
    found: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(ARGUMENT)
        if not (name and separator):
            where = "; --folder says where to write" if isinstance(parameter, click.Argument) else ""
            text = f"{word!r} is no xacro argument, expected name:=value{where}"
            raise click.BadParameter(text, context, parameter)
        found[name] = value
    return found


def existing_folders(context: click.Context, parameter: click.Parameter, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Check that paths are of folders.

    Raises:
        click.BadParameter: One of them is not a folder.
    """
    for folder in folders:
        if not Path(folder).is_dir():
            raise click.BadParameter(f"{folder} is not a folder", context, parameter)
    return folders


def is_running(cell_file: Path) -> bool:
    """Return whether a command is to ask the running nodes."""
    return cell_file.parts[:1] == (RUNNING,)


def cell_path(context: click.Context, argument: click.Parameter, path: Path) -> Path:
    """Check that a path is not the folder of a cell file, as `robot_cell new` writes one.

    Raises:
        FileError: It is; the message has the path of the file.
    """
    if (file := path / CELL_FILE).is_file():
        text = f"{path} is not a regular file; is {file} meant?"
        raise FileError(text, stage="read cell", subjects=(str(path),), remedy=NO_FILE)
    return path


CELL = InputPath("read cell", names_file=lambda path: not is_running(path))
PLAN = InputPath("read plan")
cell_file_argument = click.argument("cell_file", type=CELL, callback=cell_path)
root_option = click.option(
    "--root",
    "folders",
    multiple=True,
    metavar="FOLDER",
    callback=existing_folders,
    help="Folder with packages or meshes; repeatable.",
)
domain_option = click.option(
    "--domain-id", type=click.IntRange(0, 232), help="ROS_DOMAIN_ID (default: the variable's value)."
)
group_option = click.option("--group", default="", help="Planning group (default: the chain with the most joints).")
frame_option = click.option(
    "--frame",
    "moved",
    metavar="FRAME",
    help="Frame that goes to the pose: flange, tool or workpiece of the group, or the name of a frame that the group "
    "moves, such as tcp (default: tool, or flange without a tool).",
)
free_option = click.option(
    "--free",
    type=axes_value,
    default="",
    metavar="AXES",
    help="Axes of the pose about which the rotation is free, such as z, the axis of a tool; xyz for a position only.",
)


def reference_option(what: str = "the pose is") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for the frame that `what` expressed in."""
    return click.option("--in", "reference", default=WORLD, show_default=True, help=f"Frame that {what} expressed in.")


def check_target(has_pose: bool, reference: str, moved: str | None, free: str) -> bool:
    """Return whether options describe a target: a pose, or the frame of `--in`.

    Raises:
        click.UsageError: They do not, but say more about it.
    """
    if has_pose or reference != WORLD:
        return True
    for option in (name for name, value in (("--free", free), ("--frame", moved)) if value):
        raise click.UsageError(f"{option} needs a pose")
    return False


def cell_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add CELL_FILE and the options that change its state."""
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
        root_option,
        cell_file_argument,
    ):
        command = add(command)
    return command
