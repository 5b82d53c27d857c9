"""Targets with free rotations: solutions reach the target up to rotations that SciPy composes."""

import numpy as np
import pytest
from kinematic_cells import arm, put, ranges, without_closed_form
from scipy.spatial.transform import Rotation

from robot_cell_planner.errors import InvalidValueError, RobotCellError
from robot_cell_planner.kinematics._kernels.pose_error_kernels import fill_error, remove_free_rotations
from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics
from robot_cell_planner.kinematics.ik.options import IkOptions, IkSolver
from robot_cell_planner.kinematics.ik.problem import nearest_free_rotation
from robot_cell_planner.kinematics.ik.seeds import free_rotations
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget
from robot_cell_planner.model.pose import Pose

COMBINATIONS = ("x", "y", "z", "xy", "xz", "yz", "xyz")
BOUND = 1e-6


def tolerances(free, bound=BOUND):
    return tuple(np.pi if axis in free else bound for axis in "xyz")


def weights(free):
    return np.array([0.0 if axis in free else 1.0 for axis in "xyz"])


def transform(rotation):
    result = np.eye(4)
    result[:3, :3] = rotation.as_matrix()
    return result


def along(free, vectors):
    """Rotations whose vectors have only the components along the free axes."""
    return Rotation.from_rotvec(vectors * (1.0 - weights(free)))


def fixed_parts(free, target, reached):
    """Components along the fixed axes of the rotation vector between target and reached rotation, (3,)."""
    vector = (target.inv() * reached).as_rotvec()
    return vector * weights(free)


def solved_rotation(cell, start, target, result, row=0):
    moved = start.with_configuration(dict(zip(result.variables, result.solutions[row].tolist(), strict=True)))
    reached = forward_kinematics(cell, moved)
    assert reached.distance_to(target.pose)[0] < 1.1e-6
    return Rotation.from_matrix(reached.matrix[:3, :3])


@pytest.mark.parametrize("free", COMBINATIONS)
@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("ur5", IkSolver.ANALYTIC),
        ("ur5", IkSolver.NUMERIC),
        ("panda", IkSolver.AUTO),
        ("panda", IkSolver.NUMERIC),
        ("skew", IkSolver.NUMERIC),
    ],
)
def test_free_axes_admit_the_rotations_along_them_and_no_others(name, solver, free):
    """Poses of random configurations are rotated about the free axes, so that the targets can be reached."""
    cell = without_closed_form() if name == "skew" else arm(name)
    state, names = cell.default_state(), cell.group().variables
    rng = np.random.default_rng(11)
    lower, upper = ranges(cell)
    goals, starts = rng.uniform(lower, upper, (2, 25, len(lower)))
    poses = forward_batch(cell, state, cell.tip_link(), names, goals)
    turns = along(free, rng.uniform(-1.7, 1.7, (25, 3)))
    missed = 0
    for pose, turn, start_q in zip(poses, turns, starts, strict=True):
        desired = Rotation.from_matrix(pose[:3, :3]) * turn
        matrix = pose.copy()
        matrix[:3, :3] = desired.as_matrix()
        target = FrameTarget(pose=Pose.from_matrix(matrix), tolerance_angles=tolerances(free))
        start = put(cell, state, start_q)
        try:
            result = inverse_kinematics(cell, start, target, options=IkOptions(solver=solver, max_solutions=3))
        except RobotCellError:
            missed += 1
            continue
        assert not result.complete
        for row in range(len(result)):
            reached = solved_rotation(cell, start, target, result, row)
            assert np.abs(fixed_parts(free, desired, reached)).max() < 2e-6 * np.pi
    # A sweep of the analytic solver finds a solution only at a sample of the free rotations.
    assert missed <= (12 if solver is IkSolver.ANALYTIC else 2)


@pytest.mark.parametrize("free", ["x", "y", "z", "xy", "xz", "yz"])
def test_the_error_is_the_smallest_rotation_to_a_free_one(free):
    """No rotation of a dense sample of the free ones is nearer, and the rotation by the error results in a free one."""
    rng = np.random.default_rng(3)
    axes = [index for index, axis in enumerate("xyz") if axis in free]
    samples = Rotation.from_matrix(free_rotations(tuple(axes), 20000, 0))
    assert np.abs(samples.as_rotvec() * weights(free)).max() < 1e-12
    spacing = 0.05 if len(axes) == 2 else 1e-3
    for _ in range(20):
        target, pose = Rotation.random(2, random_state=rng)
        error = np.zeros(6)
        distance, angle = fill_error(transform(target), transform(pose), weights(free), error)
        assert distance == 0.0
        assert np.linalg.norm(error[3:]) == pytest.approx(angle, abs=1e-12)
        sampled = ((target * samples).inv() * pose).magnitude().min()
        assert angle - 1e-9 <= sampled <= angle + spacing
        reached = Rotation.from_rotvec(error[3:]) * pose
        quaternion = (target.inv() * reached).as_quat()
        assert np.abs(quaternion[:3] * weights(free)).max() < 1e-12
        nearest = nearest_free_rotation(target.as_matrix(), pose.as_matrix(), tuple(axes))
        assert np.allclose(nearest, reached.as_matrix(), atol=1e-9)


