"""Every planner of the library solves an easy problem reproducibly, and obeys its limits and cancellation. A planner
is one class and one line in the registry."""

from pathlib import Path

import numpy as np
import pytest
from planning_cells import is_free, wall_with_gap

from robot_cell_planner.errors import (
    CancelledError,
    InvalidRequestError,
    NotConnectedError,
    NotSupportedError,
    UnknownNameError,
)
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.planner_info import PlannerInfo
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.search import registry
from robot_cell_planner.planning.search.fallback import Attempt, FallbackPlanner
from robot_cell_planner.planning.search.installed_planners import Planners
from robot_cell_planner.planning.search.planner import Budget, SearchResult
from robot_cell_planner.planning.search.registry import PLANNERS

OMPL = sorted(name for name, planner in PLANNERS.items() if planner.info.library == "ompl")
DOCUMENTATION = Path(__file__).parents[3] / "docs/planning.md"
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
def test_a_search_can_be_cancelled(planner):
    cancellation_checks = []

    def cancelled():
        cancellation_checks.append(1)
        return len(cancellation_checks) > 200

    with pytest.raises(CancelledError):
        plan(planner, gap=0.08, cancelled=cancelled)
    assert len(cancellation_checks) == 201


@pytest.mark.parametrize("planner", [name for name in OMPL if PLANNERS[name].info.improves])
def test_more_states_do_not_lengthen_paths(planner):
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
    for parameter in PLANNERS[planner].info.parameters:
        other = not parameter.default if parameter.type == "bool" else parameter.default
        settings = PLANNERS[planner].info.settings({parameter.name: str(other).lower()})
        assert settings[parameter.setter] == other


@pytest.mark.parametrize("digits", [30, 400, 5000])
def test_a_whole_number_beyond_all_floats_is_refused(digits):
    with pytest.raises(InvalidRequestError, match=r"samples_per_batch is '?9+'?, expected "):
        plan("BITstar", planner_parameters={"samples_per_batch": "9" * digits})


@pytest.fixture
def add(monkeypatch):
    """Adds a planner for one test."""

    def added(planner):
        monkeypatch.setattr(registry, "PLANNERS", Planners(tuple(registry.PLANNERS.values())))
        registry.register_planner(planner)

    return added


@pytest.fixture
def one_stop(add):
    """The planner of the example in the documentation."""
    section = DOCUMENTATION.read_text().partition("## Add a planner")[2]
    names = {}
    exec(section.partition("```python\n")[2].partition("```")[0], names)
    add(names["OneStop"]())


class TestAnAddedPlanner:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_it_plans(self, one_stop, seed):
        first, second = plan("OneStop", seed=seed), plan("OneStop", seed=seed)
        assert first.planner == "OneStop"
        assert len(first.path) > 2
        assert all(is_free(q) for q in densify(first.path, 0.001)[0])
        assert first.path.tobytes() == second.path.tobytes()

    def test_its_parameters_are_accepted(self, one_stop):
        with pytest.raises(UnknownNameError, match="tries"):
            plan("OneStop", planner_parameters={"trie": "5"})
        with pytest.raises(NotConnectedError) as caught:
            plan("OneStop", gap=0.11, planner_parameters={"tries": "1"})
        assert caught.value.partial.states_checked < 100

    def test_it_keeps_the_limit_on_states(self, one_stop):
        with pytest.raises(NotConnectedError) as caught:
            plan("OneStop", gap=0.08, state_limit=2000)
        assert 2000 <= caught.value.partial.states_checked <= 2500

    def test_it_is_unknown_before(self):
        with pytest.raises(UnknownNameError, match="OneStop"):
            plan("OneStop")


class Recording:
    """Uses some states without finding a path, and records its budgets."""

    def __init__(self, name, uses):
        self.info = PlannerInfo(name, "test", "Finds nothing.")
        self.uses = uses
        self.budgets = []

    def solve(self, problem, budget):
        self.budgets.append(budget)
        if self.uses is None:
            raise NotSupportedError(f"{self.info.name} cannot")
        problem.checks.states += self.uses
        return SearchResult(None, self.uses)


class TestPlannersInTurn:
    def in_turn(self, add, *attempts):
        add(FallbackPlanner(PlannerInfo("Turns", "test", "Several."), attempts))

    def test_each_has_its_part_of_the_remaining_states(self, add):
        first, second = Recording("First", 600), Recording("Second", 100)
        self.in_turn(add, Attempt(first, 0.5), Attempt(second, 0.5, 50), Attempt(PLANNERS["RRTConnect"]))
        found = plan("Turns", state_limit=20_000)
        before = 20_000 - 2 * first.budgets[0].states  # checked before the search, one more where that is odd
        assert 0 <= before < 100
        assert second.budgets == [Budget(50)]
        assert found.planner == "RRTConnect"
        assert found.warnings == ("planner Second found no path with 100 states checked",)

    def test_a_planner_that_does_not_support_the_problem_is_skipped(self, add):
        self.in_turn(add, Attempt(Recording("First", None)), Attempt(PLANNERS["RRTConnect"]))
        found = plan("Turns")
        assert found.warnings == ("First cannot",)
        assert found.path.tobytes() == plan("RRTConnect").path.tobytes()

    def test_if_all_are_skipped_the_last_reason_is_the_error(self, add):
        self.in_turn(add, Attempt(Recording("First", None)), Attempt(Recording("Second", None)))
        with pytest.raises(NotSupportedError, match="Second cannot"):
            plan("Turns")

    def test_it_ends_when_all_states_are_used(self, add):
        last = Recording("Last", 0)
        self.in_turn(add, Attempt(Recording("First", 5000)), Attempt(last))
        with pytest.raises(NotConnectedError):
            plan("Turns", state_limit=5000)
        assert not last.budgets


def test_a_budget_is_a_value():
    whole = Budget(101, improvement=7)
    assert whole.part(0.25) == Budget(25, 7)
    assert whole.part(0.25, max_states=10) == Budget(10, 7)
    assert Budget(2).part(0.25) == Budget(1)
    assert whole.without(100) == Budget(1, 7)
    assert not whole.without(100).exhausted
    assert whole.without(101).exhausted
