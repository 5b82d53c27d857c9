"""Writes docs/errors.md: code, meaning and remedy of every error, from the classes. `--print` prints it instead."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from robot_cell_planner.errors import ERRORS_BY_CODE, RobotCellError

DOCUMENT = Path(__file__).parents[1] / "docs" / "errors.md"
HEAD = """# Errors

Made by `tools/describe_errors.py` from the classes in `robot_cell_planner.errors`.

Every failure has one of these codes: as an exception of the library and of `CellClient`, and in the field `error`
(`ErrorReport.msg`) of every reply and result. Its message names the stage, the objects and the numbers; `subjects` and
`values` have them for programs. Codes do not change between versions.
The command line prints the remedy in its own words where the one below names fields of requests or results.
"""
GROUPS = {
    1: "Requests",
    2: "Files, cells, state and frames",
    3: "Kinematics",
    4: "Collision checking",
    5: "Planning",
    6: "Trajectories",
    7: "Execution and communication",
    8: "Simulation",
    9: "Defects",
}
COLUMNS = """
| Code | Error | Meaning | What to do |
|---|---|---|---|
"""


def document() -> str:
    """Return the whole text of docs/errors.md."""
    return HEAD + "".join(section(number) for number in GROUPS)


def section(number: int) -> str:
    """Return heading and table of the errors whose codes begin with a digit."""
    rows = "".join(row(kind) for code, kind in sorted(ERRORS_BY_CODE.items()) if code // 100 == number)
    return f"\n## {GROUPS[number]}\n{COLUMNS}{rows}"


def row(kind: type[RobotCellError]) -> str:
    """Return the line of one error."""
    meaning = " ".join((inspect.getdoc(kind) or "").split())
    return f"| {kind.code} | `{kind.__name__}` | {meaning} | {kind.remedy} |\n"


def main() -> None:
    if "--print" in sys.argv[1:]:
        print(document(), end="")
    else:
        DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
