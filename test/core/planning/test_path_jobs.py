"""Path tools in a cell: inputs and results are valid paths, violations are located, and plans are verified."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from planning_cells import HALF, gantry, is_free, planar_base, wall_with_gap

from robot_cell_planner.errors import (
    ConstraintMismatchError,
    InvalidRequestError,
    JointLimitError,
    PathInvalidError,
    UnknownNameError,
)
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.processing import (
    PathRequest,
    PathTool,
    check_joint_path,
    measure_joint_path,
    process_path,
)
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.constraints import JointCombination
from robot_cell_planner.planning.problem.plan import path_length
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

XY = ("x", "y")
# Through the gap, with detours.
WAY = np.array(
    [[-0.8, 0.0], [-0.8, 0.4], [-0.5, 0.4], [-0.4, 0.65], [0.0, 0.65], [0.3, 0.65], [0.35, 0.2], [0.8, 0.3], [0.8, 0.0]]
)


def work(tool, *paths, **fields):
    return process_path(*wall_with_gap(), PathRequest(tool, XY, paths or (WAY,), **fields))


def reversing(*joints):
    return PathRequest(PathTool.REVERSE, joints, (WAY,))


@pytest.mark.parametrize("tool", [PathTool.SIMPLIFY, PathTool.SHORTCUT, PathTool.TIGHTEN])
def test_paths_are_shortened_and_stay_free(tool):
    plan = work(tool)
    assert plan.path_length < path_length(WAY)
    assert plan.path[0].tolist() == WAY[0].tolist()
    assert plan.path[-1].tolist() == WAY[-1].tolist()
    assert all(is_free(q) for q in densify(plan.path, 0.001)[0])
    assert plan.path_length == path_length(plan.path)


def test_tightening_keeps_the_clearance():
    cell, state = gantry((("post", (0.0, 0.0), (0.2, 0.2)),))
    around = np.array([[-0.8, 0.0], [-0.4, 0.6], [0.0, 0.45], [0.4, 0.6], [0.8, 0.0]])
    before = measure_joint_path(cell, state, XY, around)
    after = process_path(cell, state, PathRequest(PathTool.TIGHTEN, XY, (around,)))
    assert after.path_length < before.path_length
    # A clearance of up to 0.1 m is kept.
    assert after.clearance.closest.distance >= min(before.clearance.closest.distance, 0.1) - 1e-4


@pytest.mark.parametrize("extra", [0.0, 0.02, 0.05])
def test_tightening_keeps_the_clearance_with_an_extra_margin(extra):
    """The smallest clearance is on the motion along the wall, and not at an end of the path."""
    cell, state = gantry((("wall", (0.0, -0.5), (0.1, 1.0)),))
    above = np.array([[-0.5, 0.0], [-0.5, 0.3], [-0.05, 0.13], [0.0, 0.13], [0.05, 0.13], [0.5, 0.3], [0.5, 0.0]])
    options = PlanningOptions(extra_margin=extra, seed=1)
    before = measure_joint_path(cell, state, XY, above, options)
    after = process_path(cell, state, PathRequest(PathTool.TIGHTEN, XY, (above,), options=options))
    assert after.path_length < before.path_length
    assert after.clearance.closest.distance >= before.clearance.closest.distance - 1e-4


def test_motions_that_collide_between_checked_states_are_rejected():
    """The direct motion from end to end cuts a corner by 0.2 mm, where no state of the search step lies."""
    cell, state = gantry((("post", (0.0, 0.0), (0.2, 0.2)),))
    around = np.array([[-0.11, 0.4096], [0.2, 0.2], [0.4096, -0.11]])
    states = densify(around[[0, -1]], PlanningOptions().search_step)[0]
    assert not any(max(abs(q)) < 0.1 + HALF for q in states)
    plan = process_path(cell, state, PathRequest(PathTool.SIMPLIFY, XY, (around,)))
    assert plan.path.tolist() == around.tolist()
    for seed in range(5):
        options = PlanningOptions(seed=seed)
        shorter = process_path(cell, state, PathRequest(PathTool.SHORTCUT, XY, (around,), options=options)).path
        assert path_length(shorter) < path_length(around)
        assert all(max(abs(q)) >= 0.1 + HALF - 1e-5 for q in densify(shorter, 1e-5)[0])


def test_paths_are_densified_reversed_and_joined():
    dense = work(PathTool.DENSIFY, spacing=0.03).path
    assert np.abs(np.diff(dense, axis=0)).max() <= 0.03 + 1e-12
    assert work(PathTool.REVERSE).path.tolist() == WAY[::-1].tolist()
    assert work(PathTool.CONCATENATE, WAY[:4], WAY[3:]).path.tolist() == WAY.tolist()
    with pytest.raises(PathInvalidError, match="path 1 does not begin") as caught:
        work(PathTool.CONCATENATE, WAY[:4], WAY[4:])
    assert caught.value.values[0].value == pytest.approx(0.4)
    assert len(work(PathTool.CONCATENATE, WAY[:4], WAY[4:], joint_tolerance=0.5).path) == 8


def test_constraints_hold_along_processed_paths():
    level = np.array([[-0.8, 0.65], [-0.3, 0.65], [-0.5, 0.65], [0.8, 0.65]])
    plan = work(PathTool.SHORTCUT, level, constraints=(JointCombination({"y": 1.0}),))
    assert np.ptp(plan.path[:, 1]) <= 1e-9
    with pytest.raises(ConstraintMismatchError, match="waypoint 1"):
        work(PathTool.SHORTCUT, constraints=(JointCombination({"y": 1.0}),))


def test_invalid_paths_are_refused_with_the_location():
    through = np.array([[-0.8, 0.0], [0.8, 0.0]])
    with pytest.raises(PathInvalidError) as caught:
        work(PathTool.SIMPLIFY, through)
    assert set(caught.value.subjects) == {"cube", "below"}
    assert 0.4 < caught.value.values[0].value < 0.6
    with pytest.raises(JointLimitError, match="waypoint 1"):
        work(PathTool.SIMPLIFY, np.array([[-0.8, 0.0], [-0.8, 1.5]]))


def test_all_violations_are_found():
    cell, state = wall_with_gap()
    path = np.array([[-0.8, 0.0], [0.8, 0.0], [0.8, 1.2], [-0.8, 0.0]])
    first = check_joint_path(cell, state, XY, path)
    every = check_joint_path(cell, state, XY, path, options=PlanningOptions(resolution=0.02), find_all=True)
    assert [type(violation) for violation in first.violations] == [JointLimitError, PathInvalidError]
    assert len(every.collisions) > 5
    places = [found.place for found in every.collisions]
    assert places == sorted(places)
    assert min(places) < 1.0
    assert max(places) > 2.0
    free = check_joint_path(cell, state, XY, WAY)
    assert not free.violations
    assert free.record.certified_fraction > 0.9


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: PathRequest(PathTool.SIMPLIFY, XY, ()), InvalidRequestError),
        (lambda: PathRequest(PathTool.SIMPLIFY, XY, (WAY, WAY)), InvalidRequestError),
        (lambda: PathRequest(PathTool.SIMPLIFY, XY, (WAY[:, :1],)), InvalidRequestError),
        (lambda: PathRequest(PathTool.SIMPLIFY, XY, (WAY[:0],)), InvalidRequestError),
        (lambda: PathRequest(PathTool.SIMPLIFY, XY, (WAY * np.nan,)), InvalidRequestError),
        (lambda: PathRequest(PathTool.CONCATENATE, XY, (WAY,), joint_tolerance=-1.0), InvalidRequestError),
        (lambda: work(PathTool.DENSIFY), InvalidRequestError),
        (lambda: process_path(*wall_with_gap(), reversing("x", "z")), UnknownNameError),
        (lambda: process_path(*wall_with_gap(), reversing("x", "x")), InvalidRequestError),
    ],
)
def test_malformed_requests_are_refused(make, error):
    with pytest.raises(error):
        make()


# Plans --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made():
    cell, state = wall_with_gap()
    return cell, state, plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"x": 0.8},))))


def test_a_plan_is_valid_in_its_own_state(made):
    cell, state, plan = made
    verdict = verify_plan(cell, state, plan)
    assert verdict.valid, [str(violation) for violation in verdict.violations]
    assert verdict.record.certified_fraction > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: {"path": plan.path * 1.01}, "does not begin at the state"),
        (lambda plan: {"path": plan.path[[0, -1]]}, "collide"),
        (lambda plan: {"path_length": 0.5 * plan.path_length}, "length of the path differs"),
        (lambda plan: {"cell_digest": "0" * 16}, "cell with digest"),
        (lambda plan: {"start_state_digest": "0" * 16}, "start state with digest"),
    ],
)
def test_a_changed_plan_is_invalid(made, change, message):
    cell, state, plan = made
    verdict = verify_plan(cell, state, replace(plan, **change(plan)))
    assert not verdict.valid
    assert any(message in violation.message for violation in verdict.violations)


def test_a_plan_is_invalid_in_another_state(made):
    cell, state, plan = made
    other = state.with_configuration({"y": 0.1})
    messages = [violation.message for violation in verify_plan(cell, other, plan).violations]
    assert any("start state with digest" in text for text in messages)
    assert any("does not begin at the state" in text for text in messages)


def test_the_clearance_of_a_plan_is_checked(made):
    cell, state, plan = made
    closest = msgspec.structs.replace(plan.clearance.closest, distance=0.3)
    wide = replace(plan, clearance=replace(plan.clearance, closest=closest))
    messages = [violation.message for violation in verify_plan(cell, state, wide).violations]
    assert "the clearance of the path is smaller than in the plan" in messages


def test_options_of_the_check_are_used(made):
    cell, state, plan = made
    strict = PlanningOptions(extra_margin=0.2)
    assert not verify_plan(cell, state, plan, strict).valid


def test_detours_far_from_the_start_of_an_unlimited_base_are_cut():
    variables = ("drive/x", "drive/y", "drive/theta")
    path = np.array(
        [[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [20.0, 2.0, 0.0], [24.0, 2.0, 0.0], [24.0, 0.0, 0.0], [30.0, 0.0, 0.0]]
    )
    found = process_path(*planar_base(), PathRequest(PathTool.SHORTCUT, variables, (path,)))
    assert path_length(np.array(found.path)) < path_length(path) - 3.0
