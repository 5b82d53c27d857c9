"""The services that pause, resume, stop and slow down running motions: of all robots, or of those named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from robot_cell_planner import srv

from ...errors import InvalidRequestError, NotSupportedError, RobotCellError, StopRequestedError, Value
from ...errors.remedies import NOTHING_MOVES
from ..common.exclusive_access import Claim, ExclusiveAccess
from ..common.node import CellNode
from .independent_robots import IndependentRobots
from .motion import Motion
from .runner import MotionRunner
from .trajectory_goals import LOWEST_SCALE

STAGE = "control motion"
KINDS = srv.ControlMotion.Request
COMMANDS = KINDS.PAUSE, KINDS.RESUME, KINDS.STOP


class MotionControl:
    """Offers `execution/control_motion` and `execution/set_speed_scale`. on_change: called after a request.

    motion_access, gripper_accesses: clients that move robots, and grippers. A motion of several robots is one: a
    request that names one of them applies to all of them.
    """

    def __init__(
        self,
        node: CellNode,
        runner: MotionRunner,
        motion_access: ExclusiveAccess,
        gripper_accesses: Sequence[ExclusiveAccess],
        robots: IndependentRobots,
        on_change: Callable[[], None],
    ) -> None:
        self._runner = runner
        self._motion_access = motion_access
        self._gripper_accesses = tuple(gripper_accesses)
        self._robots = robots
        self._on_change = on_change
        node.serve(srv.ControlMotion, "execution/control_motion", self._control_motion)
        node.serve(srv.SetSpeedScale, "execution/set_speed_scale", self._set_speed_scale)

    async def _control_motion(self, request: srv.ControlMotion.Request, response: srv.ControlMotion.Response) -> None:
        if request.command not in COMMANDS:
            raise InvalidRequestError(f"unknown command {request.command}, expected 0 to 2", subjects=("command",))
        robots = self._robots.named(request.robots, "robots")
        claims = self._claims(robots, named=bool(request.robots))
        response.owner = ", ".join(dict.fromkeys(claim.owner for claim in claims))
        if request.command == KINDS.STOP:
            error = StopRequestedError("stopped through execution/control_motion", stage=STAGE)
            for claim in claims:
                claim.token.set(error)
        else:
            self._pause_or_resume(robots, claims, paused=request.command == KINDS.PAUSE)
        self._on_change()

    def _pause_or_resume(self, robots: Collection[str], claims: Sequence[Claim], *, paused: bool) -> None:
        """Pause or resume the motions of robots.

        Raises:
            NotSupportedError: There is none, one refuses, or a client with access to one of the robots, whose
                motion may begin yet, has none to pause. Other motions are paused nevertheless.
        """
        motions = [motion for motion in self._motions(robots) if not motion.passive]
        _pause_or_resume_all(motions, paused=paused)
        begun = frozenset[str]().union(*(self._robots.of_joints(motion.goal.joints) for motion in motions))
        waiting = [claim.owner for claim in claims if claim.parts.isdisjoint(begun)]
        if waiting and (paused or not motions):
            text = f"the motion of {', '.join(dict.fromkeys(waiting))} has not begun yet, or cannot be paused"
            if motions:
                text += f"; the motion of {', '.join(dict.fromkeys(motion.goal.owner for motion in motions))} is paused"
            raise NotSupportedError(text, stage=STAGE, subjects=tuple(dict.fromkeys(waiting)))

    def _claims(self, robots: Collection[str], named: bool) -> tuple[Claim, ...]:
        """Return the claims of clients that move robots, or else, unless robots are named, of those that move grippers.

        Raises:
            NotSupportedError: there is none.
        """
        found = self._motion_access.of(robots)
        if not (found or named):
            found = tuple(claim for access in self._gripper_accesses for claim in (*access.claims, *access.queue))
        if not found:
            names = sorted(robots) if named else ()
            text = f"no motion of {', '.join(names)} is running" if named else "no motion is running"
            raise NotSupportedError(text, stage=STAGE, subjects=tuple(names), remedy=NOTHING_MOVES)
        return found

    def _motions(self, robots: Collection[str]) -> list[Motion]:
        """Return the running motions of any of the robots."""
        of_joints = self._robots.of_joints
        return [motion for motion in self._runner.motions if not of_joints(motion.goal.joints).isdisjoint(robots)]

    async def _set_speed_scale(self, request: srv.SetSpeedScale.Request, response: srv.SetSpeedScale.Response) -> None:
        robots, scales = self._robots.named(request.robots, "robots"), self._runner.speed_scales
        response.previous_scale = scales.smallest(robots)
        if not (request.scale == 0.0 or LOWEST_SCALE <= request.scale <= 1.0):
            values = (Value("scale", request.scale, LOWEST_SCALE if request.scale < LOWEST_SCALE else 1.0),)
            text = f"the speed scale is out of range, expected 0 or {LOWEST_SCALE:g} to 1"
            raise InvalidRequestError(text, subjects=("scale",), values=values)
        scales.set(robots, request.scale)
        for motion in self._motions(robots):
            motion.set_global_scale(scales.of_joints(motion.goal.joints))
        self._on_change()


def _pause_or_resume_all(motions: Sequence[Motion], *, paused: bool) -> None:
    """Pause or resume motions, also after one that refuses; raises the first error, with the owners of the others."""
    errors: list[RobotCellError] = []
    owners: list[str] = []
    for motion in motions:
        try:
            (motion.pause if paused else motion.resume)()
            owners.append(motion.goal.owner)
        except RobotCellError as error:
            errors.append(error)
    if errors and owners:
        others, state = ", ".join(dict.fromkeys(owners)), "paused" if paused else "resumed"
        raise errors[0].changed(f"{errors[0].message}; the motion of {others} is {state}")
    if errors:
        raise errors[0]
