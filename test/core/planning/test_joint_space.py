"""Plans in joint space reach a goal without collisions and are reproducible; errors report why there is no plan."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from folders import SUPPORT
from planning_cells import gantry, is_free, spinner, wall_with_gap

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import (
    CancelledError,
    GoalInCollisionError,
    InvalidRequestError,
    JointLimitError,
    MPNoIKSolutionError,
    MPStartStateInCollisionError,
    NotConnectedError,
    StartBeyondLimitsError,
    TargetModeMismatchError,
    TimedOutError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.finish import path_clearance
from robot_cell_planner.planning.path.processing import path_context
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.validation import validate


def to(values, **options):
    return MotionRequest(Goals(joint_goals=(values,)), options=PlanningOptions(**options))


FAR = {"x": 0.8, "y": 0.0}


@pytest.mark.parametrize("seed", range(4))
def test_a_path_through_the_gap_is_found_and_is_free(seed):
    cell, state = wall_with_gap()
    plan = plan_motion(cell, state, to(FAR, seed=seed))
    assert plan.path[0].tolist() == [-0.8, 0.0]
    assert plan.path[-1].tolist() == [0.8, 0.0]
    points, _ = densify(plan.path, 0.001)
    assert all(is_free(q) for q in points)
    # The shortest way touches the corner of the lower wall on both sides.
    shortest = 2 * np.hypot(0.7, 0.55) + 0.2
    assert shortest - 1e-3 <= plan.path_length <= 1.15 * shortest


def test_the_trajectory_obeys_limits_and_stays_free():
    cell, state = wall_with_gap()
    plan = plan_motion(cell, state, to(FAR))
    limits = MotionLimits.of([cell.variables[name] for name in plan.variables])
    assert validate(plan.trajectory, limits, start=state.configuration, find_all=True).valid
    assert all(is_free(q) for q in plan.trajectory.positions)
    assert not plan.trajectory.velocities[-1].any()
    assert plan.duration == plan.trajectory.times[-1]


def test_without_obstacles_the_motion_is_straight():
    cell, state = gantry()
    plan = plan_motion(cell, state, to({"x": 0.5, "y": -0.5}))
    assert plan.path.tolist() == [[0.0, 0.0], [0.5, -0.5]]
    assert plan.tool_path_length == pytest.approx(np.hypot(0.5, 0.5))
    assert plan.clearance is None


def test_clearance_is_that_of_the_closest_state_of_the_path():
    cell, state = gantry((("post", (0.0, 0.3), (0.1, 0.1)),))
    state = state.with_configuration({"x": -0.8})
    plan = plan_motion(cell, state, to({"x": 0.8}))
    assert len(plan.path) == 2
    assert plan.clearance.closest.distance == pytest.approx(0.3 - 0.05 - 0.05)
    assert {plan.clearance.closest.first, plan.clearance.closest.second} == {"cube", "post"}
    assert 0.4 <= plan.clearance.place <= 0.6


def shortest_gaps(path):
    """The smallest distance of the cube from the wall with a gap along a path, by closed formula."""
    x, y = densify(path, 1e-4)[0].T
    across = np.maximum(np.abs(x) - 0.1, 0.0)
    below, above = np.maximum(y - 0.55, 0.0), np.maximum(0.75 - y, 0.0)
    return float(np.minimum(np.hypot(across, below), np.hypot(across, above)).min())


THROUGH = np.array(((-0.8, 0.0), (-0.69254893, 0.12427679), (0.01447451, 0.64284157), (0.8, 0.0)))


@pytest.mark.parametrize(
    "path",
    [
        THROUGH,
        # Between the corners are more states than one search takes.
        np.concatenate((THROUGH[2:], np.resize(((0.6, 0.0), (0.9, 0.0)), (140, 2)), THROUGH[::-1])),
    ],
)
def test_clearance_at_a_corner_between_states_is_found(path):
    """Of the states at 0.05 m, the closest is at one corner of the lower wall, but the path is closer at the other,
    between two states."""
    cell, state = wall_with_gap()
    context, _ = path_context(cell, state, ("x", "y"), path, (), PlanningOptions(), ProgressMonitor(0.0))
    gap, found = shortest_gaps(path), path_clearance(context, path)
    assert gap - 1e-6 <= found.closest.distance <= gap + 1e-3
    assert found.configuration[0] < 0.0
    index, coarse = CollisionChecker(cell, state).closest_of(densify(path, 0.05)[0])
    assert coarse.distance > found.closest.distance + 0.01
    assert densify(path, 0.05)[0][index, 0] > 0.0


def test_same_request_same_bytes_after_any_other_requests():
    cell, state = wall_with_gap()
    first = plan_to_json(plan_motion(cell, state, to(FAR, seed=5)), repeatable=True)
    others = [plan_motion(cell, state, to(FAR, seed=seed)) for seed in (6, 7)]
    again = plan_to_json(plan_motion(cell, state, to(FAR, seed=5)), repeatable=True)
    assert first == again
    assert not np.array_equal(others[0].path, others[1].path)


SCRIPT = """
import sys
from planning_cells import wall_with_gap
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
request = MotionRequest(Goals(joint_goals=({"x": 0.8, "y": 0.0},)), options=PlanningOptions(seed=5))
sys.stdout.buffer.write(plan_to_json(plan_motion(*wall_with_gap(), request), repeatable=True))
"""


def test_same_bytes_in_another_process(request, tmp_path):
    cell, state = wall_with_gap()
    here = plan_to_json(plan_motion(cell, state, to(FAR, seed=5)), repeatable=True)
    path = os.pathsep.join([*sys.path, str(SUPPORT)])
    there = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "77"},
        cwd=tmp_path,  # the package and the kernels on disk are also found in this folder
        capture_output=True,
        check=True,
    )
    assert there.stdout == here


def test_the_nearest_of_several_goals_is_reached():
    cell, state = gantry()
    goals = Goals(joint_goals=({"x": 0.9}, {"x": -0.3}), named_states=("far",))
    plan = plan_motion(cell, state, MotionRequest(goals))
    assert plan.goal == 1
    named = plan_motion(cell, state, MotionRequest(Goals(named_states=("far",))))
    assert named.path[-1].tolist() == [0.8, 0.0]


def test_joints_without_a_goal_are_fixed():
    cell, state = gantry()
    state = state.with_configuration({"y": 0.25})
    plan = plan_motion(cell, state, replace(to({"x": 0.5}), joints=("x",)))
    assert plan.variables == ("x",)
    with pytest.raises(UnknownNameError, match="'y'"):
        plan_motion(cell, state, replace(to({"y": 0.5}), joints=("x",)))


def test_a_continuous_joint_turns_in_the_shorter_direction():
    cell, state = spinner()
    state = state.with_configuration({"endless": 3.0})
    plan = plan_motion(cell, state, to({"endless": -3.0}))
    assert plan.path[-1][0] == pytest.approx(2.0 * np.pi - 3.0)
    assert plan.path_length < 0.3


def test_a_limited_joint_is_not_wrapped():
    cell, state = spinner()
    plan = plan_motion(cell, state, to({"wide": 7.0}))
    assert plan.path[-1].tolist() == [0.0, 7.0]


def test_a_target_of_the_tool_is_reached(demo):
    cell, state = demo
    goal = world_pose(cell, state, "above_pick")
    request = MotionRequest(Goals(targets=(FrameTarget(pose=goal, mode=TargetMode.TOOL),)))
    plan = plan_motion(cell, state, request)
    end = state.with_configuration(plan.end_configuration())
    distance, angle = forward_kinematics(cell, end, mode=TargetMode.TOOL).distance_to(goal)
    assert distance < 1e-6
    assert angle < 1e-6


def test_around_the_post_of_the_demo(demo):
    cell, state = demo
    start = state.with_configuration({"shoulder_pan_joint": -0.6, "shoulder_lift_joint": -1.2, "elbow_joint": 1.9})
    goal = {**start.configuration, "shoulder_pan_joint": 0.9}
    plan = plan_motion(cell, start, to(goal, seed=3))
    assert len(plan.path) > 2
    checker = CollisionChecker(cell, start, plan.variables)
    assert not checker.in_collision_batch(densify(plan.path, 0.001)[0]).any()
    assert plan.clearance.closest.distance > 0.0
    assert [entry.stage for entry in plan.times][:3] == ["start", "goals", "search"]
    assert plan.states_checked > plan.motions_checked > 0


# Where there is no plan ---------------------------------------------------------------------------------------------


def test_a_start_in_collision_names_its_pairs():
    cell, state = wall_with_gap()
    with pytest.raises(MPStartStateInCollisionError) as caught:
        plan_motion(cell, state.with_configuration({"x": 0.0}), to(FAR))
    assert set(caught.value.subjects) == {"cube", "below"}
    assert caught.value.partial.start_pairs[0].depth > 0.0


def test_a_start_beyond_limits_names_joint_and_limit():
    cell, state = wall_with_gap()
    with pytest.raises(StartBeyondLimitsError) as caught:
        plan_motion(cell, state.with_configuration({"y": 1.25}), to(FAR))
    value = caught.value.values[0]
    assert (value.name, value.value, value.limit, value.unit) == ("y", 1.25, 1.0, "m")


def test_goals_that_cannot_be_used_are_reported_one_by_one():
    cell, state = wall_with_gap()
    with pytest.raises(JointLimitError, match="joint goal 0 is beyond limits of joint x"):
        plan_motion(cell, state, to({"x": 1.5}))
    with pytest.raises(GoalInCollisionError) as caught:
        plan_motion(cell, state, to({"x": 0.0}))
    assert set(caught.value.subjects) == {"cube", "below"}
    both = MotionRequest(Goals(joint_goals=({"x": 1.5}, {"x": 0.0})))
    with pytest.raises(GoalInCollisionError) as caught:
        plan_motion(cell, state, both)
    kinds = [(failure.goal, type(failure.error)) for failure in caught.value.partial.goals]
    assert kinds == [(0, JointLimitError), (1, GoalInCollisionError)]


def test_one_good_goal_among_bad_ones_is_enough():
    cell, state = wall_with_gap()
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"x": 0.0}, {"x": 5.0}, FAR))))
    assert plan.goal == 2


def test_targets_out_of_reach_and_unsupported_modes(demo):
    cell, state = demo
    away = FrameTarget(pose=Pose((4.0, 0.0, 0.0)), mode=TargetMode.TOOL)
    with pytest.raises(MPNoIKSolutionError, match="out of reach"):
        plan_motion(cell, state, MotionRequest(Goals(targets=(away,))))
    below = FrameTarget(pose=Pose((0.6, -0.42, 0.66), (1.0, 0.0, 0.0, 0.0)), mode=TargetMode.TOOL)
    with pytest.raises(GoalInCollisionError, match="table"):
        plan_motion(cell, state, MotionRequest(Goals(targets=(below,))))
    held = FrameTarget(pose=Pose((0.6, -0.42, 0.9)), mode=TargetMode.WORKPIECE)
    with pytest.raises(TargetModeMismatchError):
        plan_motion(cell, state, MotionRequest(Goals(targets=(held,))))


def test_an_unconnected_goal_reports_the_nearest_approach_and_the_blocking_pair():
    cell, state = wall_with_gap(gap=0.08)
    with pytest.raises(NotConnectedError) as caught:
        plan_motion(cell, state, to(FAR, state_limit=20_000))
    failure = caught.value.partial
    assert failure.start_tree_size > 1
    assert failure.goal_tree_size > 1
    # Neither tree leaves its side of the wall, which is 0.1 m thick and 0.05 m away from the centre of the cube.
    assert 0.19 <= failure.nearest_approach <= 0.5
    assert {failure.blocking_pair.first, failure.blocking_pair.second} <= {"cube", "below", "above"}
    assert 20_000 <= failure.states_checked <= 21_000


def test_the_limit_on_states_repeats_exactly():
    cell, state = wall_with_gap(gap=0.08)
    counts = []
    for _ in range(2):
        with pytest.raises(NotConnectedError) as caught:
            plan_motion(cell, state, to(FAR, state_limit=5000))
        counts.append(caught.value.partial.states_checked)
    assert counts[0] == counts[1]


def test_cancelling_ends_the_search():
    cell, state = wall_with_gap(gap=0.08)
    cancellation_checks = []

    def cancelled():
        cancellation_checks.append(1)
        return len(cancellation_checks) > 50

    with pytest.raises(CancelledError) as caught:
        plan_motion(cell, state, to(FAR), cancelled=cancelled)
    assert caught.value.stage == "search"
    assert len(cancellation_checks) == 51


def test_the_time_limit_only_aborts():
    cell, state = wall_with_gap(gap=0.08)
    with pytest.raises(TimedOutError) as caught:
        plan_motion(cell, state, to(FAR, time_limit=1e-4))
    assert caught.value.values[0].limit == 1e-4
    ample = plan_motion(*wall_with_gap(), to(FAR, time_limit=1000.0))
    assert np.array_equal(ample.path, plan_motion(*wall_with_gap(), to(FAR)).path)


def test_progress_names_the_stages():
    cell, state = wall_with_gap()
    seen = []
    plan_motion(cell, state, to(FAR), on_progress=seen.append)
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    expected = ["start", "goals", "search", "simplify", "verify", "certify", "clearance", "timing", "validate"]
    assert stages == expected
    assert np.isfinite(seen[-1].best_cost)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"group": "arms"}, UnknownNameError),
        ({"joints": ("z",)}, UnknownNameError),
        ({"goals": Goals(joint_goals=({"z": 0.0},))}, UnknownNameError),
        ({"goals": Goals(named_states=("near",))}, UnknownNameError),
        ({"options": PlanningOptions(planner="RRTConect")}, UnknownNameError),
        ({"options": PlanningOptions(planner_parameters={"rang": "1"})}, UnknownNameError),
        ({"options": PlanningOptions(planner="RRTConnect", planner_parameters={"range": "wide"})}, InvalidRequestError),
        ({"options": PlanningOptions(planner="RRTConnect", planner_parameters={"range": "-1"})}, InvalidRequestError),
        ({"options": PlanningOptions(planner="RRTConnect", planner_parameters={"range": "nan"})}, InvalidRequestError),
        ({"options": PlanningOptions(engine="bulet")}, UnknownNameError),
    ],
)
def test_requests_that_do_not_fit_the_cell_are_refused(change, error):
    cell, state = wall_with_gap()
    with pytest.raises(error):
        plan_motion(cell, state, replace(to(FAR), **change))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Goals(),
        lambda: Goals(joint_goals=({"x": float("nan")},)),
        lambda: PlanningOptions(seed=-1),
        lambda: PlanningOptions(state_limit=0),
        lambda: PlanningOptions(time_limit=float("inf")),
        lambda: PlanningOptions(extra_margin=float("nan")),
        lambda: PlanningOptions(search_step=0.0001),
        lambda: MotionRequest(Goals(joint_goals=({},)), joints=("x", "x")),
    ],
)
def test_malformed_requests_are_refused(make):
    with pytest.raises(InvalidRequestError):
        make()


def test_a_margin_is_kept():
    cell, state = wall_with_gap()
    plan = plan_motion(cell, state, to(FAR, extra_margin=0.05))
    assert plan.clearance.closest.distance >= 0.05 - 1e-5
