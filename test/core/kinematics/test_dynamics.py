"""Dynamics: inverse and forward dynamics, gravity and potential energy, payload, wrenches, mimic joints."""

import msgspec
import numpy as np
import pinocchio as pin
import pytest
from kinematic_cells import arm, demo, odd_cell, without_closed_form

from benchmarks.arms import urdf_of
from robot_cell_planner.errors import ModelError
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.model.mechanism import Inertial
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState

G = 9.80665


def cases():
    yield "ur5", *_plain("ur5")
    yield "panda", *_plain("panda")
    yield "odd", *odd_cell()
    cell, state = demo()
    yield "demo", cell, state.with_body("workpiece", BodyState(Pose((0.0, 0.0, 0.1)), "gripper/tcp"))


def _plain(name):
    cell = arm(name)
    return cell, cell.default_state()


CASES = {name: (cell, state) for name, cell, state in cases()}


@pytest.mark.parametrize("name", CASES)
def test_forward_dynamics_undoes_inverse_dynamics(name):
    cell, state = CASES[name]
    dynamics = Dynamics(cell, state)
    rng = np.random.default_rng(1)
    n = len(dynamics.variables)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 8, n))
    wrenches = {cell.tip_link(next(iter(next(iter(cell.robots.values())).groups))): rng.uniform(-5.0, 5.0, 6)}
    efforts = dynamics.inverse(q, v, a, wrenches)
    np.testing.assert_allclose(dynamics.forward(q, v, efforts, wrenches), a, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_efforts_are_linear_in_the_acceleration(name):
    cell, state = CASES[name]
    dynamics = Dynamics(cell, state)
    rng = np.random.default_rng(2)
    q, v, a = rng.uniform(-1.0, 1.0, (3, len(dynamics.variables)))
    mass = dynamics.mass_matrix(q)
    np.testing.assert_allclose(mass, mass.T, atol=1e-12)
    assert np.linalg.eigvalsh(mass).min() > 0.0
    np.testing.assert_allclose(dynamics.inverse(q, v, a) - dynamics.inverse(q, v), mass @ a, atol=1e-9)
    np.testing.assert_allclose(dynamics.inverse(q), dynamics.gravity(q), atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_gravity_is_the_slope_of_the_potential_energy(name):
    cell, state = CASES[name]
    dynamics = Dynamics(cell, state)
    model = cell_model(cell, state)
    rng = np.random.default_rng(3)
    q = rng.uniform(-1.0, 1.0, model.size)
    slope = np.empty(model.size)
    for index in range(model.size):
        shift = np.zeros(model.size)
        shift[index] = 1e-5
        high, low = (
            pin.computePotentialEnergy(model.model, model.data(), model.expand(q + sign * shift)) for sign in (1, -1)
        )
        slope[index] = (high - low) / 2e-5
    np.testing.assert_allclose(dynamics.gravity(q), slope, atol=1e-5)


@pytest.mark.parametrize("name", ["ur5", "xarm7"])
def test_dynamics_equal_those_of_pinocchio(name):
    cell, state = _plain(name)
    reference = pin.buildModelFromUrdf(str(urdf_of(name)))
    reference.gravity.linear = np.array((0.0, 0.0, -G))
    dynamics = Dynamics(cell, state)
    rng = np.random.default_rng(4)
    q, v, a = rng.uniform(-1.0, 1.0, (3, len(dynamics.variables)))
    order = [reference.joints[reference.getJointId(variable)].idx_v for variable in dynamics.variables]
    theirs = np.empty((3, reference.nv))
    for row, values in zip(theirs, (q, v, a), strict=True):
        row[order] = values
    full = pin.neutral(reference)
    for variable, value in zip(dynamics.variables, q, strict=True):
        joint = reference.joints[reference.getJointId(variable)]
        full[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    expected = pin.rnea(reference, reference.createData(), full, theirs[1], theirs[2])
    np.testing.assert_allclose(dynamics.inverse(q, v, a), expected[order], atol=1e-9)


def test_a_held_body_adds_the_torque_of_its_weight():
    cell, state = demo()
    body = msgspec.structs.replace(cell.bodies["workpiece"], inertial=Inertial(2.0, Pose((0.01, 0.0, 0.0))))
    cell = msgspec.structs.replace(cell, bodies=cell.bodies.set("workpiece", body))
    at = Pose((0.02, 0.03, 0.1))
    held = state.with_body("workpiece", BodyState(at, "gripper/tcp"))
    added = Dynamics(cell, held).gravity() - Dynamics(cell, state).gravity()
    lever = (at @ Pose((0.01, 0.0, 0.0))).position
    jacobian = jacobians(cell, held, frame="gripper/tcp", point=lever).jacobian[0]
    np.testing.assert_allclose(added[:6], jacobian[:3].T @ np.array((0.0, 0.0, 2.0 * G)), atol=1e-9)


def test_a_wrench_adds_efforts_by_the_transposed_jacobian():
    cell, state = demo()
    wrench = np.array((3.0, -2.0, 1.0, 0.5, 0.4, -0.3))
    dynamics = Dynamics(cell, state)
    felt = dynamics.inverse(wrenches={"gripper/tcp": wrench}) - dynamics.inverse()
    from robot_cell_planner.kinematics.differential import JacobianAxes

    jacobian = jacobians(cell, state, frame="gripper/tcp", axes=JacobianAxes.TOOL).jacobian[0]
    np.testing.assert_allclose(felt[:6], -jacobian.T @ wrench, atol=1e-9)


def test_a_wrench_on_a_static_object_has_no_effect():
    cell, state = demo()
    dynamics = Dynamics(cell, state)
    np.testing.assert_array_equal(dynamics.inverse(wrenches={"table": np.ones(6)}), dynamics.inverse())


def test_a_mimic_joint_adds_to_the_effort_of_its_variable():
    """The power at the variables equals the power at all joints."""
    cell, state = odd_cell()
    dynamics, model = Dynamics(cell, state), cell_model(cell, state)
    rng = np.random.default_rng(6)
    q, v, a = rng.uniform(-1.0, 1.0, (3, model.size))
    full = pin.rnea(model.model, model.data(), model.expand(q), model.expand_rate(v), model.expand_rate(a))
    assert dynamics.inverse(q, v, a) @ v == pytest.approx(full @ model.expand_rate(v))
    assert model.model.nv > model.size


def test_gravity_may_point_elsewhere_or_vanish():
    cell, state = demo()
    np.testing.assert_allclose(Dynamics(cell, state, (0.0, 0.0, 0.0)).gravity(), np.zeros(7), atol=1e-12)
    down, up = Dynamics(cell, state), Dynamics(cell, state, (0.0, 0.0, G))
    np.testing.assert_allclose(down.gravity(), -up.gravity(), atol=1e-12)


def test_rows_are_taken_one_by_one_or_together():
    cell, state = demo()
    dynamics = Dynamics(cell, state)
    rng = np.random.default_rng(7)
    q, a = rng.uniform(-1.0, 1.0, (2, 4, 7))
    together = dynamics.inverse(q, None, a)
    for row in range(4):
        np.testing.assert_array_equal(together[row], dynamics.inverse(q[row], None, a[row]))
    assert dynamics.inverse().shape == (7,)
    assert dynamics.mass_matrix(q).shape == (4, 7, 7)


def test_joints_that_move_no_mass_have_no_forward_dynamics():
    cell = without_closed_form()
    with pytest.raises(ModelError, match="moves no mass"):
        Dynamics(cell, cell.default_state()).forward()
