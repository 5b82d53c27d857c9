"""Scene changes of allowed collisions: collision ignore groups and safety margins."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from ..errors import UnknownNameError
from ..model.bodies import CollisionSettings, PairMargin
from ..model.frames import FrameTree
from ..model.name_suggestions import unknown_name
from ..model.value import with_item, without_item
from .scene import CheckedStruct, Scene, WorldPose

replace = msgspec.structs.replace


class SetIgnoreGroup(CheckedStruct, frozen=True):
    """Set a collision ignore group; an empty list of members removes the group."""

    name: str
    members: tuple[str, ...]

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        rules, groups = scene.cell.collision, scene.cell.collision.ignore_groups
        if not self.members and self.name not in groups:
            text = unknown_name(f"collision ignore group {self.name!r}", self.name, groups)
            raise UnknownNameError(text, subjects=(self.name,))
        _check_owners(scene, self.members, {*groups, self.name})
        changed = with_item(groups, self.name, self.members) if self.members else without_item(groups, self.name)
        return replace(scene, cell=replace(scene.cell, collision=replace(rules, ignore_groups=changed)))


class SetMargin(CheckedStruct, frozen=True):
    """Set the safety margin [m] of an object ("*": all), or of a pair if `second` is given; None removes the margin."""

    first: str
    margin: float | None
    second: str = ""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        rules = scene.cell.collision
        _check_owners(scene, tuple(name for name in (self.first, self.second) if name), {"*"})
        if self.second:
            pair = sorted((self.first, self.second))
            retained = tuple(p for p in rules.pair_margins if sorted((p.first, p.second)) != pair)
            added = () if self.margin is None else (PairMargin(self.first, self.second, self.margin),)
            rules = replace(rules, pair_margins=retained + added)
        elif self.margin is None:
            rules = replace(rules, margins=without_item(rules.margins, self.first))
        else:
            rules = replace(rules, margins=with_item(rules.margins, self.first, self.margin))
        return replace(scene, cell=replace(scene.cell, collision=rules))


def with_collision_settings(scene: Scene, added: CollisionSettings) -> Scene:
    """Return a scene with more ignore groups and margins, which replace those of the same names. A group without
    members removes that of its name.

    Raises:
        UnknownNameError: A name in them is neither an object of the scene nor an ignore group.
    """
    if added == CollisionSettings():
        return scene
    rules = scene.cell.collision
    merged = {**rules.ignore_groups, **added.ignore_groups}
    groups = frozendict({name: members for name, members in merged.items() if members})
    members = [name for group in added.ignore_groups.values() for name in group]
    pairs = {frozenset((pair.first, pair.second)): pair for pair in (*rules.pair_margins, *added.pair_margins)}
    named = [name for pair in added.pair_margins for name in (pair.first, pair.second)]
    _check_owners(scene, (*members, *added.margins, *named), {*groups, "*"})
    margins = frozendict({**rules.margins, **added.margins})
    rules = CollisionSettings(groups, margins, tuple(pairs.values()))
    return replace(scene, cell=replace(scene.cell, collision=rules))


def _check_owners(scene: Scene, names: tuple[str, ...], also: set[str]) -> None:
    """Check that every name is a robot, link, tool, tool link or body."""
    tree, other = FrameTree(scene.cell, scene.state), {*scene.cell.robots, *also}
    for name in names:
        if name not in tree and name not in other:
            raise UnknownNameError(unknown_name(f"{name!r}", name, sorted({*tree, *other})), subjects=(name,))
