"""Lines, arcs, rounded corners and axes: path and speed of the frame between waypoints."""

from itertools import pairwise

import numpy as np
import pytest
from cartesian_paths import (
    as_axis,
    axes,
    distances_to_line,
    follow,
    frames,
    moved,
    random_motion,
    tool_poses,
)
from planning_cells import gantry

from robot_cell_planner.errors import (
    InvalidRequestError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPTargetInCollisionError,
    TimedOutError,
)
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.cartesian_path import CartesianPath
from robot_cell_planner.planning.cartesian.path.curves import Arc, BlendedCorner, Line
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints, Segment
from robot_cell_planner.planning.cartesian.planner import CartesianOptions, CartesianStrategy
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions
from robot_cell_planner.trajectory.validation import validate


def test_an_arc_is_a_circle_through_its_three_points():
    rng = np.random.default_rng(4)
    for _ in range(20):
        numbers = rng.uniform(-1.0, 1.0, (2, 2, 3)).tolist()
        start, end = (Pose.from_rpy(position, rpy).matrix for position, rpy in numbers)
        via = rng.uniform(-1.0, 1.0, 3)
        arc = Arc.through(start, via, end)
        points = arc.poses(np.linspace(0.0, 1.0, 2001))[:, :3, 3]
        distances = np.linalg.norm(points - arc.centre, axis=1)
        assert np.allclose(distances, arc.radius, rtol=1e-9)
        assert np.linalg.norm(points - via, axis=1).min() < 1e-3 * arc.length
        assert np.array_equal(arc.poses([1.0])[0], end)
        assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() == pytest.approx(arc.length, rel=1e-5)
    with pytest.raises(InvalidRequestError, match="collinear"):
        Arc.through(np.eye(4), np.array((0.5, 0.0, 0.0)), moved(Pose(), x=1.0).matrix)


class _Compared(np.ndarray):
    """Indices that count how often all of them are compared."""

    count = 0

    def __eq__(self, other):
        _Compared.count += 1
        return super().__eq__(other)

    __hash__ = None


def test_samples_of_many_arcs_are_looked_up_in_one_pass():
    ends = [Pose((0.02 * (index % 2), 0.01 * index, 0.0)) for index in range(1, 61)]
    vias = [(0.01, 0.01 * index - 0.005, 0.004) for index in range(1, 61)]
    segments = tuple(Segment(via=via if index % 3 else None) for index, via in enumerate(vias))
    path = CartesianPath(np.eye(4), FrameWaypoints(tuple(ends), segments=segments), np.eye(4))
    rng = np.random.default_rng(0)
    indices, fractions = rng.permutation(np.repeat(np.arange(60), 5)), rng.uniform(size=300)
    _Compared.count = 0
    poses = path.poses(indices.view(_Compared), fractions)
    distances, angles = path.distances(indices.view(_Compared), fractions, poses)
    assert _Compared.count <= 2
    assert max(distances.max(), angles.max()) < 1e-9
    each = [path.pose(int(index), float(fraction)) for index, fraction in zip(indices, fractions, strict=True)]
    assert np.abs(poses - np.array(each)).max() < 1e-12


