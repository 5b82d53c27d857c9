"""Collisions between checked states are found, or a warning bounds the overlap that may have been missed."""

import math

import numpy as np
import pytest
from planning_cells import HALF, gantry, scissors, wall_with_gap

from robot_cell_planner.collision.certification.refinement import MotionRefiner, Polyline
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.errors import MPInterpolationInCollisionError, PathInvalidError, TrajectoryInCollisionError
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.finish import _validated
from robot_cell_planner.planning.path.processing import PathRequest, PathTool, check_joint_path, process_path
from robot_cell_planner.planning.path.timing import time_in_context
from robot_cell_planner.planning.problem.context import create_context
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions, stop_at_waypoints
from robot_cell_planner.trajectory.validation import dense_times

STEP = 0.01  # [m] between states
WITHOUT_PROOF = [{"certify": False}, {"engine": "bullet", "certify": False}]


def past_a_corner(depth):
    """A diagonal motion of the gantry's cube past a corner of a post, with an overlap of `depth` halfway between two
    states at steps of STEP; a negative depth is a distance."""
    cell, state = gantry((("post", (0.0, 0.0), (0.1, 0.1)),))
    middle = 0.05 + HALF - depth
    away = 20.5 * STEP
    path = np.array(((middle - away, middle + away), (middle + away, middle - away)))
    return cell, state.with_configuration(dict(zip(("x", "y"), path[0].tolist(), strict=True))), path


def collides(cell, state, path):
    between = path[:-1, None] + np.linspace(0.0, 1.0, 8001)[:, None] * np.diff(path, axis=0)[:, None]
    return CollisionChecker(cell, state, ("x", "y")).in_collision_batch(between.reshape(-1, 2)).any()


def test_the_states_do_not_contain_the_collision():
    cell, state, path = past_a_corner(0.002)
    states = np.linspace(*path, round(float(np.abs(path[1] - path[0]).max()) / STEP) + 1)
    assert not CollisionChecker(cell, state, ("x", "y")).in_collision_batch(states).any()
    assert collides(cell, state, path)


@pytest.mark.parametrize("options", WITHOUT_PROOF)
def test_a_plan_without_certificates_does_not_cut_a_corner_between_states(options):
    cell, state, path = past_a_corner(0.002)
    goal = dict(zip(("x", "y"), path[-1].tolist(), strict=True))
    request = MotionRequest(
        Goals((goal,)), timing=None, options=PlanningOptions(resolution=STEP, search_step=STEP, **options)
    )
    plan = plan_motion(cell, state, request)
    assert math.isnan(plan.certified_fraction)
    assert len(plan.path) > 2
    assert not collides(cell, state, plan.path)


def test_the_objects_that_no_detour_passes_are_named():
    """A wall without a gap, thinner than the steps of the search."""
    cell, state = gantry((("wall", (0.0, 0.0), (0.01, 5.0)),))
    options = PlanningOptions(certify=False, search_step=1.0, state_limit=20_000)
    request = MotionRequest(Goals(({"x": 0.5, "y": 0.0},)), options=options)
    with pytest.raises(PathInvalidError, match=r"no detour was found: .*cube and body wall overlap") as caught:
        plan_motion(cell, state.with_configuration({"x": -0.5, "y": 0.0}), request)
    assert set(caught.value.subjects) == {"cube", "wall"}


@pytest.mark.parametrize("options", [*WITHOUT_PROOF, {"engine": "bullet"}])
@pytest.mark.parametrize("depth", [0.002, -0.002])
def test_path_tools_find_it(depth, options):
    cell, state, path = past_a_corner(depth)
    rules = PlanningOptions(resolution=STEP, **options)
    found = check_joint_path(cell, state, ("x", "y"), path, options=rules)
    request = PathRequest(PathTool.REVERSE, ("x", "y"), (path,), options=rules)
    if depth < 0.0:
        assert not found.violations
        assert not process_path(cell, state, request).warnings
        return
    assert {found.collisions[0].pair.first, found.collisions[0].pair.second} == {"cube", "post"}
    assert found.collisions[0].place == pytest.approx(0.5, abs=0.05)
    with pytest.raises(PathInvalidError, match="cube and post collide at 0"):
        process_path(cell, state, request)


