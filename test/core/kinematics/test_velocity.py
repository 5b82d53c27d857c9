"""Velocities for a twist: exact where possible, always within bounds, and in the direction of the twist."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematic_cells import arm, demo, put

from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.forward import frame_matrix
from robot_cell_planner.kinematics.velocity import solve_velocity, velocities_for_twist, velocity_bounds

WIDE = np.array([[-100.0], [100.0]])


def panda(seed):
    cell = arm("panda")
    q = np.random.default_rng(seed).uniform(-1.2, 1.2, 7)
    q[3] -= 1.5
    return jacobians(cell, cell.default_state(), configurations=q[None]).jacobian[0]


def bounds(n, velocity):
    return velocity_bounds(np.repeat(WIDE, n, axis=1), np.full(n, velocity))


@given(st.integers(0, 10_000), st.lists(st.floats(-0.2, 0.2), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_twist_is_reached_or_scaled_in_its_direction(seed, twist):
    jacobian, twist = panda(seed), np.array(twist)
    solution = solve_velocity(jacobian, twist, bounds(7, 1.0), damping=0.0)
    assert (np.abs(solution.velocities) <= 1.0).all()
    np.testing.assert_allclose(solution.twist, jacobian @ solution.velocities, atol=1e-12)
    np.testing.assert_allclose(solution.twist, solution.scale * twist, atol=1e-6)
    assert 0.0 <= solution.scale <= 1.0


def test_redundancy_is_used_for_preferred_velocities():
    jacobian = panda(1)
    twist = np.array([0.05, 0.0, -0.02, 0.0, 0.1, 0.0])
    preferred = np.full(7, 0.3)
    plain = solve_velocity(jacobian, twist, bounds(7, 10.0), damping=0.0)
    with_preference = solve_velocity(jacobian, twist, bounds(7, 10.0), preferred, damping=0.0)
    np.testing.assert_allclose(with_preference.twist, twist, atol=1e-9)
    assert np.linalg.norm(with_preference.velocities - preferred) < np.linalg.norm(plain.velocities - preferred) - 1e-3
    # It is the nearest of all solutions for the twist: the difference is in the range of the transposed Jacobian.
    left = with_preference.velocities - preferred
    np.testing.assert_allclose(left, np.linalg.pinv(jacobian) @ (jacobian @ left), atol=1e-9)


def test_other_joints_compensate_for_a_limited_one():
    jacobian = panda(2)
    twist = np.array([0.1, 0.05, 0.0, 0.0, 0.0, 0.1])
    free = solve_velocity(jacobian, twist, bounds(7, 10.0), damping=0.0)
    fastest = int(np.argmax(np.abs(free.velocities)))
    limits = np.full(7, 10.0)
    limits[fastest] = 0.9 * abs(free.velocities[fastest])
    held = solve_velocity(jacobian, twist, velocity_bounds(np.repeat(WIDE, 7, axis=1), limits), damping=0.0)
    assert held.scale == 1.0
    np.testing.assert_allclose(held.twist, twist, atol=1e-6)
    assert abs(held.velocities[fastest]) <= limits[fastest] + 1e-12


def test_position_limits_are_kept_over_the_time_step():
    limits = np.array([[-1.0, -1.0], [1.0, 1.0]])
    found = velocity_bounds(limits, np.array([2.0, 2.0]), np.array([0.999, -1.5]), 0.004)
    assert found.upper[0] == pytest.approx(0.25)
    assert found.lower[0] == -2.0
    # Beyond a limit, a joint may stay or return, but not move further.
    assert found.lower[1] == 0.0
    assert found.upper[1] == 2.0


def test_near_a_singularity_velocities_stay_moderate():
    cell = arm("ur5")
    q = np.array([[0.3, -1.0, 1e-4, 0.5, 1.0, 0.2]])
    jacobian = jacobians(cell, cell.default_state(), configurations=q).jacobian[0]
    twist = np.array([0.1, 0.1, 0.1, 0.0, 0.0, 0.0])
    wild = solve_velocity(jacobian, twist, bounds(6, 1e9), damping=0.0)
    damped = solve_velocity(jacobian, twist, bounds(6, 1e9))
    assert np.abs(wild.velocities).max() > 100.0
    assert np.abs(damped.velocities).max() < 5.0
    assert damped.smallest_singular_value < 1e-3


@pytest.mark.parametrize("reference_frame", ["world", "gripper/tcp", "bin"])
def test_velocities_for_a_twist_move_the_tool_along_it(reference_frame):
    cell, state = demo()
    twist = np.array((0.02, -0.01, 0.03, 0.05, -0.04, 0.02))
    solution = velocities_for_twist(cell, state, twist, reference_frame=reference_frame, damping=0.0)
    assert solution.scale == 1.0
    np.testing.assert_allclose(solution.twist, twist, atol=1e-9)
    q = np.array([state.configuration[name] for name in cell.group().variables])
    ahead, behind = (
        frame_matrix(cell, put(cell, state, q + step * solution.velocities), "gripper/tcp") for step in (1e-6, -1e-6)
    )
    rotation = frame_matrix(cell, state, reference_frame)[:3, :3]
    np.testing.assert_allclose((ahead[:3, 3] - behind[:3, 3]) / 2e-6, rotation @ twist[:3], atol=1e-6)
    np.testing.assert_allclose(pin.log3(ahead[:3, :3] @ behind[:3, :3].T) / 2e-6, rotation @ twist[3:], atol=1e-6)


def test_velocities_for_a_twist_keep_the_limits_of_the_cell():
    cell, state = demo()
    lift = cell.variables["shoulder_lift_joint"].limits
    state = state.with_configuration({"shoulder_lift_joint": lift.upper - 1e-4})
    for sign in (1.0, -1.0):
        found = velocities_for_twist(cell, state, sign * np.array((0.0, 0.0, 5.0, 0.0, 0.0, 0.0)), time_step=0.01)
        assert found.scale < 1.0
        assert found.velocities[1] <= 0.01 + 1e-12
        for name, velocity in zip(cell.group().variables, found.velocities, strict=True):
            assert abs(velocity) <= cell.variables[name].limits.velocity


def test_without_a_command_nothing_moves():
    solution = solve_velocity(panda(3), np.zeros(6), bounds(7, 1.0))
    np.testing.assert_allclose(solution.velocities, np.zeros(7), atol=1e-12)
    assert solution.scale == 1.0
