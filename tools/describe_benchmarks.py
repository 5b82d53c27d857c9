"""Writes docs/benchmarks.md: what each benchmark measures, and where its figures are. `--print` prints it instead."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "benchmarks.md"
FOLDER = ROOT / "benchmarks"
LISTED = re.compile(r"say which: make bench AREA=([\w|]+)")
COMMAND = re.compile(r"[:,] `(?:make|python)\b.*")
HEAD = """# Benchmarks

Made by `tools/describe_benchmarks.py` from the texts of `benchmarks/`.

`robot_cell bench CELL_FILE` measures kinematics, collision checks and planning of your own cell, without a repository.
`make bench AREA=planning`, in the repository, measures one of the areas below, prints its figures, and writes them to
`benchmarks/results/` with seed, versions of libraries and machine. The beginning of each module says how it measures,
and which `OPTIONS="..."` it has. The figures in these pages are those of the files here, which a test compares.

```bash
make bench AREA=kinematics
make bench AREA=planning PROBLEMS=problems.json OPTIONS="--every 3 --seeds 3"
```

- **Your own problems.** `motions` (certified RRT-Connect alone), `request` (whole requests with timing and validation)
  and `planning` (one planner, by default Automatic, beside peers) take `PROBLEMS=FILE`, a JSON file with `joints` and
  `problems`: [benchmarks/planning_problems.py](../benchmarks/planning_problems.py) describes its fields.
- **Single runs.** `OPTIONS="--runs runs.csv"` of `planning` writes a table of all runs: planner, problem, seed, time,
  length, states and proven fraction. The figures of another planner than the default one have its name in their file.
- **Peers** are measured on the same problems, in turn, where they are installed:
  [benchmarks/peers.txt](../benchmarks/peers.txt) lists them. VAMP has to be built from its source.
- **What is checked.** Paths of all planners are checked again at 1/1000 rad, and colliding ones are counted, since a
  planner that checks coarsely is faster. `audit` checks certificates by a program that shares no code with the library.
- **Times** are medians; those of the processor (`cpu`, `processor`) depend less on other work than those of the clock.
  Equal seeds give equal plans, since effort is counted in states: repeat a run with other seeds.
- **Your own planner** is measured once it is [added](planning.md#add-a-planner): `OPTIONS="--planner OneStop"` of
  `planning` and `request`.

| Area | Measures | Figures |
|---|---|---|
"""


def document() -> str:
    """The whole text of docs/benchmarks.md."""
    return HEAD + "".join(row(area) for area in sorted(areas()))


def areas() -> list[str]:
    """Areas that `make bench` lists."""
    found = LISTED.search((ROOT / "Makefile").read_text(encoding="utf-8"))
    return found[1].split("|") if found else []


def module_of(area: str) -> Path:
    """The file that describes an area."""
    return next(path for path in (FOLDER / f"{area}.py", FOLDER / area / "__init__.py") if path.is_file())


def row(area: str) -> str:
    """One line of the table."""
    path = module_of(area)
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = COMMAND.sub("", " ".join(text.partition("\n\n")[0].split())).partition(". ")[0].rstrip(".")
    figures = ", ".join(f"[{name}](../benchmarks/results/{name}.json)" for name in results_of(area))
    return f"| [`{area}`](../{path.relative_to(ROOT)}) | {first} | {figures} |\n"


def results_of(area: str) -> list[str]:
    """Names of the files with figures of an area."""
    names = sorted(path.stem for path in (FOLDER / "results").glob("*.json"))
    return [name for name in names if area_of(name) == area]


def area_of(name: str) -> str:
    """The area that a file of figures belongs to: the longest name that it begins with; "" for none."""
    return max((area for area in areas() if f"{name}_".startswith(f"{area}_")), key=len, default="")


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(document())
    else:
        DOCUMENT.write_text(document(), encoding="utf-8")
