"""Tools and bodies that follow frames of TF, by scene changes at a bounded rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...errors import InvalidRequestError, LimitExceededError, RobotCellError, UnknownNameError, Value
from ...model.name_suggestions import unknown_name
from ...model.pose import IDENTITY, Pose
from ...model.value import WORLD
from ...scene.changes import Change
from ...scene.history import SceneHistory
from ...scene.scene import Scene
from ...scene.state_changes import Move
from ..common.external_frames import ExternalFrames, has_frame
from ..common.node import CellNode
from ..common.parameters import Parameter
from ..common.waiting import InOrder, steady_timer

MAX_FOLLOWERS = 1_000
REPORT_PERIOD = 10.0  # [s] between warnings about the same object
FOLLOW_PARAMETERS = (
    Parameter(
        "follow_frames",
        [""],
        "Tools and bodies that follow TF frames from the start, with their origins at those of the frames.",
        constraint='each as "object=frame"',
    ),
    Parameter("follow_rate", 5.0, "Maximum rate of scene changes of objects that follow TF frames [Hz].", 0.1, 50.0),
    Parameter(
        "follow_distance",
        0.001,
        "Distance up to which an object may be away from the TF frame that it follows [m].",
        0.0,
        1.0,
        running=True,
    ),
    Parameter(
        "follow_angle",
        0.005,
        "Angle up to which an object may be rotated from the TF frame that it follows [rad].",
        0.0,
        3.2,
        running=True,
    ),
    Parameter(
        "follow_timeout",
        2.0,
        "Age of the latest transform above which a followed TF frame is reported as lost [s].",
        0.01,
        3600.0,
        running=True,
    ),
)


@dataclass
class _Follower:
    """frame_T_object. problem: why it does not follow its frame at present, or ""."""

    frame: str
    pose: Pose
    problem: str = ""
    reported_at: float = -REPORT_PERIOD


class FrameFollower:
    """Moves tools and bodies with frames of TF; for a node with FOLLOW_PARAMETERS.

    apply(changes): creates a revision of the scene. modifying: access of those who modify it; while a list of changes
    is applied, objects follow later.

    Raises:
        InvalidRequestError: An entry of the parameter follow_frames is not "object=frame".
    """

    def __init__(
        self,
        node: CellNode,
        frames: ExternalFrames,
        history: SceneHistory,
        apply: Callable[[list[Change]], None],
        modifying: InOrder,
    ) -> None:
        self._node = node
        self._frames = frames
        self._history = history
        self._apply = apply
        self._modifying = modifying
        self._followers = _from_start(node.parameters["follow_frames"])
        steady_timer(node, 1.0 / node.parameters["follow_rate"], self._update, may_be_early=True)

    @property
    def diagnostics(self) -> dict[str, object]:
        """Return values for diagnostics."""
        followed = [f"{name}: {follower.frame}" for name, follower in self._followers.items()]
        return {"objects that follow TF frames": ", ".join(followed[:10])} if followed else {}

    @property
    def problem(self) -> str:
        """Return the objects that do not follow their frames at present, or ""."""
        problems = [follower.problem for follower in self._followers.values() if follower.problem]
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        return "; ".join(problems[:3]) + more

    async def follow(self, name: str, frame: str, pose: Pose) -> None:
        """Make a tool or body follow a frame at a pose in it, and move it there. After an error, it follows what it has
        followed before.

        Raises:
            UnknownNameError: The tool or body is unknown.
            InvalidRequestError: It is attached to something, or the frame is one of the cell.
            InvalidValueError: A number of its pose in the world would not be finite.
            LimitExceededError: Too many objects follow frames.
            TransformError: TF does not contain the frame, or it is not connected to the world.
        """
        self._check(name, frame)
        await self._frames.wait_for(frame)
        async with self._modifying:
            self._check(name, frame)
            self._apply([_moved(name, self._frames.latest(frame).pose @ pose)])
            self._followers[name] = _Follower(frame, pose)

    def release(self, name: str) -> None:
        """Stop following; the tool or body keeps its pose."""
        _pose_of(self._history.scene, name)
        self._followers.pop(name, None)

    def _check(self, name: str, frame: str) -> None:
        scene = self._history.scene
        _pose_of(scene, name)
        if frame == WORLD or has_frame(scene.cell, frame):
            text = f"{frame} is a frame of the cell, expected a frame of TF; {name} can be attached to it instead"
            raise InvalidRequestError(text, subjects=(frame, name))
        if len(self._followers) >= MAX_FOLLOWERS and name not in self._followers:
            values = (Value("objects", len(self._followers), MAX_FOLLOWERS),)
            raise LimitExceededError("too many objects follow TF frames", subjects=(name,), values=values)

    def _update(self) -> None:
        if not self._followers or not self._history.revision or self._modifying.is_held:
            return
        for name, follower in list(self._followers.items()):
            try:
                _pose_of(self._history.scene, name)
            except RobotCellError as error:
                del self._followers[name]
                text = f"{name} no longer follows the TF frame {follower.frame}: {error.message}"
                self._node.get_logger().info(text)
        try:
            self._move(self._followers)
        except RobotCellError as error:
            text = f"objects do not follow TF frames: {error}"
            self._node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)

    def _move(self, followers: dict[str, _Follower]) -> None:
        """Move objects that are further from their frames than the tolerances."""
        parameters, changes = self._node.parameters, list[Change]()
        for name, follower in followers.items():
            pose = self._tracked(name, follower)
            if pose is None:
                continue
            distance, angle = _pose_of(self._history.scene, name).distance_to(pose)
            if distance > parameters["follow_distance"] or angle > parameters["follow_angle"]:
                changes.append(_moved(name, pose))
        if changes:
            self._apply(changes)

    def _tracked(self, name: str, follower: _Follower) -> Pose | None:
        """Return world_T_object by the latest transform; None if it is unknown, which is reported: other objects follow
        their frames nevertheless."""
        try:
            found = self._frames.latest(follower.frame)
            pose = found.pose @ follower.pose
        except RobotCellError as error:
            self._report(name, follower, error.message)
            return None
        age = (self._node.get_clock().now().nanoseconds - found.stamp) * 1e-9
        timeout = self._node.parameters["follow_timeout"]
        if found.stamp and abs(age) > timeout:
            relation = "old" if age > 0.0 else "ahead of the clock of this node, so that TF ignores earlier ones"
            text = f"its latest transform is {abs(age):.1f} s {relation}, expected at most {timeout:g} s"
            self._report(name, follower, text)
        elif follower.problem:
            self._node.get_logger().info(f"{name} follows the TF frame {follower.frame} again")
            follower.problem = ""
        return pose

    def _report(self, name: str, follower: _Follower, reason: str) -> None:
        follower.problem = f"{name} does not follow the TF frame {follower.frame}: {reason}"
        now = time.monotonic()
        if now - follower.reported_at >= REPORT_PERIOD:
            follower.reported_at = now
            self._node.get_logger().warning(follower.problem)


def _from_start(entries: Iterable[str]) -> dict[str, _Follower]:
    followers = {}
    for entry in filter(None, entries):
        name, _, frame = entry.partition("=")
        if not (name and frame):
            text = f'parameter follow_frames contains {entry!r}, expected "object=frame"'
            raise InvalidRequestError(text, stage="parameters", subjects=("follow_frames",))
        followers[name] = _Follower(frame, IDENTITY)
    return followers


def _moved(name: str, pose: Pose) -> Move:
    """Return the change that moves an object to world_T_object."""
    return Move(name, pose.position, pose.quaternion)


def _pose_of(scene: Scene, name: str) -> Pose:
    """Return world_T_object of a tool or body.

    Raises:
        UnknownNameError: The name is unknown.
        InvalidRequestError: It is attached to something.
    """
    state = scene.state.bodies.get(name) or scene.state.tools.get(name)
    if state is None:
        existing = (*scene.state.bodies, *scene.state.tools)
        raise UnknownNameError(unknown_name(f"tool or body {name!r}", name, existing), subjects=(name,))
    if state.attached_to:
        raise InvalidRequestError(f"{name} is attached to {state.attached_to}", subjects=(name, state.attached_to))
    return state.pose
