"""Goals of point-to-point motions are taken literally, as Pilz does; a continuous joint that turns the long way is
named, with the goal of the short way."""

import math

import numpy as np
import pytest
from planning_cells import spinner

from robot_cell_planner.nodes.moveit.pilz import long_turns

NAMES = ("endless", "wide")


def warnings(first, last):
    return long_turns(spinner()[0], NAMES, np.array(first), np.array(last))


@pytest.mark.parametrize(("first", "last"), [(-3.1, 3.1), (3.1, -3.1), (0.0, 20.0), (9.0, 2.0)])
def test_a_long_turn_of_a_continuous_joint_is_named_with_the_short_way(first, last):
    (text,) = warnings((first, 0.0), (last, 6.0))
    assert text.startswith(f"endless turns by {last - first:.4g} rad")
    goal = float(text.split("with the goal ")[1].split()[0])
    assert abs(goal - first) <= math.pi
    assert math.remainder(goal - last, math.tau) == pytest.approx(0.0, abs=2e-3)


def test_short_turns_and_joints_with_limits_are_not_named():
    assert warnings((-1.0, -6.0), (2.0, 6.0)) == []
    assert warnings((0.0, 0.0), (-3.1, 0.0)) == []
