"""Names of files from names of objects."""

from __future__ import annotations

import re


def file_name(name: str, default: str = "robot") -> str:
    """Return the name with runs of other characters than letters, digits, - and _ replaced by _; `default` if none is
    left."""
    return re.sub(r"[^A-Za-z0-9_\-]+", "_", name).strip("_-") or default
