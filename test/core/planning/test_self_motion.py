"""Trace of a self-motion: skipped projections do not change the result."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.planning.cartesian.redundancy import self_motion

STEP = 0.15


class Projection:
    """Moves configurations a little, by a function of each alone, and converges for most of them."""

    def __init__(self):
        self.count = 0

    def __call__(self, rows):
        self.count += len(rows)
        return rows + 0.02 * np.sin(50.0 * rows), np.sin(1000.0 * rows[:, 0]) > -0.6


def traced(found, moved, spare, monkeypatch):
    monkeypatch.setattr(self_motion, "SPARE", spare)
    problem = SimpleNamespace(joints=SimpleNamespace(angular=np.array((1.0, 1.0, 0.0))))
    project = Projection()
    new = self_motion._distinct(problem, found, moved, STEP, project)
    return np.vstack((found, new))[: self_motion.MAX_TRACED], project.count


@pytest.mark.parametrize("known", [1, 150, 280, 299])
def test_skipped_projections_do_not_change_the_result(known, monkeypatch):
    rng = np.random.default_rng(known)
    found, moved = rng.uniform(-3.0, 3.0, (known, 3)), rng.uniform(-3.0, 3.0, (900, 3))
    expected, all_projected = traced(found, moved, 10**6, monkeypatch)
    some, projected = traced(found, moved, 0, monkeypatch)
    assert np.array_equal(some, expected)
    assert len(some) == self_motion.MAX_TRACED
    assert projected < all_projected


def test_all_steps_are_projected_if_few_are_new(monkeypatch):
    rng = np.random.default_rng(3)
    found = rng.uniform(-0.3, 0.3, (50, 3))
    moved = rng.uniform(-0.4, 0.4, (900, 3))
    assert len(traced(found, moved, 0, monkeypatch)[0]) < self_motion.MAX_TRACED
    assert np.array_equal(traced(found, moved, 0, monkeypatch)[0], traced(found, moved, 10**6, monkeypatch)[0])
