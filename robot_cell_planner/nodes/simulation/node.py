"""The simulated robot node: a cell in a physics engine behind ros2_control's topic-based convention.

Subscribes to `joint_commands`, publishes `joint_states`. The physics run in a separate process; a thread of the node
publishes its results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import msgspec
from builtin_interfaces.msg import Time
from frozendict import frozendict
from rclpy.publisher import Publisher
from rclpy.task import Future
from rosgraph_msgs.msg import Clock as ClockMessage

from robot_cell_planner import srv
from robot_cell_planner.msg import SimulationContact, SimulationDisturbances, SimulationState

from ...errors import InvalidRequestError, LimitExceededError, RobotCellError
from ...io.cell_file.cell_file import load_cell
from ...io.cell_file.simulation_section import load_simulated_robot
from ...model.simulated_robot import SimulatedRobot, controller_settings
from ...model.state import RobotCellState
from ...simulation.camera_process import CameraStart
from ...simulation.commands import read_command
from ...simulation.contacts import ContactRecord, ContactStamps
from ...simulation.disturbances import Disturbance
from ...simulation.operations import Disturb, Operation, SetController
from ...simulation.process import Answer, Report, Schedule, SimulationProcess, Start
from ...simulation.repetition import JointSample
from ..common.diagnostics import OK, WARN
from ..common.joint_state_messages import JointValues
from ..common.lifecycle import ManagedNode
from ..common.node import LATCHED, end, reliable, run, sensor
from ..common.resource_roots import resource_roots
from ..common.robot_topics import JointMessages, JointOutput, robot_prefixes
from ..common.waiting import steady_timer
from ..conversions.basic import time_to_message
from ..conversions.simulation import (
    controller_from_request,
    disturbance_from_message,
    disturbance_to_message,
    operation_from_request,
)
from .commanded_names import CommandedNames
from .moments import Moments, SimulatedMoments, SteadyMoments
from .parameters import PARAMETERS, schedule_of, simulation_options
from .scene_following import SceneFollowing, check_following
from .sensor_output import SensorOutput, chosen_sensors
from .state_messages import SimulationStateWriter

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
MAX_DISTURBANCES = 100  # in one request
COMMANDS_DEPTH = 200  # between two reads
# [s] between reads of commands, which cost less than wake-ups; at most a tenth of what COMMANDS_DEPTH holds at 1 kHz.
MIN_POLL_PERIOD, MAX_POLL_PERIOD = 0.004, 0.02
QUIET_TIME = 1.0  # [s] without commands, after which they are waited for instead of polled
THROTTLE = 5.0  # [s] between warnings of one kind


class Publishing(Protocol[M_contra]):
    """Publishes messages."""

    def publish(self, message: M_contra) -> None: ...


class SimulatedRobotNode(ManagedNode):
    """Sends joint commands to the simulation, and publishes its results."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("simulated_robot_node")

    def configure(self) -> None:
        schedule = schedule_of(self.parameters)
        cell_file = self.parameters["cell_file"]
        if not cell_file:
            raise InvalidRequestError("parameter cell_file is empty, expected a cell file", stage="parameters")
        roots = resource_roots(self.parameters, cell_file)
        cell, state = load_cell(cell_file, roots)
        robot = self._configured(load_simulated_robot(cell_file, roots))
        prefixes = robot_prefixes(self.parameters)
        self._create_publishers(schedule, state, prefixes)
        self._failure: RobotCellError | None = None
        self._failed = self.create_guard_condition(self._fail)
        self._lost = 0.0
        self._commands = self._refused = 0
        start = Start(cell, state, simulation_options(self.parameters, robot), schedule)
        self._start_process(start)
        for warning in self._simulation.warnings:
            self.get_logger().warning(f"{cell_file}: {warning}")
        self._read_topics(prefixes, schedule)
        self._injected: tuple[Disturbance, ...] = ()
        self.serve(srv.ControlSimulation, "simulation/control", self._control)
        self.serve(srv.DisturbSimulation, "simulation/disturb", self._disturb)
        self.serve(srv.SetJointController, "simulation/set_controller", self._set_controller)
        if self.parameters["follow_scene"]:
            self._following = SceneFollowing(self, cell, state, self._simulation.request)
        self._simulation.run()
        joints = ", ".join(self._simulation.driven_joints)
        self.get_logger().info(f"cell {cell.name} from {cell_file} is simulated; joints: {joints}")

    def _configured(self, robot: SimulatedRobot) -> SimulatedRobot:
        """Return the simulated robot of a cell file with the controller and the sensors that the parameters choose.

        Raises:
            InvalidRequestError: A sensor is unknown, or the scene cannot be followed.
        """
        if self.parameters["controller"]:
            chosen = controller_settings({"type": self.parameters["controller"]})
            robot = msgspec.structs.replace(robot, controllers=frozendict({**robot.controllers, "*": chosen}))
        robot = msgspec.structs.replace(robot, sensors=chosen_sensors(self.parameters["sensors"], robot.sensors))
        check_following(self.parameters["follow_scene"], robot)
        return robot

    def _create_publishers(self, schedule: Schedule, state: RobotCellState, prefixes: tuple[str, ...]) -> None:
        """Create the publishers. prefixes: of robots with topics of their own."""
        self._moments: Moments = SimulatedMoments() if schedule.simulated_clock else SteadyMoments(self.get_clock())
        self._contact_stamps = ContactStamps(self._moments.stamp)
        self._joint_states = JointOutput(self, "joint_states", partial(_prefix_of, prefixes, state), prefixes)
        self._state_writer = SimulationStateWriter()
        self._simulation_states = self.create_publisher(SimulationState, "simulation/state", reliable(10))
        self._clock_messages: Publisher[ClockMessage] | None = None
        if schedule.simulated_clock:
            # Time continues while the node is inactive.
            self._clock_messages = self.create_publisher(ClockMessage, "/clock", sensor(10), always=True)
        self._disturbances = self.create_publisher(SimulationDisturbances, "simulation/disturbances", LATCHED)

    def _start_process(self, start: Start) -> None:
        """Start the process of the physics, which waits for `run`."""
        cameras = CameraStart(start.cell, start.state, start.options)
        self._sensors = SensorOutput(self, cameras, self._stamp_of, self._publish, self._on_end)
        self._simulation = SimulationProcess(start, self._on_sample, self._on_report, self._on_end, self._sensors.take)
        self.on_release(self._simulation.close)

    def _read_topics(self, prefixes: tuple[str, ...], schedule: Schedule) -> None:
        """Read joint commands: polled while they arrive, and waited for otherwise."""
        names = self._simulation.names_of_joints
        # On the topic of a robot, a name without a slash is that of a joint of the robot itself.
        self._names_sent = names.all_full if prefixes else names.all
        self._waiting = set(self._simulation.driven_joints)  # for their first commands
        self._names = CommandedNames(names, self.get_logger().warning)
        self._joint_commands = JointMessages(self, "joint_commands", COMMANDS_DEPTH, self._begin_polling)
        period = poll_period(schedule.delay)
        self._polls_without_command, self._max_polls = 0, math.ceil(QUIET_TIME / period)
        self._polling = steady_timer(self, period, self._read_commands)

    async def _request(self, operation: Operation) -> Answer:
        """Ask the simulation for an operation, and wait for its answer.

        Raises:
            RobotCellError: Any error of the operation.
        """
        future: Future[Answer] = Future()
        self._simulation.request(operation, partial(self._on_answer, future))
        answer = await future
        assert answer is not None
        if answer.error is not None:
            raise answer.error
        return answer

    async def _control(self, request: srv.ControlSimulation.Request, response: srv.ControlSimulation.Response) -> None:
        operation = operation_from_request(request) or Disturb(())  # nothing to begin: the status alone
        answer = await self._request(operation)
        response.time, response.paused = answer.time, answer.paused

    async def _disturb(self, request: srv.DisturbSimulation.Request, response: srv.DisturbSimulation.Response) -> None:
        if len(request.disturbances) > MAX_DISTURBANCES:
            text = f"there are {len(request.disturbances)} disturbances, expected at most {MAX_DISTURBANCES}"
            raise LimitExceededError(text, subjects=("disturbances",))
        chosen = tuple(disturbance_from_message(message) for message in request.disturbances)
        answer = await self._request(Disturb(chosen, request.clear))
        response.active = [disturbance_to_message(each) for each in answer.disturbances]

    async def _set_controller(
        self, request: srv.SetJointController.Request, response: srv.SetJointController.Response
    ) -> None:
        controller = controller_from_request(request)
        response.joints = list((await self._request(SetController(tuple(request.names), controller))).names)

    def _begin_polling(self) -> None:
        self._polling.reset()
        self._read_commands()

    def _read_commands(self) -> None:
        """Read commands; if none has come for a while, the next one begins the polling again."""
        self._polls_without_command += 1
        for received in self._joint_commands.take():
            self._polls_without_command = 0
            if self.active:
                self._on_command(received)
        if self._polls_without_command > self._max_polls:
            self._polling.cancel()
            self._joint_commands.wait_for_message()

    def _on_command(self, received: JointValues) -> None:
        try:
            names = self._names.published(received.names)
        except InvalidRequestError as error:
            self._refused += 1
            self.get_logger().warning(f"joint_commands: rejected: {error.message}", throttle_duration_sec=THROTTLE)
            return
        self._carry_out(received._replace(names=names))

    def _carry_out(self, received: JointValues) -> None:
        """Carry out a command whose names are those of `joint_states`."""
        names, known, limits = received.names, self._simulation.driven_joints, self._simulation.command_limits
        try:
            values = received.positions, received.velocities, received.efforts
            command, problems = read_command(names, *values, known, self._waiting, limits)
            moment = self._moments.moment(received.stamp)
        except InvalidRequestError as error:
            self._refused += 1
            self.get_logger().warning(f"joint_commands: rejected: {error.message}", throttle_duration_sec=THROTTLE)
            return
        if problems:
            self._refused += 1
            commanded = {*command.positions, *command.velocities, *command.efforts}
            kept = any(name in known and name not in commanded for name in names)
            outcome = "the joint keeps its last command" if kept else "the joint follows its other values"
            text = f"joint_commands: {', '.join(problems[:5])}; {outcome}"
            self.get_logger().warning(text, throttle_duration_sec=THROTTLE)
        if not command.is_empty:
            self._commands += 1
            self._waiting.difference_update(command.positions, command.velocities, command.efforts)
            self._simulation.command(command, moment)

    # The following runs in the thread that reads the simulation.

    def _on_sample(self, sample: JointSample) -> None:
        stamp = self._moments.nanoseconds(sample.moment)
        if self._clock_messages is not None:
            self._publish(self._clock_messages, ClockMessage(clock=time_to_message(stamp)))
        names = self._names_sent
        self._publish(
            self._joint_states, JointValues(names, stamp, sample.positions, sample.velocities, sample.efforts)
        )
        self._lost = sample.lost

    def _on_report(self, report: Report) -> None:
        contacts = list(map(_contact, report.contacts, self._contact_stamps.of(report.contacts)))
        message = self._state_writer.write(self._moments.stamp(report.moment), report.bodies, contacts)
        self._publish(self._simulation_states, message)
        self._publish_disturbances(report.disturbances)

    def _on_answer(self, future: Future[Answer], answer: Answer) -> None:
        if answer.error is None:
            self._publish_disturbances(answer.disturbances)
        self.resolve(future, answer)

    def _publish_disturbances(self, active: tuple[Disturbance, ...]) -> None:
        """Publish the disturbances in force, if they have changed, so that records have them. Only this thread does so:
        the last ones that are published are the last ones of the simulation."""
        if active == self._injected:
            return
        self._injected = active
        message = SimulationDisturbances(disturbances=[disturbance_to_message(each) for each in active])
        message.header.frame_id = "world"
        message.header.stamp = self.get_clock().now().to_msg()
        self._publish(self._disturbances, message)

    def _stamp_of(self, moment: float) -> Time:
        return self._moments.stamp(moment)

    def _publish(self, publisher: Publishing[M], message: M) -> None:
        try:
            publisher.publish(message)
        except RuntimeError:  # an RCLError, which has no public name
            if self.context.ok():
                raise  # otherwise the node is shutting down

    def _on_end(self, error: RobotCellError) -> None:
        self._failure = error
        self._failed.trigger()

    # The following runs in the executor.

    def _fail(self) -> None:
        if self._failure is not None:
            self.fail(self._failure)

    def check(self) -> tuple[bytes, str, Mapping[str, object]]:
        values = {
            "time lost [s]": f"{self._lost:.3f}",
            "commands": self._commands,
            "commands rejected, in whole or part": self._refused,
            "commands dropped": self._simulation.dropped,
            "images skipped": self._sensors.skipped,
        }
        if self._lost > 0.0:
            return WARN, f"the simulation could not keep up and has lost {self._lost:.3f} s", values
        return OK, "the simulation keeps up", values


def poll_period(delay: float) -> float:
    """Return the period of reads of commands that are executed with a delay [s]."""
    return min(max(MIN_POLL_PERIOD, delay / 4.0), MAX_POLL_PERIOD)


def _contact(record: ContactRecord, stamps: tuple[Time, Time]) -> SimulationContact:
    return SimulationContact(
        name_a=record.first,
        name_b=record.second,
        first=stamps[0],
        last=stamps[1],
        steps=record.steps,
        max_depth=record.max_depth,
        max_force=record.max_force,
    )


def _prefix_of(prefixes: Sequence[str], state: RobotCellState, joint: str) -> str:
    """Return the prefix of the robot that a joint belongs to; joints of a tool belong to the robot that carries it."""
    tool = state.tools.get(joint.rpartition("/")[0])
    name = joint if tool is None else tool.attached_to
    return next((prefix for prefix in prefixes if name.startswith(prefix)), "")


def main() -> None:
    """Entry point of the executable."""
    end(run(SimulatedRobotNode, "simulated_robot_node"))
