"""Managed nodes: the states of the ROS 2 lifecycle, and the behaviour of a node in each.

unconfigured: only parameters, diagnostics and the services of the lifecycle exist. inactive: everything is created and
kept up to date, but requests are refused with a NotActiveError, and nothing is published. active: the node serves
requests.

Source: https://design.ros2.org/articles/node_lifecycle.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action.client import ActionClient
from rclpy.action.server import ActionServer
from rclpy.lifecycle import LifecycleNodeMixin, TransitionCallbackReturn
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from ...errors import NotActiveError, RobotCellError
from .diagnostics import WARN, Diagnostics
from .node import INTROSPECTION, CellNode, WirePublisher
from .parameters import Parameter
from .robot_topics import ROBOT_TOPICS
from .waiting import delay

M = TypeVar("M")
NODE_PARAMETERS = (
    Parameter("diagnostics_period", 1.0, "Time between diagnostics [s].", 0.1, 3600.0),
    Parameter("autostart", True, "Whether the node configures and activates itself when it starts."),
    INTROSPECTION,
    ROBOT_TOPICS,
)
ANSWER_TIME = 0.1  # [s] before services and actions are destroyed, in which late requests are answered
STOP_TIMEOUT = 20.0  # [s] in which requests and motions have to end on deactivation
RELEASING = (State.TRANSITION_STATE_CLEANINGUP, State.TRANSITION_STATE_SHUTTINGDOWN)
SUCCESS, FAILURE, ERROR = (
    TransitionCallbackReturn.SUCCESS,
    TransitionCallbackReturn.FAILURE,
    TransitionCallbackReturn.ERROR,
)


class ManagedNode(LifecycleNodeMixin, CellNode):
    """A node with the states, services and topic of a lifecycle, for nodes with NODE_PARAMETERS.

    Derived classes create their resources in `configure`. Entities of the node that are created there are destroyed on
    clean-up; `on_release` registers further clean-up actions. Transitions run in the executor, which continues while a
    node comes to rest.
    """

    def __init__(self, name: str) -> None:
        self._gated = False  # publishers created before `configure` are always open
        self._permanent: frozenset[int] | None = None  # entities that exist in all states; None before `configure`
        CellNode.__init__(self, name)
        LifecycleNodeMixin.__init__(self, callback_group=self.concurrent)
        # rclpy's own callback cannot wait, and would block the thread that brings a robot to rest.
        self._service_change_state.callback = self._change_state
        self.configured = self._publishing = False
        self._diagnostics = Diagnostics(self, name.removesuffix("_node"), self._state_and_check)
        self.requests.refuse(self.not_active())

    # For derived classes.

    def configure(self) -> None:
        """Create the resources of the node from its parameters.

        Raises:
            RobotCellError: This failed; what was created so far is released.
        """

    def activate(self) -> None:
        """Start to serve. Publishers are already open."""

    async def come_to_rest(self, reason: RobotCellError) -> None:
        """End all requests with a reason; publishers are still open."""
        if not await self.requests.end(self, reason, STOP_TIMEOUT):
            self.get_logger().error(f"requests still running {2.0 * STOP_TIMEOUT:g} s after deactivation ({reason})")

    def deactivate(self) -> None:
        """Complete the deactivation, at rest. Publishers are closed afterwards."""

    def check(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for diagnostics of the active node."""
        raise NotImplementedError  # each node has its own

    # States.

    @property
    def state_label(self) -> str:
        """Return the name of the state, such as "inactive"."""
        return str(self._state_machine.current_state[1])

    @property
    def active(self) -> bool:
        """Return whether the node is active."""
        return self.requests.accepted

    def not_active(self) -> NotActiveError:
        """Return the error for requests in the present state."""
        name, state = self.get_fully_qualified_name(), self.state_label
        text = f"{name} is {state}; `ros2 lifecycle set {name} activate` activates it once it is inactive"
        return NotActiveError(text, subjects=(name,))

    def _state_and_check(self) -> tuple[bytes, str, Mapping[str, object]]:
        state = self.state_label
        if not self.active or not self.configured:
            return WARN, state, {"lifecycle state": state}
        level, message, values = self.check()
        return level, message, {"lifecycle state": state, **values}

    def start(self) -> None:
        """Configure and activate the node, unless the parameter autostart is false.

        Raises:
            RobotCellError: This failed; the node is unconfigured.
        """
        if not self.parameters["autostart"]:
            self.get_logger().info("unconfigured, as autostart is false")
            return
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            previous = self.state_label
            self._state_machine.trigger_transition_by_id(transition, True)
            try:
                self._perform(previous)
            except BaseException:
                self._complete(FAILURE)
                raise
            self._complete(SUCCESS)

    async def _change_state(self, request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
        machine, previous = self._state_machine, self.state_label
        try:
            label = request.transition.label
            transition = machine.get_transition_by_label(label) if label else request.transition.id
            machine.trigger_transition_by_id(transition, True)
        except RuntimeError:  # an RCLError, which has no public name
            requested = request.transition.label or request.transition.id
            self.get_logger().warning(f"transition {requested} is not possible: the node is {previous}")
            response.success = False
            return response
        self.get_logger().info(f"{previous}: {self.state_label}")
        outcome = SUCCESS
        try:
            if previous == "active":
                await self.come_to_rest(self.not_active())
            if machine.current_state[0] in RELEASING and self.configured:
                await delay(self, ANSWER_TIME)
            self._perform(previous)
        except RobotCellError as error:
            self.get_logger().error(f"{self.state_label}: {error}")
            outcome = FAILURE
        except Exception as error:
            self.faults.report(self.state_label, error)
            outcome = ERROR
        self._complete(outcome)
        self.get_logger().info(self.state_label)
        response.success = outcome is SUCCESS
        return response

    def _perform(self, previous: str) -> None:
        """Perform a transition that has begun, at rest."""
        state = self._state_machine.current_state[0]
        if state == State.TRANSITION_STATE_CONFIGURING:
            # Entities created before, such as the services of parameters, exist in all states.
            self._permanent = frozenset(id(entity) for entity, _ in self._entities())
            self._gated = True
            try:
                self.configure()
            except BaseException:
                self._release()
                raise
            self.configured = True
        elif state == State.TRANSITION_STATE_ACTIVATING:
            self._publishing = True
            self.requests.accept()
            self.activate()
        if previous == "active":
            self.deactivate()
            self._publishing = False
        if state in RELEASING:
            self._release()

    def _complete(self, outcome: TransitionCallbackReturn) -> None:
        """Change to the final state of a transition; unconfigured after an internal error."""
        machine = self._state_machine
        machine.trigger_transition_by_label(outcome.to_label(), True)
        if outcome is ERROR:
            self._release()
            machine.trigger_transition_by_label(SUCCESS.to_label(), True)
        if machine.current_state[0] != State.PRIMARY_STATE_ACTIVE:
            self._publishing = False
            self.requests.refuse(self.not_active())

    # Resources.

    def create_publisher(
        self, msg_type: type[M], topic: str, qos_profile: QoSProfile | int, *, always: bool = False, **keywords: Any
    ) -> Publisher[M]:
        """As `CellNode.create_publisher`. Messages are dropped while the node is not active, unless `always`."""
        publisher = super().create_publisher(msg_type, topic, qos_profile, **keywords)
        if self._gated and not always:
            assert isinstance(publisher, WirePublisher)
            publisher.is_open = lambda: self._publishing
        return publisher

    def destroy_node(self) -> None:
        """As that of `CellNode`; also destroys the state machine, with which rclpy keeps the node: its DDS participant
        would be listed until its lease expires."""
        super().destroy_node()
        machine = getattr(self, "_state_machine", None)  # none in a node that ended while it was created
        if machine is not None:
            machine.destroy_when_not_in_use()

    def _servers(self) -> Iterator[tuple[Any, Callable[[Any], object]]]:
        """Return all services and action servers with their destructors."""
        for service in tuple(self.services):
            yield service, self.destroy_service
        for part in tuple(self.waitables):
            if isinstance(part, ActionServer):
                yield part, lambda part: part.destroy()

    def _entities(self) -> Iterator[tuple[Any, Callable[[Any], object]]]:
        """Return all entities of the node with their destructors."""
        yield from self._servers()
        for part in tuple(self.waitables):
            if isinstance(part, ActionClient):
                yield part, lambda part: part.destroy()
        for entities, destroy in (
            (self.timers, self.destroy_timer),
            (self.clients, self.destroy_client),
            (self.subscriptions, self.destroy_subscription),
            (self.publishers, self.destroy_publisher),
            (self.guards, self.destroy_guard_condition),
        ):
            for entity in tuple(entities):
                yield entity, destroy

    def _release(self) -> None:
        """Release everything created since `configure`, if it was called. Services and actions disappear first."""
        self.configured = False
        permanent = self._permanent
        if permanent is None:
            return
        _destroy(self._servers(), permanent)
        self.release()
        _destroy(self._entities(), permanent)


def _destroy(entities: Iterator[tuple[Any, Callable[[Any], object]]], permanent: frozenset[int]) -> None:
    """Destroy entities, each by its function, except permanent ones, which are given by id."""
    for entity, destroy in entities:
        if id(entity) not in permanent:
            destroy(entity)
