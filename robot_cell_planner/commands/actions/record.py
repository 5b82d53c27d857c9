"""`robot_cell record`: the topics of the running nodes, in a bag of rosbag2."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import click

from ...system.output_pipes import do_not_wait_for_reader_of_errors
from ...system.private_files import PRIVATE_UMASK
from ..interruption import ENDS
from ..reporting import import_failure


def record(
    folder: Path,
    topics: tuple[str, ...],
    exclude: tuple[str, ...],
    duration: float,
    domain_id: int | None,
    as_json: bool,
) -> int:
    """Record topics until the time is over or a signal comes."""
    try:
        from ...nodes.recording.recorder import RecordOptions
        from ...nodes.recording.recorder import record as run
    except ImportError as error:
        raise import_failure("recording needs ROS 2 and rosbags", error) from error
    if domain_id is not None:
        os.environ["ROS_DOMAIN_ID"] = str(domain_id)
    os.umask(PRIVATE_UMASK)
    options, end = RecordOptions(topics, exclude, duration), threading.Event()
    for number in (signal.SIGINT, *ENDS):
        # An exception could be raised between the reception of a message and its storage.
        signal.signal(number, lambda *_: end.set())
    do_not_wait_for_reader_of_errors()
    _report(f"recording in {folder}")
    summary = run(folder, options, lambda text: _report(f"robot_cell record: {text}"), end)
    counts = {topic: count for topic, count in sorted(summary.messages.items()) if count}
    if as_json:
        content = {"folder": str(folder), "messages": counts, "skipped": summary.skipped}
        click.echo(json.dumps(content, indent=1))
    else:
        click.echo(f"recorded {sum(counts.values())} messages of {len(counts)} topics in {folder}")
    return 0


def _report(text: str) -> None:
    with suppress(OSError):  # nobody reads it any more; the recording goes on
        click.echo(text, err=True)
