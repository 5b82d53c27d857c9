"""Write one executable for each console script of a setup.cfg, and print their paths as a CMake list.

Usage: console_scripts.py SETUP_CFG FOLDER. An executable starts the Python that runs this file.
"""

import configparser
import sys
from pathlib import Path

TEMPLATE = """{first_line}
import sys

if __name__ == "__main__":  # worker processes import this file too
    from robot_cell_planner.nodes.common.dependencies import start

    sys.exit(start("{name}", "{entry_point}"))
"""
# Kernels do not start programs whose path contains a space, and some ignore what exceeds this length. Instead, a shell
# runs the second line, which is the beginning of a text for Python.
MAX_FIRST_LINE = 127
SHELL_START = """#!/bin/sh
'''exec' '{python}' "$0" "$@"
' '''"""


def first_line(python: str) -> str:
    """Return the line with which an executable names the Python that runs it."""
    line = f"#!{python}"
    return SHELL_START.format(python=python) if " " in line or len(line) > MAX_FIRST_LINE else line


def main(setup_cfg: str, folder: str) -> None:
    """Do it."""
    parser = configparser.ConfigParser()
    with open(setup_cfg, encoding="utf-8") as file:
        parser.read_file(file)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for line in parser["options.entry_points"]["console_scripts"].split("\n"):
        if not line.strip():
            continue
        name, entry_point = (part.strip() for part in line.split("="))
        path = target / name
        text = TEMPLATE.format(first_line=first_line(sys.executable), name=name, entry_point=entry_point)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        paths.append(str(path))
    sys.stdout.write(";".join(paths))


if __name__ == "__main__":
    main(*sys.argv[1:])
