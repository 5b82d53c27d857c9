"""Sweep of a joint of redundant arms: values are ordered by distance, and solutions equal those of single values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinematic_cells import arm, ranges

from robot_cell_planner.kinematics._kernels import ik_kernels
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.kinematics.ik.analytic import closed_form
from robot_cell_planner.kinematics.ik.problem import ik_problem
from robot_cell_planner.kinematics.ik.seeds import spread
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.pose import Pose

AT_ONCE = 4
REDUNDANT = ("panda", "xarm7", "rail")


@given(st.floats(-6.0, 6.0), st.floats(0.0, 8.0), st.floats(-9.0, 9.0), st.integers(0, 70))
def test_values_begin_with_the_nearest(lower, width, near, count):
    upper = lower + width
    grid = lower + (np.arange(count) + 0.5) * ((upper - lower) / max(count, 1))
    expected = grid[np.abs(grid - near).argsort(kind="stable")]
    found = spread(lower, upper, near, count)
    assert found[0] == min(max(near, lower), upper)
    np.testing.assert_allclose(np.abs(found[1:] - near), np.abs(expected - near), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(np.sort(found[1:]), grid, rtol=0.0, atol=1e-12)


def test_values_without_a_limit_are_those_of_a_turn():
    found = spread(-math.inf, 2.0, 1.0, 4)
    assert found[0] == 1.0
    assert found[1:].min() > 1.0 - math.pi
    assert found[1:].max() < 2.0


@pytest.mark.parametrize("name", REDUNDANT)
def test_a_sweep_has_the_solutions_of_its_batches(name):
    cell = arm(name)
    state, group = cell.default_state(), cell.robot.main_group
    names = cell.group(group).variables
    lower, upper = ranges(cell, group)
    rng = np.random.default_rng(8)
    skipped = 0
    for goal, start in rng.uniform(lower, upper, (40, 2, len(names))):
        pose = forward_batch(cell, state, cell.tip_link(), names, goal[None])[0]
        seeded = state.with_configuration(dict(zip(names, start.tolist(), strict=True)))
        problem = ik_problem(cell, seeded, FrameTarget(pose=Pose.from_matrix(pose)))
        form = closed_form(problem.chain)
        assert form.sweeps
        values = spread(lower[form.locked], upper[form.locked], start[form.locked], 30)
        expected, ends, misses = batches(problem, form, values)
        end, missed, room = 0, 0, np.empty((500, len(names)))
        for (solutions, residuals), last in zip(expected, ends, strict=True):
            swept = form.sweep(problem, values, end, AT_ONCE, room[missed:])
            np.testing.assert_array_equal(swept.solutions, solutions)
            np.testing.assert_array_equal(swept.residuals, residuals)
            skipped += end == 0 < last - 1
            end, missed = swept.end, missed + swept.missed
            assert end == last
        np.testing.assert_array_equal(room[:missed], misses)
    assert skipped > 0  # some first values have no solution


def batches(problem, form, values):
    """By one call for each batch: solutions, number of values, and candidates of batches without solutions until then;
    at the end, those of the remaining batches without solutions."""
    found, ends, misses, begin = [], [], [np.empty((0, len(problem.start)))], 0
    while begin < len(values):
        size = 1 if begin == 0 else AT_ONCE if begin < 8 else 32
        part = values[begin : begin + size]
        candidates, _ = form.candidates(np.repeat(problem.target[None], len(part), axis=0), part, problem.start)
        joints = problem.joints
        verified = ik_kernels.verify(
            problem.chain.table, problem.target, problem.rotation_weights, candidates.copy(), problem.start,
            joints.limits, joints.angular, problem.tolerance,
        )  # fmt: skip
        begin += len(part)
        if len(verified[0]):
            found.append(verified)
            ends.append(begin)
        else:
            misses.append(candidates)
            if begin == len(values):
                found.append(verified)
                ends.append(begin)
    return found, ends, np.concatenate(misses)
