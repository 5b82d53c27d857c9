"""Progress of a command on the standard error stream."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..planning.problem.progress import Progress as Stage

SILENT = 1.0  # [s] a request may take before its stages are shown
WIDTH = 70  # characters of a line of progress
COMPILED = (
    "numeric functions are compiled, once after an installation, which can take a minute or two; `robot_cell warm` "
    "does this ahead"
)
STEPS = 10  # lines of a task where the stream is no terminal


def echo_compilation() -> None:
    """Print that the command waits for the compiler, on a line of its own."""
    start = f"\r{'':{WIDTH}}\r" if sys.stderr.isatty() else ""  # instead of a stage
    click.echo(f"{start}{COMPILED}", err=True)


class Progress:
    """Shows what is done: on one line of a terminal, else in a few lines for each task."""

    def __init__(self) -> None:
        self._shown = ("", -1)

    def __call__(self, text: str, fraction: float) -> None:
        """Show a task, and the fraction of the work that is done [0 to 1]."""
        if sys.stderr.isatty():
            line = f"{fraction:4.0%}  {text}"
            click.echo(f"\r{line[:WIDTH]:{WIDTH}}", err=True, nl=fraction >= 1.0)
            return
        step = (text, int(STEPS * fraction))
        if step != self._shown:
            click.echo(f"{fraction:4.0%}  {text}", err=True)
            self._shown = step

    def of(self, task: str) -> Callable[[str, float], None]:
        """Return the progress of the stages of a task."""
        return lambda stage, fraction: self(f"{task}: {stage}", fraction)


class Stages:
    """Shows the stage of a request that takes longer than a second; to be used in a `with` statement.

    On a terminal the stage is shown from the beginning, on a line that is empty in the end.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._stage = ""
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._is_terminal:
            click.echo(f"\r{'':{WIDTH}}\r", err=True, nl=False)

    def __call__(self, found: Stage) -> None:
        """Show a stage, and how many states were checked."""
        if self._is_terminal:
            text = f"{found.stage}: {found.states_checked} states checked"
            click.echo(f"\r{text[:WIDTH]:{WIDTH}}", err=True, nl=False)
        elif found.stage != self._stage and time.monotonic() - self._started > SILENT:
            click.echo(f"stage: {found.stage}", err=True)
            self._stage = found.stage


class Elapsed:
    """Shows what is being done, and for how long, if it takes longer than a second; to be used in a `with` statement.

    Only on a terminal, on a line that is empty in the end.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Elapsed:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        seconds = 0
        while not self._done.wait(SILENT):
            seconds += 1
            text = f"{self._task}: {seconds} s"
            click.echo(f"\r{text[:WIDTH]:{WIDTH}}", err=True, nl=False)
        if seconds:
            click.echo(f"\r{'':{WIDTH}}\r", err=True, nl=False)
