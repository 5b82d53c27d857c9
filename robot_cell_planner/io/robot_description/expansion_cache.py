"""Cache of expanded xacro files: an expansion takes a process of its own, and depends on nothing but its task and the
files that it reads."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import RobotCellError
from ..common.resources import read_bytes
from ..mesh.cache import read_entry, write_entry

STAGE = "expand xacro"
KIND = "xacro"
PROGRAM_FILES = ("expansion_cache.py", "xacro_worker.py", "xacro_expressions.py")
MAX_BYTES = 64 * 1024 * 1024  # of a file that is read
# [ns] for which a file must not have changed before it is read: times of files are coarse on some file systems.
SETTLED = 2_000_000_000

log = logging.getLogger(__name__)


def digest_of(task: Mapping[str, Any]) -> str:
    """Return the digest of a task of the worker, and of what expands it."""
    return hashlib.sha256(json.dumps([task, _programs()], sort_keys=True).encode()).hexdigest()


def stored(digest: str) -> dict[str, Any] | None:
    """Return the content of an entry; None without one, or if a file that was read has changed since."""
    body = read_entry(digest, KIND)
    if body is None:
        return None
    found: dict[str, Any] = json.loads(bytes(body))
    return found if _digests(found["files"]) == found["files"] else None


def store(digest: str, read: list[str] | None, began: int, content: Mapping[str, Any]) -> None:
    """Store the content of an expansion, unless it may depend on more than the files that it read, or these may have
    changed meanwhile.

    Args:
        digest: As from `digest_of`.
        read: The files; None if there are more.
        began: Time at which the expansion began, as from `time.time_ns`.
        content: What `stored` returns later, beside "files".
    """
    if read is None or not all(_has_settled(path, began) for path in read):
        return
    files = _digests(read)
    if files is not None:
        write_entry(digest, KIND, json.dumps({**content, "files": files}).encode())


def now() -> int:
    """Return the time for `store` [ns]."""
    return time.time_ns()


def _has_settled(path: str, began: int) -> bool:
    try:
        status, link = os.stat(path), os.lstat(path)
    except OSError:
        return False
    return max(status.st_mtime_ns, status.st_ctime_ns, link.st_ctime_ns) < began - SETTLED


def _digests(paths: Mapping[str, str] | list[str]) -> dict[str, str] | None:
    """Return the digests of files; None if one cannot be read."""
    try:
        return {path: hashlib.sha256(read_bytes(path, STAGE, MAX_BYTES)).hexdigest() for path in paths}
    except RobotCellError as error:
        log.debug("an expansion is not stored, or not used: %s", error)
        return None


@cache
def _programs() -> list[str]:
    """Return the digests of the files of the worker, of this cache and of the xacro library."""
    library = find_spec("xacro")
    folders = [] if library is None else library.submodule_search_locations or []
    files = [Path(__file__).with_name(name) for name in PROGRAM_FILES]
    files += sorted(file for folder in folders for file in Path(folder).glob("*.py"))
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