def test_a_corner_joins_its_segments_in_position_direction_and_curvature():
    first = Line.between(np.eye(4), Pose.from_rpy((1.0, 0.0, 0.0), (0.3, 0.0, 0.0)).matrix)
    second = Line.between(first.end, Pose.from_rpy((1.0, 1.0, 0.0), (0.3, 0.5, 0.0)).matrix)
    corner = BlendedCorner(first, 0.8, second, 0.2)
    shares = np.linspace(0.0, 1.0, 4001)
    poses = corner.poses(shares)
    assert np.allclose(poses[0], first.poses([0.8])[0], atol=1e-12)
    assert np.allclose(poses[-1], second.poses([0.2])[0], atol=1e-12)
    steps = np.diff(poses[:, :3, 3], axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    assert np.allclose(lengths, corner.length / 4000, rtol=1e-3)  # run through at constant speed
    directions = steps / lengths[:, None]
    assert np.allclose(directions[0], (1.0, 0.0, 0.0), atol=1e-4)
    assert np.allclose(directions[-1], (0.0, 1.0, 0.0), atol=1e-4)
    curvatures = np.linalg.norm(np.diff(directions, axis=0), axis=1) / lengths[:-1]
    assert curvatures[0] < 0.05 * curvatures.max()
    assert curvatures[-1] < 0.05 * curvatures.max()
    # By the closed formula: in the middle, both segments have equal weights.
    middle = corner.poses([corner.middle])[0, :3, 3]
    assert np.allclose(middle, (1.0 - 0.05, 0.05, 0.0), atol=1e-3)


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_the_tool_moves_along_an_arc(above, strategy):
    cell, state, pose = above
    end, via = moved(pose, y=0.12), moved(pose, y=0.06, z=0.06).position
    plan = follow(cell, state, frames(end, segments=(Segment(via=via),)), strategy=strategy)
    points = tool_poses(cell, state, plan.variables, plan.path)[:, :3, 3]
    centre = np.array(moved(pose, y=0.06).position)
    assert np.allclose(np.linalg.norm(points - centre, axis=1), 0.06, atol=1e-6)
    assert points[:, 2].max() == pytest.approx(centre[2] + 0.06, abs=1e-3)
    assert len(plan.path) - 1 == int(np.ceil(np.pi * 0.06 / 0.01))
    assert plan.cartesian.max_deviation < 3e-4


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_a_rounded_corner_is_passed_without_stopping(above, strategy):
    cell, state, pose = above
    corner, end = moved(pose, z=0.1), moved(pose, y=0.1, z=0.1)
    rounded = frames(corner, end, segments=(Segment(blend_radius=0.03), Segment()))
    plan = follow(cell, state, rounded, strategy=strategy, timing=TimingOptions(path_speed=0.05))
    sharp = follow(cell, state, frames(corner, end), strategy=strategy, timing=TimingOptions(path_speed=0.05))
    assert plan.duration < sharp.duration
    report = plan.cartesian
    assert report.parameter_of_point.count(1.0) == 2  # nearest to the corner, and at the end
    # The path passes the corner at a fixed fraction of the radius: |P - M| = r/4 |d2 - d1|.
    poses = tool_poses(cell, state, plan.variables, plan.trajectory.positions)
    gap = np.linalg.norm(poses[:, :3, 3] - np.array(corner.position), axis=1).min()
    assert gap == pytest.approx(0.03 * np.sqrt(2.0) / 4.0, rel=0.02)
    # Constant speed around the corner, and never faster.
    speeds = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1) / np.diff(plan.trajectory.times)
    assert speeds.max() <= 0.05 * (1.0 + 2e-3)  # a spline through points every centimetre
    middle = slice(len(speeds) // 4, -len(speeds) // 4)
    assert speeds[middle].min() > 0.049
    limits = MotionLimits.of([cell.variables[name] for name in plan.variables])
    assert validate(plan.trajectory, limits, start=state.configuration, start_tolerance=0.0).valid
    resting = (np.abs(sharp.trajectory.velocities).max(axis=1) == 0.0).sum()
    assert resting == 3
    assert (np.abs(plan.trajectory.velocities).max(axis=1) == 0.0).sum() == 2


def test_dense_waypoints_of_a_curve_are_passed_at_constant_speed(above):
    cell, state, pose = above
    angles = np.linspace(0.0, 2.0 * np.pi, 101)[1:]
    ring = [moved(pose, y=0.05 * np.sin(a), z=0.05 - 0.05 * np.cos(a)) for a in angles]
    plan = follow(cell, state, axes(*ring), timing=TimingOptions(path_speed=0.04))
    poses = tool_poses(cell, state, plan.variables, plan.trajectory.positions)
    speeds = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1) / np.diff(plan.trajectory.times)
    assert speeds.max() <= 0.04 * (1.0 + 1e-3)
    tenth = len(speeds) // 10
    assert speeds[tenth:-tenth].min() > 0.0395


