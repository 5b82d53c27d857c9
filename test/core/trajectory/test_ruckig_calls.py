"""A motion that Ruckig does not find is a named error, in servo and in changes of the speed."""

from types import SimpleNamespace

import numpy as np
import pytest
import ruckig

from robot_cell_planner.errors import TrajectoryError
from robot_cell_planner.trajectory import time_scaling as module
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.ruckig_calls import calculated
from robot_cell_planner.trajectory.servo import VelocityFollower
from robot_cell_planner.trajectory.time_scaling import TimeScaling, change_within_limits
from robot_cell_planner.trajectory.trajectory import Trajectory

TOO_SMALL, TOO_LARGE = 1e-300, 1e300  # for Ruckig
LINE = Trajectory(("joint",), np.array([0.0, 30.0, 60.0]), np.array([[0.0], [2.0], [4.0]]))


def limits(jerk):
    return MotionLimits(("joint",), *(np.array([value]) for value in (-9.0, 9.0, 2.0, 5.0, jerk)))


def request():
    made = ruckig.InputParameter(1)
    made.control_interface = ruckig.ControlInterface.Velocity
    made.max_acceleration, made.max_jerk, made.target_velocity = [1.0], [1.0], [0.5]
    return made


@pytest.mark.parametrize("result", [ruckig.Result.ErrorPositionalLimits, ruckig.Result.ErrorExecutionTimeCalculation])
def test_a_result_that_is_an_error_is_raised(result):
    solver = SimpleNamespace(calculate=lambda request, answer: result)
    with pytest.raises(TrajectoryError, match=f"Ruckig cannot time a motion: {result}"):
        calculated(solver, request())


def test_the_text_of_ruckig_is_one_line():
    wrong = request()
    wrong.max_jerk = [0.0]
    with pytest.raises(TrajectoryError) as caught:
        calculated(ruckig.Ruckig(1), wrong)
    assert caught.value.message == "Ruckig cannot time a motion: zero limits conflict in step 1, dof: 0 input"


def test_servo_keeps_its_state_and_names_the_error():
    unlimited = MotionLimits(("joint",), *(np.array([value]) for value in (-np.inf, np.inf, TOO_LARGE, 5.0, 50.0)))
    follower = VelocityFollower(unlimited, np.array([0.5]))
    before = follower.state
    with pytest.raises(TrajectoryError, match="Ruckig cannot time a motion"):
        follower.step(np.full(1, TOO_LARGE), 0.004)
    assert follower.state is before
    with pytest.raises(TrajectoryError, match="Ruckig cannot time a motion"):
        follower.predicted(np.full(1, TOO_LARGE), 0.2, 5)


def test_a_change_of_speed_that_is_not_found_is_an_error():
    steady = TimeScaling.steady(0.0, 1.0, 0.0)
    for known in (None, limits(50.0)):
        with pytest.raises(TrajectoryError, match="Ruckig cannot time a motion") as caught:
            change_within_limits(steady, LINE, 0.0, 1.0, 4.0, TOO_SMALL, known)
        assert ("rate", 0.0) in [(value.name, value.value) for value in caught.value.values]


def test_candidates_that_are_not_found_are_left_out(monkeypatch):
    """Only the fastest change is found, so that it is the result."""
    steady, solved = TimeScaling.steady(0.0, 1.0, 0.0), []

    def once(solver, request, *values):
        if solved:
            raise TrajectoryError("Ruckig cannot time a motion")
        solved.append(request)
        return calculated(solver, request, *values)

    monkeypatch.setattr(module, "calculated", once)
    found = change_within_limits(steady, LINE, 0.0, 1.0, 4.0, 40.0, limits(50.0))
    assert found.at(found.settled_at)[1:] == (0.0, 0.0)
    assert len(solved) == 1