@pytest.mark.parametrize("engine", ["coal", "bullet"])
def test_cartesian_motions_find_it(engine):
    """Also without timing, which includes a check of the trajectory."""
    cell, state, path = past_a_corner(0.002)
    options = CartesianOptions(max_step_distance=2.0 * STEP, resolution=STEP, max_jump_prismatic=0.0, engine=engine)
    request = CartesianRequest(FrameWaypoints((Pose((*path[-1].tolist(), 0.0)),)), options=options, timing=None)
    with pytest.raises(MPInterpolationInCollisionError) as caught:
        plan_cartesian(cell, state, request)
    assert set(caught.value.subjects) == {"cube", "post"}


@pytest.mark.parametrize("certify", [True, False])
def test_a_trajectory_beside_its_path_is_checked_between_its_states(certify):
    for depth in (0.0005, -0.0005):
        cell, state, path = past_a_corner(depth)
        context = create_context(cell, state, "", (), PlanningOptions(certify=certify), ProgressMonitor())
        path[-1] += (0.3 * STEP, -0.3 * STEP)
        trajectory = stop_at_waypoints(path, context.limits, TimingOptions(period=0.0201)).trajectory
        assert context.checks.batch_free(trajectory.at(dense_times(trajectory, STEP))).all()
        if depth < 0.0:
            assert _validated(context, path, trajectory, STEP) == ()
            continue
        with pytest.raises(TrajectoryInCollisionError) as caught:
            _validated(context, path, trajectory, STEP)
        assert set(caught.value.subjects) == {"cube", "post"}


def test_blends_shrink_until_nothing_collides_between_their_states_either():
    """Coarse states miss the corners of posts: without the checks between states 6 of 20 plans were refused."""
    random = np.random.default_rng(0)
    path = np.array(((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5)))
    for _ in range(20):
        x, y = random.uniform(0.055, 0.12, 2)
        cell, state = gantry((("post", (0.45 - x, y - 0.45), (0.1, 0.1)),))
        state = state.with_configuration(dict(zip(("x", "y"), path[0].tolist(), strict=True)))
        context = create_context(cell, state, "", (), PlanningOptions(resolution=2.0 * STEP), ProgressMonitor())
        motion = time_in_context(context, path, TimingOptions(method=TimingMethod.SMOOTH), 2.0 * STEP)
        assert _validated(context, path, motion.trajectory, 2.0 * STEP) == ()


@pytest.mark.parametrize("options", [{}, {"certify": False}])
def test_a_plan_in_contact_has_a_warning_with_the_possible_overlap(options):
    """The cube moves along a wall in contact."""
    cell, state = wall_with_gap()
    request = MotionRequest(Goals(({"x": -0.1, "y": 0.4},)), timing=None, options=PlanningOptions(**options))
    plan = plan_motion(cell, state.with_configuration({"x": -0.1, "y": -0.9}), request)
    overlap_warnings = [text for text in plan.warnings if "may overlap by up to" in text]
    assert bool(overlap_warnings) == (plan.certified_fraction != 1.0)
    assert all("of the path are not proven free" in text and "below" in text for text in overlap_warnings)


def test_a_proven_plan_has_no_such_warning():
    cell, state = wall_with_gap()
    plan = plan_motion(cell, state, MotionRequest(Goals(({"x": 0.8, "y": 0.0},)), timing=None))
    assert plan.certified_fraction == 1.0
    assert not plan.warnings


@pytest.mark.parametrize("make", [wall_with_gap, scissors])
@pytest.mark.parametrize("enough", [3, 30, 300])
def test_no_overlap_between_states_exceeds_its_bound(make, enough):
    """The bound is compared with distances at many configurations."""
    cell, state = make()
    checker = CollisionChecker(cell, state)
    refiner = MotionRefiner(checker)
    limits = [cell.variables[name].limits for name in checker.variables]
    low, high = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
    random = np.random.default_rng(7)
    hidden = 0
    for _ in range(40):
        motion = random.uniform(low, high, (2, len(low)))
        found = refiner.deepest_overlap(Polyline.through(motion), enough=enough)
        if found is not None and found.collides:
            assert checker.in_collision(np.array(found.configuration))
            continue
        states = motion[0] + np.linspace(0.0, 1.0, 400)[:, None] * (motion[1] - motion[0])
        closest = checker.closest_of(states)
        assert closest is not None
        overlap = closest[1].margin - closest[1].distance
        assert overlap <= (TOUCHING if found is None else found.depth) + 3e-6
        hidden += found is not None
    assert hidden or enough > 3
