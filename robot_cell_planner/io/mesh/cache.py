"""On-disk cache of parsed meshes, hulls, decompositions and sphere models, keyed by the digest of their sources, and of
expanded descriptions.

An entry has three parts: a header line, the SHA-256 of the rest, and its content; that of a mesh are vertices and faces
in their memory layout. An entry that is truncated, modified or of another version counts as missing. If the folder is
not writable, the cache is disabled. Processes that need the same missing entry of a mesh wait for the one that computes
it. The entries have at most MAX_BYTES together, and the oldest ones are removed where a new one exceeds that.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...system.private_files import FILE_MODE, make_folder

MAGIC = b"robot_cell_planner mesh 2\n"  # counted up when readers of meshes change: what they read is cached
OTHER_VERSION = re.compile(rb"robot_cell_planner mesh \d+\n")
ENVIRONMENT = "ROBOT_CELL_PLANNER_CACHE"
ENTRY = re.compile(r"[0-9a-f]{64}")
MAX_BYTES = 1024 * 1024 * 1024  # of all entries together
MAX_ENTRIES = 20_000  # so that the folder is read in a short time
MAX_WAIT = 120.0  # [s] wait for a process that computes an entry; it may be suspended
POLL_PERIOD = 0.02  # [s]

MAX_TEMPORARY_AGE = 3600  # [s] a file that is older is not being written, and a lock of that age not waited for
WRITING, LOCK = ".writing-", ".lock"

T = TypeVar("T")
Arrays: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32]]  # vertices (n, 3) and faces (m, 3)

log = logging.getLogger(__name__)


class _Entry(NamedTuple):
    """File of the cache; the order is that of age. size [bytes]."""

    written: int
    path: str
    size: int


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


def cached_or_computed(
    digest: str, kind: str, accept: Callable[[Arrays], T | None], compute: Callable[[], tuple[T, Arrays]]
) -> T:
    """Return the value that the arrays of an entry represent, or compute it and write the entry.

    One process (and thread) at a time computes an entry; others wait and read it. A process that ends meanwhile, or
    takes longer than MAX_WAIT, is not waited for.

    Args:
        accept: Makes the result from the arrays of an entry; None if they are not valid.
        compute: Returns the result, and its arrays for the entry. Its errors are passed on.
    """

    def read() -> T | None:
        arrays = read_cached(digest, kind)
        return None if arrays is None else accept(arrays)

    found = read()
    if found is not None:
        return found
    with _locked(_path(digest, kind)):
        found = read()
        if found is None:
            found, arrays = compute()
            write_cached(digest, kind, *arrays)
    return found


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Hold the lock of an entry. There is none if files cannot be locked, or if it is not free within MAX_WAIT."""
    lock = None if path is None else path.with_name(path.name + LOCK)
    handle = None if lock is None else _acquired(lock)
    try:
        yield
    finally:
        if lock is not None and handle is not None:
            with suppress(OSError):
                lock.unlink()
            fcntl.flock(handle, fcntl.LOCK_UN)  # also if a child process has inherited the descriptor
            os.close(handle)


def _acquired(lock: Path) -> int | None:
    """Return the descriptor of a locked file, which is created if it is missing; None if there is no lock."""
    deadline = time.monotonic() + MAX_WAIT
    try:
        make_folder(lock.parent)
        while time.monotonic() < deadline:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
            if _is_held(handle, lock):
                return handle
            os.close(handle)
            time.sleep(POLL_PERIOD)
    except OSError as error:
        log.info("the mesh cache is used without locks: %s", error)
    return None


def _is_held(handle: int, lock: Path) -> bool:
    """Lock a file unless another process holds it. A file that was removed meanwhile is no lock for others.

    Raises:
        OSError: Files in this folder cannot be locked; the file is closed.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), os.stat(lock))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        os.close(handle)
        raise


def read_entry(digest: str, kind: str) -> memoryview | None:
    """Return the content of an entry; None if there is no valid entry."""
    path = _path(digest, kind)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if OTHER_VERSION.match(data) and not data.startswith(MAGIC):
        return None
    body = memoryview(data)[len(MAGIC) + 32 :]
    if not data.startswith(MAGIC) or data[len(MAGIC) : len(MAGIC) + 32] != hashlib.sha256(body).digest():
        log.warning("the cached entry %s is damaged and is computed anew", path)
        return None
    return body


def read_cached(digest: str, kind: str) -> Arrays | None:
    """Return vertices (n, 3) and faces (m, 3) of an entry; None if there is no valid entry."""
    body = read_entry(digest, kind)
    if body is None:
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
    """Write an entry of vertices (n, 3) and faces (m, 3)."""
    counts = len(vertices).to_bytes(8, "little") + len(faces).to_bytes(8, "little")
    write_entry(digest, kind, counts + vertices.astype("<f8").tobytes() + faces.astype("<i4").tobytes())


def write_entry(digest: str, kind: str, body: bytes) -> None:
    """Write an entry atomically."""
    path = _path(digest, kind)
    if path is None:
        return
    temporary = ""
    try:
        make_folder(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=WRITING)
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(temporary, path)
        _forget_oldest(path)
    except OSError as error:
        log.info("no mesh cache: %s", error)
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def _forget_oldest(written: Path) -> None:
    """Remove the oldest entries until the bounds hold, but not the one that was written now, and not what other
    processes lock or write."""
    entries = sorted(_entries(written.parent))
    size, count = sum(found.size for found in entries), len(entries)
    for found in entries:
        if size <= MAX_BYTES and count <= MAX_ENTRIES:
            return
        if found.path != str(written):
            with suppress(FileNotFoundError):  # another process has removed it
                os.unlink(found.path)
            size, count = size - found.size, count - 1


def _entries(folder: Path) -> Iterator[_Entry]:
    """Yield the entries, and what processes have left that were killed while they wrote or computed one."""
    now = time.time_ns()
    for found in os.scandir(folder):
        with suppress(FileNotFoundError):
            status = found.stat(follow_symlinks=False)
            if not _is_temporary(found.name) or now - status.st_mtime_ns > MAX_TEMPORARY_AGE * 10**9:
                yield _Entry(status.st_mtime_ns, found.path, status.st_size)


def _is_temporary(name: str) -> bool:
    return name.startswith(WRITING) or name.endswith(LOCK)
