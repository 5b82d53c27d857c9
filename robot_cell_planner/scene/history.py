"""Revision history of a scene, with undo and an optional journal."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Sequence
from typing import Protocol

import msgspec

from ..errors import InvalidRequestError, NoCellError, RevisionConflictError, Value
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..system.steps import returned
from .changes import Change, apply_changes_in_steps
from .diff import SceneDiff, difference
from .scene import Scene, WorldPose


class AcceptedChange(msgspec.Struct, frozen=True):
    """Transition from one revision to the next, with the digest of the resulting state."""

    previous: int
    revision: int
    difference: SceneDiff
    digest: str


class ChangeLog(Protocol):
    """Persistent log that records changes before they are published."""

    def append(self, scene: Scene, change: AcceptedChange) -> None:
        """Record a change that led to `scene`."""
        ...


class SceneHistory:
    """Current scene and its most recent revisions. A change is accepted only after it was written to the log.

    Args:
        world_pose: Computes the world pose of a frame.
        log: Log of accepted changes; None for no log.
        retained: Number of earlier revisions retained for undo and for `since`.
    """

    @public
    def __init__(self, world_pose: WorldPose, log: ChangeLog | None = None, retained: int = 200) -> None:
        self._world_pose = world_pose
        self._log = log
        self._retained = retained
        self._scenes: OrderedDict[int, Scene] = OrderedDict()
        self._undoable: list[int] = []
        self.revision = 0
        self.cell_revision = 0

    @property
    def scene(self) -> Scene:
        """Current scene.

        Raises:
            NoCellError: No cell was loaded.
        """
        if not self._scenes:
            raise NoCellError("no cell is loaded; load_cell does it, or the parameter cell_file")
        return self._scenes[self.revision]

    def restore(self, scene: Scene, revision: int, cell_revision: int) -> None:
        """Restore the scene and revisions of a log."""
        self._scenes = OrderedDict({revision: scene})
        self.revision, self.cell_revision, self._undoable = revision, cell_revision, []

    def load(self, cell: RobotCell, state: RobotCellState, expected: int = 0) -> AcceptedChange:
        """Replace cell and state.

        Raises:
            RevisionConflictError: `expected` is neither 0 nor the current revision.
            RobotCellError: The state does not match the cell.
        """
        self._check_expected(expected)
        cell.check_state(state)
        return self._accept(Scene(cell, state), self.revision)

    def apply(self, changes: Sequence[Change], expected: int = 0, *, dry_run: bool = False) -> AcceptedChange:
        """Apply changes, all or none. A dry run returns the result, with the revision that it would have, without
        accepting it.

        Raises:
            RevisionConflictError: `expected` is neither 0 nor the current revision.
            InvalidRequestError: The list of changes is empty.
            RobotCellError: A change cannot be applied; the scene is unchanged.
        """
        return returned(self.apply_in_steps(changes, expected, dry_run=dry_run))

    def apply_in_steps(
        self, changes: Sequence[Change], expected: int = 0, *, dry_run: bool = False
    ) -> Generator[None, None, AcceptedChange]:
        """As `apply`, with a step after each change. The scene stays as it is until the last one.

        Raises:
            RevisionConflictError: Also if another change was accepted between the steps.
        """
        self._check_expected(expected)
        if not changes:
            raise InvalidRequestError("the list of changes is empty", stage="change")
        before, scene = self.revision, self.scene
        scene = yield from apply_changes_in_steps(scene, changes, self._world_pose)
        self._check_expected(before)
        if dry_run:
            return self._step(scene)
        return self._accept(scene, self.revision)

    def load_state(self, state: RobotCellState, expected: int = 0, *, dry_run: bool = False) -> AcceptedChange:
        """Replace the state; the cell is unchanged.

        Raises:
            RevisionConflictError: `expected` is neither 0 nor the current revision.
            RobotCellError: The state does not match the cell.
        """
        self._check_expected(expected)
        cell = self.scene.cell
        cell.check_state(state)
        if dry_run:
            return self._step(Scene(cell, state))
        return self._accept(Scene(cell, state), self.revision)

    def undo(self, count: int = 1, expected: int = 0) -> AcceptedChange:
        """Undo the given number of changes, as a new revision. Repeated calls undo earlier changes.

        Raises:
            RevisionConflictError: `expected` is neither 0 nor the current revision.
            InvalidRequestError: Fewer changes are retained.
        """
        self._check_expected(expected)
        if not 1 <= count <= len(self._undoable):
            numbers = (Value("changes to undo", count, len(self._undoable)),)
            raise InvalidRequestError("that many changes are not remembered", stage="undo", values=numbers)
        target = self._undoable[-count]
        remaining = self._undoable[:-count]
        accepted = self._accept(self._scenes[target], target)
        self._undoable = [revision for revision in remaining if revision in self._scenes]
        return accepted

    def since(self, revision: int) -> AcceptedChange | None:
        """Return the difference from an earlier revision to the current one; None if that revision is not retained."""
        if revision not in self._scenes:
            return None
        change = difference(self._scenes[revision], self.scene)
        return AcceptedChange(revision, self.revision, change, self.scene.state.digest())

    def _check_expected(self, expected: int) -> None:
        if expected and expected != self.revision:
            numbers = (Value("revision", expected, self.revision),)
            raise RevisionConflictError("the scene has another revision than expected", values=numbers)

    def _step(self, scene: Scene) -> AcceptedChange:
        empty = Scene(RobotCell(name=scene.cell.name), RobotCellState())
        change = difference(self._scenes.get(self.revision, empty), scene)
        return AcceptedChange(self.revision, self.revision + 1, change, scene.state.digest())

    def _accept(self, scene: Scene, undo_to: int) -> AcceptedChange:
        change = self._step(scene)
        if self._log is not None:
            self._log.append(scene, change)
        if self._scenes:
            self._undoable.append(undo_to)
        self._scenes[change.revision] = scene
        self.revision = change.revision
        if change.difference.changes_models:
            self.cell_revision = change.revision
        while len(self._scenes) > self._retained:
            removed, _ = self._scenes.popitem(last=False)
            self._undoable = [revision for revision in self._undoable if revision != removed]
        return change
