"""Parsing of mesh files in a sandboxed process with limited file access, computation and output.

The process is reused for a minute after the last file, because importing the parsers takes longer than parsing most
files.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError, LimitExceededError
from ...model.geometry import Rgba
from ...system.sandboxed_process import start
from .cache import read_entry, write_entry
from .content_kinds import contents_named
from .counts import MAX_COUNT
from .formats import STAGE, parse_binary_stl
from .incomplete import require_whole, stl_bytes

WORKER = "robot_cell_planner.io.mesh.worker"
MAX_SECONDS = 300.0  # timeout of an answer: more than the worker's own limit, including its start
MAX_ANSWER = 1 << 30
MAX_PARTS = 100_000

Vertices = NDArray[np.float64]
Faces = NDArray[np.int32]
Part = tuple[Vertices, Faces, Rgba | None]


class _Gone(Exception):
    """The process ended, after its idle time or by an error."""


class _Worker:
    """Worker process, started on first use."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: Any = None

    def ask(self, kind: str, what: str, path: str, content: bytes) -> bytes:
        """Return the answer to a request. If the process ended, it is restarted once."""
        request = json.dumps({"kind": kind, "what": what, "path": path, "length": len(content)}).encode() + b"\n"
        with self.lock:
            for last in (False, True):
                if self.process is None or self.process.poll() is not None:
                    self.close()
                    pipe = subprocess.PIPE
                    self.process = start(WORKER, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
                try:
                    return self._exchange(request + content)
                except (_Gone, BrokenPipeError) as error:
                    self.close()
                    if last:
                        text = f"{path}: the process that reads meshes ended without an answer"
                        raise GeometryError(text, stage=STAGE, subjects=(path,)) from error
                except BaseException:
                    self.close()
                    raise
        raise AssertionError("unreachable")

    def _exchange(self, message: bytes) -> bytes:
        """Write the request, then read the answer; the process is abandoned if it stops reading or writing."""
        deadline = time.monotonic() + MAX_SECONDS
        sink, source = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(sink, False)
        view = memoryview(message)
        while view:
            _wait(sink, select.POLLOUT, deadline)
            view = view[os.write(sink, view[: 1 << 16]) :]
        length = int.from_bytes(_read(source, 8, deadline), "little")
        if length > MAX_ANSWER:
            raise LimitExceededError(f"a processed mesh has {length} bytes, expected at most {MAX_ANSWER}", stage=STAGE)
        return _read(source, length, deadline)

    def close(self) -> None:
        """End the process, if it is running."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    def forget(self) -> None:
        """Forget the worker in a forked process, because it belongs to the parent."""
        self.lock, self.process = threading.Lock(), None


def _wait(handle: int, event: int, deadline: float) -> None:
    poll = select.poll()  # supports any file descriptor number, unlike select
    poll.register(handle, event)
    left = deadline - time.monotonic()
    if left <= 0.0 or not poll.poll(1000.0 * left):
        raise LimitExceededError(f"reading a mesh did not end within {MAX_SECONDS:g} s", stage=STAGE)


def _read(source: int, length: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < length:
        _wait(source, select.POLLIN, deadline)
        piece = os.read(source, min(length - len(data), 1 << 20))
        if not piece:
            raise _Gone
        data += piece
    return bytes(data)


_WORKER = _Worker()
os.register_at_fork(after_in_child=_WORKER.forget)


def parse_mesh(content: bytes, kind: str, path: str) -> tuple[Vertices, Faces]:
    """As `formats.parse_mesh`, in a sandboxed process; binary STL of moderate size is parsed in this process.

    Raises:
        GeometryError: The content cannot be parsed, or is empty, not finite or too large, or exceeds the resource
            limits.
    """
    quick = parse_binary_stl(content, path) if kind == "stl" else None
    if quick is not None:
        return quick
    with contents_named(content, kind, path):
        ((vertices, faces, _),) = _parts_of(_answer(content, kind, "mesh", path), path)
    return vertices, faces


def parse_painted(content: bytes, kind: str, path: str) -> list[Part]:
    """As `materials.painted_parts`, in a sandboxed process, or from the cache of meshes.

    Raises:
        GeometryError: The content cannot be parsed, or exceeds the resource limits.
    """
    digest, entry = hashlib.sha256(content).hexdigest(), f"painted-{kind}"
    cached = read_entry(digest, entry)
    if cached is not None:
        return _parts_of(bytes(cached), path)
    with contents_named(content, kind, path):
        answer = _answer(content, kind, "painted", path)
        parts = _parts_of(answer, path)
    write_entry(digest, entry, answer)
    return parts


def close_parser() -> None:
    """End the parser process, if it is idle."""
    with _WORKER.lock:
        _WORKER.close()


def _answer(content: bytes, kind: str, what: str, path: str) -> bytes:
    """Return the answer of the process about a mesh: a line of JSON, and the numbers of its parts."""
    require_whole(content, kind, path)
    if kind == "stl" and (size := stl_bytes(content)):
        content = content[:size]
    answer = _WORKER.ask(kind, what, path, content)
    header = json.loads(answer.partition(b"\n")[0])
    if "error" in header:
        text = header["error"]
        if header["kind"] != "geometry":
            text = f"{path} is not a readable {kind.upper()} mesh: {text}"
        raise GeometryError(text, stage=STAGE, subjects=(path,), remedy=header.get("remedy", ""))
    return answer


def _parts_of(answer: bytes, path: str) -> list[Part]:
    """Return the parts of an answer without an error."""
    line, _, numbers = answer.partition(b"\n")
    counts = json.loads(line)["parts"]
    if len(counts) > MAX_PARTS or any(max(vertices, faces) > 3 * MAX_COUNT for vertices, faces, _ in counts):
        raise LimitExceededError(
            f"{path} becomes {len(counts)} parts, more than is read", stage=STAGE, subjects=(path,)
        )
    parts: list[Part] = []
    start_of_part = 0
    for count, triangles, colour in counts:
        middle, end = start_of_part + 24 * count, start_of_part + 24 * count + 12 * triangles
        vertices = np.frombuffer(numbers[start_of_part:middle], dtype="<f8").reshape(count, 3)
        faces = np.frombuffer(numbers[middle:end], dtype="<i4").reshape(triangles, 3)
        parts.append((vertices, faces, None if colour is None else tuple(colour)))
        start_of_part = end
    return parts
