"""A search is between configurations that its planner accepts, and its path has the ends of the request."""

from dataclasses import replace

import numpy as np
import pytest
from planning_cells import gantry, planar_base, wall_with_gap

from robot_cell_planner.errors import ConstraintMismatchError, InternalError, JointLimitError, NotConnectedError
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.goals import GoalSet
from robot_cell_planner.planning.joint_space.path_search import PathSearch
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.problem.constraints import JointCombination
from robot_cell_planner.planning.problem.context import create_context
from robot_cell_planner.planning.problem.planner_info import PlannerInfo
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import GoalRegion, Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.search import ompl_search, registry
from robot_cell_planner.planning.search.planner import Budget, SearchProblem, SearchResult
from robot_cell_planner.planning.search.registry import PLANNERS

OMPL = sorted(name for name, planner in PLANNERS.items() if planner.info.library == "ompl")
MODES = ["RRTConnect", "RRTstar", "FMT", "PRM"]  # one planner of each search mode
WALL = ("wall", (3.0, 0.0), (0.2, 2.0))


@pytest.fixture(autouse=True)
def no_hang(monkeypatch):
    """Fails if OMPL is called without a valid goal, since it would wait for one forever."""
    original = ompl_search._Search.run

    def run(search):
        information = search.space.information
        goals = [search.space.state(goal) for goal in search.ends.goals]
        assert any(information.satisfiesBounds(goal) and information.isValid(goal) for goal in goals)
        return original(search)

    monkeypatch.setattr(ompl_search._Search, "run", run)


def context_of(cell, state, *constraints):
    return create_context(cell, state, "", (), PlanningOptions(), ProgressMonitor(), constraints=constraints)


def searched(context, planner, *goals, more_goals=None):
    """Search between the start of a context and the given goals."""
    problem = SearchProblem(
        subspace=context.subspace,
        checks=context.checks,
        local_planner=context.local_planner(0.05),
        start=context.space.start,
        goals=[np.array(goal) for goal in goals],
        step=0.05,
        seed=0,
        parameters=PLANNERS[planner].info.settings({}),
        more_goals=more_goals,
    )
    return PLANNERS[planner].solve(problem, Budget(20_000))


class TestInvalidEnds:
    @pytest.mark.parametrize("planner", OMPL)
    def test_a_search_without_a_valid_goal_ends_at_once_with_the_reason(self, planner):
        found = searched(context_of(*wall_with_gap()), planner, (1.5, 0.0), (0.0, 0.0))
        assert found.path is None
        assert "all 2 goal configurations" in found.invalid_ends
        assert found.states <= 3

    @pytest.mark.parametrize("planner", MODES)
    def test_invalid_goals_are_left_out(self, planner):
        found = searched(context_of(*wall_with_gap()), planner, (1.5, 0.0), (0.0, 0.0), (-0.5, -0.5))
        assert found.path[-1].tolist() == [-0.5, -0.5]

    @pytest.mark.parametrize("planner", MODES[:3])
    def test_further_goals_are_requested_until_one_is_valid(self, planner):
        further = [[np.array((-0.5, -0.5))], [np.array((0.0, 0.0)), np.array((1.5, 0.0))]]
        context = context_of(*wall_with_gap())
        found = searched(context, planner, (1.5, 0.0), more_goals=lambda: further.pop() if further else [])
        assert found.path[-1].tolist() == [-0.5, -0.5]

    @pytest.mark.parametrize("planner", OMPL)
    def test_a_search_from_an_invalid_start_ends_at_once_with_the_reason(self, planner):
        cell, state = wall_with_gap()
        found = searched(context_of(cell, state.with_configuration({"x": 0.0, "y": 0.0})), planner, (-0.5, -0.5))
        assert found.path is None
        assert "the start" in found.invalid_ends

    def test_the_error_of_a_request_gives_the_reason(self):
        cell, state = wall_with_gap()
        planner = PLANNERS["RRTConnect"]
        search = PathSearch(context_of(cell, state), PlanningOptions(), planner, planner.info.settings({}))
        for goal, reason in (((1.5, 0.0), "outside of its bounds"), ((0.0, 0.0), "in collision")):
            result = search.search(search.context.space.start, [np.array(goal)], 0.05, 0)
            assert result.path is None
            assert reason in result.invalid_ends


