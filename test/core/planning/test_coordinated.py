"""Cartesian motions of two arms that hold one bar: the bar follows the path, both hands keep their pose relative to
it, and nothing collides."""

from itertools import pairwise

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
    Segment,
    SetJoints,
    SetTouch,
    TargetMode,
    apply_changes,
    composite_inverse_kinematics,
    inverse_kinematics,
    plan_cartesian,
    verify_plan,
    world_pose,
)
from robot_cell_planner.errors import (
    InvalidRequestError,
    MPInterpolationInCollisionError,
    MPNoIKSolutionError,
    NotSupportedError,
    TrajectoryError,
    UnknownNameError,
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
    """The largest changes of the pose of the right hand relative to the left one since the state [m], [rad]."""

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
def test_the_bar_follows_the_line_and_both_hands_keep_their_pose(held, goal, group):
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


def test_a_follower_out_of_reach_is_named(held):
    """Towards the left robot, the right one reaches the end of its workspace."""
    cell, state = held
    with pytest.raises(MPNoIKSolutionError, match="right/manipulator cannot keep its relative pose") as caught:
        plan_cartesian(cell, state, bar_to(Pose((-0.75, 0.3, 1.2))))
    assert RIGHT in caught.value.subjects
    part = caught.value.partial
    assert part.variables == cell.group("both").variables
    assert 0.1 < part.cartesian.fraction < 1.0
    assert len(part.path) > 2
    assert (changes(cell, state, part.variables, dense(part.path, 0.01)) <= ALLOWED).all()


def test_a_leader_out_of_reach_has_a_partial_plan_of_both(held):
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
    """The points are so far apart that the timed curve cuts corners unless it is refined."""
    cell, state = held
    monkeypatch.setattr("robot_cell_planner.planning.cartesian.coordinated.CoordinatedTracker._refine", lambda _: None)
    options = CartesianOptions(max_step_distance=0.2, max_step_angle=1.0)
    with pytest.raises(TrajectoryError, match="relative poses"):
        plan_cartesian(cell, state, bar_to(Pose.from_rpy((0.0, 0.3, 1.0), (0.0, 0.2, 0.3)), options=options))


def test_unsupported_requests_are_refused_with_a_name(held):
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


class TestRelativePaths:
    """The left arm moves the bar, and the tool of the right arm follows a path on it."""

    ABOVE = (0.05, 0.0, 0.06)  # in the frame of the bar, where the tool of the right arm starts
    DOWN = Pose.from_rpy((0.0, 0.0, 0.0), (np.pi, 0.0, np.pi)).quaternion

    @pytest.fixture(scope="class")
    def above(self, held):
        """The right arm is above the bar."""
        cell, state = held
        target = FrameTarget(pose=Pose(self.ABOVE, self.DOWN), mode=TargetMode.TOOL, reference_frame="bar")
        found = inverse_kinematics(cell, state, target, RIGHT)
        state = at(state, cell.group(RIGHT).variables, found.best)
        return cell, state

    def tool_to(self, *points, **fields):
        poses = tuple(Pose(point, self.DOWN) for point in points)
        return FrameWaypoints(poses, mode=TargetMode.TOOL, **{"reference_frame": "bar", **fields})

    def request(self, poses, relative, **fields):
        waypoints = FrameWaypoints(poses, mode=TargetMode.WORKPIECE)
        return CartesianRequest(waypoints, "both", relative_paths={RIGHT: relative}, **fields)

    @staticmethod
    def relative(cell, state, variables, rows):
        """Poses of the tool of the right arm in the frame of the bar."""
        states = [at(state, variables, q) for q in rows]
        return [
            reference_world_pose(cell, state, "bar").inverse() @ reference_world_pose(cell, state, "right_gripper/tcp")
            for state in states
        ]

    @pytest.mark.parametrize("reference", ["bar", "left_gripper/tcp"])
    def test_the_tool_follows_its_path_on_the_workpiece_that_moves(self, above, reference):
        cell, state = above
        corners = [np.array(self.ABOVE), np.array((0.12, 0.0, 0.06)), np.array((0.12, 0.02, 0.10))]
        bar = (Pose((0.0, 0.1, 1.0)), Pose.from_rpy((0.05, 0.2, 1.05), (0.0, 0.1, 0.2)))
        to_bar = world_pose(cell, state, reference).inverse() @ world_pose(cell, state, "bar")
        poses = tuple(to_bar @ Pose(tuple(corner), self.DOWN) for corner in corners[1:])
        relative = FrameWaypoints(poses, mode=TargetMode.TOOL, reference_frame=reference)
        plan = plan_cartesian(cell, state, self.request(bar, relative))
        assert plan.certified_fraction == 1.0
        rows = [*dense(plan.path, 0.01), *plan.trajectory.at(np.linspace(0.0, plan.duration, 200))]
        for pose in self.relative(cell, state, plan.variables, rows):
            offsets = [off_segment(np.array(pose.position), *ends) for ends in pairwise(corners)]
            assert min(offsets) < ALLOWED[0]
            assert pose.distance_to(Pose(pose.position, self.DOWN))[1] < ALLOWED[1]
        ends = plan.path[-1:]
        assert np.linalg.norm(self.relative(cell, state, plan.variables, ends)[0].position - corners[-1]) < 3e-6
        end = reference_world_pose(cell, at(state, plan.variables, plan.path[-1]), "bar")
        assert max(end.distance_to(bar[-1])) < 2e-6
        checker = CollisionChecker(cell, state, group="both")
        assert not checker.in_collision_batch(dense(plan.path, STEP)).any()
        # Each waypoint is reached at the same time as that of the leader, and the motion rests there.
        middle = min(
            range(len(plan.path)),
            key=lambda i: reference_world_pose(cell, at(state, plan.variables, plan.path[i]), "bar").distance_to(
                bar[0]
            )[0],
        )
        tool = self.relative(cell, state, plan.variables, plan.path[middle : middle + 1])[0]
        assert np.linalg.norm(np.array(tool.position) - corners[1]) < 3e-6

    def test_a_long_relative_path_beside_a_short_one_of_the_leader(self, above):
        """The point spacing of the options also applies to the path of the tool."""
        cell, state = above
        options = CartesianOptions(max_step_distance=0.005)
        relative = self.tool_to((0.12, 0.0, 0.06))
        plan = plan_cartesian(cell, state, self.request((Pose((0.0, 0.0, 0.951)),), relative, options=options))
        points = np.array([pose.position for pose in self.relative(cell, state, plan.variables, plan.path)])
        assert np.linalg.norm(np.diff(points, axis=0), axis=1).max() < 0.0051

    def test_a_path_on_a_workpiece_at_rest_moves_the_other_robot_only(self, above):
        cell, state = above
        with pytest.raises(NotSupportedError, match="stands on the way to waypoint 0; plan the motions of the others"):
            plan_cartesian(cell, state, self.request((Pose(MIDDLE),), self.tool_to((0.12, 0.0, 0.06))))
        plan = plan_cartesian(cell, state, CartesianRequest(self.tool_to((0.12, 0.0, 0.06)), RIGHT))
        tool = self.relative(cell, state, plan.variables, plan.path[-1:])[0]
        assert np.linalg.norm(np.array(tool.position) - (0.12, 0.0, 0.06)) < 3e-6

    def test_inconsistent_requests_are_refused_with_a_name(self, above):
        cell, state = above
        bar, tool = (Pose((0.0, 0.1, 1.0)),), self.tool_to((0.12, 0.0, 0.06))
        with pytest.raises(InvalidRequestError, match="right/manipulator has 1 waypoints, expected 2"):
            self.request(bar * 2, tool)
        with pytest.raises(InvalidRequestError, match="refers to table, which the leader does not move"):
            plan_cartesian(cell, state, self.request(bar, self.tool_to((0.1, 0.0, 0.3), reference_frame="table")))
        with pytest.raises(UnknownNameError, match=f"given for {LEFT}; the robots that follow {LEFT} are {RIGHT}"):
            plan_cartesian(cell, state, CartesianRequest(bar_to(*bar).waypoints, "both", relative_paths={LEFT: tool}))
        with pytest.raises(NotSupportedError, match="a group of one robot"):
            plan_cartesian(cell, state, CartesianRequest(bar_to(*bar).waypoints, LEFT, relative_paths={RIGHT: tool}))
        blended = bar_to(*bar, Pose((0.0, 0.2, 1.0)), segments=(Segment(blend_radius=0.01), Segment())).waypoints
        paths = {RIGHT: self.tool_to((0.12, 0.0, 0.06), (0.12, 0.0, 0.08))}
        with pytest.raises(NotSupportedError, match="blends are not supported"):
            plan_cartesian(cell, state, CartesianRequest(blended, "both", relative_paths=paths))


def off_segment(point, start, end):
    """Distance of a point from the straight line between two others [m]."""
    share = np.clip((point - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
    return np.linalg.norm(point - start - share * (end - start))
