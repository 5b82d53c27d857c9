"""Renew requirements/constraints.txt: the newest versions that work together, for every supported Python.

Run by `make lock`. Packages that are not to be renewed are bounded in the lists of requirements/.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = """\
# The one place of all versions, of what is named in the other files of this folder and of what those need.
# Made by `make lock`; not to be edited.
"""


def main() -> int:
    """Do it; the exit status is uv's."""
    folder = ROOT / "requirements"
    constraints = folder / "constraints.txt"
    lists = sorted(str(path) for path in folder.glob("*.txt") if path != constraints)
    command = [
        "uv",
        "pip",
        "compile",
        "--universal",
        "--python-version",
        "3.10",
        "--upgrade",
        "--quiet",
        "--no-header",
        "--no-annotate",
        *lists,
    ]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode == 0:
        pins = [line for line in result.stdout.splitlines(keepends=True) if "sys_platform == 'win32'" not in line]
        constraints.write_text(HEADER + "".join(pins), encoding="utf-8")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
