"""Declaration of `robot_cell record`."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

from ..errors import FileError
from ..errors.remedies import EXISTING_BAG
from ..system.private_files import check_output
from .deferred import deferred
from .options import domain_option
from .reporting import json_option


def pattern(text: str) -> str:
    """Check that a text is a regular expression.

    Raises:
        click.BadParameter: It is none.
    """
    try:
        re.compile(text)
    except re.error as error:
        raise click.BadParameter(f"{text!r} is not a regular expression: {error}") from error
    return text


def check_bag(folder: Path) -> None:
    """Check that a bag can be made, before its recording begins.

    Raises:
        FileError: The folder exists, or cannot be made.
    """
    if folder.exists():
        text = f"bag {folder} cannot be made: it exists already"
        raise FileError(text, stage="record", subjects=(folder.name,), remedy=EXISTING_BAG)
    try:
        check_output(folder)
    except OSError as error:
        text = f"bag {folder} cannot be made: {error.strerror or error}"
        raise FileError.of(folder, error, "record").with_message(text) from error


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--topic", "topics", type=pattern, multiple=True, metavar="REGEX",
              help="Record only topics that match; repeatable.")  # fmt: skip
@click.option("--exclude", type=pattern, multiple=True, metavar="REGEX",
              help="Do not record topics that match; repeatable.")  # fmt: skip
@click.option("--duration", type=click.FloatRange(0.0, min_open=True), default=math.inf,
              help="End after this time [s] (default: on Ctrl-C).")  # fmt: skip
@domain_option
@json_option
@deferred
def record(folder: Path, **options: object) -> None:
    """Record topics in FOLDER, a new bag of rosbag2 (MCAP), until Ctrl-C.

    Topics are added as they appear, also those of actions and of service introspection. `ros2 bag play` and other tools
    for bags of rosbag2 read the result.
    """
    check_bag(folder)
