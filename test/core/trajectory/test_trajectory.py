"""Trajectories as values: shapes, interpolation, and their validation."""

import numpy as np
import pytest

from robot_cell_planner.errors import (
    InvalidRequestError,
    LimitExceededError,
    TrajectoryInCollisionError,
    TrajectoryLimitError,
    TrajectoryStartError,
)
from robot_cell_planner.trajectory.curves import PolynomialCurve
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions, stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory, sample_curve
from robot_cell_planner.trajectory.validation import CollisionSearch, Quantity, dense_times, validate

LIMITS = MotionLimits(("a", "b"), [-2, -2], [2, 2], [1, 2], [4, 8], [40, 80])
PATH = np.array([[0.0, 0.0], [1.0, -1.0], [1.5, 1.0]])


@pytest.fixture(scope="module")
def good():
    return stop_at_waypoints(PATH, LIMITS, TimingOptions(period=0.01)).trajectory


@pytest.mark.parametrize(
    ("unlimited", "units", "is_the_same"),
    [(True, ("rad", "rad"), True), (False, ("rad", "rad"), False), (True, ("m", "rad"), False), (True, (), False)],
)
@pytest.mark.parametrize("turns", [-2, 1])
def test_a_continuous_joint_starts_where_it_is_by_whole_turns(good, unlimited, units, is_the_same, turns):
    bound = np.inf if unlimited else 20.0
    limits = MotionLimits(("a", "b"), [-bound, -2], [bound, 2], [1, 2], [4, 8], [40, 80], units=units)
    turned = {"a": turns * 2.0 * np.pi + 0.005, "b": 0.0}
    assert validate(good, limits, start=turned).valid is is_the_same
    report = validate(good, limits, start={"a": turned["a"] + 0.02, "b": 0.0})
    assert [found.quantity for found in report.violations] == [Quantity.START]


def changed(trajectory, **arrays):
    parts = {name: getattr(trajectory, name) for name in ("times", "positions", "velocities", "accelerations")}
    return Trajectory(trajectory.variables, **{**parts, **arrays})


@pytest.mark.parametrize("degree", [3, 5])
def test_interpolation_reproduces_polynomials_of_its_degree(degree):
    rng = np.random.default_rng(degree)
    exact = PolynomialCurve(np.array([0.0, 2.0]), rng.uniform(-1, 1, (1, degree + 1, 3)))
    times = np.array([0.0, 0.3, 1.1, 2.0])
    samples = [exact.evaluate(times, order) for order in range((degree + 1) // 2)]
    trajectory = Trajectory(("x", "y", "z"), times, *samples)
    dense = np.linspace(0, 2, 50)
    for order in range(3):
        inside = dense[1:-1]
        assert np.allclose(trajectory.at(inside, order), exact.evaluate(inside, order), atol=1e-9)


def test_outside_of_its_time_the_robot_rests(good):
    assert (good.at([-1.0])[0] == PATH[0]).all()
    assert np.allclose(good.at([good.duration + 1.0])[0], PATH[-1], atol=1e-12)
    assert not good.at([-1.0, good.duration + 1.0], 1).any()


@pytest.mark.parametrize("order", [0, 1])
def test_a_time_that_is_no_number_is_refused(good, order):
    with pytest.raises(InvalidRequestError, match="not a number"):
        good.at([0.1, np.nan], order)


def test_backwards_is_the_same_motion(good):
    back = good.reversed()
    times = np.linspace(0, good.duration, 99)
    assert np.allclose(back.at(times), good.at(good.duration - times), atol=1e-12)
    assert np.allclose(back.at(times, 1), -good.at(good.duration - times, 1), atol=1e-9)
    assert validate(back, LIMITS).valid


def test_samples_cannot_be_changed(good):
    with pytest.raises(ValueError, match="read-only"):
        good.positions[0, 0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("a",), [], np.zeros((0, 1))), "at least one sample"),
        ((("a",), [0.0, 0.0], [[0.0], [1.0]]), "not after sample 0"),
        ((("a",), [0.0, np.nan], [[0.0], [1.0]]), "finite"),
        ((("a",), [0.0, 1.0], [[0.0], [np.inf]]), "joint a at sample 1"),
        ((("a",), [0.0, 1.0], [[0.0, 1.0]]), "shape"),
        ((("a", "a"), [0.0], [[0.0, 1.0]]), "each once"),
        (((), [0.0], [[]]), "at least one"),
        ((("a",), [0.0], [[0.0]], None, [[0.0]]), "without velocities"),
    ],
)
def test_malformed_samples_are_refused(arguments, message):
    with pytest.raises(InvalidRequestError, match=message):
        Trajectory(*arguments)


