"""Limits hold over the whole streamed curve, for any points of a trajectory."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trajectory_limits import cases_of, extremes_of, random_trajectory
from robot_cell_planner.trajectory.curve_limits import excesses, slowing
from robot_cell_planner.trajectory.curves import PolynomialCurve
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.sampler import TrajectorySampler
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.trajectory.validation import Quantity, dense_times, validate

LIMITS = MotionLimits(("joint",), [-2.9], [2.9], [2.09], [4.0], [40.0])
TRAJECTORIES = 10  # of each kind; benchmarks/trajectory_limits.py has 1,000


@pytest.mark.parametrize("kind", [1, 2, 3], ids=["positions", "velocities", "accelerations"])
def test_a_trajectory_is_accepted_if_and_only_if_its_curve_is_within_limits(kind):
    rng = np.random.default_rng(kind)
    for _ in range(TRAJECTORIES):
        trajectory = random_trajectory(rng, kind)
        seen = extremes_of(trajectory)
        # The acceleration is continuous, without a step between commands.
        assert seen.difference <= 1.0 + 1e-6
        for limits, accepted in cases_of(seen):
            assert validate(trajectory, limits).valid is accepted


@pytest.mark.parametrize("way, duration", [(0.3, 0.02), (0.6, 0.2)])
@pytest.mark.parametrize("kinds", [1, 2, 3])
def test_motions_between_points_at_rest_are_found(way, duration, kinds):
    """0.3 rad in 0.02 s from rest to rest is 22.5 rad/s and more in between."""
    rows = [np.array([[0.0], [way]]), np.zeros((2, 1)), np.zeros((2, 1))][:kinds]
    report = validate(Trajectory(("joint",), [0.0, duration], *rows), LIMITS, find_all=True)
    broken = {found.quantity: found for found in report.violations}
    assert set(broken) >= {Quantity.VELOCITY, Quantity.ACCELERATION, Quantity.JERK}
    # The polynomial of degree 5 from rest to rest is fastest in the middle, with 15/8 of the mean velocity.
    assert broken[Quantity.VELOCITY].value == pytest.approx(15.0 / 8.0 * way / duration)
    assert broken[Quantity.VELOCITY].time == pytest.approx(0.5 * duration)
    assert broken[Quantity.JERK].value == pytest.approx(60.0 * way / duration**3)


def test_a_position_beyond_its_limit_between_points_is_found():
    rows = [np.array([[2.8], [2.8]]), np.array([[1.0], [-1.0]]), np.zeros((2, 1))]
    report = validate(Trajectory(("joint",), [0.0, 1.0], *rows), LIMITS, at_rest=False)
    assert [found.quantity for found in report.violations] == [Quantity.POSITION]
    assert report.violations[0].time == pytest.approx(0.5)


def test_an_acceleration_that_ends_in_a_step_is_refused():
    rows = [np.array([[0.0], [0.1]]), np.zeros((2, 1)), np.array([[0.0], [-1.0]])]
    report = validate(Trajectory(("joint",), [0.0, 1.0], *rows), LIMITS)
    assert [found.quantity for found in report.violations] == [Quantity.ACCELERATION]
    assert validate(Trajectory(("joint",), [0.0, 1.0], *rows), LIMITS, at_rest=False).valid


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([0.01, 0.001]))
def test_no_joint_moves_further_than_the_step_between_states_that_are_checked(seed, kind, step):
    trajectory = random_trajectory(np.random.default_rng(seed), kind)
    times = dense_times(trajectory, step)
    assert np.abs(np.diff(trajectory.at(times), axis=0)).max() <= step * (1.0 + 1e-6)
    assert np.isin(trajectory.times, times).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_the_required_slow_down_uses_limits_fully(seed, kind):
    trajectory = random_trajectory(np.random.default_rng(seed), kind)
    limits = MotionLimits(("a", "b"), [-9.0] * 2, [9.0] * 2, [2.0, 3.0], [4.0, 40.0], [40.0, 400.0])
    factor = float(slowing(trajectory.curve, limits).max())
    curve = trajectory.curve.stretched(factor)
    assert slowing(curve, limits).max() == pytest.approx(1.0, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.integers(0, 3), st.integers(0, 10_000))
def test_largest_derivatives_are_those_of_dense_sampling(degree, order, seed):
    rng = np.random.default_rng(seed)
    breaks = np.concatenate(([0.0], np.cumsum(rng.uniform(0.01, 2.0, 4))))
    curve = PolynomialCurve(breaks, rng.normal(size=(4, degree + 1, 2)) * 3.0 ** rng.uniform(-3, 3, (4, 1, 2)))
    largest = curve.largest_derivatives(order)
    for piece, (first, last) in enumerate(pairwise(breaks.tolist())):
        times = np.linspace(first, np.nextafter(last, first), 4000)  # including the ends of this piece
        seen = np.abs(curve.evaluate(times, order)).max(axis=0)
        bend = np.abs(curve.evaluate(times, order)).max() + np.ptp(curve.evaluate(times, order), axis=0)
        assert (seen <= largest[piece] * (1.0 + 1e-9) + 1e-12).all()
        assert (largest[piece] <= seen + 1e-3 * bend + 1e-9).all()


class TestPointsWithoutDerivatives:
    """Curves through points without velocities or accelerations."""

    def test_positions_alone_are_interpolated_from_rest_to_rest_without_a_step(self):
        times, positions = np.array([0.0, 0.4, 0.7, 1.5]), np.array([[0.0], [0.3], [0.5], [0.2]])
        trajectory = Trajectory(("joint",), times, positions)
        np.testing.assert_allclose(trajectory.at(times), positions, atol=1e-12)
        for order in (1, 2):
            assert np.abs(trajectory.at([0.0, 1.5], order)).max() < 1e-9
            beside = [trajectory.at(times[1:-1] + side, order) for side in (-1e-9, 1e-9)]
            np.testing.assert_allclose(*beside, atol=1e-5)

    def test_a_dwell_does_not_move(self):
        positions = np.array([[0.0, 0.0], [0.5, 0.1], [0.5, 0.1], [0.0, 0.3]])
        trajectory = Trajectory(("a", "b"), np.array([0.0, 1.0, 2.0, 3.0]), positions)
        np.testing.assert_allclose(trajectory.at(np.linspace(1.0, 2.0, 50)), np.tile(positions[1], (50, 1)), atol=1e-12)
        moving = Trajectory(("a", "b"), trajectory.times, positions, np.zeros((4, 2)))
        np.testing.assert_allclose(moving.at(np.linspace(1.0, 2.0, 50)), np.tile(positions[1], (50, 1)), atol=1e-12)

    @pytest.mark.parametrize("kinds", [1, 2])
    def test_dense_points_of_a_smooth_motion_give_that_motion(self, kinds):
        times = np.linspace(0.0, 2.0, 401)
        exact = PolynomialCurve(
            np.array([0.0, 2.0]), np.array([0, 0, 0, 10, -15, 6])[None, :, None] * 0.5 ** np.arange(6)[None, :, None]
        )
        rows = [exact.evaluate(times, order) for order in range(kinds)]
        trajectory = Trajectory(("joint",), times, *rows)
        inner = np.linspace(0.0, 2.0, 3001)[1:-1]
        for order, tolerance in enumerate((1e-9, 1e-6, 2e-3)):
            np.testing.assert_allclose(trajectory.at(inner, order), exact.evaluate(inner, order), atol=tolerance)

    def test_completed_it_is_the_same_curve(self):
        rng = np.random.default_rng(3)
        for kind in (1, 2, 3):
            trajectory = random_trajectory(rng, kind)
            whole = trajectory.completed()
            assert whole.accelerations is not None
            assert np.array_equal(whole.curve.coefficients, trajectory.curve.coefficients)

    def test_after_its_end_the_sampler_is_at_rest(self):
        sample = TrajectorySampler(random_trajectory(np.random.default_rng(1), 1), 0.0).sample(100.0)
        assert not sample.velocities.any()
        assert not sample.accelerations.any()


def random_curve(seed, degree=5, pieces=40, dof=3):
    rng = np.random.default_rng(seed)
    spans = rng.uniform(2e-4, 0.5, pieces)
    breaks = np.concatenate(([0.0], np.cumsum(spans)))
    scale = spans[:, None, None] ** -np.arange(degree + 1)[None, :, None]
    return PolynomialCurve(breaks, rng.normal(size=(pieces, degree + 1, dof)) * scale)


@pytest.mark.parametrize("degree", [0, 1, 3, 5])
def test_derivatives_of_a_curve_are_those_of_its_polynomials(degree):
    curve = random_curve(1, degree)
    times = np.sort(np.random.default_rng(2).uniform(-0.1, curve.duration + 0.1, 300))
    found = curve.derivatives(times, 3)
    for index, time in enumerate(np.clip(times, 0.0, curve.duration)):
        piece = min(int(np.searchsorted(curve.breaks, time, side="right")) - 1, len(curve.breaks) - 2)
        for joint in range(3):
            polynomial = np.polynomial.Polynomial(curve.coefficients[piece, :, joint])
            for order in range(4):
                expected = polynomial.deriv(order)(time - curve.breaks[piece])
                assert found[order][index, joint] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_every_piece_beyond_a_limit_is_reported(seed):
    """Pieces of which a dense sample exceeds a limit, and no others but those that exceed it between samples."""
    curve = random_curve(seed)
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.0, 1.0, 201)
    spans = np.diff(curve.breaks)
    values = [np.empty((len(spans), 201, 3)) for _ in range(4)]
    for piece, span in enumerate(spans):
        for joint in range(3):
            polynomial = np.polynomial.Polynomial(curve.coefficients[piece, :, joint])
            for order in range(4):
                values[order][piece, :, joint] = polynomial.deriv(order)(shares * span)
    lower, upper = (np.quantile(values[0], share, axis=(0, 1)) for share in (0.1, 0.9))
    rates = [np.quantile(np.abs(values[order]), rng.uniform(0.3, 0.9), axis=(0, 1)) for order in (1, 2, 3)]
    limits = MotionLimits(("a", "b", "c"), lower, upper, *rates)
    bounds = [(lower, upper), *((-rate, rate) for rate in rates)]
    for (low, high), sampled, found in zip(bounds, values, excesses(curve, limits, 1000), strict=True):
        over = np.maximum(low - sampled, sampled - high).max(axis=1)
        reported = {(one.piece, one.column) for one in found}
        widths = high - low
        assert set(zip(*map(list, np.nonzero(over > 1e-3 * widths)), strict=True)) <= reported
        assert reported <= set(zip(*map(list, np.nonzero(over > -2e-2 * widths)), strict=True))
        for one in found:
            own = sampled[one.piece, :, one.column]
            assert min(abs(one.value - own.min()), abs(one.value - own.max())) <= 1e-2 * np.ptp(own)
