"""Every planner of the library: it solves an easy problem, repeats, and keeps its limits and its cancel."""

import numpy as np
import pytest
from planning_cells import is_free, wall_with_gap

from robot_cell_planner.errors import CancelledError, NotConnectedError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.planners import PLANNERS
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

OMPL = sorted(name for name, planner in PLANNERS.items() if planner.library == "ompl")
# Two goals: some planners of OMPL have trouble with more than one.
GOALS = Goals(joint_goals=({"x": 0.8, "y": 0.0}, {"x": 0.8, "y": 0.5}))


def plan(planner, gap=0.3, cancelled=None, **options):
    cell, state = wall_with_gap(gap)
    request = MotionRequest(GOALS, options=PlanningOptions(planner=planner, **{"seed": 3, **options}), timing=None)
    return plan_motion(cell, state, request, cancelled=cancelled)


def test_the_binding_has_no_other_planners():
    from ompl import geometric

    offered = {name for name in dir(geometric) if hasattr(getattr(geometric, name), "solve") and name != "SimpleSetup"}
    assert offered == set(OMPL)


@pytest.mark.parametrize("planner", OMPL)
def test_an_easy_problem_is_solved_and_repeats(planner):
    first, second = plan(planner), plan(planner)
    assert first.path.tobytes() == second.path.tobytes()
    assert first.states_checked == second.states_checked
    assert all(is_free(q) for q in densify(first.path, 0.001)[0])
    assert first.path[-1].tolist() in ([0.8, 0.0], [0.8, 0.5])
    assert first.goal == [0.0, 0.5].index(first.path[-1][1])


@pytest.mark.parametrize("planner", OMPL)
def test_the_limit_on_states_is_kept(planner):
    with pytest.raises(NotConnectedError) as caught:
        plan(planner, gap=0.08, state_limit=3000)
    assert 3000 <= caught.value.partial.states_checked <= 3500


@pytest.mark.parametrize("planner", OMPL)
def test_a_cancellation_is_heard(planner):
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 200

    with pytest.raises(CancelledError):
        plan(planner, gap=0.08, cancelled=cancelled)
    assert len(asked) == 201


@pytest.mark.parametrize("planner", [name for name in OMPL if PLANNERS[name].improves])
def test_more_states_make_no_longer_paths(planner):
    plain = {"simplify": False, "tighten": False}
    first = plan(planner, **plain)
    improved = plan(planner, improvement_states=20_000, **plain)
    assert improved.path_length <= first.path_length
    assert improved.states_checked > first.states_checked


def test_parameters_reach_the_planner():
    short = plan("RRTConnect", planner_parameters={"range": "0.05"}, simplify=False, tighten=False)
    long = plan("RRTConnect", planner_parameters={"range": "1"}, simplify=False, tighten=False)
    assert np.linalg.norm(np.diff(short.path, axis=0), axis=1).max() <= 0.05 + 1e-9
    assert len(short.path) > len(long.path)


@pytest.mark.parametrize("planner", OMPL)
def test_every_parameter_can_be_set(planner):
    for parameter in PLANNERS[planner].parameters:
        other = not parameter.default if parameter.type == "bool" else parameter.default
        settings = PLANNERS[planner].settings({parameter.name: str(other).lower()})
        assert settings[parameter.setter] == other
