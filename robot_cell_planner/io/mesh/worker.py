"""Worker program that parses mesh files in sandboxed processes, started by `process`.

It imports the slow modules once and forks a process for each file, which enters the sandbox (`sandbox`), parses that
file and ends. Any effect of a file ends with its process.

A request on standard input is a line of JSON {kind, what, path, length} followed by that many bytes. An answer is 8
bytes with the length of the rest, then a line of JSON with "parts" [[vertices, faces, colour or null], ...] and their
numbers (float64, int32), or with "error".
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import IO, Any

import collada  # noqa: F401 - what parsing imports late is imported before the first fork
import networkx  # noqa: F401
import numpy as np
import scipy.spatial  # noqa: F401
import trimesh

from ...errors import GeometryError
from ...system.sandbox import confine
from ...system.sandboxed_process import import_folders
from .formats import parse_mesh
from .materials import painted_parts

IDLE_SECONDS = 60.0
CPU_SECONDS = 30
WALL_SECONDS = 120
MEMORY_BYTES = 4 << 30
ANSWER_BYTES = 1 << 30


def main() -> None:
    trimesh.util.log.setLevel("CRITICAL")
    requests = os.fdopen(0, "rb", buffering=0)
    while select.select([requests], [], [], IDLE_SECONDS)[0]:
        line = _line(requests)
        if not line:
            return
        request = json.loads(line)
        answer = _answered(request, _exactly(requests, request["length"]))
        _write(1, len(answer).to_bytes(8, "little") + answer)


def _line(stream: IO[bytes]) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = stream.read(1)
        if not byte:
            return b""
        line += byte
    return line


def _exactly(stream: IO[bytes], length: int) -> bytes:
    content = bytearray()
    while len(content) < length:
        piece = stream.read(min(length - len(content), 1 << 20))
        if not piece:
            sys.exit(0)  # the requester has ended
        content += piece
    return bytes(content)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _answered(request: dict[str, Any], content: bytes) -> bytes:
    """Return the answer of a forked process, or why it ended without an answer."""
    handle = os.memfd_create("mesh", os.MFD_CLOEXEC)
    try:
        process = os.fork()
        if process == 0:
            _work(handle, request, content)
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status) or os.WEXITSTATUS(status):
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            limit = "time" if number in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM) else "memory or space"
            return _line_of({"error": f"its parser went beyond its limit of {limit}", "kind": "limit"})
        os.lseek(handle, 0, os.SEEK_SET)
        return _all_of(handle)
    finally:
        os.close(handle)


def _all_of(handle: int) -> bytes:
    with os.fdopen(os.dup(handle), "rb") as file:
        return file.read()


def _work(handle: int, request: dict[str, Any], content: bytes) -> None:
    """Parse in the forked process; never returns."""
    status = 1
    try:
        os.close(0)
        signal.alarm(WALL_SECONDS)
        confine(import_folders(), cpu_seconds=CPU_SECONDS, memory_bytes=MEMORY_BYTES, output_bytes=ANSWER_BYTES)
        _write(handle, _parsed(request, content))
        status = 0
    finally:
        os._exit(status)


def _parsed(request: dict[str, Any], content: bytes) -> bytes:
    try:
        if request["what"] == "painted":
            parts = painted_parts(content, request["kind"])
        else:
            parts = [(*parse_mesh(content, request["kind"], request["path"]), None)]
    except GeometryError as error:
        return _line_of({"error": error.message, "kind": "geometry", "remedy": vars(error).get("remedy", "")})
    except Exception as error:  # third-party parsers on untrusted input
        return _line_of({"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", "kind": "parser"})
    header = {"parts": [[len(vertices), len(faces), colour] for vertices, faces, colour in parts]}
    numbers = [
        np.ascontiguousarray(vertices, dtype="<f8").tobytes() + np.ascontiguousarray(faces, dtype="<i4").tobytes()
        for vertices, faces, _ in parts
    ]
    return b"".join([_line_of(header), *numbers])


def _line_of(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"
