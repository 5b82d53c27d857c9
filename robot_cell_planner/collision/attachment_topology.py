"""Data that collision checks build once per attachment topology and cache per thread."""

from __future__ import annotations

import threading
from typing import Any

from ..errors import UnknownNameError
from ..kinematics.model import CellModel, cell_model
from ..model.cell import RobotCell
from ..model.geometry import Mesh, MeshUse, Triangles
from ..model.name_suggestions import unknown_name
from ..model.state import RobotCellState
from ..system.cache import IdentityCache
from .engines.base import CollisionEngine
from .engines.coal_engine import CoalEngine
from .geometry.geometry_model import GeometryModel
from .pairs.allowed_pairs import AllowedPairs, CollisionOptions

ENGINES = ("bullet", "coal")
MAX_CACHED = 8  # attachment topologies per thread


class AttachmentTopology:
    """Allowed pairs, geometry model and engine of a cell, valid for all states that differ only in joint values.

    decomposed: names of objects that are checked as a convex decomposition, by request or because the engine requires
    it.
    """

    def __init__(
        self, cell: RobotCell, state: RobotCellState, model: CellModel, engine: str, options: CollisionOptions
    ) -> None:
        self.allowed_pairs = AllowedPairs(cell, state, options)
        self.geometry_model = GeometryModel(self.allowed_pairs, model)
        self.engine = _engine(engine, model, self.geometry_model)
        requested = {
            obj.name for obj in self.allowed_pairs.objects if any(_is_decomposed(s.geometry) for s in obj.shapes)
        }
        self.decomposed = tuple(sorted(requested.union(self.engine.decomposed)))


def _engine(name: str, model: CellModel, geometry_model: GeometryModel) -> CollisionEngine:
    pin_model = model.mechanisms.pin_model
    if name == "coal":
        return CoalEngine(pin_model, geometry_model)
    if name == "bullet":
        # Import lazily: PyBullet is slow to import, and most processes do not use it.
        from .engines.bullet_engine import BulletEngine

        return BulletEngine(pin_model, geometry_model)
    raise UnknownNameError(unknown_name(f"collision engine {name!r}", name, ENGINES), subjects=(name,))


def _is_decomposed(geometry: Any) -> bool:
    return isinstance(geometry, Mesh | Triangles) and geometry.use is MeshUse.DECOMPOSITION


class _ThreadCache(threading.local):
    """Cache of a thread."""

    def __init__(self) -> None:
        self.cache: IdentityCache[AttachmentTopology] = IdentityCache(size=MAX_CACHED)


_of_thread = _ThreadCache()


def topology_of(
    cell: RobotCell, state: RobotCellState, engine: str, options: CollisionOptions
) -> tuple[CellModel, AttachmentTopology]:
    """Return the kinematic model of a state and the cached collision data of its attachment topology.

    Raises:
        UnknownNameError: the engine does not exist.
        GeometryError: a collision shape cannot be built.
    """
    tools = tuple(
        (name, tool.pose, tool.attached_to, tool.touch_links, tool.touch_bodies, tool.hidden)
        for name, tool in state.tools.items()
    )
    model = cell_model(cell, state)
    objects = (cell, state.base_poses, state.bodies)
    extras = (tools, engine, options)
    return model, _of_thread.cache.get(objects, extras, lambda: AttachmentTopology(cell, state, model, engine, options))
