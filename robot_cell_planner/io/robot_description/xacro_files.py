"""Expansion of xacro files by the xacro library in a sandboxed process that can read allowed folders only."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from frozendict import frozendict

from ...errors import FileError, LimitExceededError, ResourceError
from ...errors.remedies import OUTSIDE_FOLDERS, XACRO_ARGUMENT, XACRO_FILE, XACRO_MACRO
from ...model.arguments import public
from ...system.process_end import wait_for_end
from ...system.sandboxed_process import memory_file, start
from ..common.file_kinds import refuse_cell_file
from ..common.packages import enclosing_folder
from ..common.resources import NO_ROOTS, ResourceRoots, package_share, read_text
from .expansion_cache import digest_of, now, store, stored

STAGE = "expand xacro"
WORKER = "robot_cell_planner.io.robot_description.xacro_worker"
FIND = re.compile(r"\$\(\s*find\s+([A-Za-z0-9_.\-]+)\s*\)")
MAX_SECONDS = 30
WAIT = 4.0 * MAX_SECONDS  # [s] by the clock
MAX_BYTES = 1024 * 1024 * 1024
MAX_PACKAGES = 64
MAX_NOTES = 1000
# By the cause that the worker reports.
REMEDIES = {"folders": OUTSIDE_FOLDERS, "argument": XACRO_ARGUMENT, "macro": XACRO_MACRO, "file": XACRO_FILE}

log = logging.getLogger(__name__)


@public
def expand_xacro(
    path: str | Path,
    arguments: Mapping[str, str] = frozendict(),
    roots: ResourceRoots = NO_ROOTS,
) -> str:
    """Expand a xacro file with the given arguments and return the URDF text.

    The file may read files of the package or folder that contains it, of the roots, and of packages found with $(find).

    Raises:
        FileError: The file is missing or malformed, or an expression in it fails.
        ResourceError: A package is not found.
        LimitExceededError: The expansion needs more than 30 s of CPU time or 1 GiB of memory.
    """
    return expansion(path, arguments, roots).text


class Expansion(NamedTuple):
    """A file that was expanded. names: those of the arguments that it has, given or not."""

    text: str
    names: tuple[str, ...]


def expansion(path: str | Path, arguments: Mapping[str, str], roots: ResourceRoots) -> Expansion:
    """As `expand_xacro`, with the names of arguments.

    Raises:
        FileError, ResourceError, LimitExceededError: As `expand_xacro`.
    """
    path = Path(path).absolute()
    text = read_text(path, STAGE, roots.text_bytes)
    refuse_cell_file(text, str(path), "xacro", STAGE)
    packages: dict[str, str] = {}
    shares: list[str] = []
    # Most packages are found in advance by a text search. A package that is not found may be in a comment or in a
    # condition that is false; if it is needed, the worker requests it.
    for name in sorted(set(FIND.findall(text))):
        with suppress(ResourceError):
            _add_package(name, path, roots, packages, shares)
    digest, began = digest_of(_task(path, arguments, roots, packages, shares)), now()
    found = stored(digest)
    if found is not None and _are_found(found["packages"], path, roots):
        return Expansion(str(found["text"]), tuple(found["names"]))
    while True:
        if len(packages) > MAX_PACKAGES:
            raise LimitExceededError(f"{path} uses more than {MAX_PACKAGES} packages", stage=STAGE)
        answer = _run(path, _task(path, arguments, roots, packages, shares))
        if "text" in answer:
            content = {"text": answer["text"], "names": answer["names"], "packages": packages}
            store(digest, answer["read"], began, content)
            return Expansion(str(answer["text"]), tuple(answer["names"]))
        if "unknown_package" not in answer:
            files = answer["files"] or [str(path)]
            text = f"{' -> '.join(files)}: {answer['error']}"
            remedy = REMEDIES.get(answer["cause"], "")
            raise FileError(text, stage=STAGE, subjects=(str(path), *files), remedy=remedy)
        _add_package(answer["unknown_package"], path, roots, packages, shares)


def _add_package(name: str, path: Path, roots: ResourceRoots, packages: dict[str, str], shares: list[str]) -> None:
    try:
        share, trusted = package_share(name, path.parent, roots)
    except ResourceError as error:
        text = f"{path}: $(find {name}): {error.message}"
        raise ResourceError(text, stage=STAGE, subjects=(str(path), name), remedy=error.remedy) from error
    packages[name] = str(share)
    if trusted:
        shares.append(str(share))


def _are_found(packages: Mapping[str, str], path: Path, roots: ResourceRoots) -> bool:
    """Return whether packages are still found in the same folders."""
    found: dict[str, str] = {}
    with suppress(ResourceError):
        for name in packages:
            _add_package(name, path, roots, found, [])
    return found == packages


def _task(
    path: Path, arguments: Mapping[str, str], roots: ResourceRoots, packages: dict[str, str], shares: list[str]
) -> dict[str, Any]:
    # Only the roots may be read, even if the package was found near the file.
    folders = [str(enclosing_folder(path)), *roots.folders, *roots.packages.values()]
    return {
        "path": str(path),
        "arguments": dict(arguments),
        "folders": [os.path.abspath(folder) for folder in folders],
        "shares": shares,
        "packages": packages,
        "seconds": MAX_SECONDS,
        "bytes": MAX_BYTES,
        "text_bytes": roots.text_bytes,
    }


def _run(path: Path, task: Mapping[str, Any]) -> dict[str, Any]:
    status, output, notes = _work(json.dumps(task).encode(), path)
    if status < 0:
        text = f"{path} did not expand within {MAX_SECONDS} s of computing and {MAX_BYTES >> 20} MiB"
        raise LimitExceededError(text, stage=STAGE, subjects=(str(path),))
    if status:
        last = (notes.strip().splitlines() or ["no message"])[-1]
        raise FileError(f"{path} cannot be expanded: {last}", stage=STAGE, subjects=(str(path),))
    for line in notes.splitlines()[:MAX_NOTES]:
        log.debug("xacro %s: %s", path, line)
    result: dict[str, Any] = json.loads(output)
    log.debug("xacro %s: confined by %s", path, ", ".join(result["layers"]))
    return result


def _work(task: bytes, path: Path) -> tuple[int, str, str]:
    """Run the worker; return exit status, output and error output, which are in-memory files bounded by the kernel."""
    with memory_file("task") as request, memory_file("answer") as output, memory_file("notes") as notes:
        request.write(task)
        request.seek(0)
        process = start(WORKER, stdin=request, stdout=output, stderr=notes, folder=str(enclosing_folder(path)))
        try:
            status = process.wait(wait_for_end(process.pid, WAIT))
        except subprocess.TimeoutExpired as error:
            text = f"{path} did not expand within {WAIT:g} s"
            raise LimitExceededError(text, stage=STAGE, subjects=(str(path),)) from error
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        notes.seek(0)
        return status, output.read().decode(errors="replace"), notes.read().decode(errors="replace")
