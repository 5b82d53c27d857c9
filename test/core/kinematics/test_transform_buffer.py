"""The transform buffer: interpolation, composition and inverses, and the errors and cache rules of tf2."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from robot_cell_planner.errors import (
    InvalidValueError,
    LimitExceededError,
    TransformConnectivityError,
    TransformExtrapolationError,
    TransformLookupError,
    UnknownNameError,
)
from robot_cell_planner.kinematics import transform_buffer
from robot_cell_planner.kinematics.transform_buffer import TransformBuffer
from robot_cell_planner.model.pose import IDENTITY, Pose, normalised

SECOND = 10**9
STILL = (0.0, 0.0, 0.0, 1.0)
numbers = st.floats(-1.0, 1.0)
quaternions = (
    st.tuples(numbers, numbers, numbers, numbers).filter(lambda q: math.hypot(*q) > 0.1).map(lambda q: normalised(q))
)
poses = st.builds(Pose, st.tuples(numbers, numbers, numbers), quaternions)


def insert(buffer, parent, child, pose=IDENTITY, stamp=0, **keywords):
    return buffer.insert(parent, child, pose.position, pose.quaternion, stamp, **keywords)


def moved(x):
    return Pose((x, 0.0, 0.0))


def assert_equal(pose, expected, tolerance=1e-9):
    distance, angle = pose.distance_to(expected)
    assert distance < tolerance
    assert angle < tolerance


@pytest.fixture
def buffer():
    return TransformBuffer()


@given(poses, poses, st.integers(0, SECOND))
def test_between_samples_poses_are_interpolated_by_the_closed_formula(first, second, stamp):
    if Pose(quaternion=first.quaternion).distance_to(Pose(quaternion=second.quaternion))[1] > math.pi - 1e-3:
        return  # rotation in either direction is correct
    buffer = TransformBuffer()
    insert(buffer, "world", "part", first, SECOND)
    insert(buffer, "world", "part", second, 2 * SECOND)
    found = buffer.lookup("world", "part", SECOND + stamp).pose
    fraction = stamp / SECOND
    position = (1.0 - fraction) * np.array(first.position) + fraction * np.array(second.position)
    rotation = Slerp([0.0, 1.0], Rotation.from_quat([first.quaternion, second.quaternion]))(fraction)
    assert_equal(found, Pose(tuple(position.tolist()), tuple(rotation.as_quat().tolist())))


@given(st.lists(poses, min_size=4, max_size=4))
def test_lookups_compose_along_the_tree_and_are_inverse_to_each_other(given_poses):
    buffer = TransformBuffer()
    a, b, c, d = given_poses
    insert(buffer, "world", "arm", a, static=True)
    insert(buffer, "arm", "camera", b, SECOND)
    insert(buffer, "arm", "camera", b, 2 * SECOND)
    insert(buffer, "world", "belt", c, static=True)
    insert(buffer, "belt", "part", d, SECOND)
    world_T_camera, world_T_part = a @ b, c @ d
    assert_equal(buffer.lookup("world", "camera").pose, world_T_camera)
    assert_equal(buffer.lookup("camera", "world").pose, world_T_camera.inverse())
    found = buffer.lookup("camera", "part")
    assert found.stamp == SECOND
    assert_equal(found.pose, world_T_camera.inverse() @ world_T_part)
    assert_equal(buffer.lookup("part", "camera", SECOND).pose, found.pose.inverse())


def test_the_latest_common_time_is_the_earliest_of_the_latest(buffer):
    for stamp in (1, 2, 3):
        insert(buffer, "world", "arm", moved(stamp), stamp * SECOND)
    for stamp in (1, 2):
        insert(buffer, "arm", "camera", moved(stamp), stamp * SECOND)
    found = buffer.lookup("world", "camera")
    assert found.stamp == 2 * SECOND
    assert found.pose.position == (4.0, 0.0, 0.0)


def test_static_frames_exist_at_all_times(buffer):
    insert(buffer, "world", "camera", moved(1.0), static=True)
    assert buffer.lookup("world", "camera", 5).pose == moved(1.0)
    assert buffer.lookup("world", "camera").stamp == 0
    insert(buffer, "world", "camera", moved(2.0), static=True)
    assert buffer.lookup("world", "camera", 5).pose == moved(2.0)


def test_a_frame_is_at_its_own_origin_even_if_it_is_unknown(buffer):
    assert buffer.lookup("nil", "nil", 7) == transform_buffer.StampedPose(IDENTITY, 7)


def test_an_unknown_frame_is_named(buffer):
    insert(buffer, "world", "camera", static=True)
    for target, source in (("world", "camra"), ("camra", "world")):
        with pytest.raises(TransformLookupError, match="camra") as caught:
            buffer.lookup(target, source)
        assert isinstance(caught.value, UnknownNameError)


@pytest.mark.parametrize(
    ("stamp", "words"), [(SECOND - 1, "past.*from 1.000000000 s to 2.000000000 s"), (2 * SECOND + 1, "future")]
)
def test_nothing_is_extrapolated(buffer, stamp, words):
    insert(buffer, "world", "part", stamp=SECOND)
    insert(buffer, "world", "part", stamp=2 * SECOND)
    with pytest.raises(TransformExtrapolationError, match=f"part.*{words}"):
        buffer.lookup("world", "part", stamp)
    with pytest.raises(TransformExtrapolationError, match=f"part.*{words}"):
        buffer.lookup("part", "world", stamp)


def test_a_single_sample_is_valid_at_its_stamp_only(buffer):
    insert(buffer, "world", "part", moved(1.0), SECOND)
    assert buffer.lookup("world", "part", SECOND).pose == moved(1.0)
    with pytest.raises(TransformExtrapolationError):
        buffer.lookup("world", "part", SECOND + 1)


def test_separate_trees_are_reported(buffer):
    insert(buffer, "world", "robot", static=True)
    insert(buffer, "map", "camera", static=True)
    for stamp in (0, SECOND):
        with pytest.raises(TransformConnectivityError, match="camera to robot"):
            buffer.lookup("robot", "camera", stamp)


def test_a_loop_is_reported(buffer):
    insert(buffer, "a", "b", static=True)
    insert(buffer, "b", "a", static=True)
    insert(buffer, "world", "c", static=True)
    for stamp in (0, SECOND):
        with pytest.raises(TransformLookupError, match="loop"):
            buffer.lookup("c", "a", stamp)


def test_samples_may_arrive_in_any_order(buffer):
    for stamp in (3, 1, 2):
        insert(buffer, "world", "part", moved(stamp), stamp * SECOND)
    assert buffer.lookup("world", "part", 3 * SECOND // 2).pose.position == pytest.approx((1.5, 0.0, 0.0))
    assert buffer.lookup("world", "part").pose == moved(3.0)


def test_a_later_sample_at_one_time_replaces_the_first_and_repeated_ones_are_stored_once(buffer):
    insert(buffer, "world", "part", moved(0.0), SECOND)
    for x in (1.0, 2.0, 1.0):
        assert insert(buffer, "world", "part", moved(x), 2 * SECOND)
    insert(buffer, "world", "part", moved(3.0), 3 * SECOND)
    assert buffer.lookup("world", "part", 2 * SECOND).pose == moved(2.0)
    assert len(buffer._moving["part"].stamps) == 4


def test_samples_are_stored_for_the_cache_time(buffer):
    insert(buffer, "world", "part", stamp=SECOND)
    insert(buffer, "world", "part", stamp=12 * SECOND)
    assert not insert(buffer, "world", "part", stamp=2 * SECOND - 1)
    assert insert(buffer, "world", "part", stamp=2 * SECOND)
    with pytest.raises(TransformExtrapolationError, match="past"):
        buffer.lookup("world", "part", SECOND)


def test_a_new_parent_is_valid_from_its_first_sample_on(buffer):
    insert(buffer, "world", "belt", moved(10.0), static=True)
    insert(buffer, "world", "part", moved(1.0), SECOND)
    insert(buffer, "belt", "part", moved(2.0), 2 * SECOND)
    assert buffer.lookup("world", "part", 2 * SECOND - 1).pose == moved(1.0)
    assert buffer.lookup("world", "part", 2 * SECOND).pose == moved(12.0)


def test_a_frame_that_becomes_static_loses_its_samples_and_the_other_way_round(buffer):
    insert(buffer, "world", "part", moved(1.0), SECOND)
    insert(buffer, "world", "part", moved(2.0), static=True)
    assert buffer.lookup("world", "part", 5).pose == moved(2.0)
    insert(buffer, "world", "part", moved(3.0), SECOND)
    with pytest.raises(TransformExtrapolationError):
        buffer.lookup("world", "part", 5)


def test_clearing_removes_moving_transforms_only(buffer):
    insert(buffer, "world", "camera", moved(1.0), static=True)
    insert(buffer, "world", "part", moved(1.0), 9 * SECOND)
    buffer.clear()
    assert buffer.lookup("world", "camera").pose == moved(1.0)
    with pytest.raises(TransformConnectivityError):
        buffer.lookup("world", "part")
    with pytest.raises(TransformExtrapolationError, match="no data"):
        buffer.lookup("world", "part", SECOND)
    assert insert(buffer, "world", "part", moved(2.0), SECOND)


def test_a_leading_slash_is_left_out(buffer):
    insert(buffer, "/world", "/camera", moved(1.0), static=True)
    assert buffer.lookup("world", "camera").pose == moved(1.0)


@pytest.mark.parametrize(
    ("parent", "child", "translation", "quaternion"),
    [
        ("world", "world", (0.0, 0.0, 0.0), STILL),
        ("world", "", (0.0, 0.0, 0.0), STILL),
        ("", "part", (0.0, 0.0, 0.0), STILL),
        ("world", "p" * 301, (0.0, 0.0, 0.0), STILL),
        ("world", "part", (math.nan, 0.0, 0.0), STILL),
        ("world", "part", (0.0, math.inf, 0.0), STILL),
        ("world", "part", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
        ("world", "part", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, math.nan)),
        ("world", "part", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.01)),
    ],
)
def test_malformed_transforms_are_refused(buffer, parent, child, translation, quaternion):
    with pytest.raises(InvalidValueError):
        buffer.insert(parent, child, translation, quaternion)
    assert not buffer.frames


def test_quaternions_are_normalised(buffer):
    buffer.insert("world", "part", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.004))
    assert buffer.lookup("world", "part").pose == IDENTITY


def test_the_buffer_is_bounded(buffer, monkeypatch):
    monkeypatch.setattr(transform_buffer, "MAX_SAMPLES", 3)
    monkeypatch.setattr(transform_buffer, "MAX_FRAMES", 3)
    for stamp in (1, 2, 3):
        insert(buffer, "world", "part", stamp=stamp)
    with pytest.raises(LimitExceededError, match="no room"):
        insert(buffer, "world", "part", stamp=4)
    assert insert(buffer, "world", "part", stamp=20 * SECOND)
    assert buffer.lookup("world", "part").stamp == 20 * SECOND
    insert(buffer, "world", "camera", static=True)
    with pytest.raises(LimitExceededError, match="frames"):
        insert(buffer, "world", "other", static=True)
