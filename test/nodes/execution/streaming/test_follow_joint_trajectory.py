"""FollowJointTrajectory: behaviour that users of joint_trajectory_controller rely on."""

import numpy as np
import pytest
from action_goals import follow
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from fake_robot import swing
from recorded import TORN, stamps
from scipy.spatial import cKDTree
from streaming import ARM, eventually, here, on_line, run
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from robot_cell_planner.errors import (
    MotionBusyError,
)
from robot_cell_planner.nodes.conversions.basic import duration_to_message
from robot_cell_planner.trajectory.trajectory import Trajectory

pytestmark = pytest.mark.alone


def _check_busy(client, robot):
    with pytest.raises(MotionBusyError):
        client.execute(swing(ARM, here(robot), here(robot), duration=0.02))


class TestFollowJointTrajectory:
    """Behaviour that users of joint_trajectory_controller rely on."""

    def test_success(self, client, robot):
        sent = follow(client, swing(ARM, here(robot), [0.4, 0.2])).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
        robot.wait_for_last_command()
        assert here(robot) == pytest.approx([0.4, 0.2])
        message = sent.feedback[-1]
        assert list(message.joint_names) == list(ARM)
        np.testing.assert_allclose(
            np.subtract(message.desired.positions, message.actual.positions), message.error.positions, atol=1e-12
        )

    def test_a_single_later_point_is_reached_from_the_present_state(self, client, robot):
        start, end = here(robot), [0.1, 0.0]
        trajectory = JointTrajectory(joint_names=list(ARM))
        point = JointTrajectoryPoint(positions=end, velocities=[0.0, 0.0], time_from_start=Duration(sec=1))
        trajectory.points = [point]
        sent = follow(client, trajectory).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        fractions = on_line(robot.all_taken(), start, end)
        assert fractions[0] == pytest.approx(0.0, abs=1e-3)
        assert fractions[-1] == pytest.approx(1.0)
        assert {getattr(message, "index", 0) for message in sent.feedback} <= {0}  # Jazzy has no such field

    def test_joints_may_be_in_any_order_and_incomplete(self, client, robot):
        start = here(robot)
        trajectory = swing(ARM, start, [0.3, 0.3])
        trajectory.joint_names = ["elbow"]
        for point in trajectory.points:
            point.positions, point.velocities, point.accelerations = (
                point.positions[1:],
                point.velocities[1:],
                point.accelerations[1:],
            )
        assert follow(client, trajectory).wait().status == GoalStatus.STATUS_SUCCEEDED
        robot.wait_for_last_command()
        assert here(robot) == pytest.approx([start[0], 0.3])

    def test_cancel_leaves_it_on_the_path(self, client, robot):
        start, end = here(robot), [1.0, 0.0]
        sent = follow(client, swing(ARM, start, end, duration=8.0))
        robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.05)
        sent.cancel()
        assert sent.wait().status == GoalStatus.STATUS_CANCELED
        assert on_line(robot.all_taken(), start, end)[-1] < 0.99

    def test_path_tolerance(self, client, robot):
        robot.stuck.add("shoulder")
        tolerances = [JointTolerance(name="shoulder", position=0.02)]
        goal = swing(ARM, here(robot), np.add(here(robot), 0.5), duration=2.0)
        sent = follow(client, goal, path_tolerance=tolerances).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
        assert "shoulder" in sent.result.error_string

    def test_goal_tolerance(self, client, robot):
        robot.lowest["elbow"] = here(robot)[1] - 0.03
        goal = swing(ARM, here(robot), np.subtract(here(robot), 0.05))
        sent = follow(client, goal, goal_time_tolerance=Duration(nanosec=100_000_000)).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED
        assert "elbow" in sent.result.error_string

    def test_no_limit(self, client, robot):
        """A tolerance of -1 takes the default away."""
        robot.lowest["elbow"] = here(robot)[1] - 0.01
        goal = swing(ARM, here(robot), np.subtract(here(robot), 0.05))
        sent = follow(client, goal, goal_tolerance=[JointTolerance(name="elbow", position=-1.0)]).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL

    @pytest.mark.parametrize(
        "tolerance, word",
        [
            (JointTolerance(name="wrist", position=0.1), "wrist"),
            (JointTolerance(name="elbow", position=-2.0), "-2"),
            (JointTolerance(name="elbow", acceleration=1.0), "acceleration"),
        ],
    )
    def test_malformed_tolerances(self, client, robot, tolerance, word):
        sent = follow(client, swing(ARM, here(robot), [0.0, 0.0]), path_tolerance=[tolerance]).wait()
        assert sent.status == GoalStatus.STATUS_ABORTED
        assert word in sent.result.error_string

    def test_a_trajectory_that_does_not_end_at_rest(self, client, robot):
        goal = swing(ARM, here(robot), [0.5, 0.5])
        goal.points = goal.points[:14]
        sent = follow(client, goal).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
        assert "at rest" in sent.result.error_string

    def test_stamps(self, client, robot):
        goal = swing(ARM, here(robot), [0.2, 0.2])
        goal.header.stamp = Time(sec=1000)
        sent = follow(client, goal).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP
        begin = client.node.get_clock().now().nanoseconds + 500_000_000
        goal.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        robot.taken()
        sent = follow(client, goal).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result
        first = robot.all_taken()[0][1].header.stamp
        assert first.sec * 10**9 + first.nanosec >= begin

    def test_a_newer_goal_takes_the_place_of_one_that_waits_for_its_time(self, client, robot):
        later = swing(ARM, here(robot), [1.0, 1.0])
        begin = client.node.get_clock().now().nanoseconds + 600 * 10**9
        later.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        first = follow(client, later)
        eventually(AssertionError, lambda: _check_busy(client, robot))
        second = follow(client, swing(ARM, here(robot), [0.1, 0.1])).wait()
        assert second.status == GoalStatus.STATUS_SUCCEEDED, second.result.error_string
        assert first.wait().status == GoalStatus.STATUS_ABORTED
        assert "newer goal" in first.result.error_string
        robot.wait_for_last_command()
        assert here(robot) == pytest.approx([0.1, 0.1])

    def test_points_in_the_past_are_left_out(self, client, robot):
        start, end = here(robot), np.add(here(robot), [0.0, 0.2])
        goal = swing(ARM, np.add(start, 1.0), end, duration=4.0, samples=3)
        begin = client.node.get_clock().now().nanoseconds - 2_500_000_000
        goal.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        sent = follow(client, goal).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error_string
        on_line(robot.all_taken(), start, end)

    def test_joints_of_several_degrees_of_freedom(self, client, robot):
        goal = swing(ARM, here(robot), [0.0, 0.0])
        sent = follow(client, goal, multi_dof_trajectory=MultiDOFJointTrajectory(joint_names=["base"])).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
        assert "multi-DOF joints" in sent.result.error_string

    @pytest.mark.parametrize("kinds", [1, 2, 3], ids=["linear", "cubic", "quintic"])
    def test_the_degree_follows_from_the_fields(self, client, robot, kinds):
        """Each command is on the curve, with the velocity that the curve has there."""
        run(client, robot, [0.0, 0.0])
        robot.run_for(40)
        robot.taken()
        rows = [[(0.0, 0.0), (0.3, 0.2), (0.5, -0.1)], [(0.0, 0.0), (0.4, -0.1), (0.0, 0.0)], [(0.0, 0.0)] * 3]
        goal = JointTrajectory(joint_names=list(ARM))
        for index, time in enumerate((0.0, 0.8, 1.6)):
            point = JointTrajectoryPoint(time_from_start=duration_to_message(time))
            for kind, row in zip(("positions", "velocities", "accelerations"), rows[:kinds], strict=False):
                setattr(point, kind, list(row[index]))
            goal.points.append(point)
        sent = follow(client, goal).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result
        robot.run_for(40)
        curve = Trajectory(ARM, [0.0, 0.8, 1.6], *(np.array(row) for row in rows[:kinds]))
        times = np.linspace(0.0, 1.6, 160_001)
        known, speeds = curve.at(times), curve.at(times, 1)
        commands = robot.all_taken()
        torn = np.cumsum(np.diff(stamps(commands), prepend=stamps(commands[:1])) > TORN) > 0
        found = [[command[name] for name in ARM] for command, _ in commands]
        indices = cKDTree(known).query(found, p=np.inf)[1].tolist()
        for (_, message), position, nearest, late in zip(commands, found, indices, torn.tolist(), strict=True):
            np.testing.assert_allclose(known[nearest], position, atol=2e-4)
            if 50 < nearest < 79_900 or 80_100 < nearest < 159_900:
                velocity, expected = np.array(message.velocity[:2]), speeds[nearest]
                if late:  # by a suspended machine: it continues along the curve, from rest
                    fraction = float(velocity @ expected) / float(expected @ expected)
                    assert -1e-3 <= fraction <= 1.0 + 1e-3
                    expected = fraction * expected
                np.testing.assert_allclose(velocity, expected, atol=2e-3)

    def test_velocity_tolerance(self, client, robot):
        """The robot of this test does not report velocities: their tolerances do not count then."""
        tolerances = [JointTolerance(name="shoulder", velocity=1e-6)]
        sent = follow(client, swing(ARM, here(robot), [0.3, 0.0]), path_tolerance=tolerances).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
