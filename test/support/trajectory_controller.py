"""A substitute for joint_trajectory_controller of ros2_control: goals and cancellation, replacement, stamps, tolerances
and states as of the real one (5.x, its default parameters), for a robot whose positions it may set."""

import math
import threading
from collections import deque

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectoryPoint

PERIOD = 0.01  # [s]
DELAY = 0.04  # [s] by which measurements are behind commands
Result = FollowJointTrajectory.Result
REPLACED = "Current goal preempted by new incoming action."
DEACTIVATED = "Current goal cancelled during deactivate transition."


def seconds(message):
    return message.sec + 1e-9 * message.nanosec


class Curve:
    """Polynomials of degree 5 through points with velocities and accelerations."""

    def __init__(self, start, times, points):
        self.start, self.times, self.points = start, np.asarray(times), np.asarray(points)  # (n, 3, dof)

    def at(self, time):
        elapsed = time - self.start
        if elapsed >= self.times[-1]:
            return self.points[-1]
        index = max(int(np.searchsorted(self.times, elapsed, side="right")) - 1, 0)
        h, t = self.times[index + 1] - self.times[index], max(elapsed - self.times[index], 0.0)
        (p0, v0, a0), (p1, v1, a1) = self.points[index], self.points[index + 1]
        ends = np.array([p1 - p0 - v0 * h - 0.5 * a0 * h**2, v1 - v0 - a0 * h, a1 - a0])
        powers = np.array([[h**3, h**4, h**5], [3 * h**2, 4 * h**3, 5 * h**4], [6 * h, 12 * h**2, 20 * h**3]])
        c3, c4, c5 = np.linalg.solve(powers, ends)
        return np.array(
            [
                p0 + v0 * t + 0.5 * a0 * t**2 + c3 * t**3 + c4 * t**4 + c5 * t**5,
                v0 + a0 * t + 3 * c3 * t**2 + 4 * c4 * t**3 + 5 * c5 * t**4,
                a0 + 6 * c3 * t + 12 * c4 * t**2 + 20 * c5 * t**3,
            ]
        )


class ActiveGoal:
    """A goal that is executed. done: resolved with a status and an error."""

    def __init__(self, handle, order, start):
        self.handle, self.done = handle, Future()
        request = handle.request
        points = request.trajectory.points
        rows = [[np.array(row)[order] for row in (p.positions, p.velocities, p.accelerations)] for p in points]
        self.curve = Curve(start, [seconds(point.time_from_start) for point in points], rows)
        names = [request.trajectory.joint_names[index] for index in order]
        self.path = self._of(request.path_tolerance, names)
        self.goal = self._of(request.goal_tolerance, names)
        self.goal_time = seconds(request.goal_time_tolerance)

    @staticmethod
    def _of(tolerances, names):
        given = {tolerance.name: tolerance.position for tolerance in tolerances}
        found = np.array([given.get(name, 0.0) for name in names])
        return np.where(found > 0.0, found, math.inf)

    def end(self, status, code=Result.SUCCESSFUL, text=""):
        if not self.done.done():
            self.done.set_result((status, code, text))


