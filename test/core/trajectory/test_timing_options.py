"""Values of timing options that are out of range are refused, whether or not the method uses them."""

import math

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("value", [-5.0, 0.0, math.nan, math.inf])
def test_a_blend_tolerance_is_a_finite_number_above_0(method, value):
    with pytest.raises(InvalidRequestError, match="blend tolerance is"):
        TimingOptions(method=method, blend_tolerance=value)


@pytest.mark.parametrize("name", ["velocity", "acceleration", "jerk"])
@pytest.mark.parametrize("value", [-0.1, 0.0, 1.1, math.nan])
def test_a_scale_is_above_0_and_at_most_1(name, value):
    with pytest.raises(InvalidRequestError, match=f"{name} scale is {value:g}, expected above 0 and at most 1"):
        TimingOptions(**{f"{name}_scale": value})


@pytest.mark.parametrize("name", ["start_velocity", "end_velocity"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_velocities_are_finite(name, value):
    with pytest.raises(InvalidRequestError, match=f"{name} of joint b is {value}, expected a finite number"):
        TimingOptions(method=TimingMethod.SMOOTH, **{name: {"a": 0.1, "b": value}})


@pytest.mark.parametrize("name", ["limits", "start_velocity", "end_velocity"])
def test_mappings_of_the_caller_may_change_afterwards(name):
    given = {"a": JointLimits(velocity=1.0) if name == "limits" else 0.1}
    options, same = TimingOptions(**{name: given}), TimingOptions(**{name: dict(given)})
    given.clear()
    assert getattr(options, name).keys() == {"a"}
    assert options == same
    assert hash(options) == hash(same)
