"""Differences between two scenes: values that can be transmitted, stored and applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from frozendict import frozendict

from ..model.bodies import CollisionSettings
from ..model.cell import RobotCell
from ..model.digest import same_to_the_last_bit
from ..model.state import RobotCellState
from ..model.value import changed_items
from .removals import removed_entries, removed_names
from .scene import Scene

T = TypeVar("T")
NOTHING: frozendict[str, Any] = frozendict()
MISSING = object()


class SceneDiff(msgspec.Struct, frozen=True):
    """Difference between two scenes.

    Attributes:
        removed: What was removed, which is removed first: a name, or "kind/name" (robot, tool, body, frame or group) if
            several kinds have the name, or if the name itself begins like that.
        models: New or replaced models.
        collision: New collision settings; None if unchanged.
        state: Complete new entries of everything that changed; joints are listed individually.
    """

    removed: tuple[str, ...] = ()
    models: RobotCell = RobotCell()
    collision: CollisionSettings | None = None
    state: RobotCellState = RobotCellState()

    @property
    def changes_models(self) -> bool:
        """Return whether the models or the collision settings change."""
        return bool(
            self.removed
            or self.collision is not None
            or self.models.robots
            or self.models.tools
            or self.models.bodies
            or self.models.frames
            or self.models.groups
        )


def difference(old: Scene, new: Scene) -> SceneDiff:
    """Compute the difference from `old` to `new`.

    The result is exact: `apply_difference(old, difference(old, new)) == new`.
    """
    a, b = old.cell, new.cell
    models = RobotCell(
        b.name,
        _changed(a.robots, b.robots),
        _changed(a.tools, b.tools),
        _changed(a.bodies, b.bodies),
        _changed(a.frames, b.frames),
        groups=_changed(a.groups, b.groups),
    )
    state = RobotCellState(
        _changed(old.state.base_poses, new.state.base_poses),
        _changed(old.state.configuration, new.state.configuration),
        _changed(old.state.tools, new.state.tools),
        _changed(old.state.bodies, new.state.bodies),
    )
    collision = None if same_to_the_last_bit(a.collision, b.collision) else b.collision
    return SceneDiff(removed_entries(a, b), models, collision, state)


def apply_difference(scene: Scene, change: SceneDiff) -> Scene:
    """Return the scene after applying a difference.

    Consistency is not checked here; see `RobotCell.check_state`.
    """
    cell, removed = scene.cell, removed_names(scene.cell, change.removed)
    if change.changes_models or change.models.name != cell.name:
        cell = RobotCell(
            change.models.name,
            _merged(cell.robots, change.models.robots, removed["robots"]),
            _merged(cell.tools, change.models.tools, removed["tools"]),
            _merged(cell.bodies, change.models.bodies, removed["bodies"]),
            _merged(cell.frames, change.models.frames, removed["frames"]),
            cell.collision if change.collision is None else change.collision,
            _merged(cell.groups, change.models.groups, removed["groups"]),
        )
    old, new = scene.state, change.state
    configuration = _merged(old.configuration, new.configuration, frozenset())
    if change.models.robots or removed["robots"]:
        configuration = frozendict({name: v for name, v in configuration.items() if name in cell.variables})
    state = RobotCellState(
        _merged(old.base_poses, new.base_poses, removed["robots"]),
        configuration,
        _merged(old.tools, new.tools, removed["tools"]),
        _merged(old.bodies, new.bodies, removed["bodies"]),
    )
    return Scene(cell, state)


def _changed(old: Mapping[str, T], new: Mapping[str, T]) -> frozendict[str, T]:
    if old is new:
        return NOTHING
    changed = {
        name: new[name]
        for name in changed_items(old, new)
        if name in new and not same_to_the_last_bit(old.get(name, MISSING), new[name])
    }
    return frozendict(changed) if changed else NOTHING


def _merged(old: frozendict[str, T], new: Mapping[str, T], removed: frozenset[str]) -> frozendict[str, T]:
    if not removed and not new:
        return old
    return frozendict({**{name: value for name, value in old.items() if name not in removed}, **new})
