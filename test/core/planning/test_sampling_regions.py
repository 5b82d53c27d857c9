"""Sampling regions: boxes around start and goals from which samples are drawn in turn."""

import gc
import math
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_cells import wall_with_gap

from robot_cell_planner.errors import NotConnectedError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.subspace import Subspace
from robot_cell_planner.planning.search import ompl_search
from robot_cell_planner.planning.search._kernels.search_kernels import REGION_SIZES
from robot_cell_planner.planning.search.ompl_search import SearchMode
from robot_cell_planner.planning.search.ompl_space import SearchSpace
from robot_cell_planner.planning.search.registry import PLANNERS
from robot_cell_planner.planning.search.sampling_regions import sampling_regions

GOALS = Goals(joint_goals=({"x": 0.8, "y": 0.0}, {"x": 0.8, "y": 0.5}))
ENDS = np.array(((-0.8, 0.0), (0.8, 0.0), (0.8, 0.5)))
OMPL = sorted(name for name, planner in PLANNERS.items() if planner.info.library == "ompl")


def attempts(size, widest):
    """All of a joint space with limits to both sides."""
    limit = np.full(size, widest)
    return Subspace(np.zeros(size), np.eye(size), -limit, limit, True)


def diagonal(widest):
    """Configurations of two joints that are equal."""
    limit = np.full(2, widest)
    return Subspace(np.zeros(2), np.full((2, 1), math.sqrt(0.5)), -limit, limit, False)


@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=5), st.sampled_from((attempts(1, 3.0), diagonal(3.0))))
def test_regions_contain_the_ends_and_grow_to_the_whole_space(values, space):
    endpoints = np.repeat(np.array(values)[:, None], len(space.q_lower), axis=1)
    found = sampling_regions(space, endpoints)
    z = space.to_reduced(endpoints)
    assert (found[:, 0, None] <= z).all()
    assert (found[:, 1, None] >= z).all()
    assert (np.diff(found[:, 0], axis=0) <= 0.0).all()
    assert (np.diff(found[:, 1], axis=0) >= 0.0).all()
    assert found[-1].tolist() == [space.lower.tolist(), space.upper.tolist()]
    assert (found[0, 1] - found[0, 0] <= np.ptp(z, axis=0) + 2.0 * REGION_SIZES[0] + 1e-12).all()


@given(st.lists(st.floats(-6.0, 6.0), min_size=2, max_size=4))
def test_the_third_region_is_a_turn_wide_at_least(values):
    space = attempts(1, 6.28)
    low, high = sampling_regions(space, np.array(values)[:, None])[2, :, 0]
    middle = 0.5 * (min(values) + max(values))
    assert low <= max(middle - math.pi, -6.28)
    assert high >= min(middle + math.pi, 6.28)
    assert high - low <= max(2.0 * math.pi, max(values) - min(values) + 2.0 * REGION_SIZES[1]) + 1e-12


def test_samples_fill_the_bounds_that_were_set_last():
    space = SearchSpace(attempts(3, 2.0))
    sampler = space.information.allocStateSampler()
    state = space.state(np.zeros(3))
    for lower, upper in ((-0.5, 0.25), (-2.0, 2.0), (1.0, 1.5)):
        space.bound(np.full(3, lower), np.full(3, upper))
        drawn = []
        for _ in range(400):
            sampler.sampleUniform(state)
            drawn.append(space.coordinates.configuration(state))
        drawn = np.array(drawn)
        assert drawn.min() >= lower
        assert drawn.max() <= upper
        assert (np.ptp(drawn, axis=0) > 0.95 * (upper - lower)).all()


@pytest.mark.parametrize("planner", OMPL)
def test_planners_that_end_at_their_first_path_sample_regions_in_turn(planner, monkeypatch):
    bounds = []
    plain = SearchSpace.bound

    def bound(space, lower, upper):
        bounds.append((lower.tolist(), upper.tolist()))
        plain(space, lower, upper)

    monkeypatch.setattr(SearchSpace, "bound", bound)
    cell, state = wall_with_gap(0.08)
    options = PlanningOptions(planner=planner, seed=3, state_limit=20_000)
    with pytest.raises(NotConnectedError):
        plan_motion(cell, state, MotionRequest(GOALS, options=options, timing=None))
    everything = ([-1.0, -1.0], [1.0, 1.0])
    assert bounds.pop(0) == everything
    if PLANNERS[planner].mode is not SearchMode.TREE:
        assert not bounds
        return
    sizes = (*REGION_SIZES, math.inf, math.inf)  # a turn is more than these limits allow
    assert len(bounds) >= len(sizes)
    for number, (lower, upper) in enumerate(bounds):
        size = sizes[number % len(sizes)]
        assert lower == np.maximum(ENDS.min(axis=0) - size, -1.0).tolist()
        assert upper == np.minimum(ENDS.max(axis=0) + size, 1.0).tolist()


@pytest.mark.parametrize("planner", OMPL)
def test_memory_of_a_search_is_freed(planner, monkeypatch):
    """OMPL references our validity checks, which do not reference OMPL's space in return."""
    made = []
    plain = ompl_search._Termination.__init__

    def init(termination, *arguments):
        made.append(weakref.ref(termination))
        plain(termination, *arguments)

    monkeypatch.setattr(ompl_search._Termination, "__init__", init)
    cell, state = wall_with_gap()
    plan_motion(cell, state, MotionRequest(GOALS, options=PlanningOptions(planner=planner, seed=3), timing=None))
    gc.collect()
    assert made
    assert all(termination() is None for termination in made)
