"""The topics and services of MoveIt Servo, relayed to servo of the execution node."""

from __future__ import annotations

import time
from functools import partial

from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from rclpy.task import Future
from std_srvs.srv import Trigger

from robot_cell_planner.msg import ExecutionStatus, ServoOptions, Target
from robot_cell_planner.srv import SetServo

from ...errors import RobotCellError
from ..common.bounded_messages import subscribe_bounded
from ..common.node import LATCHED, CellNode, reliable
from ..common.parameters import Parameter
from ..common.remote_calls import RemoteService
from ..common.server_monitor import STATUS_TIMEOUT
from ..conversions.basic import time_from_message
from .scene_access import SceneAccess

PREFIX = "servo_node"
SPEED_UNITS, UNITLESS = "speed_units", "unitless"
DEPTH = 20
# Names and defaults are those of MoveIt Servo.
SERVO_PARAMETERS = (
    Parameter(
        "command_in_type",
        UNITLESS,
        "Unit of servo commands: m/s and rad/s, or fractions of the scales.",
        choices=(UNITLESS, SPEED_UNITS),
        running=True,
    ),
    Parameter("scale.linear", 0.4, "Linear velocity of the unitless command 1 [m/s].", 0.0, 10.0, running=True),
    Parameter("scale.rotational", 0.8, "Angular velocity of the unitless command 1 [rad/s].", 0.0, 20.0, running=True),
    Parameter("scale.joint", 0.5, "Joint velocity of the unitless command 1 [rad/s or m/s].", 0.0, 20.0, running=True),
)


class ServoRelay:
    """Begins and ends servo on request, and passes commands on. The kind of the latest command is the source: servo
    begins again when it changes. Clients repeat requests to start until one succeeds, so one to start servo that runs
    already succeeds without a new session."""

    def __init__(self, node: CellNode, access: SceneAccess, owner: str) -> None:
        self._node, self._access, self._owner = node, access, owner
        self._set_servo = RemoteService(node, SetServo, "execution/set_servo")
        self._twists = node.create_publisher(TwistStamped, "servo/twist", reliable(DEPTH))
        self._jogs = node.create_publisher(JointJog, "servo/joint_velocities", reliable(DEPTH))
        self._source: int | None = None  # of the session that was begun last; None after its end
        self._serving = False  # whether the execution node runs a session of the adapter, by its latest status
        self._status_time = 0.0  # when that status was received, or the session was begun [s]
        self._begun = 0  # when the session was begun last [ns]
        self._last: Future[None] | None = None  # resolved when the latest request has been served
        self._switching = False
        node.create_subscription(ExecutionStatus, "execution/status", self._on_status, LATCHED)
        node.create_service(Trigger, f"{PREFIX}/start_servo", self._start, callback_group=node.concurrent)
        node.create_service(Trigger, f"{PREFIX}/stop_servo", self._stop, callback_group=node.concurrent)
        subscribe_bounded(node, TwistStamped, f"{PREFIX}/delta_twist_cmds", self._on_twist, reliable(DEPTH))
        subscribe_bounded(node, JointJog, f"{PREFIX}/delta_joint_cmds", self._on_jog, reliable(DEPTH))

    def _on_status(self, message: ExecutionStatus) -> None:
        if time_from_message(message.header.stamp) < self._begun:
            return  # it was published before the session began
        self._serving = message.state == ExecutionStatus.SERVOING and message.owner == self._owner
        self._status_time = time.monotonic()

    @property
    def _runs(self) -> bool:
        """Whether a session of the adapter runs. That of an execution node that has ended does not."""
        return self._serving and time.monotonic() - self._status_time <= STATUS_TIMEOUT

    async def _start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return await self._answer(ServoOptions.TWIST, response)

    async def _stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return await self._answer(None, response)

    async def _answer(self, source: int | None, response: Trigger.Response) -> Trigger.Response:
        try:
            self._node.requests.check()
            await self._in_turn(source, keep=True)
        except RobotCellError as error:
            response.success, response.message = False, str(error)
        else:
            response.success = True
        return response

    async def _in_turn(self, source: int | None, *, keep: bool) -> None:
        """Begin or end servo after the requests before this one. keep: a session that runs already is enough."""
        done: Future[None] = Future()
        before, self._last = self._last, done
        try:
            if before is not None:
                await before
            if not (keep and source is not None and self._source is not None and self._runs):
                await self._switch(source)
        finally:
            done.set_result(None)

    async def _switch(self, source: int | None) -> None:
        """Begin servo with a source, or end it."""
        self._source = None
        if source is None:
            await self._set_servo(SetServo.Request(enabled=False))
            return
        options = ServoOptions(source=source, owner=self._owner)
        scene = (await self._access.current()).scene
        options.mode = Target.TOOL if scene.cell.tool_of_group(scene.state) else Target.ROBOT
        await self._set_servo(SetServo.Request(enabled=True, options=options))
        self._source, self._serving = source, True
        self._begun, self._status_time = self._node.get_clock().now().nanoseconds, time.monotonic()

    def _takes(self, source: int) -> bool:
        """Return whether commands of a source are passed on; those of another one begin servo again first."""
        if self._source is None or not self._node.requests.accepted:
            return False
        if self._source != source and not self._switching:
            self._switching = True
            self._node.soon(partial(self._begin_again, source))
        return self._source == source and not self._switching

    async def _begin_again(self, source: int) -> None:
        try:
            await self._in_turn(source, keep=False)
        except RobotCellError as error:
            self._node.get_logger().warning(f"{PREFIX}: {error}")
        finally:
            self._switching = False

    def _scale(self, name: str) -> float:
        parameters = self._node.parameters
        return 1.0 if parameters["command_in_type"] == SPEED_UNITS else float(parameters[f"scale.{name}"])

    def _on_twist(self, message: TwistStamped) -> None:
        if not self._takes(ServoOptions.TWIST):
            return
        for vector, name in ((message.twist.linear, "linear"), (message.twist.angular, "rotational")):
            scale = self._scale(name)
            vector.x, vector.y, vector.z = vector.x * scale, vector.y * scale, vector.z * scale
        self._twists.publish(message)

    def _on_jog(self, message: JointJog) -> None:
        if not self._takes(ServoOptions.JOINT_VELOCITY):
            return
        scale = self._scale("joint")
        message.velocities = [value * scale for value in message.velocities]
        self._jogs.publish(message)
