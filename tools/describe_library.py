"""Writes the public names of the library to docs/library.md, with their summaries. `--print` prints them instead."""

from __future__ import annotations

import inspect
import re
import sys

import docs_hooks

import robot_cell_planner

DOCUMENT = docs_hooks.ROOT / "docs" / "library.md"
COLUMNS = "| Name | Description |\n|---|---|\n"
CONSTANT = "Constant."


def document() -> str:
    """Return the whole text of docs/library.md."""
    before, _ = docs_hooks.split(DOCUMENT.read_text(encoding="utf-8"))
    return f"{before}{docs_hooks.MARK}\n{tables()}"


def tables() -> str:
    """Return a section for each package, with a table of its names."""
    rows: dict[str, list[str]] = {}
    for name, source in docs_hooks.public_names(docs_hooks.PACKAGE).items():
        rows.setdefault(source.split(".")[1], []).append(f"| `{name}` | {summary(name)} |\n")
    return "".join(f"\n## {docs_hooks.PACKAGE}.{package}\n\n{COLUMNS}{''.join(rows[package])}" for package in rows)


def summary(name: str) -> str:
    """Return the first sentence of the docstring of a public name."""
    found = getattr(robot_cell_planner, name)
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        return CONSTANT
    paragraph = " ".join((inspect.getdoc(found) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0].replace("|", "\\|")


def main() -> None:
    if "--print" in sys.argv[1:]:
        print(tables(), end="")
    else:
        DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
