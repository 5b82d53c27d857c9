"""Errors of inverse kinematics report the reason (reach, limits, collision, time) and the closest configuration."""

import numpy as np
import pytest
from kinematic_cells import arm, demo, put, without_closed_form

from robot_cell_planner.errors import (
    AllSolutionsInCollisionError,
    BeyondJointLimitsError,
    InverseKinematicsError,
    OutOfReachError,
    TimedOutError,
)
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.ik.failure import IkFailureReason
from robot_cell_planner.kinematics.ik.options import IkOptions, IkSolver
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics, iter_inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget
from robot_cell_planner.model.pose import Pose


def closest_is_true(cell, state, target, error):
    """The closest configuration is within limits and has the deviation that the error reports."""
    closest = error.partial.closest
    reached = forward_kinematics(cell, put(cell, state, closest.positions))
    distance, angle = reached.distance_to(target.pose)
    assert closest.distance == pytest.approx(distance, abs=1e-9)
    assert closest.angle == pytest.approx(angle, abs=1e-6)
    assert closest.limit_distance >= 0.0


@pytest.mark.parametrize("name", ["ur5", "panda", "skew"])
def test_out_of_reach_with_the_distance(name):
    """Along a ray, the reported distance grows by as much as the distance of the target."""
    cell = without_closed_form() if name == "skew" else arm(name)
    state = put(cell, cell.default_state(), [0.4, -0.5, 0.6, -0.7, 0.8, 0.9, 0.2][: len(cell.group().variables)])
    missing = []
    for distance in (10.0, 20.0):
        target = FrameTarget(pose=Pose((distance, 0.0, 0.0)))
        with pytest.raises(OutOfReachError, match="out of reach") as caught:
            inverse_kinematics(cell, state, target)
        failure = caught.value.partial
        assert failure.reason is IkFailureReason.OUT_OF_REACH
        assert caught.value.values[0].value == failure.excess
        closest_is_true(cell, state, target, caught.value)
        missing.append(failure.excess)
    assert missing[1] - missing[0] == pytest.approx(10.0, abs=0.05)


def test_out_of_reach_of_a_point_and_axis():
    cell = arm("ur5")
    with pytest.raises(OutOfReachError):
        inverse_kinematics(cell, cell.default_state(), PointAxisTarget(point=(3.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0)))


@pytest.mark.parametrize("solver", [IkSolver.AUTO, IkSolver.NUMERIC])
def test_beyond_limits_with_joint_and_excess(solver):
    """The shoulder of the demo is limited to 0.5 rad; every solution for a pose straight down in front exceeds it."""
    cell = arm("demo")
    limits = cell.variables["shoulder_lift_joint"].limits
    names = cell.group().variables
    wild = np.array([0.2, limits.upper + 0.4, 0.3, 0.2, 1.2, 0.1])
    target = FrameTarget(pose=forward_kinematics(cell, put(cell, cell.default_state(), wild)))
    found = "" if solver is IkSolver.AUTO else r" that was found \(there may be others\)"
    message = rf"every solution of \w+{found} is beyond joint limits; the nearest exceeds"
    with pytest.raises(BeyondJointLimitsError, match=message) as caught:
        inverse_kinematics(cell, cell.default_state(), target, options=IkOptions(solver=solver))
    failure = caught.value.partial
    assert failure.reason is IkFailureReason.BEYOND_JOINT_LIMITS
    assert failure.joints == caught.value.subjects
    assert set(failure.joints) <= set(names)
    for value, excess in zip(caught.value.values, failure.joint_excess, strict=True):
        assert abs(value.value - value.limit) == pytest.approx(excess)
    assert 0.0 < max(failure.joint_excess) <= 0.4 + 1e-6
    closest_is_true(cell, cell.default_state(), target, caught.value)


@pytest.mark.parametrize("name", ["ur5", "panda", "skew"])
def test_all_in_collision_with_the_pairs(name):
    cell = without_closed_form() if name == "skew" else arm(name)
    state = put(cell, cell.default_state(), [0.4, -0.5, 0.6, -0.7, 0.8, 0.9, 0.2][: len(cell.group().variables)])
    target = FrameTarget(pose=forward_kinematics(cell, state))
    found = "" if name == "ur5" else r" that was found \(there may be others\)"
    message = rf"every solution of \w+{found} is in collision: hand - wall"
    with pytest.raises(AllSolutionsInCollisionError, match=message) as caught:
        inverse_kinematics(
            cell, state, target, is_valid=lambda q: False, explain=lambda q: ("hand - wall",),
            options=IkOptions(max_restarts=5),
        )  # fmt: skip
    failure = caught.value.partial
    assert caught.value.subjects == failure.pairs == ("hand - wall",)
    assert failure.reason is IkFailureReason.IN_COLLISION
    assert failure.closest.distance <= 1e-6


def test_a_time_limit_is_reported():
    cell = arm("panda")
    target = FrameTarget(pose=forward_kinematics(cell, cell.default_state()))
    with pytest.raises(TimedOutError) as caught:
        inverse_kinematics(cell, cell.default_state(), target, options=IkOptions(timeout=1e-9))
    assert caught.value.stage == "inverse kinematics"
    assert caught.value.partial.reason is IkFailureReason.TIMED_OUT


def test_a_reachable_point_in_an_impossible_orientation():
    """Straight up at full height the tool cannot point sideways with the wrist's offset."""
    cell = arm("demo")
    state = put(cell, cell.default_state(), [0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.1, 0.0])
    top = forward_kinematics(cell, state)
    target = FrameTarget(pose=Pose(top.position, (1.0, 0.0, 0.0, 0.0)))
    with pytest.raises(InverseKinematicsError) as caught:
        inverse_kinematics(cell, state, target)
    closest_is_true(cell, state, target, caught.value)


def test_an_iterator_without_solutions_fails_at_its_first_step():
    cell = arm("ur5")
    solutions = iter_inverse_kinematics(cell, cell.default_state(), FrameTarget(pose=Pose((9.0, 0.0, 0.0))))
    with pytest.raises(OutOfReachError):
        next(solutions)


def test_errors_survive_pickling():
    import pickle

    cell, state = demo()
    with pytest.raises(OutOfReachError) as caught:
        inverse_kinematics(cell, state, FrameTarget(pose=Pose((9.0, 0.0, 0.0))))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    np.testing.assert_array_equal(copy.partial.closest.positions, caught.value.partial.closest.positions)
