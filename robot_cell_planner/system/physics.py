"""PyBullet, which installations for Python 3.12 and later lack unless they have the extra `physics`."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import NotSupportedError

INSTALL = "pip install 'robot_cell_planner[physics]', which compiles it where the package index has no wheel"


def has_physics() -> bool:
    """Return whether PyBullet is installed."""
    return find_spec("pybullet") is not None


def require_physics(what: str) -> None:
    """Check that PyBullet is installed. `what`: What needs it, as the subject of a sentence.

    Raises:
        NotSupportedError: It is not.
    """
    if not has_physics():
        raise NotSupportedError(f"{what} needs PyBullet, which is not installed: {INSTALL}", subjects=("pybullet",))