def test_too_many_samples_are_refused():
    slow = PolynomialCurve(np.array([0.0, 1e9]), np.zeros((1, 1, 1)))
    with pytest.raises(LimitExceededError, match="too much"):
        sample_curve(("a",), slow, 0.001)


def test_a_timed_path_is_valid(good):
    report = validate(good, LIMITS, start={"a": 0.0, "b": 0.0}, find_all=True)
    assert report.valid
    assert report.check() is report


@pytest.mark.parametrize("quantity", ["position", "velocity", "acceleration", "jerk"])
def test_each_broken_limit_is_named(good, quantity):
    rates = {name: np.array(getattr(LIMITS, name)) for name in ("velocity", "acceleration", "jerk")}
    lower, upper = np.array(LIMITS.lower), np.array(LIMITS.upper)
    if quantity == "position":
        upper[1] = 0.9
    else:
        rates[quantity][1] *= 0.9
    report = validate(good, MotionLimits(LIMITS.variables, lower, upper, **rates), find_all=True)
    broken = [v for v in report.violations if v.quantity.value == quantity]
    assert broken
    assert {v.variable for v in broken} <= {"a", "b"}
    assert all(abs(v.value) > v.limit for v in broken)
    with pytest.raises(TrajectoryLimitError) as caught:
        report.check()
    assert caught.value.partial is report


@pytest.mark.parametrize(("far", "seconds", "named"), [(90.0, 2.0, "position"), (1.5, 0.1, "velocity")])
def test_a_jump_is_reported_by_what_explains_it(far, seconds, named):
    """Jerks and accelerations of a trajectory to 90 degrees as radians begin long before the position is beyond."""
    jump = Trajectory(LIMITS.variables, [0.0, seconds], [[0.0, 0.0], [far, 0.0]], np.zeros((2, 2)), np.zeros((2, 2)))
    report = validate(jump, LIMITS)
    assert report.violations[0].quantity is Quantity.JERK
    with pytest.raises(TrajectoryLimitError, match=rf"^validate trajectory: {named} of a at"):
        report.check()


def test_without_derivatives_they_are_taken_from_the_positions(good):
    bare = Trajectory(good.variables, good.times, good.positions)
    assert validate(bare, LIMITS).valid
    fast = Trajectory(good.variables, good.times * 0.5, good.positions)
    assert {v.quantity for v in validate(fast, LIMITS).violations} >= {Quantity.VELOCITY, Quantity.ACCELERATION}


def test_a_jump_of_position_is_a_discontinuity(good):
    positions = good.positions.copy()
    positions[100:] += 1e-5
    report = validate(changed(good, positions=positions), LIMITS)
    found = [v for v in report.violations if v.quantity is Quantity.CONTINUITY]
    assert [v.sample for v in found] == [99]


def test_velocities_that_do_not_fit_are_a_discontinuity(good):
    velocities = good.velocities.copy()
    velocities[100] *= 0.9
    report = validate(changed(good, velocities=velocities), LIMITS)
    assert any(v.quantity is Quantity.CONTINUITY for v in report.violations)


def test_the_start_must_be_met(good):
    with pytest.raises(TrajectoryStartError, match="start of b"):
        validate(good, LIMITS, start={"a": 0.0, "b": 0.02}).check()
    assert validate(good, LIMITS, start={"a": 0.0, "b": 0.02}, start_tolerance=0.03).valid
    with pytest.raises(InvalidRequestError, match="lacks joint b"):
        validate(good, LIMITS, start={"a": 0.0})


