"""Goals that one joint cannot reach past an obstacle are refused by name, without a search."""

import numpy as np
import pytest
from collision_cells import at, body, box, make_cell, mechanism, place
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotConnectedError
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.planning.joint_space import goals
from robot_cell_planner.planning.joint_space.barriers import barrier_between
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
STATES = 5_000


def carriage(obstacle_y):
    """An arm of 0.6 m along y that turns about z, on a carriage of 0.2 m that moves along x; and a post at x = 0.5."""
    links = {"base": [], "carriage": [box(0.2, 0.2, 0.2)], "arm": [box(0.05, 0.6, 0.05, at(0.0, 0.3, 0.2))]}
    joints = [
        ("rail", JointKind.PRISMATIC, "base", "carriage", at(0.0), X),
        ("turn", JointKind.REVOLUTE, "carriage", "arm", at(0.0), Z),
    ]
    group = PlanningGroup("g", ("rail", "turn"), base_link="base", tip_link="arm")
    robot = Robot("cart", mechanism("cart", links, joints), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("post", box(0.1, 0.1, 1.0)),))
    return cell, place(cell.default_state(), "post", at(0.5, obstacle_y))


def planned(cell, state, *values):
    joint_goals = tuple({"rail": rail, "turn": turn} for rail, turn in values)
    options = PlanningOptions(state_limit=STATES)
    return plan_motion(cell, state, MotionRequest(Goals(joint_goals), group="g", options=options, timing=None))


def test_a_goal_behind_an_obstacle_of_the_carriage_is_refused():
    with pytest.raises(NotConnectedError, match=r"carriage and post collide at rail = 0[.]\d+ for any") as caught:
        planned(*carriage(0.0), (0.9, 0.3))
    assert "rail cannot move from 0 to 0.9" in caught.value.message
    assert "plan with a group" in caught.value.remedy
    assert caught.value.subjects == ("carriage", "post", "rail")
    assert caught.value.partial.states_checked < STATES / 2


def test_the_failure_of_several_goals_behind_an_obstacle_reports_the_search():
    with pytest.raises(NotConnectedError, match="no path exists: carriage and post collide") as caught:
        planned(*carriage(0.0), (0.9, 0.3), (0.95, 0.4))
    failure = caught.value.partial
    assert failure.start_tree_size > 0
    assert failure.goal_tree_size > 0
    assert 0.0 < failure.nearest_approach < 1.0


def test_a_target_of_which_solutions_may_be_missing_is_not_refused_by_a_barrier(monkeypatch):
    """Another solution may be on this side, also if the search for further ones has ended."""
    monkeypatch.setattr(goals, "MAX_ROUNDS", 0)
    cell, state = carriage(0.0)
    target = FrameTarget(pose=Pose.from_rpy((0.9, 0.0, 0.0), (0.0, 0.0, 0.3)), mode=TargetMode.ROBOT)
    options = PlanningOptions(state_limit=STATES)
    with pytest.raises(NotConnectedError, match="were not connected within the limit"):
        plan_motion(cell, state, MotionRequest(Goals(targets=(target,)), group="g", options=options, timing=None))


def test_a_goal_on_this_side_is_reached():
    plan = planned(*carriage(0.0), (0.9, 0.3), (0.1, 0.4))
    assert plan.goal == 1


def test_an_obstacle_that_the_arm_can_pass_is_no_barrier():
    plan = planned(*carriage(0.4), (0.9, 0.0))
    assert plan.path[-1].tolist() == [0.9, 0.0]


@pytest.mark.parametrize(("start", "goal", "found"), [(0.0, 0.9, True), (0.9, 0.0, True), (0.0, 0.3, False)])
def test_barriers_are_between_start_and_goal(start, goal, found):
    cell, state = carriage(0.0)
    checker = CollisionChecker(cell, state, ("rail", "turn"))
    barrier = barrier_between(checker, np.array([start, 0.0]), np.array([goal, 1.0]))
    assert (barrier is not None) is found
    if barrier is not None:
        assert abs(barrier.value - 0.5) < 0.15 + 1e-6