def test_each_segment_has_its_speed(above):
    cell, state, pose = above
    corner, end = moved(pose, z=0.08), moved(pose, z=0.16)
    segments = (Segment(speed=0.02), Segment(speed=0.05))
    plan = follow(cell, state, frames(corner, end, segments=segments), timing=TimingOptions())
    heights = tool_poses(cell, state, plan.variables, plan.trajectory.positions)[:, 2, 3]
    speeds = np.diff(heights) / np.diff(plan.trajectory.times)
    first = heights[1:] <= corner.position[2]
    assert speeds[first].max() == pytest.approx(0.02, rel=1e-3)
    assert speeds[~first].max() == pytest.approx(0.05, rel=1e-2)


def test_points_map_back_to_their_segments(above):
    cell, state, pose = above
    ways = (moved(pose, z=0.05), moved(pose, z=0.05, y=0.05), moved(pose, y=0.05))
    segments = (Segment(blend_radius=0.02), Segment(), Segment())
    report = follow(cell, state, frames(*ways, segments=segments)).cartesian
    waypoints, shares = np.array(report.waypoint_of_point), np.array(report.parameter_of_point)
    assert (np.diff(waypoints) >= 0).all()
    for waypoint in range(3):
        own = shares[waypoints == waypoint]
        assert (np.diff(own) > 0.0).all()
        assert own[-1] == 1.0


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_the_axis_turns_along_the_shortest_arc(above, strategy):
    cell, state, pose = above
    tilted = moved(pose, z=0.1) @ Pose.from_rpy((0.0, 0.0, 0.0), (0.3, 0.2, 1.0))
    plan = follow(cell, state, axes(tilted), strategy=strategy)
    found = tool_poses(cell, state, plan.variables, plan.path)[:, :3, 2]
    first, last = pose.matrix[:3, 2], tilted.matrix[:3, 2]
    whole = np.arccos(first @ last)
    shares = np.array([0.0, *plan.cartesian.parameter_of_point])
    assert np.allclose(np.arccos(np.clip(found @ first, -1.0, 1.0)), shares * whole, atol=1e-6)
    assert np.allclose(np.cross(first, last) @ found.T, 0.0, atol=1e-6)
    # The rotation about the axis is free: with the full pose, joints move further.
    assert plan.path_length < follow(cell, state, frames(tilted), strategy=strategy).path_length


def test_axes_in_another_frame_and_unit(above):
    cell, state, pose = above
    goal = moved(pose, z=0.1)
    table = world_pose(cell, state, "table")
    local = table.inverse() @ goal
    point = tuple(1000.0 * value for value in local.position)
    waypoints = PointAxisWaypoints(
        ((point, as_axis(local)[1]),), mode=TargetMode.TOOL, reference_frame="table", native_scale=0.001
    )
    assert np.allclose(follow(cell, state, waypoints).path, follow(cell, state, axes(goal)).path, atol=1e-6)


@pytest.mark.parametrize("field", ["max_deviation", "max_deviation_angle"])
def test_the_deviation_is_limited(above, field):
    cell, state, pose = above
    turned = moved(pose, y=0.2, z=0.2) @ Pose.from_rpy((0.0, 0.0, 0.0), (0.3, 0.2, 0.4))
    wide = {"max_step_distance": 0.1, "max_step_angle": 1.0}
    for strategy in CartesianStrategy:
        plain = follow(cell, state, frames(turned), strategy=strategy, **wide)
        limit = 0.1 * getattr(plain.cartesian, field)
        finer = follow(cell, state, frames(turned), strategy=strategy, **wide, **{field: limit})
        assert getattr(finer.cartesian, field) <= limit
        assert len(finer.path) > len(plain.path)


@pytest.mark.parametrize("seed", [10, 13, 36, 56])
def test_a_motion_that_leaves_the_path_beyond_its_ends_deviates_as_reported(seed):
    cell, state, pose, end = random_motion(seed, 0.5, 0.02)
    wide = {"max_step_distance": 0.1, "max_step_angle": 3.0, "max_jump_revolute": 3.0}
    plan = follow(cell, state, frames(end), check_collision=False, **wide)
    dense = np.vstack([a + np.linspace(0.0, 1.0, 60)[:, None] * (b - a) for a, b in pairwise(plan.path)])
    positions = tool_poses(cell, state, plan.variables, dense)[:, :3, 3]
    distance = distances_to_line(positions, pose, end).max()
    assert 0.98 * distance <= plan.cartesian.max_deviation <= 1.1 * distance


