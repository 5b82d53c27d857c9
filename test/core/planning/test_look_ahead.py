"""The look-ahead finds the collisions of a dense sampling with their times; motions that it accepts are free."""

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from planning_cells import wall_with_gap

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape, Sphere
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.look_ahead import LookAheadRequest, look_ahead
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.workers.tasks import look_ahead as task
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.remaining import remaining
from robot_cell_planner.trajectory.trajectory import Trajectory

RADIUS, POST = 0.05, 0.1


def scene(post):
    """A sphere on two perpendicular slides, and a post at a position in its plane."""
    limits = JointLimits(-1.0, 1.0, 1.0, 4.0, 40.0)
    links = {"base": Link("base"), "beam": Link("beam"), "sphere": Link("sphere", collisions=(Shape(Sphere(RADIUS)),))}
    joints = {
        "x": Joint("x", JointKind.PRISMATIC, "base", "beam", axis=(1.0, 0.0, 0.0), limits=limits),
        "y": Joint("y", JointKind.PRISMATIC, "beam", "sphere", axis=(0.0, 1.0, 0.0), limits=limits),
    }
    group = PlanningGroup("xy", ("x", "y"), ("beam", "sphere"), "base", "sphere")
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
def test_it_reports_time_and_pair(engine):
    report = look_ahead(scene((0.2, 0.0, 0.0)), LookAheadRequest(along_x(), engine=engine))
    (found,) = report.collisions
    assert {found.first, found.second} == {"sphere", "post"}
    contact = 0.2 - POST / 2 - RADIUS  # of the sphere's centre
    assert found.time == pytest.approx(2.0 + 0.5 + contact, abs=1e-3)
    assert found.configuration[0] == pytest.approx(contact, abs=1e-3)


@pytest.mark.parametrize("engine", ["coal", "bullet"])
def test_objects_beside_the_path_are_ignored(engine):
    report = look_ahead(scene((0.2, 0.15, 0.0)), LookAheadRequest(along_x(), engine=engine))
    assert report.collisions == ()
    assert report.valid


def test_a_collision_between_coarse_states_is_found():
    """The sphere just touches a corner of the post: no state of the first pass collides."""
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


CONTACT = POST / 2 + RADIUS  # distance of the centres of sphere and post in contact


def motion(*points, duration=1.0):
    """Straight motions of the sphere between points (x, y)."""
    return Trajectory(("x", "y"), np.linspace(0.0, duration, len(points)), np.array(points, dtype=float))


def collisions(post, trajectory, engine="coal"):
    return look_ahead(scene((*post, 0.0)), LookAheadRequest(trajectory, engine=engine)).collisions


@pytest.mark.parametrize("engine", ["coal", "bullet"])
@pytest.mark.parametrize("depth", [0.001, 0.02])
def test_a_motion_may_leave_the_contact_that_it_begins_in(engine, depth):
    assert collisions((CONTACT - depth, 0.0), motion((0.0, 0.0), (-0.5, 0.0)), engine) == ()


@pytest.mark.parametrize("engine", ["coal", "bullet"])
@pytest.mark.parametrize("depth", [0.001, 0.02])
def test_a_motion_that_goes_further_into_a_contact_collides(engine, depth):
    (found,) = collisions((CONTACT - depth, 0.0), motion((0.0, 0.0), (0.5, 0.0)), engine)
    assert {found.first, found.second} == {"sphere", "post"}
    assert np.abs(found.configuration).max() < 0.003


def test_a_motion_that_stays_in_contact_collides():
    """The sphere slides along the post, and would leave it at the end."""
    (found,) = collisions((CONTACT - 0.001, 0.0), motion((0.0, -0.04), (0.0, 0.5)))
    assert {found.first, found.second} == {"sphere", "post"}
    assert collisions((CONTACT - 0.001, 0.0), motion((0.0, 0.0), (-0.0005, 0.0))) != ()


