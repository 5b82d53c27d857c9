"""Cartesian motions of two arms that hold one bar: the bar follows the path, both hands keep their place at it, and
nothing collides."""

import numpy as np
import pytest
from frozendict import frozendict
from independent_cell import dense
from loaded_cells import loaded
from reference import reference_world_pose

from robot_cell_planner import (
    IDENTITY,
    Add,
    Attach,
    CartesianOptions,
    CartesianRequest,
    CollisionChecker,
    FrameTarget,
    FrameWaypoints,
    Move,
    PointAxisWaypoints,
    Pose,
    RobotCell,
    Scene,
    SetJoints,
    SetTouch,
    TargetMode,
    apply_changes,
    composite_inverse_kinematics,
    plan_cartesian,
    verify_plan,
    world_pose,
)
from robot_cell_planner.errors import (
    MPInterpolationInCollisionError,
    MPNoIKSolutionError,
    NotSupportedError,
    TrajectoryError,
)
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Shape

LEFT, RIGHT = "left/manipulator", "right/manipulator"
SIDES = ("left", "right")
MIDDLE = (0.0, 0.0, 0.95)  # of the bar
ALLOWED = (1e-4, 1e-3)  # [m], [rad]
STEP = 0.001  # [rad]


@pytest.fixture(scope="module")
def held():
    """Both arms hold the bar above the middle of the table."""
    cell, state = loaded("two_arms")
    fingers = tuple(f"{side}_gripper/{finger}" for side in SIDES for finger in ("left_finger", "right_finger"))
    closed = SetJoints({f"{side}_gripper/finger_joint": 0.025 for side in SIDES})
    scene = apply_changes(Scene(cell, state), (Move("bar", MIDDLE), closed), world_pose)
    targets = {
        f"{side}/manipulator": FrameTarget(pose=IDENTITY, mode=TargetMode.TOOL, reference_frame=f"{side}_grasp")
        for side in SIDES
    }
    found = composite_inverse_kinematics(scene.cell, scene.state, targets, "both")
    grip = Attach("bar", "left_gripper/tcp", touch_links=fingers)
    joints = SetJoints(dict(zip(cell.group("both").variables, found.best.tolist(), strict=True)))
    scene = apply_changes(scene, (joints, grip, SetTouch("bar", touch_bodies=())), world_pose)
    return scene.cell, scene.state


def bar_to(*poses, group="both", options=None, **fields):
    waypoints = FrameWaypoints(poses, mode=TargetMode.WORKPIECE, **fields)
    return CartesianRequest(waypoints, group, options=options or CartesianOptions())


def at(state, variables, q):
    return state.with_configuration(dict(zip(variables, q.tolist(), strict=True)))


def changes(cell, state, variables, rows):
    """The largest changes of the pose of the right hand relative to the left one, from the state's [m], [rad]."""

    def relative(state):
        left, right = (reference_world_pose(cell, state, f"{side}_gripper/tcp") for side in SIDES)
        return left.inverse() @ right

    start = relative(state)
    return np.max([relative(at(state, variables, q)).distance_to(start) for q in rows], axis=0)


@pytest.mark.parametrize(
    "goal",
    [
        Pose((0.0, 0.0, 1.1)),
        Pose((0.0, 0.35, 0.95)),
        Pose.from_rpy((0.05, 0.1, 1.05), (0.0, 0.2, 0.3)),
        Pose.from_rpy(MIDDLE, (0.3, 0.0, 0.0)),
    ],
    ids=["up", "aside", "turned", "rolled"],
)
@pytest.mark.parametrize("group", ["both", f"{LEFT}+{RIGHT}"])
def test_the_bar_follows_the_line_and_both_hands_keep_their_place(held, goal, group):
    cell, state = held
    plan = plan_cartesian(cell, state, bar_to(goal, group=group))
    assert plan.variables == cell.group("both").variables
    assert plan.certified_fraction == 1.0
    fine = dense(plan.path, 0.01)
    for rows in (fine, plan.trajectory.at(np.linspace(0.0, plan.duration, 60))):
        assert (changes(cell, state, plan.variables, rows) <= ALLOWED).all()
    end = reference_world_pose(cell, at(state, plan.variables, plan.path[-1]), "bar")
    assert max(end.distance_to(goal)) < 2e-6
    line = np.array(goal.position) - MIDDLE
    length = np.linalg.norm(line)
    for q in fine:
        offset = np.array(reference_world_pose(cell, at(state, plan.variables, q), "bar").position) - MIDDLE
        across = offset - (offset @ line) * line / length**2 if length > 0.0 else offset
        assert np.linalg.norm(across) < 1e-3
    checker = CollisionChecker(cell, state, group="both")
    assert not checker.in_collision_batch(dense(plan.path, STEP)).any()
    assert not checker.in_collision_batch(plan.trajectory.at(np.arange(0.0, plan.duration, 1e-3))).any()
    verify_plan(cell, state, plan)


