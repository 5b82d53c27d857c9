"""The gap of pairs that no variable moves is compared with all distances."""

from pathlib import Path

import pytest

from robot_cell_planner.collision.certification.fixed_gap import LARGEST, smallest_fixed_gap
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.cell_file.cell_file import load_cell

CELL_FILE = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"


@pytest.mark.parametrize("joints", [1, 2, 3, 6])
def test_it_is_the_smallest_of_all_pairs(joints):
    """With fewer joints as variables, more pairs are fixed."""
    cell, state = load_cell(CELL_FILE)
    checker = CollisionChecker(cell, state, cell.group().variables[-joints:])
    fixed = {frozenset(pair[:2]) for pair in motion_model(checker).fixed_pairs}
    gaps = [
        checker.geometry_distance(near.first, near.second) - near.margin
        for near in checker.near_geometries(checker.default, LARGEST)
        if frozenset(near.objects) in fixed
    ]
    assert bool(fixed) == (joints < 6)
    assert smallest_fixed_gap(checker) == pytest.approx(min([LARGEST, *gaps]), abs=2e-5)
    assert bool(gaps) == bool(fixed)
