"""Programs of this package that work on files from outside, each started as a process with nothing of its caller's.

No environment, no files but the pipes to the caller; the program closes itself in with `sandbox.confine`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, Any

from ..errors import LimitExceededError

# The folder that Python itself starts programs from, and variables that name folders, would let a caller's surroundings
# decide which modules are imported: -I leaves both out, and the caller's own path is given instead.
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
# Libraries that count processors would start threads, which no confined process can have.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def start(module: str, *, stdin: int | IO[Any], stdout: int | IO[Any], stderr: int | IO[Any], folder: str = "/") -> Any:
    """The process of `main` of a module, as `subprocess.Popen`, in a folder.

    Raises:
        LimitExceededError: the system starts no more processes, or opens no more files.
    """
    path = [os.path.abspath(entry) for entry in sys.path if entry]
    command = [sys.executable, "-I", "-X", "utf8", "-c", START.format(module=module), json.dumps(path)]
    try:
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=ENVIRONMENT, cwd=folder)
    except OSError as error:
        raise _no_more("start a process for files from outside", error) from error


def memory_file(name: str) -> IO[bytes]:
    """A file without a place in the file system, which ends with its last handle.

    Raises:
        LimitExceededError: the system opens no more files.
    """
    try:
        return os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC), "w+b", buffering=0)
    except OSError as error:
        raise _no_more("open a file in memory", error) from error


def _no_more(what: str, error: OSError) -> LimitExceededError:
    reason = os.strerror(error.errno or 0)
    return LimitExceededError(f"cannot {what}: {reason}; see `ulimit -a`", stage="start process")


def import_folders() -> list[str]:
    """Where this process imports modules from."""
    return [os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path]
