"""Further fields of requests: regions, waypoint hints, start corrections, objectives, steps."""

import math
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from planning_cells import gantry, is_free, wall_with_gap

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import (
    GoalInCollisionError,
    InvalidRequestError,
    LimitExceededError,
    MPNoIKSolutionError,
    MPStartStateInCollisionError,
    NotConnectedError,
    StartBeyondLimitsError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.objective import Objective
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.request import GoalRegion, Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.scene.state_changes import Attach, Detach, SetHidden

FAR = {"x": 0.8, "y": 0.0}


def to(values, **options):
    return MotionRequest(Goals(joint_goals=(values,)), options=PlanningOptions(**options), timing=None)


def target(cell, state, frame):
    return FrameTarget(pose=world_pose(cell, state, frame), mode=TargetMode.TOOL)


# Regions ------------------------------------------------------------------------------------------------------------


def test_a_region_is_reached_somewhere_within(demo):
    cell, state = demo
    region = GoalRegion(target(cell, state, "above_pick"), (0.03, 0.05, 0.0), (0.0, 0.0, math.inf))
    ends = []
    for seed in range(3):
        request = MotionRequest(Goals(regions=(region,)), options=PlanningOptions(seed=seed), timing=None)
        plan = plan_motion(cell, state, request)
        end = state.with_configuration(plan.end_configuration())
        offset = world_pose(cell, state, "above_pick").inverse() @ world_pose(cell, end, "gripper/tcp")
        assert (np.abs(offset.position) <= np.array([0.03, 0.05, 0.0]) + 2e-6).all()
        assert abs(offset.quaternion[0]) < 1e-6
        assert abs(offset.quaternion[1]) < 1e-6
        ends.append(plan.path[-1].tobytes())
    assert len(set(ends)) > 1


def test_a_region_around_an_obstacle_is_reached_where_it_is_free(demo):
    cell, state = demo
    inside = FrameTarget(pose=Pose((0.6, -0.42, 0.66), (1.0, 0.0, 0.0, 0.0)), mode=TargetMode.TOOL)
    with pytest.raises(GoalInCollisionError):
        plan_motion(cell, state, MotionRequest(Goals(targets=(inside,))))
    region = GoalRegion(inside, (0.0, 0.0, 0.25))
    plan = plan_motion(cell, state, MotionRequest(Goals(regions=(region,)), timing=None))
    assert not CollisionChecker(cell, state, plan.variables).in_collision(plan.path[-1])


@pytest.mark.parametrize("extent", [(-0.1, 0.0, 0.0), (math.nan, 0.0, 0.0), (0.1, 0.1)])
def test_malformed_regions_are_refused(extent):
    with pytest.raises(InvalidRequestError):
        GoalRegion(FrameTarget(pose=Pose()), extent)


# Suggestions --------------------------------------------------------------------------------------------------------


def test_a_suggested_path_is_taken():
    cell, state = wall_with_gap()
    suggestions = ({"x": -0.12, "y": 0.65}, {"x": 0.12, "y": 0.65})
    checked = {True: [], False: []}
    for seed in range(7):  # one search alone may be lucky
        for suggested in (True, False):
            request = MotionRequest(
                Goals(joint_goals=(FAR,)),
                waypoint_suggestions=suggestions if suggested else (),
                timing=None,
                options=PlanningOptions(seed=seed),
            )
            plan = plan_motion(cell, state, request)
            assert all(is_free(q) for q in densify(plan.path, 0.001)[0])
            assert "search" in {entry.stage for entry in plan.times}
            checked[suggested].append(plan.states_checked)
    assert median(checked[True]) < median(checked[False])


def test_useless_suggestions_are_ignored():
    cell, state = wall_with_gap()
    suggestions = ({"x": 0.0, "y": -0.5}, {"x": -0.9, "y": -0.9})
    request = MotionRequest(Goals(joint_goals=(FAR,)), waypoint_suggestions=suggestions, timing=None)
    assert plan_motion(cell, state, request).path[-1].tolist() == [0.8, 0.0]


def test_suggestions_are_checked():
    cell, state = wall_with_gap()
    with pytest.raises(UnknownNameError, match="waypoint suggestion 0"):
        plan_motion(cell, state, MotionRequest(Goals(joint_goals=(FAR,)), waypoint_suggestions=({"z": 1.0},)))
    with pytest.raises(InvalidRequestError):
        MotionRequest(Goals(joint_goals=(FAR,)), waypoint_suggestions=({"x": math.inf},))
    with pytest.raises(LimitExceededError):
        MotionRequest(Goals(joint_goals=(FAR,)), waypoint_suggestions=({},) * 1001)


# A way out of a collision -------------------------------------------------------------------------------------------


def test_a_start_in_collision_is_left_only_on_request():
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": -0.095})  # 5 mm deep in the wall
    with pytest.raises(MPStartStateInCollisionError):
        plan_motion(cell, state, to(FAR))
    plan = plan_motion(
        cell, state, MotionRequest(Goals(joint_goals=(FAR,)), options=PlanningOptions(max_start_correction=0.02))
    )
    assert plan.start_correction_waypoints == 1
    assert plan.path[0].tolist() == [-0.095, 0.0]
    assert np.abs(plan.path[1] - plan.path[0]).max() <= 0.02
    assert all(is_free(q) for q in densify(plan.path[1:], 0.001)[0])
    assert plan.trajectory.positions[0].tolist() == [-0.095, 0.0]
    assert plan.clearance.closest.distance < 0.0


def test_a_start_correction_is_bounded():
    cell, state = wall_with_gap()
    with pytest.raises(MPStartStateInCollisionError, match=r"no start correction was found within 0\.02"):
        plan_motion(cell, state.with_configuration({"x": -0.05}), to(FAR, max_start_correction=0.02))


def test_a_start_correction_does_not_collide_with_other_objects():
    walls = (("thin", (0.0, 0.0), (0.1, 0.1)), ("sheet", (-0.1035, 0.0), (0.001, 2.0)))
    cell, state = gantry(walls)
    # The cube touches only the block; the sheet is 3 mm behind the cube.
    state = state.with_configuration({"x": -0.0495, "y": 0.0})
    pairs = {(pair.first, pair.second) for pair in CollisionChecker(cell, state).report(np.array([-0.0495, 0.0])).pairs}
    assert pairs
    try:
        plan = plan_motion(cell, state, to({"x": 0.8}, max_start_correction=0.3))
    except (MPStartStateInCollisionError, NotConnectedError):
        return
    way = densify(plan.path[:2], 0.001)[0]
    checker = CollisionChecker(cell, state)
    for q in way:
        assert {(pair.first, pair.second) for pair in checker.report(q).pairs} <= pairs


def test_a_start_beyond_limits_is_brought_back_on_request():
    cell, state = wall_with_gap()
    state = state.with_configuration({"y": 1.004})
    with pytest.raises(StartBeyondLimitsError):
        plan_motion(cell, state, to({"x": -0.5}))
    plan = plan_motion(
        cell,
        state,
        MotionRequest(Goals(joint_goals=({"x": -0.5, "y": 0.5},)), options=PlanningOptions(max_start_correction=0.01)),
    )
    assert plan.path[0].tolist() == [-0.8, 1.004]
    assert (plan.path[1:] <= 1.0).all()
    with pytest.raises(StartBeyondLimitsError):
        plan_motion(cell, state, to({"x": -0.5}, max_start_correction=0.001))


# Objectives ---------------------------------------------------------------------------------------------------------


def test_clearance_is_increased_on_request():
    cell, state = gantry((("post", (0.0, 0.0), (0.2, 0.2)),))
    state = state.with_configuration({"x": -0.8, "y": 0.0})
    near = plan_motion(cell, state, to({"x": 0.8}, seed=1))
    wide = plan_motion(cell, state, to({"x": 0.8}, seed=1, objective=Objective.CLEARANCE, improvement_states=20_000))
    assert wide.clearance.closest.distance > near.clearance.closest.distance + 0.03
    assert wide.path_length > near.path_length


def test_optimization_counts_states_and_repeats():
    cell, state = wall_with_gap()
    plain = {"planner": "RRTConnect", "simplify": False, "tighten": False, "seed": 2}
    first = plan_motion(cell, state, to(FAR, **plain))
    costs = [first.path_length]
    for states in (2_000, 20_000):
        plans = [plan_motion(cell, state, to(FAR, improvement_states=states, **plain)) for _ in range(2)]
        assert plan_to_json(plans[0], repeatable=True) == plan_to_json(plans[1], repeatable=True)
        costs.append(plans[0].path_length)
    assert costs[0] > costs[1] >= costs[2]
    assert costs[2] <= 1.02 * (2 * np.hypot(0.7, 0.55) + 0.2)


@pytest.mark.parametrize("seed", range(5))
def test_optimized_paths_are_close_to_the_shortest(seed):
    """For any seed; motions that collide between steps, and would be corrected later, are not accepted."""
    cell, state = wall_with_gap()
    options = {"planner": "RRTConnect", "simplify": False, "tighten": False, "seed": seed}
    plan = plan_motion(cell, state, to(FAR, improvement_states=20_000, **options))
    assert plan.path_length <= 1.02 * (2 * np.hypot(0.7, 0.55) + 0.2)


def test_the_path_of_the_tool_can_be_minimized(demo):
    cell, state = demo
    start = state.with_configuration({"shoulder_pan_joint": -0.6, "shoulder_lift_joint": -1.2, "elbow_joint": 1.9})
    goal = {**start.configuration, "shoulder_pan_joint": 0.9}
    joints = plan_motion(cell, start, to(goal, seed=3))
    tool = plan_motion(cell, start, to(goal, seed=3, objective=Objective.CARTESIAN_LENGTH, improvement_states=30_000))
    assert tool.tool_path_length < joints.tool_path_length


# Steps --------------------------------------------------------------------------------------------------------------


def test_reach_grip_carry_and_release_are_one_request(demo):
    cell, state = demo
    above, down = target(cell, state, "above_pick"), target(cell, state, "pick")
    steps = (
        MotionStep(Goals(targets=(above,)), "reach"),
        MotionStep(Goals(targets=(down,)), "down"),
        MotionStep(Goals(targets=(above,)), "lift", (Attach("workpiece", "gripper", touch_bodies=("table",)),)),
        MotionStep(Goals(joint_goals=({"shoulder_pan_joint": 0.9},)), "carry"),
        MotionStep(Goals(named_states=("home",)), "leave", (Detach("workpiece"),)),
    )
    plans = plan_multistep(cell, state, MultistepRequest(steps, PlanningOptions(seed=2)))
    again = plan_multistep(cell, state, MultistepRequest(steps, PlanningOptions(seed=2)))
    assert [plan_to_json(plan, repeatable=True) for plan in plans] == [
        plan_to_json(plan, repeatable=True) for plan in again
    ]
    for before, after in pairwise(plans):
        assert before.path[-1].tolist() == after.path[0].tolist()
    # The attached object is checked, and the released one stays.
    assert plans[3].start_state_digest != plans[2].start_state_digest
    assert sum(plan.states_checked for plan in plans) > 0


def test_the_goal_of_a_step_depends_on_the_later_steps():
    cell, state = wall_with_gap()
    near_but_wrong, far_but_right = {"x": -0.9, "y": 0.0}, {"x": -0.7, "y": 0.6}
    later = MotionStep(Goals(joint_goals=({"x": -0.65, "y": 0.9},)))
    first = MotionStep(Goals(joint_goals=(near_but_wrong, far_but_right)))
    alone = plan_motion(cell, state, MotionRequest(first.goals, timing=None))
    assert alone.goal == 0
    plans = plan_multistep(cell, state, MultistepRequest((first, later), timing=None))
    assert plans[0].goal == 1
    assert sum(plan.path_length for plan in plans) < 0.1 + np.hypot(0.25, 0.9)


def test_another_goal_is_chosen_if_a_motion_is_not_found():
    # The nearer goal is behind the wall; with the gap closed there is no path to it.
    cell, state = wall_with_gap()
    cell_closed, closed = wall_with_gap(gap=0.08)
    goals = Goals(joint_goals=({"x": 0.12, "y": 0.0}, {"x": -0.8, "y": -0.95}))
    steps = (MotionStep(goals),)
    options = PlanningOptions(state_limit=30_000)
    plans = plan_multistep(cell_closed, closed, MultistepRequest(steps, options, timing=None))
    assert plans[0].goal == 1
    open_plans = plan_multistep(cell, state, MultistepRequest(steps, options, timing=None))
    assert open_plans[0].goal == 0


def test_changes_between_steps_can_open_a_path():
    cell, state = wall_with_gap()
    straight = {"x": 0.8, "y": 0.0}
    steps = (MotionStep(Goals(joint_goals=(straight,)), changes=(SetHidden("below", True),)),)
    plans = plan_multistep(cell, state, MultistepRequest(steps, timing=None))
    assert len(plans[0].path) == 2


def test_a_failed_step_is_named_with_the_plans_before_it(demo):
    cell, state = demo
    away = FrameTarget(pose=Pose((4.0, 0.0, 0.0)), mode=TargetMode.TOOL)
    steps = (MotionStep(Goals(named_states=("home",)), "home"), MotionStep(Goals(targets=(away,)), "away"))
    with pytest.raises(MPNoIKSolutionError, match=r"step away: .*out of reach") as caught:
        plan_multistep(cell, state, MultistepRequest(steps))
    assert caught.value.subjects[0] == "away"
    assert caught.value.partial.failed_step == 1
    closed_cell, closed = wall_with_gap(gap=0.08)
    steps = (MotionStep(Goals(joint_goals=({"y": 0.3},))), MotionStep(Goals(joint_goals=(FAR,))))
    with pytest.raises(NotConnectedError, match="step 1") as caught:
        plan_multistep(closed_cell, closed, MultistepRequest(steps, PlanningOptions(state_limit=5000), timing=None))
    assert caught.value.partial.failed_step == 1
    assert len(caught.value.partial.plans) == 1
    assert caught.value.partial.failure.start_tree_size > 1


def test_requests_without_steps_or_with_too_many_are_refused():
    with pytest.raises(InvalidRequestError):
        MultistepRequest(())
    with pytest.raises(LimitExceededError):
        MultistepRequest((MotionStep(Goals(joint_goals=({},))),) * 101)