def test_a_finer_deviation_adds_points(held):
    cell, state = held
    goal = Pose.from_rpy((0.05, 0.1, 1.05), (0.0, 0.2, 0.3))
    options = CartesianOptions(max_deviation=1e-6, max_deviation_angle=1e-5)
    coarse = plan_cartesian(cell, state, CartesianRequest(bar_to(goal).waypoints, "both", timing=None))
    fine = plan_cartesian(cell, state, CartesianRequest(bar_to(goal).waypoints, "both", (), options, None))
    assert len(fine.path) > 2 * len(coarse.path)
    assert fine.cartesian.max_deviation <= 1e-6
    assert (changes(cell, state, fine.variables, dense(fine.path, 0.01)) <= (2e-6, 2e-5)).all()


def test_equal_requests_give_equal_plans(held):
    cell, state = held
    first, second = (plan_cartesian(cell, state, bar_to(Pose((0.1, 0.1, 1.1)))) for _ in range(2))
    np.testing.assert_array_equal(first.path, second.path)
    np.testing.assert_array_equal(first.trajectory.positions, second.trajectory.positions)


def test_a_follower_that_cannot_keep_its_place_is_named(held):
    """Towards the left robot, the right one comes to the end of its reach."""
    cell, state = held
    with pytest.raises(MPNoIKSolutionError, match="right/manipulator cannot keep its relative pose") as caught:
        plan_cartesian(cell, state, bar_to(Pose((-0.75, 0.3, 1.2))))
    assert RIGHT in caught.value.subjects
    part = caught.value.partial
    assert part.variables == cell.group("both").variables
    assert 0.1 < part.cartesian.fraction < 1.0
    assert len(part.path) > 2
    assert (changes(cell, state, part.variables, dense(part.path, 0.01)) <= ALLOWED).all()


def test_a_leader_that_cannot_reach_has_the_part_of_both(held):
    cell, state = held
    with pytest.raises(MPNoIKSolutionError) as caught:
        plan_cartesian(cell, state, bar_to(Pose((0.9, 0.0, 1.2)), group=f"{LEFT}+{RIGHT}"))
    part = caught.value.partial
    assert part.path.shape[1] == 12
    assert (changes(cell, state, part.variables, dense(part.path, 0.01)) <= ALLOWED).all()


@pytest.mark.parametrize(("place", "pair"), [((0.0, 0.2, 0.96), "bar"), ((0.35, 0.3, 1.2), "right/")])
def test_a_collision_of_the_bar_or_of_a_follower_ends_the_path(held, place, pair):
    cell, state = held
    block = RigidBody("block", collisions=(Shape(Box((0.05, 0.05, 0.05))),))
    added = Add(RobotCell("block", bodies=frozendict({"block": block})))
    scene = apply_changes(Scene(cell, state), (added, Move("block", place)), world_pose)
    with pytest.raises(MPInterpolationInCollisionError, match="block") as caught:
        plan_cartesian(scene.cell, scene.state, bar_to(Pose((0.0, 0.35, 0.95))))
    assert any(pair in name for name in caught.value.subjects)
    part = caught.value.partial
    assert 0.0 < part.cartesian.fraction < 1.0
    checker = CollisionChecker(scene.cell, scene.state, group="both")
    assert not checker.in_collision_batch(dense(part.path, STEP)).any()


def test_a_trajectory_that_leaves_the_relative_poses_is_refused(held, monkeypatch):
    """Points so far apart that the timed curve cuts their corners, if nothing is refined."""
    cell, state = held
    monkeypatch.setattr("robot_cell_planner.planning.cartesian.coordinated.CoordinatedTracker._refine", lambda _: None)
    options = CartesianOptions(max_step_distance=0.2, max_step_angle=1.0)
    with pytest.raises(TrajectoryError, match="relative poses"):
        plan_cartesian(cell, state, bar_to(Pose.from_rpy((0.0, 0.3, 1.0), (0.0, 0.2, 0.3)), options=options))


def test_what_is_not_supported_is_refused_by_name(held):
    cell, state = held
    goal = Pose((0.0, 0.0, 1.1))
    with pytest.raises(NotSupportedError, match="sample_start_configuration"):
        plan_cartesian(cell, state, bar_to(goal, options=CartesianOptions(sample_start_configuration=True)))
    request = CartesianRequest(bar_to(goal).waypoints, "both", joints=("left/elbow_joint",))
    with pytest.raises(NotSupportedError, match="all its joints move"):
        plan_cartesian(cell, state, request)


def test_the_rotation_about_an_axis_may_be_free(held):
    cell, state = held
    waypoints = PointAxisWaypoints((((0.0, 0.2, 1.0), (0.0, 0.0, 1.0)),), mode=TargetMode.WORKPIECE)
    plan = plan_cartesian(cell, state, CartesianRequest(waypoints, "both"))
    assert (changes(cell, state, plan.variables, dense(plan.path, 0.01)) <= ALLOWED).all()
    end = reference_world_pose(cell, at(state, plan.variables, plan.path[-1]), "bar")
    assert np.linalg.norm(np.array(end.position) - (0.0, 0.2, 1.0)) < 2e-6
