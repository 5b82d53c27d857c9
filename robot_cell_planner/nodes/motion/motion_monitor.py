"""Monitor of running motions: checks of their remaining part, for collisions and limits, after scene changes.

The checks run in the planning node, in another process than the stream. This module sends requests that wait there for
the next scene revision, so that the reply arrives directly after a change, or after a period, which shows that the
planning node is alive. The scene node is monitored in the same way. While other joints of the cell move, the path ahead
is checked again and again.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from robot_cell_planner.msg import LimitViolation, StateRef, TrajectoryCollision
from robot_cell_planner.srv import LookAhead, WaitForState

from ...errors import CollisionAheadError, RobotCellError, StaleStateError, Value
from ...trajectory.remaining import remaining
from ...trajectory.trajectory import Trajectory
from ..common.cancellation import CancellationToken, available, pause
from ..common.node import CellNode
from ..conversions.basic import (
    duration_from_message,
    duration_to_message,
    error_from_message,
    time_to_message,
    unexpected,
)
from ..conversions.trajectories import trajectory_to_message
from .changed_limits import beyond_limit, by_changed_limits
from .monitored_replies import MONITOR, PERIOD, SCENE, follow_scene_node, monitored_reply, scene_node_replies
from .motion import Motion
from .other_joints import PERIOD as WATCH_PERIOD
from .other_joints import JointWatch, OtherJoints

LOOK_AHEAD = "planning/look_ahead"
MAX_POINTS = 500  # points of a request; further points follow in other requests
SAME_TIME = 1e-6  # [s] within which times of messages are the same

Monitor = Callable[["MonitoredMotion", CancellationToken], Awaitable[None]]


@dataclass(frozen=True, eq=False)
class MonitoredMotion:
    """A motion, the state that it was validated against, as a reference and by its revision."""

    motion: Motion
    state: StateRef
    revision: int

    def rest(self, begin: float) -> Trajectory | None:
        """Return the remaining part from a time [s] on, with the points of one request; None after the end.

        It begins at a whole number of nanoseconds, as in the message: its first piece may be so short that rounding
        the time would change velocities and accelerations.
        """
        begin = duration_from_message(duration_to_message(begin))
        rest = remaining(self.motion.goal.trajectory, begin, MAX_POINTS)
        return None if rest is None else replace(rest, variables=self.motion.goal.names)


class MotionMonitor:
    """Stops motions on their paths if the scene or another robot obstructs them, if they would violate limits that have
    become narrower, or if the scene or planning node does not reply."""

    def __init__(self, node: CellNode, others: OtherJoints) -> None:
        self._node = node
        self._others = others
        self._ahead = node.service_client(LookAhead, LOOK_AHEAD)
        self._scene = node.service_client(WaitForState, SCENE)

    async def ready(self, token: CancellationToken) -> None:
        """Wait for the nodes that monitor a motion, before it begins.

        Raises:
            ServiceUnavailableError: One does not appear, or the scene node does not reply.
        """
        within = self._node.parameters["server_timeout"]
        await available(self._node, self._ahead.service_is_ready, token, within, LOOK_AHEAD)
        await scene_node_replies(self._node, self._scene, token)

    def begin(self, motion: Motion, state: StateRef, revision: int) -> CancellationToken:
        """Monitor a motion until the returned token is set. A state given by the client does not change and is not
        monitored."""
        token = CancellationToken()
        if not state.own_state:
            monitored = MonitoredMotion(motion, state, revision)
            for monitor in (self._look_ahead, self._follow_scene):
                self._node.soon(partial(self._run, monitor, monitored, token))
        return token

    async def _run(self, monitor: Monitor, monitored: MonitoredMotion, token: CancellationToken) -> None:
        """Monitor a motion to its end; an error before that stops it."""
        try:
            await monitor(monitored, token)
        except RobotCellError as error:
            if token.error is None:
                monitored.motion.stop(error)
        except Exception as error:
            # An internal error must not leave a motion unmonitored; it is logged with its traceback.
            self._node.get_logger().error(traceback.format_exc())
            monitored.motion.stop(unexpected(error, MONITOR))

    async def _follow_scene(self, monitored: MonitoredMotion, token: CancellationToken) -> None:
        await follow_scene_node(self._node, self._scene, token)

    async def _look_ahead(self, monitored: MonitoredMotion, token: CancellationToken) -> None:
        seen, motion = monitored.revision, monitored.motion
        watch = self._others.watch(motion)
        stale = False  # whether the planning node lacked the joint states of the whole path's check
        while (rest := monitored.rest(motion.reached)) is not None:
            watch.check_known(monitored.state)
            paths = watch.paths()
            if paths and await self._check_paths(monitored, paths, seen, token) == seen:
                await pause(self._node, WATCH_PERIOD, token)
                continue
            within = WATCH_PERIOD if watch.present() else PERIOD
            is_due = not stale and watch.whole_is_due()
            newest, stamp = (seen, watch.measured_at()) if is_due else (seen + 1, 0)
            try:
                reply = await self._checked(monitored, rest, newest, token, within, stamp)
            except StaleStateError:
                # Changes of the scene are looked for before the whole path is checked again.
                stale = is_due
                if is_due:
                    watch.check_again()
                continue
            stale = False
            known, seen = seen, reply.state.revision
            await self._check(monitored, rest, reply, known, token, watch)

    async def _check_paths(
        self, monitored: MonitoredMotion, paths: list[Trajectory], revision: int, token: CancellationToken
    ) -> int:
        """Raise the first collision of paths ahead; returns the revision of the scene."""
        for path in paths:
            known, reply = revision, await self._checked(monitored, path, revision, token)
            revision = reply.state.revision
            found = _collision(reply, monitored.motion, path)
            if found is not None and _lies_ahead(found, monitored.motion, path, revision == known):
                raise _blocked(found, monitored.motion.reached, revision, is_changed=revision != known)
        return revision

    async def _check(
        self,
        monitored: MonitoredMotion,
        rest: Trajectory | None,
        reply: LookAhead.Response,
        known: int,
        token: CancellationToken,
        watch: JointWatch,
    ) -> None:
        """Raise the first collision or violated limit ahead, given the reply for the next interval; check the following
        intervals. While other robots move, the path ahead is checked between any two intervals: those of a long motion
        take long.

        known: revision of the scene when the interval began.
        """
        motion, is_changed = monitored.motion, False
        while rest is not None:
            revision, found = reply.state.revision, _collision(reply, motion, rest)
            is_changed = is_changed or revision != known
            violations = by_changed_limits(motion.goal, reply.report.violations)
            if found is not None and _lies_ahead(found, motion, rest, revision == known):
                raise _blocked(found, motion.reached, revision, is_changed)
            for beyond in violations:
                if _lies_ahead(beyond, motion, rest, revision == known):
                    raise beyond_limit(beyond, motion.reached, revision)
            # What is behind the robot may hide what is ahead of it.
            rest = monitored.rest(motion.reached if found is not None or violations else rest.duration)
            if rest is not None:
                watch.check_known(monitored.state)
                await self._check_paths(monitored, watch.paths(), revision, token)
                known, reply = revision, await self._checked(monitored, rest, revision, token)

    async def _checked(
        self,
        monitored: MonitoredMotion,
        rest: Trajectory,
        revision: int,
        token: CancellationToken,
        within: float = PERIOD,
        stamp: int = 0,
    ) -> LookAhead.Response:
        """Return the check of an interval by the planning node, in a scene of at least a revision and with joint states
        of at least a stamp [ns] within a time [s].

        Raises:
            StaleStateError: there is no such revision, or no such joint states, within the period.
        """
        state = StateRef(
            min_revision=revision,
            min_joint_stamp=time_to_message(stamp),
            timeout=duration_to_message(within),
            configuration=monitored.state.configuration,
            changes=monitored.state.changes,
        )
        request = LookAhead.Request(state=state, trajectory=trajectory_to_message(rest))
        reply = await monitored_reply(self._node, self._ahead, request, token, "the planning node", LOOK_AHEAD)
        error = error_from_message(reply.error)
        if error is not None:
            raise error
        return reply


def _collision(reply: LookAhead.Response, motion: Motion, checked: Trajectory) -> TrajectoryCollision | None:
    """Return the collision that the check of a part of a motion has found, if any.

    A contact that the part begins in is reported at its end if it lasts until then. Where the motion goes on, the check
    of the next part shows whether it leaves the contact.
    """
    found = next(iter(reply.report.collisions), None)
    goes_on = checked.duration < motion.goal.trajectory.duration - SAME_TIME
    at_end = found is not None and duration_from_message(found.time) > checked.duration - SAME_TIME
    return None if goes_on and at_end else found


def _lies_ahead(
    found: TrajectoryCollision | LimitViolation, motion: Motion, checked: Trajectory, unchanged: bool
) -> bool:
    """Return whether what the check of an interval has found is not behind the robot.

    The look-ahead reports a contact at the begin of the interval only if the motion does not leave it. A collision may
    be behind the robot if the scene has changed since the interval began, and the robot has moved since.

    unchanged: whether the scene has not changed since the interval began.
    """
    return unchanged or duration_from_message(found.time) > motion.reached or motion.reached <= float(checked.times[0])


def _blocked(found: TrajectoryCollision, reached: float, revision: int, is_changed: bool) -> CollisionAheadError:
    """Return the error of a collision ahead. is_changed: whether the scene has changed, or else other joints have been
    moved."""
    since = f"revision {revision} of the scene" if is_changed else "joints have moved that the motion does not move"
    first, second, time = found.pair.name_a, found.pair.name_b, duration_from_message(found.time)
    collide = "would collide" if time > reached else "collide, and the motion does not separate them,"
    return CollisionAheadError(
        f"since {since}, {first} and {second} {collide} at {time:.3f} s of the trajectory",
        subjects=(first, second),
        values=(
            Value("time of the collision", time, unit="s"),
            Value("time reached", reached, unit="s"),
            Value("revision", revision),
        ),
    )