class TestCombinationsOfJoints:
    """The start deviates from x + y = 0 by less than the tolerance; the goal is at the limits x = 1, y = -1."""

    line = JointCombination({"x": 1.0, "y": 1.0})

    def cell(self, deviation, walls=()):
        cell, state = gantry(walls)
        return cell, state.with_configuration({"x": -0.5, "y": 0.5 + deviation})

    @pytest.mark.parametrize("planner", MODES)
    @pytest.mark.parametrize("deviation", [-5e-7, 5e-7])
    def test_a_goal_at_a_limit_is_searched_where_the_combination_holds_within_limits(self, planner, deviation):
        context = context_of(*self.cell(deviation), self.line)
        found = searched(context, planner, context.subspace.nearest(np.array((1.0, -1.0))))
        assert found.path[-1] == pytest.approx([1.0, -1.0], abs=1.1e-6)
        assert np.abs(found.path).max() <= 1.0 + 1e-9
        assert found.path.sum(axis=1) == pytest.approx(deviation, abs=1e-12)

    @pytest.mark.parametrize("planner", OMPL)
    @pytest.mark.parametrize("deviation", [-5e-7, 0.0, 5e-7])
    def test_the_limit_on_states_is_kept_where_there_is_no_path(self, planner, deviation):
        cell, state = self.cell(deviation, (("post", (0.3, -0.3), (0.1, 0.1)),))
        options = PlanningOptions(planner=planner, state_limit=1000)
        goals = Goals(joint_goals=({"x": 1.0, "y": -1.0},))
        request = MotionRequest(goals, constraints=(self.line,), timing=None, options=options)
        with pytest.raises(NotConnectedError, match="not connected within the limit"):
            plan_motion(cell, state, request)

    def test_a_goal_is_refused_if_the_configuration_that_is_searched_collides(self):
        """The goal beside the post is free, its projection onto the line is not."""
        cell, state = self.cell(0.0, (("post", (0.3, -0.2), (0.1, 0.1)),))
        goals = Goals(joint_goals=({"x": 0.15, "y": -0.29},))
        loose = JointCombination({"x": 1.0, "y": 1.0}, tolerance=0.2)
        request = MotionRequest(goals, constraints=(loose,), timing=None)
        with pytest.raises(ConstraintMismatchError, match=r"near joint goal 0 .* is in collision") as caught:
            plan_motion(cell, state, request)
        assert set(caught.value.subjects) == {"cube", "post"}

    def test_a_goal_beside_the_line_is_reached_exactly(self):
        """If the tolerance is large, an additional last motion reaches the goal."""
        cell, state = wall_with_gap()
        state = state.with_configuration({"x": -0.8, "y": 0.65})
        level = JointCombination({"y": 1.0}, tolerance=0.1)
        for planner in MODES:
            options = PlanningOptions(planner=planner)
            search = PathSearch(context_of(cell, state, level), options, PLANNERS[planner], {})
            search = replace(search, parameters=PLANNERS[planner].info.settings({}))
            path = search.search(search.context.space.start, [np.array((0.8, 0.7))], 0.05, 0).path
            assert path[-1].tolist() == [0.8, 0.7]
            assert path[-2].tolist() == pytest.approx([0.8, 0.65], abs=1e-9)


