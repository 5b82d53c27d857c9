"""Data that collision checks build once per attachment topology and cache per thread."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ..errors import UnknownNameError
from ..kinematics.model import CellModel, cell_model, moved_frames
from ..model.cell import RobotCell
from ..model.geometry import Mesh, MeshUse, Triangles
from ..model.name_suggestions import unknown_name
from ..model.pose import Matrix
from ..model.state import BodyState, RobotCellState
from ..model.value import changed_items
from ..system.cache import IdentityCache
from ..system.physics import load_pybullet, require_physics
from .engines.base import CollisionEngine
from .engines.coal_engine import CoalEngine
from .geometry.geometry_model import GeometryModel
from .pairs.allowed_pairs import AllowedPairs, CollisionOptions

ENGINES = ("bullet", "coal")
MAX_CACHED = 8  # attachment topologies per thread
MAX_LATEST = 4  # of these, kept for states that differ in poses of bodies
MAX_MOVED = 64  # number of bodies from which on everything is built anew


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
        self._bodies = state.bodies

    def moved(self, cell: RobotCell, state: RobotCellState, model: CellModel) -> AttachmentTopology | None:
        """Return the topology of a state of the same cell that differs in the poses of some stationary bodies only.

        It shares everything that does not depend on them, so that a change of a large cell costs little. None: the
        state differs in more than that, or the engine cannot share its data.
        """
        changed = changed_items(self._bodies, state.bodies)
        if len(changed) > MAX_MOVED or not isinstance(self.engine, CoalEngine):
            return None
        if moved_frames(cell, state, changed) is None:
            return None
        pairs = self.allowed_pairs
        placements: dict[int, Matrix] = {}
        for name in changed:
            obj = pairs.by_name.get(name)
            if not _differ_in_pose(self._bodies[name], state.bodies[name]):
                return None
            if obj is not None and not obj.hidden:
                if obj.index in pairs.moving:
                    return None
                if self.geometry_model.contains(obj.index):
                    placements[obj.index] = model.frame(name).placement.homogeneous
        found = copy.copy(self)
        found.geometry_model = self.geometry_model.moved(placements)
        found.engine = self.engine.moved(found.geometry_model)
        found._bodies = state.bodies
        return found


def _differ_in_pose(before: BodyState, after: BodyState) -> bool:
    """Return whether two states of a body differ in nothing but their poses."""
    return before == msgspec.structs.replace(after, pose=before.pose)


def _engine(name: str, model: CellModel, geometry_model: GeometryModel) -> CollisionEngine:
    pin_model = model.mechanisms.pin_model
    if name == "coal":
        return CoalEngine(pin_model, geometry_model)
    if name == "bullet":
        require_physics("collision engine bullet")
        load_pybullet()
        # Import lazily: PyBullet is slow to import, and most processes do not use it.
        from .engines.bullet_engine import BulletEngine

        return BulletEngine(pin_model, geometry_model)
    raise UnknownNameError(unknown_name(f"collision engine {name!r}", name, ENGINES), subjects=(name,))


def _is_decomposed(geometry: Any) -> bool:
    return isinstance(geometry, Mesh | Triangles) and geometry.use is MeshUse.DECOMPOSITION


class _Latest(NamedTuple):
    """A topology, and what those that may share its data have in common with it."""

    cell: RobotCell
    key: tuple[object, ...]
    topology: AttachmentTopology


class _ThreadCache(threading.local):
    """Cache of a thread, and its latest topologies, the last one first."""

    def __init__(self) -> None:
        self.cache: IdentityCache[AttachmentTopology] = IdentityCache(size=MAX_CACHED)
        self.latest: tuple[_Latest, ...] = ()

    def moved_or_built(
        self,
        cell: RobotCell,
        key: tuple[object, ...],
        moved: Callable[[AttachmentTopology], AttachmentTopology | None],
        build: Callable[[], AttachmentTopology],
    ) -> AttachmentTopology:
        """Return a topology that replaces the one of the latest whose data it shares. A body that is gripped and
        released in turns has two of them, at different poses each time."""
        others, found = self.latest, None
        for each in self.latest:
            found = moved(each.topology) if each.cell is cell and each.key == key else None
            if found is not None:
                others = tuple(other for other in self.latest if other is not each)
                break
        found = found or build()
        self.latest = (_Latest(cell, key, found), *others[: MAX_LATEST - 1])
        return found


_of_thread = _ThreadCache()


def topology_of(
    cell: RobotCell, state: RobotCellState, engine: str, options: CollisionOptions
) -> tuple[CellModel, AttachmentTopology]:
    """Return the kinematic model of a state and the cached collision data of its attachment topology.

    Raises:
        UnknownNameError: The engine does not exist.
        GeometryError: A collision shape cannot be built.
    """
    tools = tuple(
        (name, tool.pose, tool.attached_to, tool.touch_links, tool.touch_bodies, tool.hidden)
        for name, tool in state.tools.items()
    )
    model = cell_model(cell, state)
    objects = (cell, state.base_poses, state.bodies)
    key = (tools, engine, options)

    def build() -> AttachmentTopology:
        return _of_thread.moved_or_built(
            cell,
            (state.base_poses, *key),
            lambda latest: latest.moved(cell, state, model),
            lambda: AttachmentTopology(cell, state, model, engine, options),
        )

    return model, _of_thread.cache.get(objects, key, build)
