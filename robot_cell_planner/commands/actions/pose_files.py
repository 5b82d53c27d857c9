"""Files of poses, one after the other: CSV, or JSON as `robot_cell fk --json` prints poses."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from ...errors import FileError, InvalidValueError
from ...io.common.resources import NO_ROOTS, read_text
from ...model.angles import degrees_doubt
from ...model.pose import Pose
from ..options import POSE_SIZES, PoseNumbers
from ..reporting import warn
from .targets import pose_from_numbers

STAGE = "read poses"
JSON = ".json"
POSITION, ANGLES, QUATERNION = ("x", "y", "z"), ("roll", "pitch", "yaw"), ("qx", "qy", "qz", "qw")
HEADINGS = (POSITION, (*POSITION, *ANGLES), (*POSITION, *QUATERNION))
REMEDY = (
    "Give a CSV file with x,y,z in each line, then roll,pitch,yaw [rad] or qx,qy,qz,qw if needed, and these names in "
    "its first line or not; or a JSON file with a list of such lists, or of objects with `position` and `quaternion`."
)
Placed: TypeAlias = tuple[str, PoseNumbers]  # where a pose is in the file, and its numbers


def read_poses(path: Path) -> tuple[Pose, ...]:
    """Return the poses of a file. Its extension selects the format: .json for JSON, any other for CSV.

    Positions are in the unit of the file, angles in rad; the first angle of more than a turn has a warning.

    Raises:
        FileError: It cannot be read, has no pose, or has another form; the message has the line or the index.
    """
    text, found, doubt = read_text(path, STAGE, NO_ROOTS.text_bytes), list[Pose](), ""
    for place, numbers in (_of_json if path.suffix.lower() == JSON else _of_csv)(text, path):
        try:
            found.append(pose_from_numbers(numbers))
        except InvalidValueError as error:
            raise _error(f"{place}: {error}", path) from error
        if not doubt and len(numbers) == 6 and (doubt := degrees_doubt(numbers[3:])):
            warn(f"{place}: {doubt}")
    if not found:
        raise _error(f"{path} has no pose", path)
    return tuple(found)


def _of_csv(text: str, path: Path) -> Iterator[Placed]:
    """Yield the poses of the lines that are not empty, which have as many numbers as the first one."""
    rows, size = csv.reader(text.splitlines(), skipinitialspace=True), 0
    try:
        lines = [(rows.line_num, tuple(cell.strip() for cell in row)) for row in rows]
    except csv.Error as error:
        raise _error(f"{path}:{rows.line_num}: {error}", path) from error
    for number, cells in lines:
        place = f"{path}:{number}"
        if not any(cells):
            continue
        if size and len(cells) != size:
            raise _error(f"{place}: has {len(cells)} numbers, expected {size} as above", path)
        if size or tuple(cell.lower() for cell in cells) not in HEADINGS:
            yield place, _numbers(cells, place, path)
        size = len(cells)


def _of_json(text: str, path: Path) -> Iterator[Placed]:
    try:
        entries = msgspec.json.decode(text, type=list[Pose | list[float]])
    except (msgspec.MsgspecError, InvalidValueError, RecursionError) as error:
        raise _error(f"{path}: {error}", path) from error
    for index, entry in enumerate(entries):
        place = f"{path}, pose {index}"
        yield place, _numbers((*entry.position, *entry.quaternion) if isinstance(entry, Pose) else entry, place, path)


def _numbers(cells: Sequence[str | float], place: str, path: Path) -> PoseNumbers:
    try:
        if len(cells) in POSE_SIZES:
            return tuple(map(float, cells))
    except ValueError:
        pass
    shown = ",".join(map(str, cells[: max(POSE_SIZES) + 1]))
    raise _error(f"{place}: {shown!r} is not a pose of 3, 6 or 7 numbers", path)


def _error(text: str, path: Path) -> FileError:
    return FileError(text, stage=STAGE, subjects=(str(path),), remedy=REMEDY)
