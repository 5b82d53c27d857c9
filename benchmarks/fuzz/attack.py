"""Messages that are sent to one node, and errors in its replies."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from time import monotonic
from typing import Any

from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_parameters
from std_msgs.msg import Bool

from robot_cell_planner.errors import InternalError, LimitExceededError, RobotCellError
from robot_cell_planner.nodes.common.service_quality import SERVICES
from robot_cell_planner.nodes.conversions.wire_types import to_wire

from .cell import PACKAGE, Cell, Usage
from .messages import Fuzzer
from .requests import settings, valid_messages

# [s] Time for a reply: of the heaviest requests that nodes accept, and of requested waits.
TIMEOUT = 40.0
POLL_PERIOD = 0.2  # [s]
INTERNAL = InternalError.code
# Topics that are not attacked: those of actions, and the scene's snapshot, which nodes accept without checks.
SPARED = ("/_action/", "/parameter", "/rosout", "/scene/snapshot")
CLOCK = {"/clock": "rosgraph_msgs/msg/Clock"}  # nodes subscribe to it once use_sim_time is set
# Services that are not attacked: a change of state would end the test.
LEFT_OUT = ("/get_type_description", "/change_state")
OF_CELL = ("robot_description", "planning_pipelines", "default_planning_pipeline")  # parameters that follow the cell
MOVING = ("execution_node", "moveit_adapter_node")  # nodes whose actions move the robot
MEASUREMENTS = 8  # of memory and descriptors, evenly spread
AT_ONCE = 8  # messages on their way
ROUNDS = 8  # after which settings, speed and servo are as at the start


@dataclass
class Findings:
    """Faults of a node, each with the request at which it occurred; usage: at even distances, the start and
    the end included."""

    died: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    not_finite: list[str] = field(default_factory=list)
    requests: int = 0
    messages: int = 0
    repeated: int = 0  # requests that were sent again, since no reply arrived
    cancelled: int = 0  # goals whose motion was too slow, or paused
    slowest: float = 0.0  # [s]
    usage: list[Usage] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [*self.died, *self.unexpected, *self.late, *self.not_finite]

    @property
    def settled(self) -> Usage:
        """After the first quarter of the requests; until then caches fill."""
        return self.usage[len(self.usage) // 4]


def type_of(name: str) -> Any:
    """The class of an interface by its full name, such as "std_msgs/msg/Bool"."""
    package, kind, short = name.split("/")
    return getattr(import_module(f"{package}.{kind}"), short)


class Attack:
    """All that is sent to one node."""

    def __init__(self, cell: Cell, name: str, seed: int) -> None:
        self._cell, self._name, self._seed = cell, name, seed
        self._node = cell.client.node
        self.findings = Findings()
        self._emergency_stop = self._node.create_publisher(Bool, "emergency_stop", 1)
        self._clients: dict[str, Any] = {}
        self._flying: set[Future[None]] = set()
        self._lock, self._one_motion = threading.Lock(), threading.Lock()
        self._settings: list[Parameter] = []
        self._settings = self._parameters()  # the node is complete when it replies
        found = self._node.get_service_names_and_types_by_node(name, "/")
        self.services = {
            entry: types[0]
            for entry, types in sorted(found)
            if "/_action/" not in entry and not entry.endswith(LEFT_OUT)
        }
        self.actions = {
            entry.removesuffix("/_action/send_goal"): types[0].removesuffix("_SendGoal")
            for entry, types in sorted(found)
            if entry.endswith("/_action/send_goal")
        }
        topics = self._node.get_subscriber_names_and_types_by_node(name, "/")
        self.topics = {entry: types[0] for entry, types in sorted(topics) if not any(map(entry.count, SPARED))} | CLOCK
        self._targets = [
            *(("service", *item) for item in self.services.items()),
            *(("action", *item) for item in self.actions.items()),
            *(("topic", *item) for item in self.topics.items()),
        ]
        self._valid = {**valid_messages(cell), **settings(self._settings)}

    def _parameters(self) -> list[Parameter]:
        """The parameters of the node with their values."""
        names = [parameter.name for parameter in self._settings]
        if not names:
            listed = self._call(ListParameters, "list_parameters", ListParameters.Request()).result.names
            names = [name for name in listed if not name.startswith(OF_CELL)]
        values = self._call(GetParameters, "get_parameters", GetParameters.Request(names=names)).values
        return [Parameter(name=name, value=value) for name, value in zip(names, values, strict=True)]

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._cell.processes[self._name]

    def run(self, requests: int, restart: bool = False) -> Findings:
        """Send that many messages, each interface in its turn, some of them at the same time."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for index in range(requests):
                if index % max(requests // MEASUREMENTS, 1) == 0:
                    self.findings.usage.append(self._cell.usage(self._name))
                if index % (ROUNDS * len(self._targets)) == 0:
                    self._await(0)
                    self._restore()
                self._await(AT_ONCE - 1)
                self._flying.add(pool.submit(self._send, index))
                if self.process.poll() is not None:
                    self._await(0)
                    found = f"{self._name} {index - AT_ONCE} to {index}: status {self.process.returncode}"
                    self.findings.died.append(found)
                    if not restart:
                        return self.findings
                    self._cell.start(self._name)
                    self._parameters()
            self._await(0)
        self._restore()
        self.findings.usage.append(self._cell.usage(self._name))
        return self.findings

    def _await(self, left: int) -> None:
        """Wait until no more messages than that are on their way."""
        while len(self._flying) > left:
            done, self._flying = wait(self._flying, return_when=FIRST_COMPLETED)
            for each in done:
                each.result()

    def _send(self, index: int) -> None:
        kind, name, type_name = self._targets[index % len(self._targets)]
        fuzzer = Fuzzer(f"{self._seed}/{self._name}/{index}", self._cell.names)
        try:
            getattr(self, f"_{kind}")(fuzzer, name, type_of(type_name), f"{self._name} {index} {name}")
        except (RuntimeError, UnicodeError) as error:  # a message that this process cannot send
            print(f"{name}: {error}", file=sys.stderr)

    def _restore(self) -> None:
        """Undo what earlier messages have set: parameters, speed scale, servo, emergency stop. All of it must work."""
        try:
            changed = [then for then, now in zip(self._settings, self._parameters(), strict=True) if then != now]
            reply = self._call(SetParameters, "set_parameters", SetParameters.Request(parameters=changed))
            self._emergency_stop.publish(Bool(data=False))
            self._cell.client.stop_servo()
            self._cell.at_full_speed()
        except RobotCellError as error:
            self.findings.unexpected.append(f"{self._name}: settings cannot be restored: {error}")
            return
        refused = [result.reason for result in reply.results if not result.successful]
        if refused:
            self.findings.unexpected.append(f"{self._name}: settings cannot be restored: {refused}")

    def _call(self, kind: Any, service: str, request: Any) -> Any:
        """The reply of one of the node's own services for parameters.

        Raises:
            ServiceUnavailableError: no reply arrived in time.
        """
        name = f"/{self._name}/{service}"
        client = self._client("service", name, kind)
        client.wait_for_service(TIMEOUT)
        return self._cell.client._wait(client.call_async(request), TIMEOUT, name)

    def _client(self, kind: str, name: str, interface: Any) -> Any:
        with self._lock:
            if name not in self._clients:
                self._clients[name] = self._new_client(kind, name, interface)
            return self._clients[name]

    def _new_client(self, kind: str, name: str, interface: Any) -> Any:
        if kind == "service":
            ours = interface.__module__.startswith(PACKAGE)
            profile = SERVICES if ours else qos_profile_parameters
            return self._node.create_client(interface, name, qos_profile=profile)
        if kind == "action":
            return self._cell.client._made(lambda: ActionClient(self._node, interface, name))
        profile = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
        return self._node.create_publisher(interface, name, profile)

    def _accepted(self, name: str) -> Any:
        """Messages of an interface that are accepted."""
        return self._valid.get(name.lstrip("/"), self._valid.get(name.rpartition("/")[2], ()))

    def _service(self, fuzzer: Fuzzer, name: str, interface: Any, place: str) -> None:
        request = fuzzer.message(interface.Request, self._accepted(name))
        client = self._client("service", name, interface)
        reply = self._answer(client.call_async(request), place, request, again=lambda: client.call_async(request))
        if reply is not None:
            self._judge(reply, place, request)

    def _action(self, fuzzer: Fuzzer, name: str, interface: Any, place: str) -> None:
        goal = fuzzer.message(interface.Goal, self._accepted(name))
        client = self._client("action", name, interface)
        with self._one_motion if self._name in MOVING else nullcontext():
            handle = self._answer(self._cell.client._send_goal_async(client, goal), place, goal)
            if handle is None or not handle.accepted:
                return
            found = self._answer(handle.get_result_async(), place, goal, handle)
        if found is not None:
            self._judge(found.result, place, goal)

    def _topic(self, fuzzer: Fuzzer, name: str, interface: Any, place: str) -> None:
        self._client("topic", name, interface).publish(fuzzer.message(interface, self._accepted(name)))
        with self._lock:
            self.findings.messages += 1

    def _answer(
        self, future: Any, place: str, request: Any, goal: Any = None, again: Callable[[], Any] | None = None
    ) -> Any:
        """The reply, or None if none arrived in time; the node may have died meanwhile.

        again: sends the request once more, since DDS may lose a reply that is sent before it has matched the client's
        reader ("failed to send response"), and every client of a service has to handle that. goal: the handle of a goal
        whose result is awaited. A motion that was slowed down or paused by other messages is cancelled, and must end in
        time then.
        """
        done = threading.Event()
        futures = [future]
        future.add_done_callback(lambda _: done.set())
        begun = monotonic()
        while not done.wait(POLL_PERIOD) and monotonic() - begun < TIMEOUT and self.process.poll() is None:
            if goal is not None and self._cell.is_held_up(TIMEOUT):
                goal.cancel_goal_async()
                goal, begun = None, monotonic()
                self.findings.cancelled += 1
            if again is not None and monotonic() - begun > TIMEOUT / 2:
                futures.append(again())
                futures[-1].add_done_callback(lambda _: done.set())
                again = None
                self.findings.repeated += 1
        with self._lock:
            self.findings.requests += 1
            self.findings.slowest = max(self.findings.slowest, monotonic() - begun)
        if not done.is_set() and self.process.poll() is None:
            self.findings.late.append(f"{place}: {_shown(request)}")
        return next((each.result() for each in futures if each.done()), None)

    def _judge(self, reply: Any, place: str, request: Any) -> None:
        self._judge_code(moveit_code(reply), place, request)
        error = getattr(reply, "error", None)
        if error is None or not hasattr(error, "code"):
            return
        if error.code == INTERNAL:
            self.findings.unexpected.append(f"{place}: {error.stage}: {error.message[:500]} <- {_shown(request)}")
        if error.code == 0:
            try:
                to_wire(reply)
            except LimitExceededError as fault:
                self.findings.not_finite.append(f"{place}: {fault} <- {_shown(request)}")

    def _judge_code(self, code: Any, place: str, request: Any) -> None:
        """Judge a reply of the MoveIt adapter: its code is never empty, and never an internal error."""
        if code is None:
            return
        if not code.source or (code.val != code.SUCCESS and not code.message):
            self.findings.unexpected.append(f"{place}: code {code.val} without text <- {_shown(request)}")
        if f"({INTERNAL}," in code.source:
            self.findings.unexpected.append(f"{place}: {code.message[:500]} <- {_shown(request)}")


def moveit_code(reply: Any) -> Any:
    """The MoveItErrorCodes of a reply or of a field of it; None without one."""
    for part in (reply, getattr(reply, "motion_plan_response", None), getattr(reply, "response", None)):
        if hasattr(part, "error_code") and hasattr(part.error_code, "val"):
            return part.error_code
    return None


def _shown(request: Any) -> str:
    return repr(request)[:600]
