"""Physics engines that not every installation has.

PyBullet needs the extra `physics` with Python 3.12 and later, MuJoCo the extra `mujoco`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec

from ..errors import NotSupportedError

STANDARD_ERROR = 2  # file descriptor
INSTALL_MUJOCO = "pip install 'robot_cell_planner[mujoco]'"
INSTALL = "pip install 'robot_cell_planner[physics]', which compiles it where the package index has no wheel"
BANNER = b"pybullet build time"
MAX_LINKS = 120  # of one robot in PyBullet, which supports 128 degrees of freedom
MAX_VERTICES, MAX_FACES = 131_072, 174_762  # of a shape in PyBullet


def beyond_bullet(vertices: int, faces: int) -> str:
    """Return the clause that says by what a mesh exceeds the shapes of PyBullet; "" if it does not."""
    if vertices <= MAX_VERTICES and faces <= MAX_FACES:
        return ""
    return f"has {vertices} vertices and {faces} faces, more than PyBullet takes ({MAX_VERTICES} and {MAX_FACES})"


def has_physics() -> bool:
    """Return whether PyBullet is installed."""
    return find_spec("pybullet") is not None


def require_physics(what: str, otherwise: str = "") -> None:
    """Check that PyBullet is installed.

    Args:
        what: What needs it, as the subject of a sentence.
        otherwise: What else to do than to install it, as a sentence.

    Raises:
        NotSupportedError: It is not.
    """
    if not has_physics():
        text = f"{what} needs PyBullet, which is not installed: {INSTALL}"
        raise NotSupportedError(f"{text}; {otherwise}" if otherwise else text, subjects=("pybullet",))


def load_pybullet() -> None:
    """Import PyBullet without the line about its build time that it writes to the standard error stream.

    What other threads write there meanwhile follows after the import.
    """
    if "pybullet" in sys.modules:
        return
    try:
        saved = os.dup(STANDARD_ERROR)
    except OSError:  # it is closed
        import_module("pybullet")
        return
    written = os.memfd_create("standard error")
    try:
        os.dup2(written, STANDARD_ERROR)
        try:
            import_module("pybullet")
        finally:
            os.dup2(saved, STANDARD_ERROR)
        os.lseek(written, 0, os.SEEK_SET)
        with os.fdopen(os.dup(written), "rb") as lines:
            kept = b"".join(line for line in lines if not line.startswith(BANNER))
        if kept:
            os.write(STANDARD_ERROR, kept)
    finally:
        os.close(saved)
        os.close(written)


def has_mujoco() -> bool:
    """Return whether MuJoCo is installed."""
    return find_spec("mujoco") is not None


def require_mujoco(what: str) -> None:
    """Check that MuJoCo is installed. `what`: What needs it, as the subject of a sentence.

    Raises:
        NotSupportedError: It is not.
    """
    if not has_mujoco():
        text = f"{what} in MuJoCo needs MuJoCo, which is not installed: {INSTALL_MUJOCO}"
        raise NotSupportedError(text, subjects=("mujoco",))
