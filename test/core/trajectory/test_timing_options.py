"""Values of timing options that are out of range are refused, whether or not the method uses them."""

import math

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.trajectory.timing import Method, TimingOptions


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("value", [-5.0, 0.0, math.nan, math.inf])
def test_a_blend_tolerance_is_a_finite_number_above_0(method, value):
    with pytest.raises(InvalidRequestError, match="blend tolerance is"):
        TimingOptions(method=method, blend_tolerance=value)
