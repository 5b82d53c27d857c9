"""Speed scales of single robots, and how requests name them."""

import pytest

from robot_cell_planner.errors import UnknownNameError
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots
from robot_cell_planner.nodes.motion.speed_scales import SpeedScales

ROBOTS = IndependentRobots(("left/", "right/"))


def test_a_motion_has_the_smallest_scale_of_its_robots():
    scales = SpeedScales(ROBOTS)
    scales.set({"left/"}, 0.5)
    scales.set({""}, 0.25)
    assert scales.of_joints(["left/elbow"]) == 0.5
    assert scales.of_joints(["right/elbow"]) == 1.0
    assert scales.of_joints(["right/elbow", "left/elbow"]) == 0.5
    assert scales.of_joints(["rail"]) == 0.25
    assert scales.of_joints([]) == 0.25  # any robot may move
    scales.set(ROBOTS.all, 0.75)
    assert {scales.smallest({robot}) for robot in ROBOTS.all} == {0.75}


def test_a_request_names_robots_with_or_without_the_slash_or_all():
    assert ROBOTS.named([], "robots") == {"", "left/", "right/"}
    assert ROBOTS.named(["left"], "robots") == {"left/"}
    assert ROBOTS.named(["right/", "left"], "robots") == {"left/", "right/"}
    assert ROBOTS.named([""], "robots") == {""}


@pytest.mark.parametrize(
    "robots, names", [(ROBOTS, ["left", "middle"]), (ROBOTS, ["lef"]), (IndependentRobots(), [""])]
)
def test_a_robot_that_is_not_independent_is_refused(robots, names):
    with pytest.raises(UnknownNameError, match=r"independent_robots of this node: (left/, right/|none)"):
        robots.named(names, "robots")
