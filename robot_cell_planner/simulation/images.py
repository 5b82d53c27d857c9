"""Images of any engine, which PyBullet renders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.physics import load_pybullet, require_physics
from .camera_view import CameraImage, CameraView
from .engines.base import Engine, PhysicsSettings
from .multibody.multibodies import Multibodies

if TYPE_CHECKING:
    from .engines.bullet_engine import BulletEngine


class Images:
    """Images of what an engine simulates. Those of another engine than PyBullet, or of one that has grouped static
    bodies, show a copy of its placement."""

    def __init__(self, engine: Engine, multibodies: Multibodies, settings: PhysicsSettings) -> None:
        self._engine, self._multibodies, self._settings = engine, multibodies, settings
        self._copy: BulletEngine | None = None

    def of(self, view: CameraView) -> CameraImage:
        """Return the image of a camera. It has no effect on the motion of anything.

        Raises:
            NotSupportedError: PyBullet is not installed.
        """
        require_physics("the image of a camera")
        load_pybullet()
        from .engines.bullet_engine import BulletEngine  # not installed everywhere
        from .imaging import image

        if isinstance(self._engine, BulletEngine) and not self._engine.has_groups:
            return image(self._engine, view)
        if self._copy is None:
            self._copy = BulletEngine(self._multibodies, self._settings)
        self._copy.place(self._engine.placement)
        return image(self._copy, view)

    def close(self) -> None:
        """Release the memory of the copy; the next image needs another one."""
        if self._copy is not None:
            self._copy.close()
            self._copy = None
