"""Preparation of goals: a motion without duration only succeeds where the robot is at its point already."""

import math

import numpy as np
import pytest

from robot_cell_planner.errors import (
    InvalidRequestError,
    LimitExceededError,
    TrajectoryStartError,
    UnknownNameError,
)
from robot_cell_planner.msg import ExecutionOptions
from robot_cell_planner.nodes.conversions import trajectories
from robot_cell_planner.nodes.conversions.trajectories import checked_trajectory_from_message, trajectory_to_message
from robot_cell_planner.nodes.motion.joint_feedback import robot_names
from robot_cell_planner.nodes.motion.trajectory_goals import ToleranceDefaults, goal_of_trajectory
from robot_cell_planner.trajectory.trajectory import Trajectory

DEFAULTS = ToleranceDefaults(start=0.01, path=0.1, goal=0.005, stopped_velocity_tolerance=0.02, goal_time=2.0)


def goal(times, positions, **options):
    trajectory = Trajectory(("a", "b"), np.array(times), np.array(positions))
    message = trajectory_to_message(trajectory)
    return goal_of_trajectory(message, ExecutionOptions(speed_scale=1.0, **options), ("a", "b"), DEFAULTS, 1000)


@pytest.mark.parametrize("options", [{}, {"start_tolerance": 1.0}], ids=["defaults", "start_tolerance"])
def test_one_point_at_time_0_is_refused_where_the_robot_is_not_within_the_goal_tolerance(options):
    motion = goal([0.0], [[1.0, 0.5]], **options)
    with pytest.raises(TrajectoryStartError, match="the only point is at time 0, and b is not there") as caught:
        motion.starting_at({"a": 1.004, "b": 0.491})
    assert caught.value.values[0].value == pytest.approx(0.009)
    assert caught.value.values[0].limit == 0.005


def test_one_point_at_time_0_is_accepted_within_the_goal_tolerance_that_was_given():
    here = {"a": 1.004, "b": 0.496}
    assert goal([0.0], [[1.0, 0.5]]).starting_at(here).trajectory.duration == 0.0
    wide = goal([0.0], [[1.0, 0.5]], goal_tolerance=0.2, start_tolerance=1.0)
    assert wide.starting_at({"a": 1.1, "b": 0.5}).trajectory.duration == 0.0


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_a_goal_of_the_most_points_can_be_checked_with_the_sample_that_is_added(monkeypatch, first):
    monkeypatch.setattr(trajectories, "MAX_POINTS", 5)
    times = np.arange(5.0) + first
    started = goal(times, np.linspace((0.0, 0.0), (1.0, 1.0), 5)).starting_at({"a": 0.004, "b": 0.0}).trajectory
    assert len(checked_trajectory_from_message(trajectory_to_message(started), "trajectory")) == 5 + (first > 0.0)
    longer = goal(np.arange(7.0), np.zeros((7, 2))).trajectory
    with pytest.raises(LimitExceededError):
        checked_trajectory_from_message(trajectory_to_message(longer), "trajectory")


def test_longer_motions_end_at_their_last_point_wherever_they_start():
    for times in ([0.0, 2.0], [1.0, 2.0]):
        motion = goal(times, [[1.0, 0.5], [1.2, 0.5]]).starting_at({"a": 1.009, "b": 0.5})
        np.testing.assert_allclose(motion.trajectory.positions[[0, -1]], [[1.009, 0.5], [1.2, 0.5]], atol=1e-12)
    alone = goal([2.0], [[1.0, 0.5]]).starting_at({"a": -1.0, "b": 0.5})
    assert alone.trajectory.positions[-1, 0] == 1.0
    assert math.isclose(alone.trajectory.duration, 2.0)


def test_joints_of_tools_may_be_measured_by_their_short_names():
    assert robot_names(("a", "hand/finger"), ("a", "finger"), "trajectory") == ("a", "finger")
    assert robot_names(("hand/finger",), ("finger", "hand/finger"), "trajectory") == ("hand/finger",)
    with pytest.raises(InvalidRequestError, match="lists a joint twice: finger, hand/finger"):
        robot_names(("finger", "hand/finger"), ("finger",), "trajectory")


@pytest.mark.parametrize("known", [("a", "left/finger", "right/finger"), ("a", "left/finger")])
def test_a_short_name_of_joints_that_are_measured_by_full_names_is_refused_with_these(known):
    """Even if there is one: the other gripper may not have been measured yet."""
    with pytest.raises(UnknownNameError, match=f"moves joint finger, .* contains {', '.join(known[1:])}$"):
        robot_names(("finger",), known, "trajectory")
