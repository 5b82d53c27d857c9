"""The look-ahead finds what a dense sampling finds, and when; what it calls free is free."""

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.errors import UnknownNameError
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape, Sphere
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.path.look_ahead import LookAheadRequest, look_ahead
from robot_cell_planner.planning.workers.tasks import look_ahead as task
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.trajectory import Trajectory

RADIUS, POST = 0.05, 0.1


def scene(post):
    """A ball on a cross of slides, and a post at a place of its plane."""
    limits = JointLimits(-1.0, 1.0, 1.0, 4.0, 40.0)
    links = {"base": Link("base"), "beam": Link("beam"), "ball": Link("ball", collisions=(Shape(Sphere(RADIUS)),))}
    joints = {
        "x": Joint("x", JointKind.PRISMATIC, "base", "beam", axis=(1.0, 0.0, 0.0), limits=limits),
        "y": Joint("y", JointKind.PRISMATIC, "beam", "ball", axis=(0.0, 1.0, 0.0), limits=limits),
    }
    group = PlanningGroup("xy", ("x", "y"), ("beam", "ball"), "base", "ball")
    robot = Robot("cross", Mechanism("cross", frozendict(links), frozendict(joints)), frozendict({"xy": group}))
    body = RigidBody("post", (Shape(Box((POST, POST, POST))),))
    cell = RobotCell(robots=frozendict({"cross": robot}), bodies=frozendict({"post": body}))
    state = cell.default_state()
    return Scene(cell, state.with_body("post", BodyState(pose=Pose(post))))


def along_x(begin=2.0, y=0.0):
    """From x = -0.5 to 0.5 in a second, from a later time of the trajectory on."""
    times = begin + np.linspace(0.0, 1.0, 11)
    positions = np.column_stack([np.linspace(-0.5, 0.5, 11), np.full(11, y)])
    velocities = np.tile([1.0, 0.0], (11, 1))
    return Trajectory(("x", "y"), times, positions, velocities)


@pytest.mark.parametrize("engine", ["coal", "bullet"])
def test_it_reports_when_and_who(engine):
    report = look_ahead(scene((0.2, 0.0, 0.0)), LookAheadRequest(along_x(), engine=engine))
    (found,) = report.collisions
    assert {found.first, found.second} == {"ball", "post"}
    contact = 0.2 - POST / 2 - RADIUS  # of the ball's centre
    assert found.time == pytest.approx(2.0 + 0.5 + contact, abs=1e-3)
    assert found.configuration[0] == pytest.approx(contact, abs=1e-3)


@pytest.mark.parametrize("engine", ["coal", "bullet"])
def test_what_is_beside_the_way_does_not_matter(engine):
    report = look_ahead(scene((0.2, 0.15, 0.0)), LookAheadRequest(along_x(), engine=engine))
    assert report.collisions == ()
    assert report.valid


def test_a_collision_between_coarse_states_is_found():
    """The ball only just touches a corner of the post: no state of the first look sees it."""
    request = LookAheadRequest(along_x())
    seen = [len(look_ahead(scene((0.2, y, 0.0)), request).collisions) for y in (0.0995, 0.1005)]
    assert seen == [1, 0]


def test_a_single_sample_is_checked():
    still = Trajectory(("x", "y"), np.array([1.0]), np.array([[0.2, 0.0]]))
    assert len(look_ahead(scene((0.2, 0.0, 0.0)), LookAheadRequest(still)).collisions) == 1


def test_an_unknown_joint_is_named():
    other = Trajectory(("x", "z"), np.array([0.0]), np.zeros((1, 2)))
    with pytest.raises(UnknownNameError, match="z"):
        task(scene((0.2, 0.0, 0.0)), LookAheadRequest(other), None)
