"""Jacobians and derived quantities are compared with finite differences."""

import numpy as np
import pinocchio as pin
import pytest
from kinematic_cells import arm, demo, odd_cell, put, without_closed_form

from robot_cell_planner.kinematics.differential import JacobianAxes, jacobians
from robot_cell_planner.kinematics.forward import chain_to, frame_matrix
from robot_cell_planner.kinematics.model import cell_model

STEP = 1e-6


def differences(chain, q, point):
    """Jacobian (6, n) of a point of the tip by central differences, in world axes."""
    columns = []
    for index in range(len(q)):
        shift = np.zeros(len(q))
        shift[index] = STEP
        ahead, behind = chain.forward(q + shift), chain.forward(q - shift)
        linear = (ahead[:3, :3] @ point + ahead[:3, 3] - behind[:3, :3] @ point - behind[:3, 3]) / (2 * STEP)
        angular = pin.log3(ahead[:3, :3] @ behind[:3, :3].T) / (2 * STEP)
        columns.append(np.concatenate((linear, angular)))
    return np.array(columns).T


CASES = [("ur5", "", ""), ("panda", "", ""), ("rail", "", "forearm_link"), ("odd", "two_all", "held")]


def given(name):
    if name == "odd":
        return odd_cell()
    cell = without_closed_form() if name == "skew" else arm(name)
    return cell, cell.default_state()


@pytest.mark.parametrize("name, group, frame", CASES)
@pytest.mark.parametrize("axes", JacobianAxes)
def test_the_jacobian_is_the_derivative_of_the_pose(name, group, frame, axes):
    cell, state = given(name)
    names = cell.group(group).variables
    frame = frame or cell.tip_link(group)
    rng = np.random.default_rng(1)
    point = rng.uniform(-0.2, 0.2, 3)
    chain = chain_to(cell, state, frame, names)
    rows = rng.uniform(-1.5, 1.5, (5, len(names)))
    found = jacobians(cell, state, group, frame, tuple(point), axes, configurations=rows)
    assert found.variables == names
    for q, jacobian in zip(rows, found.jacobian, strict=True):
        expected = differences(chain, q, point)
        rotation = np.eye(3)
        if axes is JacobianAxes.TOOL:
            rotation = chain.forward(q)[:3, :3].T
        elif axes is JacobianAxes.BASE:
            base = cell.group(group).base_link
            rotation = frame_matrix(cell, put(cell, state, q, group), base)[:3, :3].T
        expected = np.concatenate((rotation @ expected[:3], rotation @ expected[3:]))
        np.testing.assert_allclose(jacobian, expected, atol=1e-6)


@pytest.mark.parametrize("name, group, frame", CASES)
def test_the_speeds_of_a_point_are_the_derivatives_of_its_position(name, group, frame):
    cell, state = given(name)
    names = cell.group(group).variables
    chain = chain_to(cell, state, frame or cell.tip_link(group), names)
    rng = np.random.default_rng(2)
    for q in rng.uniform(-1.5, 1.5, (5, len(names))):
        point, direction = rng.uniform(-0.2, 0.2, 3), rng.normal(size=3)
        pose = chain.forward(q)
        found = chain.point_speeds(q, pose[:3, :3] @ point + pose[:3, 3], direction)
        np.testing.assert_allclose(found, direction @ differences(chain, q, point)[:3], atol=1e-6)


@pytest.mark.parametrize("name, group, frame", CASES)
@pytest.mark.parametrize("axes", JacobianAxes)
def test_the_derivative_of_the_jacobian_in_time(name, group, frame, axes):
    cell, state = given(name)
    rng = np.random.default_rng(2)
    n = len(cell.group(group).variables)
    q, v = rng.uniform(-1.5, 1.5, n), rng.uniform(-1.0, 1.0, n)
    rows = np.array([q, q + STEP * v, q - STEP * v])
    found = jacobians(cell, state, group, frame, (0.1, 0.2, 0.3), axes, rows, v)
    numeric = (found.jacobian[1] - found.jacobian[2]) / (2 * STEP)
    np.testing.assert_allclose(found.derivative[0], numeric, atol=1e-6)


def test_the_jacobian_is_pinocchios():
    cell, state = demo()
    model = cell_model(cell, state)
    data = model.data()
    names = cell.group().variables
    rng = np.random.default_rng(3)
    joint, placement = model.frame("gripper/tcp")
    pinocchio = pin.Model(model.model)
    frame = pinocchio.addFrame(pin.Frame("tcp", joint, 0, placement, pin.FrameType.OP_FRAME))
    data = pinocchio.createData()
    for _ in range(10):
        q = rng.uniform(-2.0, 2.0, 6)
        full = model.configuration(put(cell, state, q))
        pin.computeJointJacobians(pinocchio, data, model.expand(full))
        pin.updateFramePlacements(pinocchio, data)
        expected = pin.getFrameJacobian(pinocchio, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:, :6]
        np.testing.assert_allclose(jacobians(cell, state, configurations=q[None]).jacobian[0], expected, atol=1e-12)
        assert names == model.variables[:6]


def test_the_default_jacobian_is_that_of_the_state_at_the_tool_centre_point():
    cell, state = demo()
    q = [state.configuration[name] for name in cell.group().variables]
    here = jacobians(cell, state)
    there = jacobians(cell, state, frame="gripper/tcp", configurations=np.array([q]))
    np.testing.assert_array_equal(here.jacobian, there.jacobian)
    assert not here.twists().any()


def test_twists_are_the_motion_of_the_frame():
    cell, state = demo()
    chain = chain_to(cell, state, "gripper/tcp", cell.group().variables)
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-1.0, 1.0, 6), rng.uniform(-1.0, 1.0, 6)
    twist = jacobians(cell, state, configurations=q[None], velocities=v).twists()[0]
    ahead, behind = chain.forward(q + STEP * v), chain.forward(q - STEP * v)
    np.testing.assert_allclose(twist[:3], (ahead[:3, 3] - behind[:3, 3]) / (2 * STEP), atol=1e-6)
    np.testing.assert_allclose(twist[3:], pin.log3(ahead[:3, :3] @ behind[:3, :3].T) / (2 * STEP), atol=1e-6)


def test_manipulability_is_the_root_of_the_determinant_and_vanishes_at_singularities():
    cell = arm("panda")
    rng = np.random.default_rng(5)
    rows = rng.uniform(-1.0, 1.0, (10, 7))
    found = jacobians(cell, cell.default_state(), configurations=rows)
    products = found.jacobian @ found.jacobian.transpose(0, 2, 1)
    np.testing.assert_allclose(found.manipulabilities(), np.sqrt(np.linalg.det(products)), rtol=1e-6)
    assert (np.diff(found.singular_values(), axis=1) <= 0.0).all()
    ur5 = arm("ur5")
    singular = jacobians(ur5, ur5.default_state(), configurations=np.array([[0.3, -1.0, 0.0, 0.5, 1.0, 0.2]]))
    assert singular.manipulabilities()[0] < 1e-9
