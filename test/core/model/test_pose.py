"""Poses fulfil the laws of rigid motions, and agree with matrices."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_cell_planner.model.pose import IDENTITY, Pose

numbers = st.floats(-10.0, 10.0)
vectors = st.tuples(numbers, numbers, numbers)


@st.composite
def poses(draw):
    raw = np.array(draw(st.tuples(*[st.floats(-1.0, 1.0)] * 4)))
    assume(np.linalg.norm(raw) > 0.1)
    x, y, z, w = (raw / np.linalg.norm(raw)).tolist()
    return Pose(draw(vectors), (x, y, z, w))


@given(poses(), poses())
def test_composition_is_the_product_of_the_matrices(a, b):
    np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=1e-12)


@given(poses())
def test_inverse_undoes(a):
    np.testing.assert_allclose((a @ a.inverse()).matrix, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(a.inverse().matrix, np.linalg.inv(a.matrix), atol=1e-10)


@given(poses())
def test_matrix_and_back(a):
    distance, angle = a.distance_to(Pose.from_matrix(a.matrix))
    assert distance < 1e-12
    assert angle < 1e-7


@given(poses(), st.floats(1e-9, math.pi))
def test_angle_between_orientations(a, angle):
    turned = a @ Pose.from_rpy((0, 0, 0), (0, 0, angle))
    assert a.distance_to(turned)[1] == pytest.approx(angle, rel=1e-6, abs=1e-12)


def test_rpy_turns_about_fixed_axes():
    roll, pitch, yaw = 0.3, -0.5, 1.2

    def about(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        matrices = {
            "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
            "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
            "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
        }
        return np.array(matrices[axis])

    expected = about("z", yaw) @ about("y", pitch) @ about("x", roll)
    np.testing.assert_allclose(Pose.from_rpy((0, 0, 0), (roll, pitch, yaw)).matrix[:3, :3], expected, atol=1e-15)


angles = st.floats(-math.pi, math.pi)


@given(angles, st.floats(-0.5 * math.pi, 0.5 * math.pi) | st.just(0.5 * math.pi) | st.just(-0.5 * math.pi), angles)
def test_rpy_and_back(roll, pitch, yaw):
    pose = Pose.from_rpy((1, 2, 3), (roll, pitch, yaw))
    assert all(abs(angle) <= math.pi for angle in pose.rpy)
    assert abs(pose.rpy[1]) <= 0.5 * math.pi
    np.testing.assert_allclose(Pose.from_rpy((1, 2, 3), pose.rpy).matrix, pose.matrix, atol=2e-15)


@given(poses())
def test_rpy_is_that_of_scipy(pose):
    assume(abs(abs(pose.rpy[1]) - 0.5 * math.pi) > 1e-3)
    np.testing.assert_allclose(pose.rpy, Rotation.from_quat(pose.quaternion).as_euler("xyz"), atol=1e-9)


@pytest.mark.parametrize(
    ("position", "quaternion", "words"),
    [
        ((math.nan, 0, 0), (0, 0, 0, 1), "position"),
        ((0, math.inf, 0), (0, 0, 0, 1), "position"),
        ((0, 0, 0), (0, 0, 0, 0), "length 0"),
        ((0, 0, 0), (0, 0, 0, 1.01), "length 1.01"),
        ((0, 0, 0), (0, 0, math.nan, 1), "quaternion"),
        ((0, 0), (0, 0, 0, 1), "2 numbers"),
    ],
)
def test_malformed_poses_are_refused(position, quaternion, words):
    with pytest.raises(ValueError, match=words):
        Pose(position, quaternion)


def test_a_slightly_long_quaternion_is_retained_but_used_at_unit_length():
    pose = Pose((0, 0, 0), (0.0, 0.0, 0.0, 1.0005))
    assert pose.quaternion[3] == 1.0005
    np.testing.assert_allclose(pose.matrix, IDENTITY.matrix)


def test_a_matrix_that_is_not_a_rotation_is_refused():
    matrix = np.eye(4)
    matrix[0, 0] = 1.001
    with pytest.raises(ValueError, match="orthonormal"):
        Pose.from_matrix(matrix)
    with pytest.raises(ValueError, match="right-handed"):
        Pose.from_matrix(np.diag([1.0, 1.0, -1.0, 1.0]))
