"""Public functions of certificates, collision checks and kinematics validate their arguments."""

import math

import numpy as np
import pytest
from collision_cells import at, body, box, free_body, make_cell, mechanism, place, sphere
from frozendict import frozendict

from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.curves import PolynomialMotion
from robot_cell_planner.collision.certification.paths import certify_path, certify_trajectory
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import distance_error
from robot_cell_planner.errors import InvalidRequestError, JointLimitError
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.value import MAX_JOINT_VALUE
from robot_cell_planner.planning.path.processing import check_joint_path
from robot_cell_planner.planning.problem.request import Goals

BAD = [math.nan, math.inf, -math.inf, 1e16, -1e16, 1e300, 1.01 * MAX_JOINT_VALUE]
RADIUS = 0.05


def slide(wall=0.5):
    """A sphere on a slide along x from -pi to pi m, and a wall across its path."""
    cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", box(0.02, 1.0, 1.0)),))
    return cell, place(cell.default_state(), "wall", at(wall))


def spindle_driven(pitch=0.01):
    """A sphere on an arm that turns about z; a spindle that turns without limits moves it along the arm."""
    joints = {
        "turn": Joint("turn", JointKind.REVOLUTE, "base", "beam", Pose(), (0.0, 0.0, 1.0), JointLimits(-3.0, 3.0)),
        "spindle": Joint("spindle", JointKind.CONTINUOUS, "beam", "screw", Pose(), (1.0, 0.0, 0.0), JointLimits()),
        "nut": Joint(
            "nut", JointKind.PRISMATIC, "beam", "tip", at(0.5), (1.0, 0.0, 0.0), JointLimits(), Mimic("spindle", pitch)
        ),
    }
    links = {"base": Link("base"), "beam": Link("beam"), "screw": Link("screw")}
    links["tip"] = Link("tip", collisions=(sphere(RADIUS),))
    group = PlanningGroup("g", ("turn", "spindle"), base_link="base", tip_link="tip")
    robot = Robot("r", Mechanism("m", frozendict(links), frozendict(joints)), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("wall", sphere(RADIUS)),))
    return cell, place(cell.default_state(), "wall", at(0.0, 0.5))


@pytest.mark.parametrize("value", BAD)
def test_every_function_refuses_invalid_values(value):
    cell, state = slide()
    checker = CollisionChecker(cell, state)
    certifier = MotionCertifier(checker)
    good, bad = np.zeros(1), np.array([value])
    (variable,) = checker.variables
    curve = PolynomialMotion(np.array([0.0, 1.0]), np.array([[[0.0], [value]]]))
    for ask in (
        lambda: certifier.quickly_free(good, bad),
        lambda: certifier.quickly_free(bad, good),
        lambda: certifier.certify(good, bad),
        lambda: certifier.certify(bad, bad),
        lambda: certifier.certify_curve(curve),
        lambda: certify_path(certifier, np.array([good, bad])),
        lambda: checker.in_collision(bad),
        lambda: checker.in_collision_batch(np.array([bad])),
        lambda: checker.distance(bad),
        lambda: checker.motion_in_collision(good, bad, 0.1),
        lambda: checker.closest_of(np.array([good, bad])),
        lambda: forward_batch(cell, state, "slider", (variable,), np.array([bad])),
        lambda: jacobians(cell, state, frame="slider", configurations=np.array([bad])),
        lambda: check_joint_path(cell, state, (variable,), np.array([good, bad])),
        lambda: Goals(joint_goals=({variable: value},)),
    ):
        with pytest.raises((InvalidRequestError, JointLimitError)):
            ask()
    with pytest.raises(ValueError, match=f"joint {variable} is"):
        state.with_configuration({variable: value})


@pytest.mark.parametrize("margin", [math.nan, math.inf, -1e-9, -0.01, 11.0])
def test_margins_are_checked(margin):
    """With a negative margin, a motion that ends within the wall would be free."""
    certifier = MotionCertifier(CollisionChecker(*slide()))
    for ask in (certifier.quickly_free, certifier.certify):
        with pytest.raises(InvalidRequestError, match="margin"):
            ask(np.zeros(1), np.array([0.44]), margin)


def test_shapes_are_checked():
    certifier = MotionCertifier(CollisionChecker(*slide()))
    for start, end in ((np.zeros(2), np.zeros(2)), (np.zeros((1, 1)), np.zeros(1)), (0.0, np.zeros(1)), ("a", "b")):
        for ask in (certifier.quickly_free, certifier.certify):
            with pytest.raises(InvalidRequestError):
                ask(start, end)


def test_spheres_prove_no_motion_beyond_the_limits_of_a_slide():
    """Motion bounds of the objects on a slide are valid within its limits only."""
    certifier = MotionCertifier(CollisionChecker(*slide(-1.0)))
    assert certifier.quickly_free(np.zeros(1), np.array([3.1]))
    assert not certifier.quickly_free(np.zeros(1), np.array([3.2]))


def through_the_wall(breaks, coefficients):
    """Both functions that certify curves refuse a curve through the wall."""
    certifier = MotionCertifier(CollisionChecker(*slide()))
    breaks, coefficients = np.array(breaks, dtype=float), np.array(coefficients, dtype=float)
    with pytest.raises(InvalidRequestError):
        certifier.certify_curve(PolynomialMotion(breaks, coefficients))
    with pytest.raises(InvalidRequestError):
        certify_trajectory(certifier, breaks, coefficients)


@pytest.mark.parametrize("breaks", [[1.0, 0.0], [0.0, math.nan], [0.0, math.inf], [0.0], []])
def test_breaks_ascend(breaks):
    """A piece of negative length would have negative intervals, in which no collision is found."""
    through_the_wall(breaks, [[[0.0], [1.0]]])


