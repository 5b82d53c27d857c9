"""Byte code of the package's sources. Python writes it at the first import, but not where that is switched off
(PYTHONDONTWRITEBYTECODE, as in many containers): each process would then compile all sources anew."""

from __future__ import annotations

import compileall

from layout import PACKAGE, Layout


def compile_sources(layout: Layout) -> None:
    """Compile the sources that have changed, by the path that they are imported from."""
    compileall.compile_dir(layout.source / PACKAGE, quiet=1)