def test_it_must_end_at_rest_exactly(good):
    velocities = good.velocities.copy()
    velocities[-1] = 1e-12
    moving = changed(good, velocities=velocities)
    assert not validate(moving, LIMITS).valid
    assert validate(moving, LIMITS, at_rest=False).valid


def test_other_joints_are_refused(good):
    other = MotionLimits(("b", "a"), LIMITS.lower, LIMITS.upper, LIMITS.velocity, LIMITS.acceleration, LIMITS.jerk)
    with pytest.raises(InvalidRequestError, match="the limits are for"):
        validate(good, other)


def test_a_collision_between_samples_is_found_with_its_pair(good):
    def thin_wall(states):
        return np.abs(states[:, 0] - 0.5) < 0.0006

    coarse = changed_sampling(good, 40)
    assert not thin_wall(coarse.positions).any()
    search = CollisionSearch(thin_wall, lambda q: ("arm", "wall"), step=0.001)
    # The polynomials between so few samples slightly exceed the limits for which the samples were computed.
    rates = (2.0 * getattr(LIMITS, name) for name in ("velocity", "acceleration", "jerk"))
    report = validate(coarse, MotionLimits(LIMITS.variables, LIMITS.lower, LIMITS.upper, *rates), collisions=search)
    assert [hit.first for hit in report.collisions] == ["arm"]
    hit = report.collisions[0]
    assert coarse.times[hit.sample] <= hit.time <= coarse.times[hit.sample + 1]
    with pytest.raises(TrajectoryInCollisionError, match="between arm and wall") as caught:
        report.check()
    assert caught.value.subjects == ("arm", "wall")


@pytest.mark.parametrize("find_all", [False, True])
def test_collisions_beyond_position_limits_are_only_searched_if_all_are_to_be_found(good, find_all):
    """A trajectory in degrees would have hundreds of thousands of states to check."""
    checked = []

    def in_collision(states):
        checked.append(len(states))
        return np.zeros(len(states), dtype=bool)

    degrees = changed(good, positions=np.degrees(good.positions))
    report = validate(degrees, LIMITS, collisions=CollisionSearch(in_collision, step=1.0), find_all=find_all)
    assert Quantity.POSITION in {violation.quantity for violation in report.violations}
    assert report.states_checked == sum(checked)
    assert bool(checked) is find_all
    assert any("collisions were not searched" in text for text in report.warnings) is not find_all


def changed_sampling(trajectory, every):
    rows = [*range(0, len(trajectory) - 1, every), len(trajectory) - 1]
    return Trajectory(
        trajectory.variables,
        trajectory.times[rows],
        trajectory.positions[rows],
        trajectory.velocities[rows],
        trajectory.accelerations[rows],
    )


def test_states_between_samples_are_close(good):
    coarse = changed_sampling(good, 25)
    times = dense_times(coarse, 0.001)
    states = coarse.at(times)
    assert np.abs(np.diff(states, axis=0)).max() < 0.0025
    assert np.isin(coarse.times, times).all()


@pytest.mark.parametrize("name", ["times", "positions", "velocities", "accelerations"])
def test_numbers_whose_curve_would_overflow_are_refused(good, name):
    values = np.array(getattr(good, name))
    values[-1] = 1e300
    with pytest.raises(InvalidRequestError, match="too large"):
        changed(good, **{name: values})


def test_pieces_too_short_for_numbers_are_too_many_states(good):
    """The bound of the motion on a piece of 5e-324 s overflows; it is not taken for a number of states."""
    times = np.array(good.times)
    times[1] = 5e-324
    with pytest.raises(LimitExceededError, match="too many states"), np.errstate(all="ignore"):
        dense_times(changed(good, times=times), 0.001)


@pytest.mark.parametrize("step", [0.0, -0.001, np.nan])
def test_a_step_between_checked_states_is_above_0(step):
    with pytest.raises(InvalidRequestError, match="step between checked states is"):
        CollisionSearch(lambda states: np.zeros(len(states), dtype=bool), step=step)
