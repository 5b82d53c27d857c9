"""A robot that follows its commands exactly, and a validator; both can be made to fail."""

import math
import threading
from time import monotonic

import numpy as np
from rclpy.action import ActionServer, CancelResponse
from rclpy.duration import Duration as RosDuration
from rclpy.task import Future
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.msg import JointLimits, LimitViolation
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.basic import duration_to_message, error_to_message
from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message
from robot_cell_planner.nodes.conversions.trajectory_reports import report_to_message
from robot_cell_planner.srv import ValidateTrajectory
from robot_cell_planner.trajectory.validation import validate

JOINTS = ("shoulder", "elbow", "finger")
PERIOD = 0.005
# [rad/s or m/s] at which it catches up with commands that a busy machine delivered late: it does not jump.
FASTEST = 8.0


class FakeRobot:
    """Follows joint_commands and publishes joint_states, in the thread of another node's executor.

    stuck: joints that do not move. lowest: positions below which joints cannot go. silent: publish nothing. hidden:
    joints that are not published. frozen: publish the same message again and again. measured: replaces what is measured
    of a joint. clock_error: of its stamps [s]. fastest: as of FASTEST. commands: all that arrived, each with its
    message. prefix: of its topics. period: of its messages [s].
    """

    fastest = FASTEST

    def __init__(self, node, joints=JOINTS, prefix="", period=PERIOD):
        self.node = node
        self.joints = joints
        self.positions = dict.fromkeys(joints, 0.0)
        self._reached, self._moved_at = dict(self.positions), monotonic()
        self.stuck = set()
        self.lowest = {}
        self.measured = {}
        self.hidden = set()
        self.silent = False
        self.frozen = False
        self.clock_error = 0.0
        self.commands = []
        self._cycles = threading.Semaphore(0)
        self._conditions = []
        self._lock = threading.Lock()
        self._publisher = node.create_publisher(JointState, f"{prefix}joint_states", reliable(10))
        commands = f"{prefix}joint_commands"
        self._subscription = node.create_subscription(JointState, commands, self._on_command, reliable(5000))
        self._timer = node.create_timer(period, self._publish)

    def _on_command(self, message):
        command = dict(zip(message.name, message.position, strict=True))
        with self._lock:
            self.commands.append((command, message))
            for name, value in command.items():
                if name not in self.stuck:
                    self.positions[name] = max(value, self.lowest.get(name, -math.inf))
            reached = [event for condition, event in self._conditions if condition(command)]
            self._conditions = [pair for pair in self._conditions if pair[1] not in reached]
        for event in reached:
            event.set()

    def _publish(self):
        self._cycles.release()
        if self.silent:
            return
        if self.frozen:
            self._publisher.publish(self._last)
            return
        self._last = message = JointState(name=[name for name in self.joints if name not in self.hidden])
        message.header.stamp = self._stamp()
        self._move()
        message.position = [self.measured.get(name, self._reached[name]) for name in message.name]
        self._publisher.publish(message)

    def _stamp(self):
        return (self.node.get_clock().now() + RosDuration(seconds=self.clock_error)).to_msg()

    def _move(self):
        now = monotonic()
        max_step, self._moved_at = self.fastest * (now - self._moved_at), now
        for name, position in self.positions.items():
            left = position - self._reached.get(name, position)
            step = math.copysign(max_step, left)
            self._reached[name] = position if abs(left) <= max_step else self._reached[name] + step

    def put(self, **positions):
        """Move the robot by other means than commands."""
        self.positions.update(positions)
        self._reached.update(positions)
        self._publish()

    def wait_for(self, condition, timeout=120.0):
        """Wait until a command {joint: position}, the latest or a later one, fulfils a condition."""
        event = threading.Event()
        with self._lock:
            if any(condition(command) for command, _ in self.commands[-1:]):
                return
            self._conditions.append((condition, event))
        assert event.wait(timeout), "no command fulfilled the condition"

    def run_for(self, cycles):
        """Wait until it has published so many times more, or would have."""
        while self._cycles.acquire(blocking=False):
            pass
        for _ in range(cycles):
            assert self._cycles.acquire(timeout=30.0)

    def run_for_time(self, seconds):
        """Wait until the stamps of its messages have gone on by a time [s]: cycles are fewer on a busy machine."""
        self.run_for(1)
        until = Time.from_msg(self._last.header.stamp) + RosDuration(seconds=seconds)
        while Time.from_msg(self._last.header.stamp) < until:
            self.run_for(1)

    def wait_for_rest(self, joints):
        """Wait until the last command is at rest, and none that moves arrives after it: some may still be on their way
        when a goal has ended."""
        for _ in range(2000):
            with self._lock:
                count = len(self.commands)
            self.run_for(8)
            with self._lock:
                latest = self.commands[count - 1 :]
            if not any(_moves(message, joints) for _, message in latest):
                return
        raise AssertionError("the commands do not end at rest")

    def taken(self):
        """The commands so far; forgets them."""
        with self._lock:
            commands, self.commands = self.commands, []
        return commands

    def wait_for_last_command(self):
        """Wait until no more commands arrive: some may still be on their way when a goal has ended."""
        for _ in range(1000):
            with self._lock:
                count = len(self.commands)
            self.run_for(8)
            with self._lock:
                if len(self.commands) == count:
                    return
        raise AssertionError("the commands do not end")

    def all_taken(self):
        """The commands, when no more arrive; forgets them."""
        self.wait_for_last_command()
        return self.taken()

    def forget_commands(self):
        """Let the commands that are on their way arrive, and forget them."""
        while self.all_taken():
            pass

    def heal(self):
        """Reset everything but the position."""
        self.stuck, self.lowest, self.measured, self.hidden = set(), {}, {}, set()
        self.silent, self.frozen, self.clock_error = False, False, 0.0


