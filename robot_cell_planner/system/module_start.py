"""Command lines and environments of Python programs that import the modules which their starter imports.

`python -m` and `python -c` import modules from the current folder first, which may hold any files.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])  # the folder of this package
# As `python -P -m`, which Python 3.10 does not have.
WITHOUT_CURRENT_FOLDER = (
    "import sys; sys.path[:] = filter(None, sys.path); del sys.argv[0]; "
    "import runpy; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module as a program, which imports no modules from the current folder."""
    if hasattr(sys.flags, "safe_path"):
        return [sys.executable, "-P", "-m", module, *arguments]
    return [sys.executable, "-c", WITHOUT_CURRENT_FOLDER, module, *arguments]


def module_environment() -> dict[str, str]:
    """Return the environment of this process, with its import path without the current folder."""
    path = [entry for entry in sys.path if entry]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path if ROOT in path else [*path, ROOT])}
