"""Two small robots: goals among a moving robot, one budget of states, and options that hold for each robot."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from planning_cells import planar_base, two_gantries, wall_with_gap

from robot_cell_planner.errors import BlockedByMovingRobotsError, NotSupportedError, UnknownNameError
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.planning.joint_space import among_moving, prioritised
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.problem.objective import Objective
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Coordination, Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.timing import TimingOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

# Walls around a pocket that robot b cannot enter.
POCKET = (
    ("north", (0.4, 0.2), (0.44, 0.04)),
    ("south", (0.4, -0.2), (0.44, 0.04)),
    ("west", (0.2, 0.0), (0.04, 0.44)),
    ("east", (0.6, 0.0), (0.04, 0.44)),
)
INSIDE = tuple({"bx": 0.4 + 0.02 * i, "by": 0.02 * j} for i in (-1, 0, 1) for j in (-1, 0, 1))
OUTSIDE = {"bx": -0.5, "by": 0.0}
REST = Trajectory(("ax", "ay"), np.zeros(1), np.array([[-0.8, 0.8]]))


class TestAmongMovingRobots:
    def request(self, *goals, states=20_000):
        return MotionRequest(Goals(joint_goals=goals), "b", options=PlanningOptions(state_limit=states), moving=(REST,))

    @pytest.mark.parametrize("count", [7, 8, 9])
    def test_a_goal_after_many_unreachable_ones_is_used(self, count):
        cell, state = two_gantries(POCKET)
        plan = plan_motion(cell, state, self.request(*INSIDE[:count], OUTSIDE))
        assert plan.path[-1].tolist() == [-0.5, 0.0]
        assert plan.goal == count
        assert verify_plan(cell, state, plan).valid

    @pytest.mark.parametrize("states", [2_000, 20_000])
    def test_all_searches_share_the_limit_on_states(self, states):
        """The limit is exceeded at most by the states of the last vertex."""
        cell, state = two_gantries(POCKET)
        with pytest.raises(BlockedByMovingRobotsError) as caught:
            plan_motion(cell, state, self.request(*INSIDE, states=states))
        checked = next(value for value in caught.value.values if value.name == "states checked")
        assert checked.limit == states
        assert checked.value == caught.value.partial.states_checked
        assert states <= checked.value <= states + 200

    def test_all_checks_are_counted(self, monkeypatch):
        made = []
        original = among_moving._Planner._context

        def context(planner, state):
            made.append(original(planner, state))
            return made[-1]

        monkeypatch.setattr(among_moving._Planner, "_context", context)
        cell, state = two_gantries(POCKET)
        plan = plan_motion(cell, state, self.request(OUTSIDE))
        assert plan.states_checked > sum(one.checks.states for one in made) > 0

    def test_goals_far_away_on_unlimited_joints_are_reached(self):
        cell, state = planar_base((("wall", (3.0, 0.0), (0.2, 2.0)),))
        other, _ = two_gantries()
        robots = {**cell.robots, "a": other.robots["a"]}
        both = RobotCell(robots=type(cell.robots)(robots), bodies=cell.bodies)
        start = both.default_state().with_body("wall", state.bodies["wall"])
        start = start.with_configuration({"ax": -0.8, "ay": 0.8})
        goals = Goals(joint_goals=({"drive/x": 20.0},))
        request = MotionRequest(goals, "base", moving=(REST,), waypoint_suggestions=({"drive/y": -30.0},))
        assert plan_motion(both, start, request).path[-1].tolist() == [20.0, 0.0, 0.0]
        planner = among_moving._Planner(both, start, request, ProgressMonitor())
        for space in (planner.space, planner.alone.space, planner.at_end.space):
            assert space.upper[0] > 21.0
            assert space.lower[1] < -31.0


class TestPrioritised:
    goals = Goals(joint_goals=({"ax": 0.8, "bx": -0.8},))

    def request(self, *suggestions, **options):
        options = PlanningOptions(**{"coordination": Coordination.PRIORITISED, **options})
        return MotionRequest(self.goals, "a+b", options=options, waypoint_suggestions=suggestions)

    def test_each_robot_has_its_part_of_suggestions(self, monkeypatch):
        requested = {}
        original = prioritised._in_order

        def in_order(cell, state, request, monitor, plan_one, parts, work):
            def noted(cell, state, request, monitor):
                requested[request.group] = request.waypoint_suggestions
                return plan_one(cell, state, request, monitor)

            return original(cell, state, request, monitor, noted, parts, work)

        monkeypatch.setattr(prioritised, "_in_order", in_order)
        suggestions = ({"ax": 0.1, "ay": 0.9, "by": -0.3}, {"bx": 0.1}, {"ay": 0.2})
        plan_motion(*two_gantries(), self.request(*suggestions))
        assert requested == {"a": ({"ax": 0.1, "ay": 0.9}, {"ay": 0.2}), "b": ({"by": -0.3}, {"bx": 0.1})}

    @pytest.mark.parametrize("coordination", list(Coordination))
    def test_names_of_suggestions_are_checked(self, coordination):
        with pytest.raises(UnknownNameError, match="joint 'cx' of waypoint suggestion 1"):
            plan_motion(*two_gantries(), self.request({"ax": 0.0}, {"cx": 0.0}, coordination=coordination))


class TestObjectives:
    """The robots have tip links, their composite group has none."""

    def warnings(self, cell, state, request, objective):
        options = replace(request.options, objective=objective)
        plan = plan_motion(cell, state, replace(request, options=options))
        return [text for text in plan.warnings if "no tip link" in text]

    @pytest.mark.parametrize("coordination", list(Coordination))
    def test_an_objective_that_is_replaced_is_a_warning(self, coordination):
        cell, state = two_gantries()
        goals = Goals(joint_goals=({"ax": 0.8, "bx": -0.8},))
        request = MotionRequest(goals, "a+b", options=PlanningOptions(coordination=coordination))
        found = self.warnings(cell, state, request, Objective.CARTESIAN_LENGTH)
        coupled = coordination is Coordination.COUPLED
        if coordination is not Coordination.FASTEST:
            assert [text.startswith("group a+b has no tip link") for text in found] == [True] * coupled
        assert not self.warnings(cell, state, request, Objective.JOINT_LENGTH)

    @pytest.mark.parametrize("coordination", [Coordination.PRIORITISED, Coordination.FASTEST])
    def test_a_coordination_among_moving_robots_is_refused(self, coordination):
        cell, state = two_gantries()
        request = MotionRequest(
            Goals(joint_goals=(OUTSIDE,)), "b", options=PlanningOptions(coordination=coordination), moving=(REST,)
        )
        with pytest.raises(NotSupportedError, match="a group of one robot"):
            plan_motion(cell, state, request)

    @pytest.mark.parametrize("coordination", list(Coordination))
    def test_velocities_of_zero_at_the_ends_are_none(self, coordination):
        cell, state = two_gantries()
        zero = TimingOptions(start_velocity={"ax": 0.0}, end_velocity={"by": 0.0})
        request = MotionRequest(
            Goals(joint_goals=({"ax": 0.2},)), "a+b", options=PlanningOptions(coordination=coordination)
        )
        plans = [plan_motion(cell, state, replace(request, timing=timing)) for timing in (TimingOptions(), zero)]
        assert plan_to_json(plans[0], repeatable=True) == plan_to_json(plans[1], repeatable=True)

    @pytest.mark.parametrize("moving", [(), (REST,)])
    def test_robots_without_a_tip_link_warn_with_and_without_moving_robots(self, moving):
        cell, state = without_tip_links(*two_gantries())
        request = MotionRequest(Goals(joint_goals=(OUTSIDE,)), "b", moving=moving)
        found = self.warnings(cell, state, request, Objective.CARTESIAN_LENGTH)
        assert len(found) == 1
        assert found[0].startswith("group b has no tip link")

    def test_every_robot_of_a_group_without_a_tip_link_warns(self):
        cell, state = without_tip_links(*two_gantries())
        options = PlanningOptions(coordination=Coordination.PRIORITISED)
        request = MotionRequest(Goals(joint_goals=({"ax": 0.8, "bx": -0.8},)), "a+b", options=options)
        found = self.warnings(cell, state, request, Objective.CARTESIAN_LENGTH)
        assert sorted(text.split(" has")[0] for text in found) == ["group a", "group b"]

    def test_a_group_with_a_tip_link_does_not_warn(self):
        cell, state = wall_with_gap()
        request = MotionRequest(Goals(joint_goals=({"x": -0.5},)))
        assert not self.warnings(cell, state, request, Objective.CARTESIAN_LENGTH)


def without_tip_links(cell, state):
    robots = {}
    for name, robot in cell.robots.items():
        groups = {key: msgspec.structs.replace(group, tip_link="") for key, group in robot.groups.items()}
        robots[name] = msgspec.structs.replace(robot, groups=type(robot.groups)(groups))
    return msgspec.structs.replace(cell, robots=type(cell.robots)(robots)), state