class TrajectoryController:
    """joint_trajectory_controller. robot: has `positions`, which it commands.

    goals: all that were accepted. commands: (time, positions) of all cycles in which a goal was active. offset: of
    what it reports as measured, by joint. factor: its speed scaling, as it is published.
    """

    def __init__(self, node, group, name, joints, robot):
        self.node, self.name, self.joints, self.robot = node, name, list(joints), robot
        self.active, self.offset, self.factor = True, {}, 1.0
        self.goals, self.commands = [], []
        self.cancelled = False
        self.moving = threading.Event()
        self.active_goal = None
        self.held = None
        self._positions = deque(maxlen=100)  # with their times
        self._states = node.create_publisher(
            JointTrajectoryControllerState, f"{name}/controller_state", qos_profile_sensor_data
        )
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            f"{name}/follow_joint_trajectory",
            self._execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            callback_group=group,
        )
        self._timer = node.create_timer(PERIOD, self._update, callback_group=group)

    def now(self):
        return 1e-9 * self.node.get_clock().now().nanoseconds

    def measured(self):
        offset = np.array([self.offset.get(name, 0.0) for name in self.joints])
        if not self._positions:
            return self._read() + offset
        until = self.now() - DELAY
        late = [row for time, row in self._positions if time <= until]
        return (late[-1] if late else self._positions[0][1]) + offset

    def _read(self):
        return np.array([self.robot.positions[name] for name in self.joints])

    def forget(self):
        """Reset to the initial state."""
        self.goals, self.commands, self.offset, self.factor = [], [], {}, 1.0
        self.cancelled, self.active = False, True
        self.moving.clear()

    def deactivate(self):
        self.active = False
        if self.active_goal is not None:
            self.active_goal.end("aborted", Result.INVALID_GOAL, DEACTIVATED)
        self.active_goal = self.held = None

    def restart(self):
        """Forget the goal, which never gets a result, and hold the robot where it is, as a new process does."""
        self.active_goal, self.held = None, self.measured()

    # Goals.

    def _on_goal(self, request):
        trajectory = request.trajectory
        end = seconds(trajectory.header.stamp) + seconds(trajectory.points[-1].time_from_start)
        past = seconds(trajectory.header.stamp) > 0.0 and end < self.now()
        rest = not any(trajectory.points[-1].velocities)
        whole = sorted(trajectory.joint_names) == sorted(self.joints)
        return GoalResponse.ACCEPT if self.active and whole and rest and not past else GoalResponse.REJECT

    def _on_accepted(self, handle):
        if self.active_goal is not None:
            self.active_goal.end("aborted", Result.INVALID_GOAL, REPLACED)
        trajectory = handle.request.trajectory
        order = [list(trajectory.joint_names).index(name) for name in self.joints]
        start = seconds(trajectory.header.stamp) or self.now()
        self.goals.append(handle.request)
        self.active_goal = ActiveGoal(handle, order, start)
        first = start + self.active_goal.curve.times[0]
        if self.now() < first:  # the first point is reached from where the robot is measured
            here = np.array([self.measured(), np.zeros(len(self.joints)), np.zeros(len(self.joints))])
            times = [self.now() - start, *self.active_goal.curve.times]
            self.active_goal.curve = Curve(start, times, np.concatenate([[here], self.active_goal.curve.points]))
        handle.execute()

    def _on_cancel(self, handle):
        self.cancelled = True
        if self.active_goal is not None and self.active_goal.handle.goal_id == handle.goal_id:
            self.active_goal.end("cancelled")
            self.active_goal, self.held = None, self.measured()
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        active_goal = self.active_goal
        status, code, text = await active_goal.done
        {"succeeded": handle.succeed, "aborted": handle.abort, "cancelled": handle.canceled}[status]()
        return Result(error_code=code, error_string=text)

    # Cycles.

    def _update(self):
        if not self.active:
            return
        now, active_goal = self.now(), self.active_goal
        self._positions.append((now, self._read()))
        if self.held is None:
            self.held = self.measured()
        desired = np.array([self.held, np.zeros(len(self.held)), np.zeros(len(self.held))])
        if active_goal is not None:
            desired = active_goal.curve.at(now)
            self.held = desired[0]
            self.commands.append((now, desired))
            stuck = getattr(self.robot, "stuck", ())
            for name, position in zip(self.joints, desired[0].tolist(), strict=True):
                if name not in stuck:
                    self.robot.positions[name] = position
            if np.abs(desired[1]).max() > 0.05:
                self.moving.set()
            self._check_tolerances(active_goal, np.abs(desired[0] - self.measured()), now)
        self._publish(desired)

    def _check_tolerances(self, active_goal, error, now):
        late = now - active_goal.curve.start - active_goal.curve.times[-1]
        if late < 0.0:
            if (error > active_goal.path).any():
                active_goal.end("aborted", Result.PATH_TOLERANCE_VIOLATED, "Aborted due to path tolerance violation")
        elif (error <= active_goal.goal).all():
            active_goal.end("succeeded")
        elif 0.0 < active_goal.goal_time < late:
            active_goal.end("aborted", Result.GOAL_TOLERANCE_VIOLATED, "Aborted due to goal_time_tolerance exceeding")
        if active_goal.done.done():
            self.active_goal = None

    def _publish(self, desired):
        message = JointTrajectoryControllerState(joint_names=self.joints, speed_scaling_factor=self.factor)
        message.header.stamp = self.node.get_clock().now().to_msg()
        positions, velocities, accelerations = desired.tolist()
        message.reference = JointTrajectoryPoint(
            positions=positions, velocities=velocities, accelerations=accelerations
        )
        message.feedback = JointTrajectoryPoint(positions=self.measured().tolist(), velocities=velocities)
        self._states.publish(message)
