"""Data that collision checks build once per attachment topology and cache per thread."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from ..errors import UnknownNameError
from ..kinematics.model import CellModel, cell_model
from ..model.cell import RobotCell
from ..model.geometry import Mesh, MeshUse, Triangles
from ..model.name_suggestions import unknown_name
from ..model.state import RobotCellState
from .engines.base import CollisionEngine
from .engines.coal_engine import CoalEngine
from .geometry.geometry_model import GeometryModel, Placement
from .pairs.allowed_pairs import AllowedPairs, CollisionOptions

ENGINES = ("bullet", "coal")
KEPT = 8
_of_thread = threading.local()


class AttachmentTopology:
    """Allowed pairs, geometry model and engine of a cell, valid for all states that differ only in joint values.

    decomposed: names of objects that are checked as a convex decomposition, by request or because the engine requires
    it.
    """

    def __init__(
        self, cell: RobotCell, state: RobotCellState, model: CellModel, engine: str, options: CollisionOptions
    ) -> None:
        def placement_of(frame: str) -> Placement:
            found = model.frame(frame)
            return Placement(found.joint, found.placement.homogeneous)

        self.allowed_pairs = AllowedPairs(cell, state, options)
        self.geometry_model = GeometryModel(self.allowed_pairs, placement_of)
        self.engine = _engine(engine, model, self.geometry_model)
        asked = {obj.name for obj in self.allowed_pairs.objects if any(_is_decomposed(s.geometry) for s in obj.shapes)}
        self.decomposed = tuple(sorted(asked.union(self.engine.decomposed)))


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


def topology_of(
    cell: RobotCell, state: RobotCellState, engine: str, options: CollisionOptions
) -> tuple[CellModel, AttachmentTopology]:
    """Return the kinematic model of a state and the cached collision data of its attachment topology.

    Raises:
        UnknownNameError: the engine does not exist.
        GeometryError: a collision shape cannot be built.
    """
    kept: OrderedDict[tuple[object, ...], tuple[object, AttachmentTopology]]
    kept = _of_thread.__dict__.setdefault("kept", OrderedDict())
    tools = tuple(
        (name, tool.pose, tool.attached_to, tool.touch_links, tool.touch_bodies, tool.hidden)
        for name, tool in state.tools.items()
    )
    model = cell_model(cell, state)
    # Comparing whole cells is slow, so keys are ids. Entries keep references to their objects, so that an id stays
    # valid.
    held = (cell, state.base_poses, state.bodies)
    key = (*map(id, held), tools, engine, options)
    found = kept.get(key)
    if found is None:
        found = kept[key] = (held, AttachmentTopology(cell, state, model, engine, options))
        if len(kept) > KEPT:
            kept.popitem(last=False)
    kept.move_to_end(key)
    return model, found[1]
