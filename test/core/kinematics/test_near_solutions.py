"""Of infinitely many solutions, the first one is near the start: no farther than another one that is known."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kinematic_cells import arm, put, ranges

from robot_cell_planner.kinematics.forward import chain_to, forward_batch
from robot_cell_planner.kinematics.ik.options import IkOptions, IkSolver
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget
from robot_cell_planner.model.pose import Pose

FIRST = IkOptions(max_solutions=1)
MARGIN = 1e-3  # [rad]


def pairs(cell, step, count, seed):
    """Random configurations to start from, and configurations (n,) at a distance `step` [rad or m] within limits."""
    lower, upper = ranges(cell, "")
    rng = np.random.default_rng(seed)
    while count:
        start, direction = rng.uniform(lower, upper), rng.normal(size=len(lower))
        goal = start + step * direction / np.linalg.norm(direction)
        if (goal >= lower).all() and (goal <= upper).all():
            count -= 1
            yield start, goal


def pose_at(cell, q):
    rows = forward_batch(cell, cell.default_state(), cell.tip_link(), cell.group().variables, q[None])
    return Pose.from_matrix(rows[0])


@pytest.mark.parametrize("step", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("name", ["panda", "xarm7", "rail"])
def test_the_solution_of_a_close_pose_is_as_close_as_the_configuration_that_it_is_the_pose_of(name, step):
    cell, distances = arm(name), []
    for start, goal in pairs(cell, step, 60, seed=3):
        state, target = put(cell, cell.default_state(), start), FrameTarget(pose=pose_at(cell, goal))
        found = inverse_kinematics(cell, state, target, options=FIRST)
        distances.append(np.linalg.norm(found.best - start))
        # It is among those of the complete search, in which only a closer one can come before it.
        several = inverse_kinematics(cell, state, target)
        assert np.abs(several.solutions - found.best).max(axis=1).min() < 1e-5
        assert np.linalg.norm(several.best - start) <= distances[-1]
    # Beside singularities, the distance can have another local minimum.
    assert np.mean(np.array(distances) < 1.001 * step) > 0.95


@pytest.mark.parametrize("name", ["ur5", "demo", "panda"])
def test_the_solution_of_a_close_point_and_axis_is_close(name):
    cell = arm(name)
    for start, goal in pairs(cell, 0.1, 40, seed=4):
        pose = pose_at(cell, goal)
        target = PointAxisTarget(point=pose.position, axis=tuple(pose.matrix[:3, 2].tolist()))
        found = inverse_kinematics(cell, put(cell, cell.default_state(), start), target, options=FIRST)
        assert np.linalg.norm(found.best - start) < 1.001 * 0.1


@pytest.mark.parametrize("angle", [0.5, 1.0, 2.0])
def test_a_turn_about_the_last_axis_is_no_more_than_that_of_the_last_joint(angle):
    cell = arm("panda")
    start = np.array([0.3, -0.5, 0.0, -2.0, 0.0, 1.6, -0.785])
    state, target = put(cell, cell.default_state(), start), pose_at(cell, start + angle * np.eye(7)[6])
    found = inverse_kinematics(cell, state, FrameTarget(pose=target), options=FIRST)
    assert np.linalg.norm(found.best - start) <= angle


def test_a_search_by_the_closed_form_only_has_no_numeric_solution():
    cell = arm("panda")
    start = np.array([0.3, -0.5, 0.0, -2.0, 0.0, 1.6, 0.785])
    state, target = put(cell, cell.default_state(), start), FrameTarget(pose=pose_at(cell, start + 0.1))
    options = IkOptions(max_solutions=1, solver=IkSolver.ANALYTIC)
    assert inverse_kinematics(cell, state, target, options=options).solver.startswith("analytic")
    assert inverse_kinematics(cell, state, target, options=FIRST).solver == "numeric"


@given(st.integers(0, 10_000))
def test_no_solution_beside_the_first_one_is_closer(seed):
    """Small steps along the solutions lead away from the start, in both directions."""
    cell = arm("panda")
    start, goal = next(pairs(cell, 0.2, 1, seed))
    state, target = put(cell, cell.default_state(), start), FrameTarget(pose=pose_at(cell, goal))
    found = inverse_kinematics(cell, state, target, options=FIRST).best
    jacobian = chain_to(cell, state, cell.tip_link(), cell.group().variables).jacobian(found)
    _, stretches, directions = np.linalg.svd(jacobian)
    lower, upper = ranges(cell, "")
    # Apart from singularities, and from limits that keep it from being closer.
    assume(stretches[5] > 0.05 and (found > lower + MARGIN).all() and (found < upper - MARGIN).all())
    along = directions[6]  # (n,) joint velocities at which the tip rests
    assert abs(along @ (found - start)) < 5e-3
