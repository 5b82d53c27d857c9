"""Errors about values of joints name the unit of each value: of a turning joint, of a sliding one, and of both if only
their names are known."""

from dataclasses import replace

import numpy as np
import pytest

from robot_cell_planner.errors import (
    InvalidRequestError,
    JointLimitError,
    StartBeyondLimitsError,
    TrajectoryError,
    TrajectoryLimitError,
    Value,
)
from robot_cell_planner.model.mechanism import JointKind, JointLimits, Variable
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import PathModel, time_path
from robot_cell_planner.trajectory.sampled_paths import checked_path
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions
from robot_cell_planner.trajectory.tracking import (
    Check,
    Tolerances,
    TrackingRow,
    away_from_start,
    supervised,
    violation,
)
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.trajectory.validation import validate

RANGE = JointLimits(-1.0, 1.0, velocity=1.0, acceleration=1.0, jerk=1.0)
VARIABLES = (
    Variable("turn", "turn", JointKind.REVOLUTE, RANGE, True),
    Variable("slide", "slide", JointKind.PRISMATIC, RANGE, False),
)
LIMITS = MotionLimits.of(VARIABLES)


def moved(positions):
    """Return a trajectory through positions (n, 2) at full seconds, each at rest."""
    rows = np.array(positions, dtype=float)
    still = np.zeros_like(rows)
    return Trajectory(("turn", "slide"), np.arange(len(rows), dtype=float), rows, still, still)


@pytest.mark.parametrize(("column", "unit"), [(0, "rad"), (1, "m")])
@pytest.mark.parametrize("limits", [LIMITS, LIMITS.scaled(0.9), LIMITS.narrowed({"turn": RANGE})])
def test_violations_have_the_unit_of_the_derivative(column, unit, limits):
    steps = np.zeros((3, 2))
    steps[1, column], steps[2, column] = 0.9, 1.5
    found = validate(moved(steps), limits, find_all=True).violations
    units = {violation.quantity.value: violation.unit for violation in found}
    assert units["position"] == unit
    assert units["velocity"] == f"{unit}/s"
    assert units["acceleration"] == f"{unit}/s2"
    assert units["jerk"] == f"{unit}/s3"
    assert all(f" {violation.unit}, limit" in str(violation) for violation in found if violation.unit)


def test_errors_of_a_validation_have_a_unit():
    with pytest.raises(TrajectoryLimitError, match=r"position of slide = 2 m \(limit 1 m\)"):
        validate(moved([(0, 2), (0, 2)]), LIMITS).check()
    start = {"turn": 0.0, "slide": 0.5}
    (found,) = validate(moved([(0, 0), (0, 0)]), LIMITS, start=start).violations
    assert found.unit == "m"


def test_limits_without_models_have_both_units():
    arrays = (np.full(2, value) for value in (-1.0, 1.0, 1.0, 1.0, 1.0))
    (found,) = validate(moved([(0, 2), (0, 2)]), MotionLimits(("turn", "slide"), *arrays)).violations
    assert found.unit == "rad or m"


def test_a_robot_away_from_the_start_has_a_unit():
    error = away_from_start(("a", "wrist"), np.zeros(2), np.array([0.0, 0.95]), 0.01)
    assert str(error).endswith("[distance of wrist = 0.95 rad or m (limit 0.01 rad or m)]")


def row(check, actual, speed=0.0):
    """A measurement of two joints that are commanded to stand at 0."""
    rest = np.zeros(2)
    return TrackingRow(check, 0.0, 0.0, 0.0, rest, rest, np.array(actual), np.full(2, speed))


@pytest.mark.parametrize(("column", "unit"), [(0, "rad"), (1, "m")])
def test_errors_of_the_supervision_have_the_unit_of_the_joint(column, unit):
    bound = np.full(2, 0.1)
    tolerances = Tolerances(0.1, bound, bound, bound, bound, 1.0, ("rad", "m"))
    away = np.zeros(2)
    away[column] = 0.5

    def found(check, actual, speed=0.0):
        return violation(row(check, actual, speed), ("turn", "slide"), tolerances, 1.0, 1.0).values[0].unit

    assert [found(check, away) for check in (Check.START, Check.PATH, Check.GOAL)] == [unit] * 3
    tolerances = replace(tolerances, path_velocity=np.where(away > 0.0, 0.1, 9.0), goal_velocity=bound * (away > 0.0))
    assert found(Check.PATH, np.zeros(2), 1.0) == f"{unit}/s"


