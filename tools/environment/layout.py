"""Locations of all files that set-up creates: one folder at the root of the repository, and nothing elsewhere.

The folder is `.venv/` for the default distribution of ROS 2 and, for example, `.venv-jazzy/` for another one.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "robot_cell_planner"
DISTRIBUTIONS = ("kilted", "jazzy")  # of ROS 2, whose wheels are pinned; the first is the default


class SetupError(Exception):
    """Set-up cannot continue; the message is one line with the remedy."""


@dataclass(frozen=True)
class Layout:
    """The paths of one repository, for one distribution of ROS 2. `root` is absolute."""

    root: Path
    distribution: str = DISTRIBUTIONS[0]

    @property
    def is_default(self) -> bool:
        return self.distribution == DISTRIBUTIONS[0]

    @property
    def venv(self) -> Path:
        return self.root / (".venv" if self.is_default else f".venv-{self.distribution}")

    def is_made(self, path: Path) -> bool:
        """Whether a path is inside a folder that set-up creates here, for any distribution."""
        parts = path.relative_to(self.root).parts if path.is_relative_to(self.root) else ()
        return bool(parts) and parts[0].partition("-")[0] == ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return self.venv / self.python_library

    @property
    def python_library(self) -> Path:
        """The folder of Python packages below a prefix, for the Python that runs set-up."""
        return Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"

    @property
    def workspace(self) -> Path:
        """The colcon workspace: its src (links), build, install and log folders."""
        return self.venv / "workspace"

    @property
    def install(self) -> Path:
        return self.workspace / "install"

    @property
    def source(self) -> Path:
        """A folder with nothing but a link to the package's sources, for PYTHONPATH: edits count at once."""
        return self.venv / "source"

    @property
    def constraints(self) -> Path:
        """The versions of all packages."""
        return self.requirements("constraints")

    def requirements(self, name: str) -> Path:
        """A list of packages: that of the distribution, if it has one of its own."""
        own = self.root / "requirements" / self.distribution / f"{name}.txt"
        return own if own.exists() else self.root / "requirements" / f"{name}.txt"

    def stamp(self, stage: str) -> Stamp:
        return Stamp(self.venv / "stamps" / stage)


@dataclass(frozen=True)
class Stamp:
    """Stores the inputs with which a stage was last finished."""

    path: Path

    def is_current(self, digest: str) -> bool:
        return self.path.is_file() and self.path.read_text(encoding="utf-8") == digest

    def write(self, digest: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(digest, encoding="utf-8")

    def clear(self) -> None:
        """Remove the stamp: the stage has begun, and may be interrupted."""
        self.path.unlink(missing_ok=True)


def digest(texts: Iterable[str], files: Iterable[Path] = ()) -> str:
    """A hash of some texts and of the names and contents of some files, in the order given."""
    total = hashlib.sha256()
    for text in texts:
        total.update(text.encode() + b"\0")
    for file in files:
        total.update(str(file).encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()
