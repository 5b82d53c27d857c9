"""Options that several commands have: the cell, its state, goals and poses."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import click

from ..errors import RobotCellError
from ..io.cell_file.cell_file import load_cell
from ..io.common.resources import ResourceRoots
from ..kinematics.targets import TargetMode
from ..kinematics.transforms import world_pose
from ..model.cell import RobotCell
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..scene.changes import apply_changes
from ..scene.scene import Scene
from ..scene.state_changes import SetJoints

Command: TypeAlias = Callable[..., int]
JointValue: TypeAlias = tuple[str, float]  # joint, and its value [rad or m]
FAILED = 1
POSE_HELP = "x,y,z [m], then roll,pitch,yaw [rad] or a quaternion qx,qy,qz,qw."


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


def pose_value(text: str) -> Pose:
    """Convert 3, 6 or 7 numbers with commas, as POSE_HELP describes them.

    Raises:
        click.BadParameter: The text has another form, or is no pose.
    """
    try:
        numbers = [float(number) for number in text.split(",")]
        if len(numbers) in (3, 6):
            return Pose.from_rpy(numbers[:3], numbers[3:] or (0.0, 0.0, 0.0))
        x, y, z, qx, qy, qz, qw = numbers
        return Pose((x, y, z), (qx, qy, qz, qw))
    except RobotCellError as error:
        raise click.BadParameter(str(error)) from error
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a pose, expected {POSE_HELP}") from error


MODES = {"flange": TargetMode.ROBOT, "tool": TargetMode.TOOL, "workpiece": TargetMode.WORKPIECE}
frame_option = click.option(
    "--frame",
    "moved",
    type=click.Choice(list(MODES)),
    help="Frame of the group that goes to the pose (default: tool, or flange without a tool).",
)
group_option = click.option("--group", default="", help="Planning group (default: the chain with the most joints).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer, or the error, as JSON.")


def cell_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add CELL_FILE and the options that change its state; the command gets `cell` and `state`."""

    @click.argument("cell_file", type=click.Path(path_type=Path))
    @click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes.")
    @click.option("--from", "start", default="", metavar="STATE", help="Named state of the main group to start from.")
    @click.option(
        "--from-joint",
        "start_values",
        type=joint_value,
        multiple=True,
        metavar="JOINT=VALUE",
        help="Joint value of the start state; repeatable.",
    )
    @functools.wraps(command)
    def with_cell(
        cell_file: Path,
        folders: tuple[str, ...],
        start: str,
        start_values: tuple[tuple[str, float], ...],
        **others: Any,
    ) -> Any:
        logging.basicConfig(format="%(levelname)s: %(message)s")
        cell, state = load_cell(cell_file, roots_of(folders))
        values = dict(cell.robot_of_group().named_state(cell.group().name, start)) if start else {}
        return command(cell=cell, state=with_joints(cell, state, values | dict(start_values)), **others)

    return with_cell


def reporting(command: Callable[..., int]) -> Command:
    """Add `--json`; an error is printed as JSON then, and the exit status is 1."""

    @json_option
    @functools.wraps(command)
    def reported(as_json: bool, **others: Any) -> int:
        try:
            return command(as_json=as_json, **others)
        except RobotCellError as error:
            if not as_json:
                raise
            echo_json({"error": error_entry(error)})
            return FAILED

    return reported


def error_entry(error: RobotCellError) -> dict[str, object]:
    """Return an error as JSON."""
    return {
        "name": error.name,
        "code": error.code,
        "stage": error.stage,
        "message": error.message,
        "subjects": list(error.subjects),
        "values": [{"name": v.name, "value": v.value, "limit": v.limit, "unit": v.unit} for v in error.values],
        "remedy": error.remedy,
    }


def echo_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=1))


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
    return apply_changes(Scene(cell, state), (SetJoints(values),), world_pose).state if values else state


def mode_of(cell: RobotCell, state: RobotCellState, group: str, moved: str | None) -> TargetMode:
    """Return the target mode that `--frame` selects; without it, the tool, or the flange of a group without a tool."""
    if moved:
        return MODES[moved]
    return TargetMode.TOOL if cell.tool_of_group(state, group) else TargetMode.ROBOT


def pose_entry(pose: Pose) -> dict[str, list[float]]:
    """Return a pose as JSON: position [m] and quaternion x, y, z, w."""
    return {"position": list(pose.position), "quaternion": list(pose.quaternion)}


def pose_text(pose: Pose) -> str:
    """Return a pose as text: position [m] and quaternion x, y, z, w."""
    numbers = [f"{value + 0.0:9.5f}" for value in (*pose.position, *pose.quaternion)]
    return " ".join(numbers[:3]) + "  " + " ".join(numbers[3:])
