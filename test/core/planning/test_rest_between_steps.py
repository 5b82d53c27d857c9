"""Every motion of a sequence starts and ends at rest, so a request with velocities there is refused."""

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.planning.problem.request import Goals
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

STEPS = (MotionStep(Goals(({"x": 0.5},))), MotionStep(Goals(({"x": 0.9},))))


@pytest.mark.parametrize("option", ["start_velocity", "end_velocity"])
def test_velocities_at_the_ends_of_steps_are_refused(option):
    with pytest.raises(InvalidRequestError, match=f"starts and ends at rest; leave {option}") as caught:
        MultistepRequest(STEPS, timing=TimingOptions(method=TimingMethod.SMOOTH, **{option: {"x": 0.3, "y": 0.0}}))
    assert caught.value.subjects == ("x",)
    assert caught.value.values[0].value == 0.3
    at_rest = TimingOptions(method=TimingMethod.SMOOTH, **{option: {"x": 0.0}})
    assert MultistepRequest(STEPS, timing=at_rest).timing == at_rest
