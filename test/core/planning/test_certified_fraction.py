"""The certified fraction of a plan is the fraction of its path whose segments have a certificate."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from loaded_cells import loaded
from planning_cells import gantry, scissors, spinner, wall_with_gap

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions
from robot_cell_planner.errors import PathInvalidError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.motion_samples import free_along
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.processing import (
    PathRequest,
    PathTool,
    check_joint_path,
    measure_joint_path,
    process_path,
)
from robot_cell_planner.planning.problem.collision_checks import MAX_EXACT_STATES, CountedChecks
from robot_cell_planner.planning.problem.plan import percent
from robot_cell_planner.planning.problem.plan_file import plan_from_json, plan_to_json
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

ALONG = np.array([[0.1, -1.0], [0.1, 1.0]])  # of the scissors: through the overlap, lift and plate away


def recomputed(cell, state, plan, margin=0.0, engine="coal"):
    """The fraction by certificates of each segment alone, from a certifier of its own."""
    checker = CollisionChecker(cell, state, plan.variables, engine=engine, options=CollisionOptions(margin))
    certifier = MotionCertifier(checker)
    proven = total = 0.0
    for start, end in pairwise(plan.path):
        length = float(np.linalg.norm(end - start))
        total += length
        within = certifier.within_prismatic_limits(start, end)
        proven += length if within and certifier.certify(start, end, enough=MAX_EXACT_STATES).free else 0.0
    return proven / total


def colliding(cell, state, variables, path, count=2001, engine="coal"):
    """Indices of the segments of a path on which an engine finds a collision."""
    checker = CollisionChecker(cell, state, variables, engine=engine)
    return [
        index
        for index, (a, b) in enumerate(pairwise(path))
        if checker.in_collision_batch(a + np.linspace(0.0, 1.0, count)[:, None] * (b - a)).any()
    ]


def plan_to(cell, state, goal, **options):
    return plan_motion(
        cell, state, MotionRequest(Goals(joint_goals=(goal,)), options=PlanningOptions(**options), timing=None)
    )


CELLS = {
    "gap": (wall_with_gap, {}, {"x": 0.8, "y": 0.0}),
    "escape": (wall_with_gap, {"x": -0.095}, {"x": -0.8, "y": 0.3}),
    "beyond limits": (wall_with_gap, {"y": 1.004}, {"x": -0.5, "y": 0.5}),
    "fingers": (scissors, {}, {"lift": 0.3, "turn": -0.15}),
    "fingers on the plate": (lambda: scissors(0.005), {"lift": 0.0, "turn": -1.0}, {"lift": 0.0, "turn": -0.1}),
}


# Fingers on the plate are nearer to it than a margin.
@pytest.mark.parametrize(
    ("name", "margin"),
    [(name, margin) for name in CELLS for margin in (0.0, 0.001) if not (name == "fingers on the plate" and margin)],
)
def test_the_certified_fraction_equals_that_of_certificates(name, margin):
    make, values, goal = CELLS[name]
    cell, state = make()
    state = state.with_configuration(values)
    plan = plan_to(cell, state, goal, max_start_correction=0.02, extra_margin=margin)
    assert plan.certified_fraction == recomputed(cell, state, plan, margin)
    # No certificate covers a segment that collides; a start correction may be one.
    blocked = colliding(cell, state, plan.variables, plan.path)
    assert (plan.certified_fraction < 1.0) == (name in ("escape", "beyond limits", "fingers on the plate"))
    assert set(blocked) <= set(range(plan.start_correction_waypoints))
    assert (
        verify_plan(cell, state, plan, PlanningOptions(extra_margin=margin)).record.certified_fraction
        == plan.certified_fraction
    )


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("options", [{"certify": False}, {"engine": "bullet", "certify": False}])
def test_without_certificates_it_is_not_a_number(name, options):
    make, values, goal = CELLS[name]
    cell, state = make()
    plan = plan_to(cell, state.with_configuration(values), goal, max_start_correction=0.02, **options)
    assert math.isnan(plan.certified_fraction)
    assert not set(colliding(cell, state, plan.variables, plan.path)) - set(range(plan.start_correction_waypoints))


@pytest.mark.parametrize("name", CELLS)
def test_with_the_engine_bullet_proven_segments_are_free_for_both_engines(name):
    make, values, goal = CELLS[name]
    cell, state = make()
    plan = plan_to(cell, state.with_configuration(values), goal, max_start_correction=0.02, engine="bullet")
    assert plan.certified_fraction == recomputed(cell, state, plan, engine="bullet")
    record = verify_plan(cell, state.with_configuration(values), plan, PlanningOptions(engine="bullet")).record
    assert record.certified_fraction == plan.certified_fraction
    # Fingers at their least distance of a few micrometres, which the error of Bullet's distances exceeds, are unproven.
    assert (plan.certified_fraction < 1.0) == (name in ("escape", "beyond limits", "fingers on the plate"))
    for engine in ("coal", "bullet"):
        blocked = colliding(cell, state, plan.variables, plan.path, engine=engine)
        assert set(blocked) <= set(range(plan.start_correction_waypoints))


def test_the_start_correction_counts():
    cell, state = wall_with_gap()
    plan = plan_to(cell, state.with_configuration({"x": -0.095}), {"x": -0.8}, max_start_correction=0.02)
    lengths = np.linalg.norm(np.diff(plan.path, axis=0), axis=1)
    assert plan.start_correction_waypoints == 1
    assert colliding(cell, state, plan.variables, plan.path) == [0]
    assert plan.certified_fraction == pytest.approx(lengths[1:].sum() / lengths.sum())
    assert plan.certified_fraction < 1.0


def test_plans_without_moving_shapes_have_no_certified_fraction():
    cell, state = wall_with_gap()
    assert math.isnan(plan_to(cell, state, {"x": -0.8, "y": 0.0}).certified_fraction)
    # Nor where the robot has no shapes, or the only shapes are ones that its joints do not move.
    assert math.isnan(plan_to(*spinner(), {"endless": 1.0, "wide": 1.0}).certified_fraction)


def test_path_tools_report_the_same_fraction():
    cell, state = wall_with_gap()
    path = np.array([[-0.8, 0.0], [-0.4, 0.65], [0.3, 0.65], [0.8, 0.0]])
    for tool in (PathTool.SIMPLIFY, PathTool.SHORTCUT, PathTool.TIGHTEN, PathTool.REVERSE):
        plan = process_path(cell, state, PathRequest(tool, ("x", "y"), (path,)))
        assert plan.certified_fraction == recomputed(cell, state, plan) == 1.0
        without = PathRequest(tool, ("x", "y"), (path,), options=PlanningOptions(certify=False))
        assert math.isnan(process_path(cell, state, without).certified_fraction)
    assert math.isnan(measure_joint_path(cell, state, ("x", "y"), path).certified_fraction)
    # A path of which a part collides.
    through = np.array([[-0.8, 0.0], [-0.3, 0.0], [0.3, 0.0]])
    found = check_joint_path(cell, state, ("x", "y"), through)
    assert found.violations
    assert found.record.certified_fraction == pytest.approx(0.5 / 1.1)


@pytest.mark.parametrize("options", [{}, {"certify": False}, {"engine": "bullet"}])
def test_fingers_that_one_variable_drives_together_collide(options):
    """The fingers collide in the middle of a motion, and approach at twice the speed of each."""
    cell, state = scissors()
    for resolution in (0.001, 0.003):
        found = check_joint_path(
            cell, state, ("lift", "turn"), ALONG, options=PlanningOptions(resolution=resolution, **options)
        )
        assert found.violations, resolution
        assert {found.collisions[0].pair.first, found.collisions[0].pair.second} == {"left", "right"}
    with pytest.raises(PathInvalidError):
        process_path(
            cell,
            state,
            PathRequest(PathTool.REVERSE, ("lift", "turn"), (ALONG,), options=PlanningOptions(**options)),
        )


def test_states_along_a_motion_have_the_results_of_single_checks():
    """For fingers that approach each other, and one beyond the limits of its slide."""
    random = np.random.default_rng(3)
    for make in (scissors, wall_with_gap):
        cell, state = make()
        for engine in ("coal", "bullet"):
            checks = CountedChecks(CollisionChecker(cell, state, engine=engine), ProgressMonitor(), 10**9)
            limits = [cell.variables[name].limits for name in checks.checker.variables]
            low, high = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
            for _ in range(12):
                a, b = random.uniform(low, high, (2, len(low)))
                states = a + np.linspace(0.0, 1.0, 700)[:, None] * (b - a)
                assert free_along(checks, states).tolist() == checks.batch_free(states).tolist()


def test_states_that_spheres_prove_free_are_not_checked_again(monkeypatch):
    """The verdicts and the number of states equal those of exact checks."""
    random = np.random.default_rng(4)
    cell, state = loaded.__wrapped__()  # of its own, for which no other test has built a certifier
    checker = CollisionChecker(cell, state)
    limits = [cell.variables[name].limits for name in checker.variables]
    low, high = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
    states = random.uniform(low, high, (400, len(low)))
    expected = (~checker.in_collision_batch(states)).tolist()
    checks, exact = CountedChecks(checker, ProgressMonitor(), 10**9), []
    check = checker.in_collision_batch
    monkeypatch.setattr(checker, "in_collision_batch", lambda rows: exact.append(len(rows)) or check(rows))
    assert checks.batch_free(states).tolist() == expected
    assert sum(exact) == 400
    exact.clear()
    assert checks.certifier is not None
    assert checks.batch_free(states).tolist() == expected
    assert 400 - sum(expected) <= sum(exact) < 300
    assert checks.states == 800


def test_a_certified_fraction_without_moving_shapes_is_a_violation():
    cell, state = spinner()
    plan = plan_to(cell, state, {"endless": 1.0, "wide": 1.0})
    assert not verify_plan(cell, state, plan).violations
    found = verify_plan(cell, state, replace(plan, certified_fraction=0.5))
    assert [error.message for error in found.violations] == [
        "a smaller fraction of the path is proven free than in the plan"
    ]


def test_a_certified_fraction_that_is_too_large_is_a_violation():
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": -0.095})
    plan = plan_to(cell, state, {"x": -0.8}, max_start_correction=0.02)
    assert verify_plan(cell, state, plan).valid
    found = verify_plan(cell, state, replace(plan, certified_fraction=1.0))
    assert [error.message for error in found.violations] == [
        "a smaller fraction of the path is proven free than in the plan"
    ]


def test_plan_files_and_tables_support_fractions_that_are_not_numbers():
    cell, state = gantry()
    plan = plan_to(cell, state, {"x": 0.5, "y": 0.1}, certify=False)
    assert b"NaN" not in plan_to_json(plan)
    assert math.isnan(plan_from_json(plan_to_json(plan)).certified_fraction)
    assert plan_from_json(plan_to_json(replace(plan, certified_fraction=0.25))).certified_fraction == 0.25
    assert [percent(value) for value in (math.nan, 0.0, 0.999, 1.0 - 1e-12)] == ["-", "0", "99", "100"]
