"""Lazy imports of the names that a package exports (PEP 562), so that importing the package is cheap."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from the stub next to its `__init__.py`.

    The stub (`__init__.pyi`) imports each exported name from its module; type checkers read the same file.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    module_of = {alias.name: _module(package, node) for node in imports for alias in node.names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    exported = sorted(module_of)
    return load, lambda: sorted({*vars(sys.modules[package]), *exported}), exported


def _module(package: str, statement: ast.ImportFrom) -> str:
    """Return the module of a relative import; each dot after the first leads to the package above."""
    parts = package.split(".")
    return ".".join((*parts[: len(parts) - statement.level + 1], statement.module or ""))
