"""Results of a checker and of a certifier do not depend on what was evaluated before."""

from pathlib import Path

import numpy as np
import pytest

from robot_cell_planner import CollisionChecker, MotionCertifier, load_cell

CELL_FILE = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"
BOXES, LANES = 800, 16


@pytest.fixture(scope="module")
def checker():
    cell, state = load_cell(CELL_FILE)
    return CollisionChecker(cell, state, group="manipulator")


def test_verdicts_of_boxes_do_not_depend_on_earlier_boxes(checker):
    random = np.random.default_rng(0)
    middles = checker.default + random.uniform(-2.0, 2.0, (BOXES, len(checker.default)))
    deviations = np.full_like(middles, 0.02)
    used = MotionCertifier(checker).check_boxes(middles, deviations)
    fresh = [
        MotionCertifier(checker).check_boxes(middles[row : row + LANES], deviations[row : row + LANES])
        for row in range(0, BOXES, LANES)
    ]
    assert used.tobytes() == np.concatenate(fresh).tobytes()


def test_the_number_of_states_does_not_depend_on_earlier_boxes(checker):
    random = np.random.default_rng(0)
    dof = len(checker.default)
    used = MotionCertifier(checker)
    for _ in range(100):
        path = checker.default + random.uniform(-1.5, 1.5, (8, dof))
        used.check_boxes(checker.default + random.uniform(-2.0, 2.0, (64, dof)), np.full((64, dof), 0.02))
        before, fresh = used.states, MotionCertifier(checker)
        assert (used.motions_free(path) == fresh.motions_free(path)).all()
        assert used.states - before == fresh.states


def test_the_default_configuration_cannot_be_edited(checker):
    before = checker.distance().distance
    with pytest.raises(ValueError, match="read-only"):
        checker.default[1] += 0.4
    assert checker.distance().distance == before
