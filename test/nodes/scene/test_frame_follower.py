"""Objects that follow frames of TF: what is refused, or cannot be computed, changes nothing else."""

import asyncio
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import InvalidValueError, JournalError
from robot_cell_planner.kinematics.transform_buffer import StampedPose
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.nodes.common.waiting import InOrder
from robot_cell_planner.nodes.scene import frame_follower
from robot_cell_planner.nodes.scene.frame_follower import FrameFollower
from robot_cell_planner.scene.history import SceneHistory

PARAMETERS = {
    "follow_frames": [""],
    "follow_rate": 5.0,
    "follow_distance": 0.001,
    "follow_angle": 0.005,
    "follow_timeout": 2.0,
}
SECOND = 10**9
NOW = 1000 * SECOND  # [ns]
BEYOND = Pose((1.7e308, 1.7e308, 0.0))  # of which a rotated frame has no finite pose in the world
ROTATED = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.7))


class Frames:
    """Frames of TF at poses that a test sets."""

    def __init__(self, **poses):
        self.poses = poses
        self.stamp = 0  # [ns]

    def latest(self, name):
        return StampedPose(self.poses[name], self.stamp)

    async def wait_for(self, name):
        return self.latest(name)


class Followed:
    """The followers of a scene, and where its objects are."""

    def __init__(self, monkeypatch, **poses):
        timers = []
        monkeypatch.setattr(frame_follower, "steady_timer", lambda node, period, update, **_: timers.append(update))
        self.frames, self.history, self.failures = Frames(**poses), SceneHistory(world_pose), []
        self.history.load(*loaded())
        node = MagicMock(parameters=PARAMETERS)
        node.get_clock().now = lambda: SimpleNamespace(nanoseconds=NOW)
        self.modifying = InOrder()
        self.follower = FrameFollower(node, self.frames, self.history, self._apply, self.modifying)
        (self.update,) = timers

    def _apply(self, changes):
        if self.failures:
            raise self.failures.pop()
        self.history.apply(changes)

    def follow(self, name, frame, pose=IDENTITY):
        asyncio.run(self.follower.follow(name, frame, pose))

    def at(self, name):
        return self.history.scene.state.bodies[name].pose.position


@pytest.mark.parametrize("reason", ["pose", "journal"])
def test_an_object_follows_what_it_followed_before_a_request_that_failed(monkeypatch, reason):
    followed = Followed(monkeypatch, belt=IDENTITY, turned=ROTATED)
    followed.follow("workpiece", "belt")
    if reason == "pose":
        with pytest.raises(InvalidValueError):
            followed.follow("workpiece", "turned", BEYOND)
    else:
        followed.failures.append(JournalError("the disk is full"))
        with pytest.raises(JournalError):
            followed.follow("workpiece", "turned")
    followed.frames.poses["belt"] = Pose((0.5, 0.0, 0.0))
    followed.update()
    assert followed.at("workpiece") == (0.5, 0.0, 0.0)


def test_an_object_without_a_finite_pose_is_named_and_others_follow(monkeypatch):
    followed = Followed(monkeypatch, belt=IDENTITY, far=IDENTITY)
    followed.follow("workpiece", "far", BEYOND)
    followed.follow("bin", "belt")
    followed.frames.poses.update(far=ROTATED, belt=Pose((0.5, 0.0, 0.0)))
    followed.update()
    assert followed.at("bin") == (0.5, 0.0, 0.0)
    assert followed.follower.problem.startswith("workpiece does not follow the TF frame far: ")
    followed.frames.poses["far"] = IDENTITY
    followed.update()
    assert not followed.follower.problem


def test_an_object_follows_after_a_list_of_changes_that_is_being_applied(monkeypatch):
    followed = Followed(monkeypatch, belt=IDENTITY)
    followed.follow("workpiece", "belt")
    followed.frames.poses["belt"] = Pose((0.5, 0.0, 0.0))

    async def apply_a_list():
        async with followed.modifying:
            followed.update()
            assert followed.at("workpiece") == (0.0, 0.0, 0.0)

    asyncio.run(apply_a_list())
    followed.update()
    assert followed.at("workpiece") == (0.5, 0.0, 0.0)


@pytest.mark.parametrize(
    ("ahead", "words"), [(-2.1, "2.1 s old"), (2.1, "2.1 s ahead of the clock"), (1.9, ""), (-1.9, "")]
)
def test_a_transform_far_from_the_present_time_is_reported(monkeypatch, ahead, words):
    """One that is ahead may stay the latest for as long: TF ignores much older ones."""
    followed = Followed(monkeypatch, belt=IDENTITY)
    followed.follow("workpiece", "belt")
    followed.frames.stamp = NOW + round(ahead * SECOND)
    followed.update()
    assert words in followed.follower.problem
    assert bool(words) == bool(followed.follower.problem)
    followed.frames.stamp = NOW
    followed.update()
    assert not followed.follower.problem
