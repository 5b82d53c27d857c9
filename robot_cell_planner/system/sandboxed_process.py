"""Start of worker programs of this package that process untrusted files, isolated from their caller.

They get no environment and no files except the pipes to the caller, and enter the sandbox with `sandbox.confine`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, Any

from ..errors import LimitExceededError

# The current folder and environment variables could otherwise determine which modules are imported. -I ignores both,
# and the caller's import path is passed instead.
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
# Libraries that start one thread per processor would fail, because a sandboxed process cannot start threads.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def start(module: str, *, stdin: int | IO[Any], stdout: int | IO[Any], stderr: int | IO[Any], folder: str = "/") -> Any:
    """Start the `main` function of a module in a new process in a folder, and return the `subprocess.Popen`.

    Raises:
        LimitExceededError: The system cannot start more processes or open more files.
    """
    path = [os.path.abspath(entry) for entry in sys.path if entry]
    command = [sys.executable, "-I", "-X", "utf8", "-c", START.format(module=module), json.dumps(path)]
    try:
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=ENVIRONMENT, cwd=folder)
    except OSError as error:
        raise _no_more("start a process for files from outside", error) from error


def memory_file(name: str) -> IO[bytes]:
    """Return an anonymous in-memory file, which is deleted with its last handle.

    Raises:
        LimitExceededError: The system cannot open more files.
    """
    try:
        return os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC), "w+b", buffering=0)
    except OSError as error:
        raise _no_more("open a file in memory", error) from error


def _no_more(what: str, error: OSError) -> LimitExceededError:
    reason = os.strerror(error.errno or 0)
    return LimitExceededError(f"cannot {what}: {reason}; see `ulimit -a`", stage="start process")


def import_folders() -> list[str]:
    """Return the folders that this process imports modules from."""
    return [os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path]
