"""Revisions are consecutive, dry runs change nothing, undo restores scenes, and changes since a revision are listed."""

import pytest
from reference import reference_world_pose, small_cell

from robot_cell_planner.errors import InvalidRequestError, NoCellError, RevisionConflictError, RobotCellError
from robot_cell_planner.scene.diff import apply_difference
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.model_changes import Remove
from robot_cell_planner.scene.state_changes import Detach, Move


def owned(kept=200):
    owner = SceneHistory(reference_world_pose, retained=kept)
    owner.load(*small_cell())
    return owner


def move(x):
    return [Move("part", (x, 0.0, 0.0))]


def test_each_accepted_change_has_the_next_revision():
    owner = owned()
    changes = [owner.apply(move(x)) for x in (0.1, 0.2, 0.3)]
    assert [(c.previous, c.revision) for c in changes] == [(1, 2), (2, 3), (3, 4)]
    assert owner.cell_revision == 1
    owner.apply([Remove("table")])
    assert owner.cell_revision == 5


def test_a_refused_change_leaves_everything_as_it_was():
    owner = owned()
    before = owner.scene
    with pytest.raises(RobotCellError):
        owner.apply([*move(0.5), Detach("part")])
    assert (owner.scene, owner.revision) == (before, 1)
    with pytest.raises(InvalidRequestError):
        owner.apply([])


def test_a_dry_run_reports_but_does_not_apply():
    owner = owned()
    before = owner.scene
    reported = owner.apply(move(0.5), dry_run=True)
    assert (owner.scene, owner.revision) == (before, 1)
    assert reported == owner.apply(move(0.5))


def test_an_expected_revision_must_be_the_current_one():
    owner = owned()
    owner.apply(move(0.1), expected=1)
    with pytest.raises(RevisionConflictError) as caught:
        owner.apply(move(0.2), expected=1)
    assert (caught.value.values[0].value, caught.value.values[0].limit) == (1, 2)


def test_repeated_undo_restores_earlier_scenes():
    owner = owned()
    scenes = [owner.scene]
    for x in (0.1, 0.2, 0.3):
        owner.apply(move(x))
        scenes.append(owner.scene)
    owner.undo()
    assert owner.scene == scenes[2]
    owner.undo()
    assert owner.scene == scenes[1]
    assert owner.revision == 6
    owner.apply(move(0.9))
    owner.undo()
    assert owner.scene == scenes[1]
    owner.undo()
    assert owner.scene == scenes[0]
    with pytest.raises(InvalidRequestError, match="not remembered"):
        owner.undo()


def test_changes_since_a_revision():
    owner = owned(kept=3)
    first = owner.scene
    owner.apply(move(0.1))
    owner.apply(move(0.2))
    step = owner.since(1)
    assert (step.previous, step.revision) == (1, 3)
    assert apply_difference(first, step.difference) == owner.scene
    owner.apply(move(0.3))
    assert owner.since(1) is None
    assert owner.since(7) is None


def test_requests_before_a_cell_is_loaded_are_refused():
    with pytest.raises(NoCellError, match="load_cell"):
        SceneHistory(reference_world_pose).apply(move(0.1))
