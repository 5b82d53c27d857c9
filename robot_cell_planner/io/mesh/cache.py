"""On-disk cache of parsed meshes, keyed by the digest of the mesh file.

An entry has three parts: a header line, the SHA-256 of the rest, and vertices and faces in their memory layout. An
entry that is truncated, modified or of another version counts as missing. If the folder is not writable, the cache is
disabled.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...system.private_files import make_folder

MAGIC = b"robot_cell_planner mesh 1\n"
ENVIRONMENT = "ROBOT_CELL_PLANNER_CACHE"
ENTRY = re.compile(r"[0-9a-f]{64}")
MAX_ENTRIES = 5_000

log = logging.getLogger(__name__)


def cache_folder() -> Path | None:
    """Return the cache folder: $ROBOT_CELL_PLANNER_CACHE ("" disables the cache), or else below $XDG_CACHE_HOME or
    ~/.cache."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen is not None:
        return Path(chosen, "meshes") if chosen else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "robot_cell_planner", "meshes") if os.path.isabs(base) else None


def _path(digest: str, kind: str) -> Path | None:
    folder = cache_folder()
    return folder / f"{digest}.{kind}" if folder and ENTRY.fullmatch(digest) else None


def read_cached(digest: str, kind: str) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
    """Return vertices (n, 3) and faces (m, 3) of an entry; None if there is no valid entry."""
    path = _path(digest, kind)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = memoryview(data)[len(MAGIC) + 32 :]
    if not data.startswith(MAGIC) or data[len(MAGIC) : len(MAGIC) + 32] != hashlib.sha256(body).digest():
        log.warning("the cached mesh %s is damaged and is read anew", path)
        return None
    vertices, faces = (int.from_bytes(body[start : start + 8], "little") for start in (0, 8))
    middle = 16 + 24 * vertices
    return (
        np.frombuffer(body[16:middle], dtype="<f8").reshape(vertices, 3),
        np.frombuffer(body[middle:], dtype="<i4").reshape(faces, 3),
    )


def is_cached(digest: str, kind: str) -> bool:
    """Return whether there is an entry; it can still be invalid."""
    path = _path(digest, kind)
    return path is not None and path.is_file()


def write_cached(digest: str, kind: str, vertices: NDArray[np.float64], faces: NDArray[np.int32]) -> None:
    """Write an entry atomically."""
    path = _path(digest, kind)
    if path is None:
        return
    counts = len(vertices).to_bytes(8, "little") + len(faces).to_bytes(8, "little")
    body = counts + vertices.astype("<f8").tobytes() + faces.astype("<i4").tobytes()
    temporary = ""
    try:
        make_folder(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(temporary, path)
        _forget_oldest(path.parent)
    except OSError as error:
        log.info("no mesh cache: %s", error)
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def _forget_oldest(folder: Path) -> None:
    entries = list(os.scandir(folder))
    if len(entries) > MAX_ENTRIES:
        entries.sort(key=lambda entry: entry.stat().st_mtime_ns)
        for entry in entries[: len(entries) - MAX_ENTRIES]:
            os.unlink(entry.path)
