"""Messages of trajectories have the numbers of the trajectory, with the types of the interface."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action
from robot_cell_planner.errors import InvalidRequestError, LimitExceededError
from robot_cell_planner.nodes.conversions import trajectories as conversion
from robot_cell_planner.nodes.conversions.basic import duration_to_message, durations_to_messages
from robot_cell_planner.nodes.conversions.filled_messages import filled
from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message, trajectory_to_message
from robot_cell_planner.nodes.conversions.wire_types import to_wire
from robot_cell_planner.trajectory.trajectory import Trajectory

NUMBERS = st.floats(-100.0, 100.0)


@st.composite
def trajectories(draw):
    count, joints = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    steps = draw(st.lists(st.floats(1e-6, 1e4), min_size=count, max_size=count))
    rows = arrays(np.float64, (count, joints), elements=NUMBERS)
    velocities, accelerations = draw(st.sampled_from([(rows, rows), (rows, st.none()), (st.none(), st.none())]))
    names = tuple(f"joint_{index}" for index in range(joints))
    return Trajectory(names, np.cumsum(steps), draw(rows), draw(velocities), draw(accelerations))


@given(trajectory=trajectories())
def test_a_message_of_a_trajectory_is_that_trajectory(trajectory):
    message = trajectory_to_message(trajectory)
    sent = deserialize_message(serialize_message(to_wire(message)), JointTrajectory)
    assert sent == message
    again = trajectory_from_message(sent, "trajectory")
    assert again.variables == trajectory.variables
    assert np.abs(again.times - trajectory.times).max() <= 1e-9
    for kind in ("positions", "velocities", "accelerations"):
        given_rows, found = getattr(trajectory, kind), getattr(again, kind)
        assert (given_rows is None and found is None) or (found == given_rows).all()


def test_rows_of_a_part_of_a_table_are_those_of_the_part():
    table = np.arange(24.0).reshape(4, 6)
    message = trajectory_to_message(Trajectory(("a", "b"), np.arange(1.0, 5.0), table[:, 1:6:3]))
    assert [list(point.positions) for point in message.points] == table[:, 1:6:3].tolist()


@pytest.mark.parametrize("rows_at_once", [1, 2, 3, 5, 8])
def test_rows_that_are_converted_in_parts_are_those_of_the_message(monkeypatch, rows_at_once):
    monkeypatch.setattr(conversion, "ROWS_AT_ONCE", rows_at_once)
    table = np.arange(10.0).reshape(5, 2)
    message = trajectory_to_message(Trajectory(("a", "b"), np.arange(1.0, 6.0), table))
    np.testing.assert_array_equal(trajectory_from_message(message, "trajectory").positions, table)
    message.points[4].positions[1] = math.nan
    with pytest.raises(InvalidRequestError, match="joint b at point 4"):
        trajectory_from_message(message, "trajectory")


@pytest.mark.parametrize("kind", ["positions", "velocities", "accelerations", "effort"])
@pytest.mark.parametrize("value", [1.7e308, -1e31, math.inf, math.nan])
def test_numbers_between_which_others_are_not_finite_are_refused(kind, value):
    """Efforts are interpolated between the points while a trajectory is streamed: their slope was infinite."""
    message = trajectory_to_message(Trajectory(("a",), np.array([0.0, 0.1]), np.zeros((2, 1))))
    for point, number in zip(message.points, (1.0, 1e30), strict=True):
        setattr(point, kind, [number])
    assert conversion.rows_from_points(message, kind, "trajectory").tolist() == [[1.0], [1e30]]
    setattr(message.points[1], kind, [value])
    with pytest.raises(InvalidRequestError, match=f"{kind} of joint a at point 1 of trajectory"):
        conversion.rows_from_points(message, kind, "trajectory")


def test_points_share_no_lists():
    message = trajectory_to_message(Trajectory(("a",), np.array([0.0, 1.0]), np.zeros((2, 1))))
    message.points[0].velocities.append(1.0)
    message.points[0].effort.append(1.0)
    assert message.points[1] == JointTrajectoryPoint(positions=[0.0], time_from_start=duration_to_message(1.0))


@given(seconds=st.lists(st.floats(-1e12, 1e12) | st.floats(0.0, 100.0) | st.sampled_from([math.inf, -math.inf])))
def test_durations_of_an_array_are_those_of_its_numbers(seconds):
    assert durations_to_messages(np.array(seconds)) == [duration_to_message(value) for value in seconds]


def test_a_duration_in_an_array_that_is_not_a_number_is_refused():
    with pytest.raises(LimitExceededError, match="NaN"):
        durations_to_messages(np.array([0.0, math.nan]))


def test_a_message_of_which_all_fields_are_given_is_that_of_the_constructor():
    kind = action.PlanMotion.Impl.GetResultService.Response
    result = action.PlanMotion.Result()
    result.plan.goal = 3
    assert filled(kind, status=4, result=result) == kind(status=4, result=result)
    point = {"positions": [1.0], "velocities": [], "accelerations": [2.0], "effort": [], "time_from_start": None}
    point["time_from_start"] = duration_to_message(0.5)
    assert filled(JointTrajectoryPoint, **point) == JointTrajectoryPoint(**point)