def test_breaks_ascend_from_piece_to_piece():
    through_the_wall([0.0, 1.0, 0.5], [[[0.0], [1.0]], [[1.0], [1.0]]])


def test_a_curve_does_not_jump():
    """Both pieces are free; the wall is between the end of one and the start of the other."""
    through_the_wall([0.0, 1.0, 2.0], [[[0.0], [0.1]], [[0.9], [0.1]]])


def quintic(start, end):
    """Coefficients (1, 6, 1) of the quintic of one second from rest to rest."""
    way = end - start
    return np.array([[[start], [0.0], [0.0], [10.0 * way], [-15.0 * way], [6.0 * way]]])


def test_a_quintic_may_end_at_the_limit_of_a_slide():
    cell, state = slide(-1.0)
    certifier = MotionCertifier(CollisionChecker(cell, state))
    (limits,) = (cell.variables[name].limits for name in certifier.checker.variables)
    breaks = np.array([0.0, 1.0])
    found = certifier.certify_curve(PolynomialMotion(breaks, quintic(0.0, limits.upper)))
    assert found.verdict is Verdict.FREE
    assert certify_trajectory(certifier, breaks, quintic(limits.upper, 0.2)).verdict is Verdict.FREE
    for beyond in (2e-6, 1e-3, 1.0):
        with pytest.raises(JointLimitError):
            certifier.certify_curve(PolynomialMotion(breaks, quintic(0.0, limits.upper + beyond)))
    # Within limits at both ends, and beyond them in between.
    over = np.array([[[3.0], [1.0], [-1.0]]])
    with pytest.raises(JointLimitError):
        certifier.certify_curve(PolynomialMotion(breaks, over))


def test_motions_of_a_spindle_are_proven():
    """A slide that mimics a joint without limits is bounded for some turns; no motion beyond them is proven."""
    certifier = MotionCertifier(CollisionChecker(*spindle_driven()))
    clear = np.array([-1.0, 0.0]), np.array([0.5, 6.0])
    assert certifier.certify(*clear).verdict is Verdict.FREE
    assert certifier.quickly_free(*clear)
    # 0.5 m + 0.01 m per rad: the sphere hits the wall at the end of the turn unless the spindle has moved it.
    assert certifier.certify(np.array([0.0, 0.0]), np.array([1.57, 0.0])).verdict is Verdict.COLLIDING
    assert certifier.certify(np.array([0.0, 40.0]), np.array([1.57, 40.0])).verdict is Verdict.FREE
    with pytest.raises(JointLimitError):
        certifier.certify(np.array([0.0, 0.0]), np.array([0.0, 60.0]))
    assert not certifier.quickly_free(np.array([0.0, 0.0]), np.array([0.0, 60.0]))


def test_angles_of_many_turns_are_certified():
    """A certificate near the bound on joint values equals that of the same angles within the first turn."""
    joint = Joint("j", JointKind.CONTINUOUS, "base", "tip", Pose(), (0.0, 0.0, 1.0), JointLimits())
    links = {"base": Link("base"), "tip": Link("tip", collisions=(sphere(RADIUS, at(0.8)),))}
    robot = Robot("r", Mechanism("m", frozendict(links), frozendict({"j": joint})))
    cell = make_cell((robot,), (), (body("wall", sphere(RADIUS)),))
    certifier = MotionCertifier(CollisionChecker(cell, place(cell.default_state(), "wall", at(0.8))))
    turns = 2.0 * math.pi * math.floor(MAX_JOINT_VALUE / (2.0 * math.pi) - 1.0)
    for way in (-1.0, 1.0):
        for low, high, verdict in ((0.2, 2.0, Verdict.FREE), (0.05, 0.2, Verdict.COLLIDING)):
            found = certifier.certify(np.array([way * (turns + low)]), np.array([way * (turns + high)]))
            assert found.verdict is verdict


def test_distances_are_within_their_error_allowance():
    """The error of coal's distances to boxes far away is within its allowance, by closed formulas."""
    random = np.random.default_rng(1)
    for _ in range(300):
        away = 10.0 ** random.uniform(-3.0, 1.0)
        sizes = random.uniform(0.02, 1.0, 3).tolist()
        cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("block", box(*sizes)),))
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        outside = np.maximum(np.abs(direction * 100.0) - 0.5 * np.array(sizes), 0.0) * np.sign(direction)
        # A point whose nearest point of the block is at `away` from it.
        nearest = 0.5 * np.array(sizes) * np.sign(direction)
        point = nearest + (away + RADIUS) * outside / np.linalg.norm(outside)
        state = place(cell.default_state(), "block", at(*(-point).tolist()))
        found = CollisionChecker(cell, state).distance(np.zeros(1)).distance
        assert abs(found - away) <= distance_error(away)


def test_a_cell_without_joints_is_certified():
    joints = [("weld", JointKind.FIXED, "base", "tip", at(0.3), (1.0, 0.0, 0.0))]
    made = mechanism("post", {"base": [box(0.1, 0.1, 0.1)], "tip": [sphere(RADIUS)]}, joints)
    cell = make_cell((Robot("post", made),), (), (body("wall", box(0.1, 0.1, 0.1)),))
    certifier = MotionCertifier(CollisionChecker(cell, place(cell.default_state(), "wall", at(1.0))))
    q = np.zeros(0)
    assert certifier.quickly_free(q, q)
    assert certifier.motions_free(np.zeros((3, 0))).all()
    assert certifier.certify(q, q).verdict is Verdict.FREE
