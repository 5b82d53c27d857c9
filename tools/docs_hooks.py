"""Hooks of mkdocs: pages of the files that the documentation links to, and the public names of the library."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "robot_cell_planner"
MARK = "<!-- public names -->"
LINK = re.compile(r"\]\(\.\./([^)#\s]+)")  # to a file outside docs/
SHIM = "https://unpkg.com/iframe-worker/shim"  # loaded by the theme where it is offline
FILE_WORKER = "file_worker.js"
LANGUAGES = {".py": "python", ".xacro": "xml", ".yaml": "yaml", ".json": "json"}


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every file of the repository that a page links to."""
    from mkdocs.structure.files import File

    pages = [ROOT / "docs" / page.src_uri for page in files.documentation_pages()]
    for path in sorted({link for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))}):
        text = (ROOT / path).read_text(encoding="utf-8")
        content = f"# {path}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n````\n"
        files.append(File.generated(config, f"files/{path}.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link to the pages of files, and replace the tables of public names by their whole documentation."""
    if MARK in markdown:
        markdown = split(markdown)[0] + reference()
    return LINK.sub(r"](files/\1.md", markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Load the worker of pages opened as files from the site, not from a server: it is read without a network."""
    return output.replace(SHIM, "../" * page.url.count("/") + FILE_WORKER)


def on_post_template(output: str, **_: Any) -> str:
    """As `on_post_page`, for pages without a text of their own."""
    return output.replace(SHIM, FILE_WORKER)


def split(markdown: str) -> tuple[str, str]:
    """Return the text before the public names, which are at the end of their page, and the tables of these."""
    before, _, tables = markdown.partition(MARK)
    return before, tables


def reference() -> str:
    """Return the sections, with a directive of mkdocstrings for each name."""
    lines: list[str] = []
    package = ""
    for name, source in public_names(PACKAGE).items():
        if source.split(".")[1] != package:
            package = source.split(".")[1]
            lines += [f"## {PACKAGE}.{package}", ""]
        lines += [f"::: {source}.{name}", "    options: {heading_level: 3}", ""]
    return "\n".join(lines)


def public_names(package: str) -> dict[str, str]:
    """Return the module in which each public name of a package is defined."""
    found: dict[str, str] = {}
    for statement in ast.parse(stub_of(package).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            parts = package.split(".")
            source = ".".join((*parts[: len(parts) - statement.level + 1], statement.module or ""))
            for alias in statement.names:
                inner = public_names(source) if stub_of(source).is_file() else {}
                found[alias.name] = inner.get(alias.name, source)
    return found


def stub_of(package: str) -> Path:
    """Return the stub file that declares the exports of a package."""
    return ROOT.joinpath(*package.split("."), "__init__.pyi")