def test_a_record_has_one_unit_for_each_joint():
    bound = np.full(2, 0.1)
    tolerances = Tolerances(0.1, bound, bound, bound, bound, 1.0, ("rad",))
    with pytest.raises(InvalidRequestError, match="units"):
        supervised(moved([(0, 0), (0, 0)]), ("turn", "slide"), tolerances, (), silence=1.0, lost_after=1.0)


def test_a_path_in_degrees_has_the_remedy_with_radians():
    with pytest.raises(JointLimitError, match=r"turn = 90 rad \(limit 1 rad\)") as caught:
        checked_path(np.array([[0.0, 0.0], [90.0, 0.0]]), LIMITS)
    assert caught.value.remedy == "Give angles in rad, within the limits of the joint: 90 degrees are 1.5708 rad."


@pytest.mark.parametrize("kind", [JointLimitError, StartBeyondLimitsError, TrajectoryLimitError])
@pytest.mark.parametrize(
    ("value", "is_in_degrees"),
    [
        (Value("j", -90.0, -2.9, "rad"), True),
        (Value("j", 6.4, 6.28, "rad"), False),  # a turning joint at its stop
        (Value("j", 5.0, 1.0, "rad"), False),  # less than a turn
        (Value("j", 90.0, 1.0, "m"), False),
        (Value("j", 90.0, 1.0, "rad/s"), False),
        (Value("j", 90.0, None, "rad"), False),
        (Value("j", float("inf"), 1.0, "rad"), False),
    ],
)
def test_values_that_look_like_degrees_have_a_remedy_of_their_own(kind, value, is_in_degrees):
    error = kind("beyond", values=(Value("time", 1.0, None, "s"), value))
    assert ("degrees are" in error.remedy) == is_in_degrees
    assert is_in_degrees or error.remedy == kind.remedy
    assert kind("beyond", values=(value,), remedy="Own.").remedy == "Own."


def test_the_remedy_of_joint_limits_is_not_about_starts():
    assert "start" not in JointLimitError.remedy


@pytest.mark.parametrize(("joint", "unit"), [("turn", "rad/s"), ("slide", "m/s")])
def test_a_speed_above_the_path_speed_has_the_unit_of_its_joints(joint, unit):
    """One joint; of both together it has both units."""
    limits = MotionLimits.of([variable for variable in VARIABLES if variable.name == joint])
    options = TimingOptions(method=TimingMethod.SMOOTH, path_speed=0.1, start_velocity={joint: 0.5})
    with pytest.raises(TrajectoryError) as caught:
        time_path(np.array([[0.0], [0.9]]), limits, options)
    assert caught.value.values[0].unit == unit
    both = TimingOptions(method=TimingMethod.SMOOTH, path_speed=0.1, start_velocity={"turn": 0.5})
    with pytest.raises(TrajectoryError) as caught:
        time_path(np.array([[0.0, 0.0], [0.9, 0.9]]), LIMITS, both)
    assert caught.value.values[0].unit == "rad/s or m/s"


@pytest.mark.parametrize(("joint", "unit"), [("turn", "Nm"), ("slide", "N")])
def test_an_effort_above_its_limit_has_the_unit_of_its_joint(joint, unit):
    """The joint needs a load of 2 at rest, and has 1."""
    limits = MotionLimits.of([variable for variable in VARIABLES if variable.name == joint])
    model = PathModel(efforts=lambda q, v, a: np.full_like(q, 2.0), effort_limits=np.ones(1))
    with pytest.raises(TrajectoryError, match=f"torque of {joint} at rest") as caught:
        time_path(np.array([[0.0], [0.9]]), limits, TimingOptions(limit_effort=True), model)
    assert caught.value.values[0].unit == unit
