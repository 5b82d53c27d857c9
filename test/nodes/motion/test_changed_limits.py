"""Violations of limits that a running motion was validated against do not stop it, those of narrower ones do."""

import math

import numpy as np
import pytest

from robot_cell_planner.msg import LimitViolation
from robot_cell_planner.nodes.motion.changed_limits import by_changed_limits
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

LOWER, UPPER = -1.0, 2.0
ONE = np.ones(1)


def goal(start, lower=LOWER, upper=UPPER):
    """A motion from a start, validated against position limits."""
    trajectory = Trajectory(("joint",), np.array([0.0, 9.0]), np.array([[start], [0.5]]))
    limits = MotionLimits(("joint",), *(np.array([value]) for value in (lower, upper, 2.0, 5.0, 50.0)))
    return MotionGoal("owner", ("joint",), trajectory, Tolerances(1.0, ONE, ONE, ONE, ONE, 1.0), limits=limits)


def stops(motion, value, limit):
    """Whether a position beyond a limit of the present scene stops the motion."""
    found = LimitViolation(joint="joint", quantity=LimitViolation.POSITION, value=value, limit=limit)
    return by_changed_limits(motion, [found]) == [found]


@pytest.mark.parametrize("narrower", [1e-6, 5e-4, 0.3])
def test_a_limit_that_is_narrower_by_any_amount_stops_the_motion(narrower):
    assert stops(goal(0.0), UPPER, UPPER - narrower)
    assert stops(goal(0.0), LOWER, LOWER + narrower)


def test_a_limit_that_has_not_become_narrower_does_not():
    assert not stops(goal(0.0), UPPER + 1e-7, UPPER)
    assert not stops(goal(0.0), LOWER - 1e-7, LOWER)
    assert not stops(goal(0.0, upper=1.5), UPPER + 1e-7, UPPER)


def test_a_limit_where_there_was_none_does():
    assert stops(goal(0.0, -math.inf, math.inf), UPPER + 0.1, UPPER)
    assert stops(goal(0.0, -math.inf, math.inf), LOWER - 0.1, LOWER)


def test_a_limit_that_the_validation_has_widened_to_the_start_is_not_narrower():
    beyond = 8e-4
    assert not stops(goal(UPPER + beyond, upper=UPPER + beyond), UPPER + beyond, UPPER)
    assert not stops(goal(LOWER - beyond, lower=LOWER - beyond), LOWER - beyond, LOWER)
    assert stops(goal(UPPER + beyond, upper=UPPER + beyond), UPPER + beyond, UPPER - 0.01)
    assert stops(goal(LOWER - beyond, lower=LOWER - beyond), LOWER - beyond, LOWER + 0.01)
