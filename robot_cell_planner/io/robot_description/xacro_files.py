"""xacro: expanded by the xacro library in a confined process, which can read below the allowed folders only."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from frozendict import frozendict

from ...errors import FileError, LimitExceededError, ResourceError
from ...model.arguments import public
from ...system.sandboxed_process import memory_file, start
from ..common.resources import NO_ROOTS, ResourceRoots, enclosing_folder, package_share, read_text

STAGE = "expand xacro"
WORKER = "robot_cell_planner.io.robot_description.xacro_worker"
FIND = re.compile(r"\$\(\s*find\s+([A-Za-z0-9_.\-]+)\s*\)")
MAX_SECONDS = 30
MAX_BYTES = 1024 * 1024 * 1024
MAX_PACKAGES = 64
MAX_NOTES = 1000

log = logging.getLogger(__name__)


@public
def expand_xacro(
    path: str | Path,
    arguments: Mapping[str, str] = frozendict(),
    roots: ResourceRoots = NO_ROOTS,
) -> str:
    """The URDF text that a xacro file becomes with these arguments.

    It may read files of the package or folder that it lies in, of the roots, and of packages that it finds.

    Raises:
        FileError: missing, malformed, or an expression in it fails.
        ResourceError: a package is not found.
        LimitExceededError: expanding takes more than 30 s of computing or 1 GiB.
    """
    path = Path(path).absolute()
    text = read_text(path, STAGE, roots.text_bytes)
    packages: dict[str, str] = {}
    shares: list[str] = []
    # Most packages are seen at once. One that is not found may stand in a comment or a condition that does not hold;
    # if it is needed, the worker asks for it.
    for name in sorted(set(FIND.findall(text))):
        with suppress(ResourceError):
            _add_package(name, path, roots, packages, shares)
    while True:
        if len(packages) > MAX_PACKAGES:
            raise LimitExceededError(f"{path} uses more than {MAX_PACKAGES} packages", stage=STAGE)
        answer = _run(path, arguments, roots, packages, shares)
        if "text" in answer:
            return str(answer["text"])
        if "unknown_package" not in answer:
            files = answer["files"] or [str(path)]
            text = f"{' -> '.join(files)}: {answer['error']}"
            raise FileError(text, stage=STAGE, subjects=(str(path), *files))
        _add_package(answer["unknown_package"], path, roots, packages, shares)


def _add_package(name: str, path: Path, roots: ResourceRoots, packages: dict[str, str], shares: list[str]) -> None:
    try:
        share, installed = package_share(name, path.parent, roots)
    except ResourceError as error:
        text = f"{path}: $(find {name}): {error.message}"
        raise ResourceError(text, stage=STAGE, subjects=(str(path), name)) from error
    packages[name] = str(share)
    if installed:
        shares.append(str(share))


def _run(
    path: Path, arguments: Mapping[str, str], roots: ResourceRoots, packages: dict[str, str], shares: list[str]
) -> dict[str, Any]:
    # A package that was found around the file is no reason to read what lies there: only the roots are.
    folders = [str(enclosing_folder(path)), *roots.folders, *roots.packages.values()]
    task = {
        "path": str(path),
        "arguments": dict(arguments),
        "folders": [os.path.abspath(folder) for folder in folders],
        "shares": shares,
        "packages": packages,
        "seconds": MAX_SECONDS,
        "bytes": MAX_BYTES,
        "text_bytes": roots.text_bytes,
    }
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
    """Exit status, output and error output of the worker. Both are files in memory, whose length the kernel bounds."""
    with memory_file("task") as request, memory_file("answer") as output, memory_file("notes") as notes:
        request.write(task)
        request.seek(0)
        process = start(WORKER, stdin=request, stdout=output, stderr=notes, folder=str(enclosing_folder(path)))
        try:
            status = process.wait(4 * MAX_SECONDS)
        except subprocess.TimeoutExpired as error:
            text = f"{path} did not expand within {4 * MAX_SECONDS} s"
            raise LimitExceededError(text, stage=STAGE, subjects=(str(path),)) from error
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        notes.seek(0)
        return status, output.read().decode(errors="replace"), notes.read().decode(errors="replace")