def test_a_motion_that_returns_to_the_contact_it_has_left_collides():
    (found,) = collisions((CONTACT - 0.001, 0.0), motion((0.0, 0.0), (-0.5, 0.0), (0.1, 0.0)))
    assert found.time > 0.5
    assert found.configuration[0] == pytest.approx(-0.001, abs=1e-3)


def test_a_contact_that_is_left_does_not_hide_another_one():
    start = scene((CONTACT - 0.02, 0.0, 0.0))
    body = RigidBody("wall", (Shape(Box((0.1, 1.0, 0.1))),))
    for x in (-0.3, -0.105):  # clear of the sphere, and reached before it has left the post
        cell = RobotCell(robots=start.cell.robots, bodies=start.cell.bodies.set("wall", body))
        state = start.state.with_body("wall", BodyState(pose=Pose((x, 0.0, 0.0))))
        (found,) = look_ahead(Scene(cell, state), LookAheadRequest(motion((0.0, 0.0), (-0.5, 0.0)))).collisions
        assert {found.first, found.second} == {"sphere", "wall"}
        assert found.configuration[0] == pytest.approx(x + CONTACT, abs=2e-3)
        assert found.sample == 0


def test_a_contact_that_the_motion_cannot_change_hides_no_other():
    """A plate on the beam touches the post; only the sphere moves, along the beam."""
    first = scene((0.0, 0.0, 0.0))
    robot = first.cell.robots["cross"]
    links = robot.mechanism.links.set("beam", Link("beam", collisions=(Shape(Box((0.04, 0.04, 0.04))),)))
    links = links.set("sphere", Link("sphere", collisions=(Shape(Sphere(RADIUS), Pose((0.0, 0.0, 1.0))),)))
    mechanism = Mechanism("cross", links, robot.mechanism.joints)
    wall = RigidBody("wall", (Shape(Box((0.1, 0.1, 0.1))),))
    cell = RobotCell(
        robots=frozendict({"cross": Robot("cross", mechanism, robot.groups)}),
        bodies=first.cell.bodies.set("wall", wall),
    )
    state = cell.default_state().with_body("post", BodyState(pose=Pose((0.0, 0.0, 0.0))))
    along_beam = Trajectory(("y",), np.array([0.0, 1.0]), np.array([[-0.5], [0.5]]))
    for place, count in ((0.3, 1), (0.9, 0)):
        placed = state.with_body("wall", BodyState(pose=Pose((0.0, place, 1.0))))
        checker = CollisionChecker(cell, placed, ("y",))
        assert checker.in_collision(np.array([-0.5]))
        found = look_ahead(Scene(cell, placed), LookAheadRequest(along_beam)).collisions
        assert [{one.first, one.second} for one in found] == [{"sphere", "wall"}] * count


@pytest.mark.parametrize("x", [-0.095, -0.085])  # 5 and 15 mm deep in the wall
def test_a_plan_that_begins_with_a_start_correction_is_free(x):
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": x})
    options = PlanningOptions(max_start_correction=0.03)
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"x": -0.8, "y": 0.3},)), options=options))
    assert plan.start_correction_waypoints == 1
    assert look_ahead(Scene(cell, state), LookAheadRequest(plan.trajectory)).collisions == ()


def with_limits(**limits):
    """The scene of a free motion, in which the first slide has other limits."""
    free = scene((0.2, 0.5, 0.0))
    robot = free.cell.robots["cross"]
    joint = robot.mechanism.joints["x"]
    changed = msgspec.structs.replace(joint, limits=msgspec.structs.replace(joint.limits, **limits))
    mechanism = Mechanism("cross", robot.mechanism.links, robot.mechanism.joints.set("x", changed))
    cell = RobotCell(robots=frozendict({"cross": Robot("cross", mechanism, robot.groups)}), bodies=free.cell.bodies)
    return Scene(cell, free.state)


