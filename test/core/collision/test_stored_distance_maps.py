"""Stored distance maps are used again if they hold in some cells."""

import numpy as np
from sources import ROOT

from robot_cell_planner.collision.certification.distance_maps import distance_maps, link_pairs
from robot_cell_planner.collision.certification.distance_search import DistanceSearch
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.cell_file.cell_file import load_cell


def test_a_stored_map_is_confirmed_unless_it_was_changed():
    """Bounds of single cells may be below those of the blocks that were stored."""
    checker = CollisionChecker(*load_cell(ROOT / "config/demo/cell.yaml"), group="")
    model = motion_model(checker)
    maps = {(found.objects, found.joints): found.bounds for found in distance_maps(checker)}
    assert len(maps) == 3
    for pair in link_pairs(model):
        search, bounds = DistanceSearch(checker, model, pair), maps[pair.objects, pair.joints]
        assert search.confirms(bounds)
        assert not search.confirms(np.where(bounds > 0.0, bounds + 0.02, bounds))