def _moves(message, joints):
    velocity = dict(zip(message.name, message.velocity, strict=True))
    return any(velocity[joint] for joint in joints)


def swing(joints, start, end, duration=0.5, samples=26):
    """A trajectory along a polynomial of degree 5, at rest at both ends."""
    start, end = np.asarray(start), np.asarray(end)
    trajectory = JointTrajectory(joint_names=list(joints))
    for time in np.linspace(0.0, duration, samples):
        u = time / duration
        blend, rate, bend = (
            10 * u**3 - 15 * u**4 + 6 * u**5,
            (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
            (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
        )
        point = JointTrajectoryPoint(time_from_start=duration_to_message(time))
        point.positions = (start + blend * (end - start)).tolist()
        point.velocities = (rate * (end - start)).tolist()
        point.accelerations = (bend * (end - start)).tolist()
        trajectory.points.append(point)
    return trajectory


class EmergencyStop:
    """The button, whose state is published repeatedly, as it can change before its subscribers have discovered it."""

    def __init__(self, node):
        self._pressed = False
        self._node = node
        self._publisher = node.create_publisher(Bool, "emergency_stop", 1)
        self._timer = node.create_timer(0.02, self._publish)

    def _publish(self):
        self._publisher.publish(Bool(data=self._pressed))

    def press(self):
        self._pressed = True
        self._publish()

    def release(self):
        self._pressed = False
        self._publish()

    def end(self):
        self._node.destroy_timer(self._timer)
        self.release()
        # Of a publisher that is destroyed at once, the last message may be lost.
        assert self._publisher.wait_for_all_acked(RosDuration(seconds=60.0))
        self._node.destroy_publisher(self._publisher)


class FakePlanner:
    """Plans requests of `planning/plan_motion`: from the position of a robot to the first joint goal.

    slow: plan until it is cancelled. error: fail with it. requests: all that arrived.
    """

    def __init__(self, node, robot, group):
        self.robot = robot
        self.slow, self.error = False, None
        self.requests = []
        self.cancelled = threading.Event()
        self.planning = threading.Event()
        self._server = ActionServer(
            node,
            PlanMotion,
            "planning/plan_motion",
            self._plan,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=group,
        )
        self._node = node

    async def _plan(self, goal):
        request = goal.request.request
        self.requests.append(request)
        feedback = PlanMotion.Feedback()
        feedback.progress.stage = "search"
        goal.publish_feedback(feedback)
        self.planning.set()
        result = PlanMotion.Result()
        while self.slow:
            await self._moment()
            if goal.is_cancel_requested:
                goal.canceled()
                self.cancelled.set()
                return result
        if self.error is not None:
            result.error = error_to_message(self.error)
            goal.abort()
            return result
        requested = request.goal.joint_goals[0]
        start = [self.robot.positions[name] for name in requested.joint_names]
        result.plan.trajectory = swing(requested.joint_names, start, requested.positions)
        result.plan.record.state.revision = 3
        goal.succeed()
        return result

    async def _moment(self):
        future = Future()
        timer = self._node.create_timer(0.01, lambda: None if future.done() else future.set_result(None))
        await future
        self._node.destroy_timer(timer)


class FakeValidator:
    """Answers planning/validate_trajectory. limit: trajectories that go beyond it are not valid. limits: those of all
    joints, which it checks trajectories against as the planning node does; None: not at all. requests: all."""

    def __init__(self, node, group):
        self.limit, self.limits = 10.0, None
        self.requests = []
        self._service = node.create_service(
            ValidateTrajectory, "planning/validate_trajectory", self._answer, callback_group=group
        )

    def _answer(self, request, response):
        self.requests.append(request)
        if self.limits is not None:
            trajectory = trajectory_from_message(request.trajectory, "trajectory")
            response.report = report_to_message(validate(trajectory, self.limits), RobotCell("empty"))
            response.limits = [
                JointLimits(joint=joint, velocity=velocity, acceleration=acceleration, jerk=jerk)
                for joint, velocity, acceleration, jerk in zip(
                    self.limits.variables, self.limits.velocity, self.limits.acceleration, self.limits.jerk, strict=True
                )
            ]
            return response
        for index, point in enumerate(request.trajectory.points):
            for joint, value in zip(request.trajectory.joint_names, point.positions, strict=True):
                if value > self.limit:
                    violation = LimitViolation(joint=joint, point=index, time=point.time_from_start)
                    violation.value, violation.limit = value, self.limit
                    response.report.violations.append(violation)
                    return response
        response.report.valid = True
        response.state.revision = 7
        return response