@pytest.mark.parametrize("free", ["x", "y", "z", "xy", "xz", "yz"])
def test_the_jacobian_of_free_rotations_is_the_derivative_of_the_angle(free):
    rng = np.random.default_rng(4)
    for _ in range(20):
        target, pose = Rotation.random(2, random_state=rng)
        error, jacobian, step = np.zeros(6), np.zeros((6, 3)), 1e-6
        _, angle = fill_error(transform(target), transform(pose), weights(free), error)
        jacobian[3:] = np.eye(3)
        remove_free_rotations(transform(target), transform(pose), weights(free), jacobian)
        for column, direction in enumerate(np.eye(3)):
            angles = []
            for factor in (-step, step):
                moved = Rotation.from_rotvec(factor * direction) * pose
                angles.append(fill_error(transform(target), transform(moved), weights(free), np.zeros(6))[1])
            slope = (angles[1] - angles[0]) / (2.0 * step)
            assert slope == pytest.approx(-error[3:] @ jacobian[3:, column] / angle, abs=1e-4)


def test_a_target_half_a_turn_away_about_the_fixed_axis_is_reached():
    """There the gradient of the angle has no direction."""
    cell = arm("ur5")
    start = put(cell, cell.default_state(), np.array([0.3, -1.2, 1.4, -0.8, 0.9, 0.2]))
    pose = forward_kinematics(cell, start)
    for free, axis in (("xy", 2), ("xz", 1), ("yz", 0)):
        desired = Rotation.from_matrix(pose.matrix[:3, :3]) * Rotation.from_rotvec(np.pi * np.eye(3)[axis])
        matrix = pose.matrix
        matrix[:3, :3] = desired.as_matrix()
        target = FrameTarget(pose=Pose.from_matrix(matrix), tolerance_angles=tolerances(free))
        for solver in (IkSolver.AUTO, IkSolver.NUMERIC):
            result = inverse_kinematics(cell, start, target, options=IkOptions(solver=solver, max_solutions=1))
            reached = solved_rotation(cell, start, target, result)
            assert np.abs(fixed_parts(free, desired, reached)).max() < 1e-5


def test_tolerances_of_single_axes_are_used_where_the_arm_needs_them():
    """An arm of five joints reaches poses that are turned about one axis of the frame, within that tolerance only."""
    cell = arm("ur5")
    state = cell.default_state()
    names = cell.group().variables
    rng = np.random.default_rng(5)
    lower, upper = ranges(cell)
    for q in rng.uniform(lower, upper, (10, 6)):
        start = put(cell, state, q)
        five = names[:5]
        pose = forward_kinematics(cell, start)
        turned = Rotation.from_matrix(pose.matrix[:3, :3]) * Rotation.from_euler("x", 0.05)
        matrix = pose.matrix
        matrix[:3, :3] = turned.as_matrix()
        near = put(cell, state, q + rng.uniform(-0.05, 0.05, 6) * [1, 1, 1, 1, 1, 0])
        target = FrameTarget(
            pose=Pose.from_matrix(matrix), tolerance_position=2e-3, tolerance_angles=(0.06, 1e-3, 1e-3)
        )
        result = inverse_kinematics(cell, near, target, options=IkOptions(max_solutions=1), variables=five)
        moved = near.with_configuration(dict(zip(five, result.solutions[0].tolist(), strict=True)))
        reached = Rotation.from_matrix(forward_kinematics(cell, moved).matrix[:3, :3])
        left = (turned.inv() * reached).as_rotvec()
        assert (np.abs(left) <= np.array((0.06, 1e-3, 1e-3)) * 1.001).all()


def test_tolerances_of_single_axes_scale_the_error():
    """The angle is within the smallest tolerance exactly if the rotation is within the ellipsoid."""
    rng = np.random.default_rng(6)
    angles = np.array((0.3, 0.1, 0.2))
    inside = 0
    for vector in rng.uniform(-0.4, 0.4, (300, 3)):
        target = Rotation.random(random_state=rng)
        pose, error = transform(target * Rotation.from_rotvec(vector)), np.zeros(6)
        _, angle = fill_error(transform(target), pose, 0.1 / angles, error)
        assert (angle <= 0.1) == (np.linalg.norm(vector / angles) <= 1.0)
        inside += angle <= 0.1
    assert 10 < inside < 290


def test_angles_from_3_14_on_are_free_and_smaller_ones_are_bounds():
    pose = Pose((0.4, 0.1, 0.3))
    assert FrameTarget(pose=pose, tolerance_angles=(3.14, 0.1, 3.2)).free_axes == (0, 2)
    assert FrameTarget(pose=pose, tolerance_angles=(3.13, 0.1, 0.2)).free_axes == ()
    assert FrameTarget(pose=pose, tolerance_angles=(3.14, 0.1, 0.2)).tolerances[1] == 0.1
    assert FrameTarget(pose=pose, tolerance_angle=3.14).free_axes == (0, 1, 2)
    assert FrameTarget(pose=pose).free_axes == ()
    assert PointAxisTarget(point=(0.0, 0.0, 1.0), axis=(0.0, 0.0, 1.0)).free_axes == (2,)


@pytest.mark.parametrize(
    "angles", [(0.0, 0.1, 0.1), (-1.0, 0.1, 0.1), (np.nan, 0.1, 0.1), (np.inf, 1.0, 1.0), (1.0, 1.0)]
)
def test_invalid_tolerances_are_refused(angles):
    with pytest.raises(InvalidValueError):
        FrameTarget(pose=Pose(), tolerance_angles=angles)


def test_a_tolerance_for_all_axes_and_one_for_each_exclude_each_other():
    with pytest.raises(InvalidValueError, match="expected one of them"):
        FrameTarget(pose=Pose(), tolerance_angle=0.1, tolerance_angles=(0.1, 0.1, 0.1))