def test_a_deviation_that_no_spacing_achieves_is_an_error(above):
    cell, state, pose = above
    options = {"max_step_distance": 0.1, "min_step_distance": 0.09, "min_step_angle": 0.1, "max_deviation": 1e-6}
    for strategy in CartesianStrategy:
        with pytest.raises(MPMaxJumpError) as caught:
            follow(cell, state, frames(moved(pose, z=0.2)), strategy=strategy, **options)
        assert caught.value.partial.cartesian.fraction < 1.0


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda pose: frames(pose, segments=(Segment(), Segment())), "segments"),
        (lambda pose: frames(pose, segments=(Segment(blend_radius=0.01),)), "last waypoint"),
        (lambda pose: Segment(speed=-1.0), "speed"),
        (lambda pose: Segment(via=(0.0, float("nan"), 0.0)), "via"),
        (lambda pose: FrameWaypoints(()), "no waypoint"),
        (lambda pose: PointAxisWaypoints((((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),)), "no direction"),
        (lambda pose: CartesianOptions(strategy="graph"), "CartesianStrategy"),
        (lambda pose: CartesianOptions(max_deviation=-1.0), "max_deviation"),
    ],
)
def test_waypoints_that_contradict_themselves_are_refused(make, match):
    with pytest.raises(InvalidRequestError, match=match):
        make(Pose())


def test_a_path_of_many_blends_can_be_ended_before_its_end():
    corners = tuple(Pose((0.1 * (index % 2), 0.01 * index, 0.0)) for index in range(1, 101))
    segments = (*(Segment(blend_radius=0.01) for _ in range(99)), Segment())
    calls = []

    def third_time():
        calls.append(1)
        if len(calls) == 3:
            raise TimedOutError("the time limit was reached", stage="start")

    with pytest.raises(TimedOutError):
        CartesianPath(np.eye(4), FrameWaypoints(corners, segments=segments), np.eye(4), third_time)


def test_blends_must_fit_their_segments(above):
    cell, state, pose = above
    ways = frames(moved(pose, z=0.05), moved(pose, z=0.05, y=0.1), segments=(Segment(blend_radius=0.06), Segment()))
    with pytest.raises(InvalidRequestError, match="too short for the blends"):
        follow(cell, state, ways)


def test_a_wall_across_the_path_ends_it():
    cell, state = gantry((("wall", (0.5, 0.0), (0.02, 1.0)),))
    state = state.with_configuration({"x": -0.5, "y": 0.0})
    for strategy in CartesianStrategy:
        waypoints = frames(Pose((0.0, 0.0, 0.0)), Pose((0.8, 0.0, 0.0)), mode=TargetMode.ROBOT)
        with pytest.raises(MPInterpolationInCollisionError) as caught:
            follow(cell, state, waypoints, strategy=strategy, max_jump_prismatic=0.0)
        report = caught.value.partial.cartesian
        # The cube touches the wall at x = 0.44, after 0.94 m of 1.3 m.
        assert report.fraction == pytest.approx(0.94 / 1.3, abs=0.011)
        assert report.fraction <= 0.9401 / 1.3
        assert report.failed_waypoint == 1
        assert report.failed_frame.position[0] == pytest.approx(0.44, abs=0.011)
        assert {pair.second for pair in report.pairs} | {pair.first for pair in report.pairs} == {"cube", "wall"}


def test_waypoints_of_axes_are_checked_first_on_request_only():
    cell, state = gantry((("wall", (0.5, 0.0), (0.02, 1.0)),))
    state = state.with_configuration({"x": -0.5, "y": 0.0})
    goal = Pose((0.5, 0.0, 0.0))
    for waypoints, skip, first in (
        (frames(goal, mode=TargetMode.ROBOT), None, True),
        (frames(goal, mode=TargetMode.ROBOT), True, False),
        (axes(goal, mode=TargetMode.ROBOT), None, False),
        (axes(goal, mode=TargetMode.ROBOT), False, True),
    ):
        with pytest.raises(MPTargetInCollisionError if first else MPInterpolationInCollisionError) as caught:
            follow(cell, state, waypoints, skip_preplanning_collision_check=skip)
        assert (caught.value.partial.cartesian.fraction == 0.0) == first
