"""Prints the output of several processes line by line, with the name of each in front."""

from __future__ import annotations

import os
import sys
from io import UnsupportedOperation
from typing import TextIO

from ...system.readiness import wait_writable

COLOURS = (36, 33, 35, 32, 34, 31, 96, 93, 95, 92)  # ANSI foreground colours
LONGEST_LINE = 64 * 1024  # maximum bytes of an incomplete line


class Console:
    """The supervisor's two output streams.

    Attributes:
        width: Of the labels.
        closed: The output is closed; further lines are lost.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.closed = False

    def say(self, text: str) -> None:
        """Print a line of the supervisor."""
        self.write(f"{'supervisor'.ljust(self.width)} | {text}\n", sys.stderr)

    def write(self, text: str, stream: TextIO) -> None:
        """Print lines."""
        if self.closed:
            return
        try:
            _write(stream, text)
        except OSError:
            self.closed = True
            # Python flushes the stream again at exit, which would fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _write(stream: TextIO, text: str) -> None:
    """Write a text, also to an output that another program with the same terminal has set to be non-blocking: streams
    of Python lose what such an output does not take at once."""
    try:
        number = stream.fileno()
    except UnsupportedOperation:  # a stream in memory
        stream.write(text)
        return
    stream.flush()
    left = memoryview(text.encode(stream.encoding, stream.errors or "strict"))
    while left:
        try:
            left = left[os.write(number, left) :]
        except BlockingIOError:
            wait_writable(stream)


class LinePrinter:
    """Prints the lines of one stream of one process.

    Args:
        name: Label of each line, coloured on a terminal.
        index: Which of the colours to use.
    """

    def __init__(self, console: Console, stream: TextIO, name: str, index: int) -> None:
        label = name.ljust(console.width)
        if stream.isatty():
            label = f"\033[{COLOURS[index % len(COLOURS)]}m{label}\033[0m"
        self._front = f"{label} | "
        self._console = console
        self._stream = stream
        self._pending = b""

    def feed(self, data: bytes) -> None:
        """Print the lines that are completed by this data; lines longer than 64 KiB are printed in parts."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > LONGEST_LINE:
            lines.append(self._pending)
            self._pending = b""
        self._print(lines)

    def close(self) -> None:
        """Print the last, incomplete line."""
        if self._pending:
            self._print([self._pending])
            self._pending = b""

    def _print(self, lines: list[bytes]) -> None:
        texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        self._console.write("".join(f"{self._front}{text}\n" for text in texts), self._stream)
