"""Sphere models are prepared once for each object, however often the cell changes."""

import msgspec
import pytest
from frozendict import frozendict
from reference import box, small_cell

from robot_cell_planner.collision.sphere_model import report
from robot_cell_planner.collision.sphere_model.report import (
    PreparedObjects,
    missing_sphere_models,
    prepare_sphere_models,
)
from robot_cell_planner.model.bodies import RigidBody

CELL = small_cell()[0]


def with_body(cell, name, size):
    return msgspec.structs.replace(cell, bodies=frozendict({**cell.bodies, name: RigidBody(name, (box(size),))}))


@pytest.fixture
def made(monkeypatch):
    """Names of the objects whose models were made or loaded, and, in `searched`, those of stored ones."""
    names, make, search = [], report._sphere_models, report.has_stored_spheres
    monkeypatch.setattr(report, "_sphere_models", lambda name, *given: names.append(name) or make(name, *given))
    searched = []
    monkeypatch.setattr(report, "has_stored_spheres", lambda *given: searched.append(given) or search(*given))
    return names, searched


def test_a_change_prepares_what_it_changes(made):
    names, searched = made
    prepared, progress = PreparedObjects(), []
    whole = prepare_sphere_models(CELL, prepared=prepared)
    assert sorted(names) == sorted(model.name for model in whole.objects)
    for cell, changed in (
        (CELL, []),
        (with_body(CELL, "new", 0.07), ["new"]),
        (with_body(CELL, "crate", 0.06), ["crate"]),
        (with_body(CELL, "crate", 0.06), ["crate"]),  # another object, though an equal one
    ):
        names.clear()
        progress.clear()
        searched.clear()
        missing_sphere_models(cell, prepared=prepared)
        assert len(searched) <= 2 * len(changed)
        found = prepare_sphere_models(cell, on_progress=lambda *given: progress.append(given), prepared=prepared)
        assert names == changed
        count = len(found.objects)
        assert progress == [(name, count - 1, count) for name in changed]
        assert found.objects == prepare_sphere_models(cell).objects
        assert found.objects == prepare_sphere_models(cell, prepared=prepared).objects


def test_a_body_that_may_be_gripped_from_now_on_is_prepared(made):
    names, _ = made
    prepared = PreparedObjects()
    prepare_sphere_models(CELL, bodies=(), prepared=prepared)
    names.clear()
    prepare_sphere_models(CELL, bodies=("part",), prepared=prepared)
    assert names == ["part"]
