"""Warnings about requested speeds that a Cartesian motion does not keep."""

import re

import numpy as np
import pytest
from cartesian_paths import axes, follow, frames, moved, tool_poses

from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.planning.cartesian.path.waypoints import Segment
from robot_cell_planner.trajectory.timing import TimingOptions


def ring(pose, count=100):
    angles = np.linspace(0.0, 2.0 * np.pi, count + 1)[1:]
    return [moved(pose, y=0.05 * np.sin(a), z=0.05 - 0.05 * np.cos(a)) for a in angles]


def speed_texts(plan):
    return [text for text in plan.warnings if text.startswith("the speed of ")]


def largest_speed(cell, state, plan):
    times = np.linspace(0.0, plan.duration, 5001)
    points = tool_poses(cell, state, plan.variables, plan.trajectory.at(times))[:, :3, 3]
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).max() / times[1])


def test_a_rest_at_a_corner_is_reported_with_its_waypoint(above):
    cell, state, pose = above
    corners = [moved(pose, z=0.05), moved(pose, z=0.05, y=0.05), moved(pose, z=0.1, y=0.05)]
    slow = TimingOptions(path_speed=0.02)
    (text,) = speed_texts(follow(cell, state, frames(*corners), timing=slow))
    assert text.startswith(
        "the speed of 0.02 m/s is not kept: the motion rests at 2 waypoints, the first of which is waypoint 0, "
    )
    rounded = frames(*corners, segments=(Segment(blend_radius=0.02), Segment(), Segment()))
    (text,) = speed_texts(follow(cell, state, rounded, timing=slow))
    assert text.startswith("the speed of 0.02 m/s is not kept: the motion rests at waypoint 1, because of a corner;")
    segments = (Segment(blend_radius=0.02), Segment(blend_radius=0.02), Segment())
    assert not speed_texts(follow(cell, state, frames(*corners, segments=segments), timing=slow))
    assert not speed_texts(follow(cell, state, frames(*corners), timing=TimingOptions()))


def test_a_speed_beyond_the_joints_is_reported_with_the_one_that_is_reached(above):
    cell, state, pose = above
    fast = follow(cell, state, axes(*ring(pose)), timing=TimingOptions(path_speed=2.0))
    (text,) = speed_texts(fast)
    found = re.fullmatch(
        r"the speed of 2 m/s is not reached on the way to waypoints 0 to 99: (\S+) m/s at most, which the "
        r"(velocity|acceleration|jerk) of (\w+) limits at waypoint \d+", text
    )  # fmt: skip
    assert found
    reached, rate, joint = float(found[1]), found[2], found[3]
    assert reached == pytest.approx(largest_speed(cell, state, fast), rel=0.02)
    assert not speed_texts(follow(cell, state, axes(*ring(pose)), timing=TimingOptions(path_speed=0.95 * reached)))
    halved = JointLimits(**{rate: 0.5 * getattr(cell.variables[joint].limits, rate)})
    narrowed = TimingOptions(path_speed=2.0, limits={joint: halved})
    (text,) = speed_texts(follow(cell, state, axes(*ring(pose)), timing=narrowed))
    assert float(re.search(r": (\S+) m/s at most", text)[1]) < 0.9 * reached


def test_the_speed_of_a_segment_counts(above):
    cell, state, pose = above
    ends = moved(pose, z=0.08), moved(pose, z=0.16)
    segments = (Segment(speed=0.02), Segment(speed=5.0))
    (text,) = speed_texts(follow(cell, state, frames(*ends, segments=segments), timing=TimingOptions()))
    assert text.startswith("the speed of 5 m/s is not reached on the way to waypoint 1: ")