class TestUnlimitedLinearJoints:
    def request(self, goals, **options):
        return MotionRequest(goals, timing=None, options=PlanningOptions(**options))

    @pytest.mark.parametrize("planner", ["Automatic", "RRTConnect", "KPIECE1"])
    @pytest.mark.parametrize("x", [5.0, 7.0, 20.0])
    def test_goals_far_away_are_searched(self, planner, x):
        cell, state = planar_base((WALL,))
        plan = plan_motion(cell, state, self.request(Goals(joint_goals=({"drive/x": x},)), planner=planner))
        assert plan.path[0].tolist() == [0.0, 0.0, 0.0]
        assert plan.path[-1, :2].tolist() == [x, 0.0]
        assert len(plan.path) > 2
        assert verify_plan(cell, state, plan).valid

    @pytest.mark.parametrize("x", [3.0, 7.0, -40.0])
    @pytest.mark.parametrize("walls", [(), (WALL,)])
    def test_targets_far_away_are_reached(self, x, walls):
        cell, state = planar_base(walls)
        target = FrameTarget(pose=Pose((x, 1.5, 0.0)))
        for goals in (Goals(targets=(target,)), Goals(regions=(GoalRegion(target, (0.1, 0.1, 0.0)),))):
            plan = plan_motion(cell, state, self.request(goals))
            assert plan.path[-1, :2] == pytest.approx([x, 1.5], abs=0.1001)

    def test_hints_far_away_are_not_clipped(self):
        cell, state = planar_base((WALL,))
        request = self.request(Goals(joint_goals=({"drive/x": 5.0},)))
        request = replace(request, waypoint_suggestions=({"drive/x": 3.0, "drive/y": -9.0},))
        plan = plan_motion(
            cell, state, replace(request, options=replace(request.options, simplify=False, tighten=False))
        )
        assert [3.0, -9.0] in plan.path[:, :2].tolist()

    def test_bounds_include_goals_with_a_margin(self):
        context = context_of(*planar_base())
        goals = GoalSet(context, Goals(joint_goals=({"drive/x": 20.0}, {"drive/y": -30.0})), 0)
        space, subspace = goals.context.space, goals.context.subspace
        assert (space.lower[:2] < [-1.0, -31.0]).all()
        assert (space.upper[:2] > [21.0, 1.0]).all()
        assert subspace.lower.tolist() == space.lower.tolist()
        assert subspace.upper.tolist() == space.upper.tolist()

    def test_limited_joints_keep_their_bounds(self):
        space = context_of(*wall_with_gap()).space
        assert space.including(np.array([[5.0, 5.0]])) is space


def test_a_goal_without_configurations_is_a_named_failure(monkeypatch):
    monkeypatch.setattr(GoalSet, "_configurations_of", lambda *_: [])
    with pytest.raises(JointLimitError, match="goal 0 has no configuration within the bounds") as caught:
        GoalSet(context_of(*wall_with_gap()), Goals(joint_goals=({"x": 0.8},)), 0)
    assert caught.value.partial.goals[0].goal == 0


class TestEndsOfPaths:
    @pytest.mark.parametrize("planner", ["PRM", "PRMstar"])
    def test_another_vertex_is_not_a_goal(self, planner, monkeypatch):
        """Without the vertex of the goal, there is no path to it."""
        original = ompl_search._Search._graph

        def without_goal(search, solver):
            vertices, edges, start = original(search, solver)
            moved = vertices.copy()
            moved[np.abs(vertices - search.ends.goals[0]).max(axis=1) < 1e-9] += 1e-3
            return moved, edges, start

        monkeypatch.setattr(ompl_search._Search, "_graph", without_goal)
        assert searched(context_of(*wall_with_gap()), planner, (-0.5, -0.5)).path is None

    @pytest.mark.parametrize(
        ("path", "what"),
        [
            ([[0.8, 0.0]], "begin at the start"),
            ([[-0.8, 0.0]], "end at a goal"),
            ([[-0.8, 0.0], [0.0, 0.65], [0.8, 1e-3]], "end at a goal"),
        ],
    )
    def test_a_path_with_other_ends_is_an_internal_error(self, path, what, monkeypatch):
        class Wrong:
            info = PlannerInfo("Wrong", "test", "Returns a path with other ends.")

            def solve(self, problem, budget):
                return SearchResult(np.array(path))

        monkeypatch.setattr(registry, "PLANNERS", {**PLANNERS, "Wrong": Wrong()})
        cell, state = wall_with_gap()
        request = MotionRequest(Goals(joint_goals=({"x": 0.8, "y": 0.0},)), options=PlanningOptions(planner="Wrong"))
        with pytest.raises(InternalError, match=what):
            plan_motion(cell, state, request)
