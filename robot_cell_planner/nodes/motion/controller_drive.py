"""Motions by running controllers: assignment of joints, and availability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ExecutionError, MotionBusyError, ServiceUnavailableError
from ..common.cancellation import CancellationToken, available
from ..common.node import CellNode
from .controller_client import SILENCE, STAGE, ControllerClient
from .controller_motion import ControllerMotion, ControllerOptions, Share
from .motion import Phase
from .motion_clock import MotionClock


class ControllerDrive:
    """Moves the robot through the FollowJointTrajectory actions of controllers.

    The joints of controllers are known from their published states. A single one without a state gets all joints.

    clock: the time that goals begin at.
    """

    def __init__(self, node: CellNode, actions: Sequence[str], options: ControllerOptions, clock: MotionClock) -> None:
        self._node = node
        self._options = options
        self._clock = clock
        self._controllers = [ControllerClient(node, action) for action in actions]
        self._absent: set[str] = set()
        self._running: list[tuple[ControllerMotion, frozenset[ControllerClient]]] = []

    @property
    def commanded(self) -> dict[str, float]:
        """Return the published reference positions of the controllers [rad or m]."""
        positions: dict[str, float] = {}
        for controller in self._controllers:
            state = controller.state
            if state is not None:
                positions.update(zip(state.joints, state.reference.tolist(), strict=True))
        return positions

    def forget_commands(self) -> None:
        """Nothing to forget: controllers publish where they hold their joints."""

    @property
    def others_are_unsettled(self) -> bool:
        """Whether a motion cannot begin yet; controllers hold their other joints themselves."""
        return False

    @property
    def rate(self) -> float:
        """Seconds per second of the steady clock of the clock that goals begin at."""
        return self._clock.rate

    def now(self) -> float:
        """Return the time of that clock [s]."""
        return self._clock.now()

    async def ready(self, token: CancellationToken) -> None:
        """Wait until the controllers are available. Some may be missing as long as their joints are not moved; they are
        waited for once.

        Raises:
            ServiceUnavailableError: none is available.
        """
        self._absent -= {controller.name for controller in self._controllers if self._is_there(controller)}
        within = self._node.parameters["server_timeout"]
        expected = [controller for controller in self._controllers if controller.name not in self._absent]
        missing = [controller.action for controller in expected or self._controllers if not self._is_there(controller)]
        try:
            await available(
                self._node,
                lambda: all(map(self._is_there, expected or self._controllers)),
                token,
                within,
                f"action {', '.join(missing)}",
            )
        except ServiceUnavailableError as error:
            if not any(map(self._is_there, self._controllers)):
                raise
            self._node.get_logger().warning(f"{error}; only the joints of other controllers can be moved")
            self._absent |= {controller.name for controller in expected if not self._is_there(controller)}

    def _is_there(self, controller: ControllerClient) -> bool:
        return controller.is_ready and (len(self._controllers) == 1 or controller.last_state is not None)

    def check(self) -> None:
        """Raise an error if the clock of motions is not one. Controllers reject goals themselves."""
        self._clock.check()

    def start(self, make: Any, on_end: Any, *arguments: Any, **keywords: Any) -> ControllerMotion:
        """Start a motion. make: factory in place of ControllerMotion.

        Raises:
            ExecutionError: no controller moves one of its joints, or it is unknown where one holds its other joints.
            MotionBusyError: a controller executes another motion, which its next goal would replace.
            ServiceUnavailableError: a controller is not available.
        """
        shares = self._shares(arguments[0].joints)
        controllers = frozenset(share.controller for share in shares)
        self._check_free(controllers)
        clock = self._node.get_clock()
        motion: ControllerMotion = (make or ControllerMotion)(
            shares, lambda: clock.now().nanoseconds, self._options, on_end, *arguments, **keywords
        )
        self._running.append((motion, controllers))
        motion.send()
        return motion

    def _check_free(self, controllers: frozenset[ControllerClient]) -> None:
        """Raise MotionBusyError if one of the controllers executes a motion."""
        self._running = [found for found in self._running if found[0].phase is not Phase.DONE]
        for motion, busy in self._running:
            names = sorted(controller.name for controller in busy & controllers)
            if names:
                text = f"{', '.join(names)} executes a motion of {motion.goal.owner}"
                raise MotionBusyError(text, stage=STAGE, subjects=(motion.goal.owner, *names))

    def _shares(self, joints: Sequence[str]) -> list[Share]:
        """Return the joints by controller."""
        shares, left = [], list(joints)
        for controller in self._controllers:
            state = controller.last_state
            owned = left if state is None and len(self._controllers) == 1 else ()
            standing: dict[str, float] = {}
            if state is not None:
                owned = [joint for joint in left if joint in state.joints]
                reference = dict(zip(state.joints, state.reference.tolist(), strict=True))
                standing = {joint: position for joint, position in reference.items() if joint not in owned}
            if not owned:
                continue
            if standing and controller.state is None:
                raise _unknown_positions(controller, tuple(standing))
            if not controller.is_ready:
                text = f"{controller.name}, which moves {', '.join(owned)}, is no longer available"
                raise ServiceUnavailableError(text, stage=STAGE, subjects=(controller.name, *owned))
            left = [joint for joint in left if joint not in owned]
            shares.append(Share(controller, tuple(owned), standing))
        if left:
            raise ExecutionError(self._unmoved(left), stage=STAGE, subjects=tuple(left))
        return shares

    def _unmoved(self, joints: Sequence[str]) -> str:
        known = []
        for controller in self._controllers:
            state = controller.last_state
            moves = "publishes no controller_state" if state is None else f"moves {', '.join(state.joints)}"
            known.append(f"{controller.name} {moves}")
        return f"no controller moves {', '.join(joints)}: {'; '.join(known)}"


def _unknown_positions(controller: ControllerClient, joints: tuple[str, ...]) -> ExecutionError:
    """Return the error of a controller that may have been moved since its last state: its joints that the goal does not
    move would jump to their positions then."""
    text = f"{controller.name} has not published its state for {SILENCE:g} s, so that it is unknown where to hold"
    return ExecutionError(f"{text} {', '.join(joints)}", stage=STAGE, subjects=(controller.name, *joints))