def smooth(begin=0.0):
    """From rest at x = -0.5 to rest at 0.5 in two seconds, from a time on."""
    times = np.linspace(0.0, 2.0, 201)
    s = times / 2.0
    x = 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5 - 0.5
    v = (30.0 * s**2 - 60.0 * s**3 + 30.0 * s**4) / 2.0
    a = (60.0 * s - 180.0 * s**2 + 120.0 * s**3) / 4.0
    rows = [np.column_stack([values, np.zeros(201)]) for values in (x, v, a)]
    return remaining(Trajectory(("x", "y"), times, *rows), begin)


@pytest.mark.parametrize(
    ("limits", "quantity", "first", "largest"),
    [
        ({"velocity": 0.5}, "velocity", 0.5, 15.0 / 16.0),
        ({"acceleration": 1.0}, "acceleration", 1.0, 10.0 / (4.0 * np.sqrt(3.0))),
        ({"jerk": 2.0}, "jerk", 2.0, 7.5),
        ({"upper": 0.3}, "position", 0.3, 0.5),
        ({"lower": -0.2}, "position", -0.2, -0.5),
    ],
)
def test_limits_that_have_become_narrower_are_reported(limits, quantity, first, largest):
    """The extreme value is that of the polynomial; before that time, the motion is within the limit."""
    found = look_ahead(with_limits(**limits), LookAheadRequest(smooth())).violations
    assert {(one.quantity.value, one.variable, one.limit) for one in found} == {(quantity, "x", first)}
    assert max(abs(one.value) for one in found) == pytest.approx(abs(largest), rel=1e-2)
    assert [one.time for one in found] == sorted(one.time for one in found)
    assert look_ahead(with_limits(), LookAheadRequest(smooth())).violations == ()


def test_a_violated_limit_behind_the_robot_is_not_reported():
    scene = with_limits(velocity=0.5)
    assert look_ahead(scene, LookAheadRequest(smooth(begin=0.9))).violations
    assert look_ahead(scene, LookAheadRequest(smooth(begin=1.7))).violations == ()


@pytest.mark.parametrize("left", [1e-3, 1e-5, 1e-7, 2e-9])
def test_a_part_that_begins_shortly_before_a_sample_is_within_the_limits_of_the_whole(left):
    """Accelerations and jerks of so short a piece are those of rounding."""
    exact = {"velocity": 15.0 / 16.0, "acceleration": 10.0 / (4.0 * np.sqrt(3.0)), "jerk": 7.5}
    scene = with_limits(**{name: value * (1.0 + 1e-6) for name, value in exact.items()})
    for sample in range(1, 200, 22):
        rest = smooth(begin=0.01 * sample - left)
        assert look_ahead(scene, LookAheadRequest(rest)).violations == ()


def test_a_motion_that_started_shortly_beyond_a_position_limit_is_not_reported():
    scene = with_limits(lower=-0.4995)
    assert look_ahead(scene, LookAheadRequest(smooth())).violations == ()
    assert look_ahead(scene, LookAheadRequest(smooth(), start_limit_tolerance=1e-4)).violations


@pytest.mark.parametrize("limits", [{"upper": 0.4995}, {"lower": -0.4995, "upper": 0.4995}])
def test_a_limit_that_is_a_little_narrower_than_the_motion_is_reported(limits):
    """The tolerance is for the begin of the motion only."""
    found = look_ahead(with_limits(**limits), LookAheadRequest(smooth(begin=1.0))).violations
    assert {(one.variable, one.limit) for one in found} == {("x", 0.4995)}
    assert max(one.value for one in found) == pytest.approx(0.5)


def test_joints_without_known_limits_are_not_checked():
    scene = with_limits(velocity=0.5, jerk=None)
    assert look_ahead(scene, LookAheadRequest(smooth())).violations == ()


@pytest.mark.parametrize("step", [0.0, -1.0, float("nan"), 1e-9])
def test_a_step_that_is_not_a_distance_is_refused(step):
    with pytest.raises(InvalidRequestError, match="step"):
        LookAheadRequest(along_x(), step=step)
