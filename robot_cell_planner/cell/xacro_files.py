"""xacro: expanded by the xacro library in a process of its own, which can read below the allowed folders only."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frozendict import frozendict

from ..errors import FileError, LimitExceededError, ResourceError
from .resources import NO_ROOTS, ResourceRoots, enclosing_folder, package_share, read_text

STAGE = "expand xacro"
WORKER = Path(__file__).with_name("xacro_worker.py")
FIND = re.compile(r"\$\(\s*find\s+([A-Za-z0-9_.\-]+)\s*\)")
MAX_SECONDS = 30
MAX_BYTES = 1024 * 1024 * 1024
MAX_PACKAGES = 64

log = logging.getLogger(__name__)


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
    path = Path(path)
    text = read_text(path, STAGE, roots.text_bytes)
    packages: dict[str, str] = {}
    shares: list[str] = []
    unknown = sorted(set(FIND.findall(text)))
    while True:
        for name in unknown:
            share, installed = _package(name, path, roots)
            packages[name] = str(share)
            if installed:
                shares.append(str(share))
        if len(packages) > MAX_PACKAGES:
            raise LimitExceededError(f"{path} uses more than {MAX_PACKAGES} packages", stage=STAGE)
        answer = _run(path, arguments, roots, packages, shares)
        if "text" in answer:
            return str(answer["text"])
        if "unknown_package" not in answer:
            files = answer["files"] or [str(path)]
            text = f"{' -> '.join(files)}: {answer['error']}"
            raise FileError(text, stage=STAGE, subjects=(str(path), *files))
        unknown = [answer["unknown_package"]]


def _package(name: str, path: Path, roots: ResourceRoots) -> tuple[Path, bool]:
    try:
        return package_share(name, path.parent, roots)
    except ResourceError as error:
        text = f"{path}: $(find {name}): {error.message}"
        raise ResourceError(text, stage=STAGE, subjects=(str(path), name)) from error


def _run(
    path: Path, arguments: Mapping[str, str], roots: ResourceRoots, packages: dict[str, str], shares: list[str]
) -> dict[str, Any]:
    folders = [str(enclosing_folder(path)), *roots.folders, *roots.packages.values(), *packages.values()]
    task = {
        "path": str(path),
        "arguments": dict(arguments),
        "folders": [os.path.abspath(folder) for folder in folders],
        "shares": shares,
        "packages": packages,
        "seconds": MAX_SECONDS,
        "bytes": MAX_BYTES,
    }
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        done = subprocess.run(
            [sys.executable, str(WORKER)],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=4 * MAX_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LimitExceededError(f"{path} did not expand within {4 * MAX_SECONDS} s", stage=STAGE) from error
    if done.returncode < 0:
        text = f"{path} did not expand within {MAX_SECONDS} s of computing and {MAX_BYTES >> 20} MiB"
        raise LimitExceededError(text, stage=STAGE, subjects=(str(path),))
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise FileError(f"{path} cannot be expanded: {last}", stage=STAGE, subjects=(str(path),))
    for line in done.stderr.splitlines():
        log.debug("xacro %s: %s", path, line)
    result: dict[str, Any] = json.loads(done.stdout)
    return result
