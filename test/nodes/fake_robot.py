"""A robot that is where it was commanded to be, and a validator; both can be made to fail."""

import math
import threading

from sensor_msgs.msg import JointState

from robot_cell_planner.msg import LimitViolation
from robot_cell_planner.nodes.node import reliable
from robot_cell_planner.srv import ValidateTrajectory

JOINTS = ("shoulder", "elbow", "finger")
PERIOD = 0.005


class FakeRobot:
    """Follows joint_commands and publishes joint_states, in the thread of another node's executor.

    stuck: joints that do not move. lowest: positions below which joints cannot go. silent: publish nothing.
    measured: replaces what is measured of a joint. commands: all that came, as (positions, velocities).
    """

    def __init__(self, node, joints=JOINTS):
        self.node = node
        self.joints = joints
        self.positions = dict.fromkeys(joints, 0.0)
        self.stuck = set()
        self.lowest = {}
        self.measured = {}
        self.silent = False
        self.commands = []
        self._conditions = []
        self._lock = threading.Lock()
        self._publisher = node.create_publisher(JointState, "joint_states", reliable(10))
        self._subscription = node.create_subscription(JointState, "joint_commands", self._on_command, reliable(5000))
        self._timer = node.create_timer(PERIOD, self._publish)

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
        if self.silent:
            return
        message = JointState(name=list(self.joints))
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.position = [self.measured.get(name, self.positions[name]) for name in self.joints]
        self._publisher.publish(message)

    def put(self, **positions):
        """Move the robot by other means than commands."""
        self.positions.update(positions)
        self._publish()

    def wait_for(self, condition, timeout=30.0):
        """Wait until a command {joint: position} fulfils a condition."""
        event = threading.Event()
        with self._lock:
            self._conditions.append((condition, event))
        assert event.wait(timeout), "no command fulfilled the condition"

    def taken(self):
        """The commands so far; forgets them."""
        with self._lock:
            commands, self.commands = self.commands, []
        return commands

    def heal(self):
        """As it was made, but where it is."""
        self.stuck, self.lowest, self.measured, self.silent = set(), {}, {}, False


class FakeValidator:
    """Answers planning/validate_trajectory. limit: trajectories that go beyond it are not valid. requests: all."""

    def __init__(self, node, group):
        self.limit = 10.0
        self.requests = []
        self._service = node.create_service(
            ValidateTrajectory, "planning/validate_trajectory", self._answer, callback_group=group
        )

    def _answer(self, request, response):
        self.requests.append(request)
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
