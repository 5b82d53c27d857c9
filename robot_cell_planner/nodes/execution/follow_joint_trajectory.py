"""The FollowJointTrajectory action, as ros2_control's joint_trajectory_controller offers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from control_msgs.action import FollowJointTrajectory

from robot_cell_planner.msg import StateRef

from ...errors import (
    CancelledError,
    FeedbackLostError,
    GoalToleranceError,
    MotionBusyError,
    RobotCellError,
    StopRequestedError,
    TrackingError,
    TrajectoryExpiredError,
    UnknownNameError,
)
from ..common.action_server import GoalServer
from ..common.cancellation import CancellationToken, pause
from ..common.exclusive_access import Claim, ExclusiveAccess
from ..common.node import CellNode
from ..motion.channels import REPLACED
from ..motion.clock_pauses import ClockPauses
from ..motion.independent_robots import IndependentRobots
from ..motion.motion import Motion, Phase
from ..motion.outcome import Outcome, Replacement
from ..motion.preparation import AHEAD, CHECK_PERIOD
from ..motion.reports import follow_feedback
from ..motion.runner import MotionRunner, OnProgress
from ..motion.streamed_motion import StreamedMotion
from ..motion.trajectory_goals import MotionGoal, check_begin, from_follow
from .parameters import tolerance_defaults

CLAIM_PERIOD = 0.1  # [s] between checks whether robots have become free
Result = FollowJointTrajectory.Result


class FollowJointTrajectoryServer:
    """Accepts goals as joint_trajectory_controller does, with its error codes; `error_string` contains the reason.

    expected: joints that a goal must contain, unless parameter allow_partial_joints_goal is true. A goal replaces the
    running one of the same robots; goals of different robots run at the same time.
    """

    def __init__(
        self,
        node: CellNode,
        name: str,
        runner: MotionRunner,
        access: ExclusiveAccess,
        robots: IndependentRobots,
        expected: Sequence[str],
    ) -> None:
        self._node = node
        self._runner = runner
        self._access = access
        self._expected = tuple(expected)
        self._robots = robots
        self._newest: list[tuple[frozenset[str], CancellationToken]] = []  # of goals that were to replace others
        GoalServer(node, FollowJointTrajectory, name, self._follow, _fail)

    async def _follow(
        self,
        goal: FollowJointTrajectory.Goal,
        send: Callable[[FollowJointTrajectory.Feedback], None],
        token: CancellationToken,
        result: FollowJointTrajectory.Result,
    ) -> None:
        parameters = self._node.parameters
        arrived, now = self._runner.now(), self._node.get_clock().now().nanoseconds
        requested = from_follow(
            goal,
            await self._runner.ready(token),
            tolerance_defaults(parameters),
            parameters["max_points"],
            partial=parameters["allow_partial_joints_goal"],
            expected=self._expected,
        )
        check_begin(requested.begin, now)
        late = (now - requested.begin) * 1e-9 if requested.begin else 0.0
        requested.after(late)  # some of it must lie in the future

        def on_progress(motion: Motion) -> None:
            send(follow_feedback(motion, self._node.get_clock().now().nanoseconds))

        state = StateRef() if parameters["validate"] else None
        outcome = await self._replace(requested, arrived - late, token, on_progress, state)
        if outcome is None:
            with self._access.acquired_by(requested.owner, token, self._robots.of_joints(requested.joints)):
                outcome = await self._runner.run(requested.after(late), token, on_progress, state)
        outcome.check()
        result.error_code = Result.SUCCESSFUL

    async def _replace(
        self,
        requested: MotionGoal,
        begins: float,
        token: CancellationToken,
        on_progress: OnProgress,
        state: StateRef | None,
    ) -> Outcome | None:
        """Replace the running goal by a new one after its validation; None if no goal of this action is running that
        moves the same robots.

        begins: start of the goal's time [s], on the clock of motions. A goal that is still being prepared when a newer
        one arrives is replaced by it.

        Raises:
            MotionBusyError: another client moves one of the robots, or several goals do.
        """
        robots = self._robots.of_joints(requested.joints)
        claims = self._claims(requested.owner, robots)
        if not claims:
            return None
        self._access.check_free(robots, claims)
        newest = self._newest_of(robots)
        token.on_set(newest.set)
        for claim in claims:
            _end_with(claim, newest)
        await self._wait_for_begin(requested.owner, robots, begins, newest)
        running = await self._running(requested.owner, robots, newest)
        claims = self._claims(requested.owner, robots)
        if running is None:
            for claim in claims:  # goals that have not begun yet
                claim.token.set(_replaced())
            await self._access.released(self._node, newest, claims)
            return None
        if len(claims) > 1:
            text = "the robots of the goal are moved by several goals, which one goal cannot replace"
            raise MotionBusyError(text, subjects=(requested.owner,))
        with ExitStack() as stack:
            further = robots.difference(*(claim.parts for claim in claims))
            if further:
                claims.append(stack.enter_context(self._access.acquired_by(requested.owner, token, further)))
            found = await self._replacement(running, requested, begins, newest, state)
            if found is not None:
                with self._access.handed_over_to(requested.owner, token, claims, robots) as claim:
                    outcome = await self._runner.follow(found, token, on_progress, state)
                    if found.running_continues:
                        self._access.give_back(claim, claims[:1])
                    return outcome
        await self._access.released(self._node, newest, claims)
        newest.check()
        return None

    async def _wait_for_begin(
        self, owner: str, robots: frozenset[str], begins: float, token: CancellationToken
    ) -> None:
        """Wait until a goal is to be prepared, or no goal of this action moves its robots any longer."""
        pauses = ClockPauses(CLAIM_PERIOD)
        while self._claims(owner, robots) and (left := begins - self._runner.now() - AHEAD) > 0.0:
            await pause(self._node, pauses.next(left, self._runner.rate), token)

    async def _running(self, owner: str, robots: frozenset[str], token: CancellationToken) -> StreamedMotion | None:
        """Return the newest running motion of this action that moves any of the robots; None without any. One that
        still waits to replace another has to begin, or to fail, before it can be replaced itself."""
        while True:
            found = [motion for motion in self._runner.streamed(owner) if self._moves(motion, robots)]
            if not found or not found[-1].channel.waits:
                return found[-1] if found else None
            await pause(self._node, CHECK_PERIOD, token)

    async def _replacement(
        self,
        running: StreamedMotion,
        requested: MotionGoal,
        begins: float,
        token: CancellationToken,
        state: StateRef | None,
    ) -> Replacement | None:
        """Return the prepared replacement of a running motion; None if that ends, or was ended since it rests on its
        path, where the new goal is then to begin."""
        while True:
            found = await self._runner.replacement(running, requested, begins, token, state)
            if found is not None or running.phase is not Phase.PAUSED:
                return found
            await self._runner.end_at_rest(running, requested, token, state)

    def _claims(self, owner: str, robots: frozenset[str]) -> list[Claim]:
        """Return the claims of this action to any of the robots."""
        return [claim for claim in self._access.of(robots) if claim.owner == owner]

    def _moves(self, motion: Motion, robots: frozenset[str]) -> bool:
        return not robots.isdisjoint(self._robots.of_joints(motion.goal.joints))

    def _newest_of(self, robots: frozenset[str]) -> CancellationToken:
        """Return the token of a newer goal of robots, which replaces those that wait to replace others."""
        newest, kept = CancellationToken(), []
        for parts, token in self._newest:
            if parts.isdisjoint(robots):
                kept.append((parts, token))
            else:
                token.set(_replaced())
        self._newest = [*kept, (robots, newest)]
        return newest


def _replaced() -> StopRequestedError:
    """Return the reason of a goal's end when a newer one replaces it."""
    return StopRequestedError("replaced by a newer goal", stage=REPLACED)


def _end_with(claim: Claim, token: CancellationToken) -> None:
    """End a goal that will replace that of a claim, too, if the latter is stopped from now on, unless its own client
    cancels it: a robot that was stopped must not move again."""

    def stop(error: RobotCellError) -> None:
        if not isinstance(error, CancelledError) and error.stage != REPLACED:
            token.set(error)

    if claim.token.error is None:
        claim.token.on_set(stop)


def _fail(result: FollowJointTrajectory.Result, error: RobotCellError) -> None:
    result.error_string = f"{error.name}: {error}"
    if isinstance(error, CancelledError):
        result.error_code = Result.SUCCESSFUL
    elif isinstance(error, TrajectoryExpiredError):
        result.error_code = Result.OLD_HEADER_TIMESTAMP
    elif isinstance(error, UnknownNameError):
        result.error_code = Result.INVALID_JOINTS
    elif isinstance(error, GoalToleranceError):
        result.error_code = Result.GOAL_TOLERANCE_VIOLATED
    elif isinstance(error, (TrackingError, FeedbackLostError)):
        result.error_code = Result.PATH_TOLERANCE_VIOLATED
    else:
        result.error_code = Result.INVALID_GOAL
