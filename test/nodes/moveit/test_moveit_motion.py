"""Motions and servo by MoveIt's interfaces, with a robot that follows its commands exactly and the other nodes."""

import threading

import numpy as np
import pytest
from action_goals import Sent, action_client
from action_msgs.msg import GoalStatus
from control_msgs.msg import JointJog
from fake_robot import FakeRobot, swing
from geometry_msgs.msg import TwistStamped
from moveit_msgs.action import ExecuteTrajectory, MoveGroup, MoveGroupSequence
from moveit_msgs.msg import (
    MotionPlanRequest,
    MotionSequenceItem,
    MotionSequenceRequest,
    MoveItErrorCodes,
    PlanningSceneComponents,
    RobotState,
    RobotTrajectory,
)
from moveit_msgs.srv import GetPlanningScene
from moveit_requests import CELL, JOINTS, LEFT, RIGHT, STATE, joint_goal, pose_goal
from running import DEMO
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.nodes.common.node import reliable

pytestmark = pytest.mark.alone

M = MoveItErrorCodes
ROBOT_STATE = PlanningSceneComponents.ROBOT_STATE
NEAR = [-0.5, -1.2, 1.9, -2.2708, -1.5708, 0.0]
PERIOD = 0.02  # [s] of servo commands


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, JOINTS)
    robot.positions.update(zip(JOINTS, LEFT, strict=True))
    return robot


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, robot, client):
    start_node("scene_node", cell_file=DEMO)
    for name in ("collision_node", "planning_node", "moveit_adapter_node"):
        start_node(name)
    start_node(
        "execution_node",
        command_fields="[position, velocity]",
        joint_state_timeout=1.5,
        joint_state_lost_after=5.0,
        monitor_timeout=20.0,  # of a collision node on a busy computer
        max_joint_step=9.0,
        path_tolerance=5.0,
        servo_incoming_command_timeout=1.0,  # of a sender that a busy computer holds up
    )
    client.scene()


@pytest.fixture(autouse=True)
def at_rest(robot, client):
    """Begin with the robot at LEFT, once the adapter has received that: its requests refer to measured joints."""
    action_client(client, MoveGroup, "move_action")  # discovered by the adapter before its first feedback
    request = GetPlanningScene.Request(components=PlanningSceneComponents(components=ROBOT_STATE))
    for _ in range(200):
        robot.put(**dict(zip(JOINTS, LEFT, strict=True)))  # late commands of the test before may move it away again
        robot.run_for(20)
        state = client.call_service(GetPlanningScene, "get_planning_scene", request).scene.robot_state.joint_state
        received = dict(zip(state.name, state.position, strict=True))
        robot.forget_commands()
        if np.allclose([received.get(name, np.nan) for name in JOINTS], LEFT, atol=1e-6) and at(robot) == LEFT:
            return
    raise AssertionError(f"the robot is at {at(robot)}, and the adapter has received {received}")


def at(robot):
    return [robot.positions[name] for name in JOINTS]


def at_rest_at(robot):
    """Where the robot is after its last command, which may arrive later than the result of a goal."""
    robot.wait_for_rest(JOINTS)
    return at(robot)


def move_goal(goal, **fields):
    request = MotionPlanRequest(group_name="manipulator", start_state=RobotState(is_diff=True), goal_constraints=[goal])
    for name, value in fields.items():
        setattr(request, name, value)
    return MoveGroup.Goal(request=request)


def succeeded(sent, code=lambda result: result.error_code):
    """The result of a goal that has succeeded. code: where the result has its error code."""
    result = sent.wait().result
    assert code(result).val == M.SUCCESS, code(result)
    assert sent.status == GoalStatus.STATUS_SUCCEEDED
    return result


def publisher_with_subscriber(client, kind, topic):
    """A publisher that is matched with a subscriber."""
    publisher, tries = client._made(lambda: client.node.create_publisher(kind, topic, reliable(10))), threading.Event()
    while not publisher.get_subscription_count():
        tries.wait(0.02)
    return publisher


def test_move_action_moves_the_robot(client, robot):
    sent = Sent(client, MoveGroup, "move_action", move_goal(joint_goal(RIGHT)))
    result = succeeded(sent)
    assert np.allclose(at_rest_at(robot), RIGHT, atol=2e-3)
    assert result.executed_trajectory == result.planned_trajectory
    states = [feedback.state for feedback in sent.feedback]
    assert states[0] == "PLANNING"
    assert "MONITOR" in states


def test_a_trajectory_is_executed(client, robot):
    goal = ExecuteTrajectory.Goal(trajectory=RobotTrajectory(joint_trajectory=swing(JOINTS, LEFT, NEAR, 2.0)))
    succeeded(Sent(client, ExecuteTrajectory, "execute_trajectory", goal))
    assert np.allclose(at_rest_at(robot), NEAR, atol=2e-3)


def test_a_trajectory_that_starts_elsewhere_is_refused_with_the_joint(client, robot):
    goal = ExecuteTrajectory.Goal(trajectory=RobotTrajectory(joint_trajectory=swing(JOINTS, NEAR, LEFT, 2.0)))
    sent = Sent(client, ExecuteTrajectory, "execute_trajectory", goal).wait()
    assert sent.result.error_code.val == M.START_STATE_INVALID
    assert JOINTS[0] in sent.result.error_code.message
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert at(robot) == LEFT


@pytest.mark.parametrize("replan", [False, True])
def test_a_sequence_moves_along_its_lines(client, robot, replan):
    pose = world_pose(CELL, STATE.with_configuration(dict(zip(JOINTS, LEFT, strict=True))), "tool0")
    items = []
    for shift in ((0.0, 0.0, 0.06), (0.0, 0.05, 0.06)):
        matrix = pose.matrix.copy()
        matrix[:3, 3] += shift
        request = MotionPlanRequest(group_name="manipulator", planner_id="LIN")
        request.pipeline_id = "pilz_industrial_motion_planner"
        request.goal_constraints = [pose_goal(type(pose).from_matrix(matrix))]
        items.append(MotionSequenceItem(req=request, blend_radius=0.02 if not items else 0.0))
    goal = MoveGroupSequence.Goal(request=MotionSequenceRequest(items=items))
    goal.planning_options.replan = replan
    succeeded(Sent(client, MoveGroupSequence, "sequence_move_group", goal), lambda result: result.response.error_code)
    reached = world_pose(CELL, STATE.with_configuration(dict(zip(JOINTS, at_rest_at(robot), strict=True))), "tool0")
    assert np.abs(reached.matrix - matrix).max() < 2e-3


def slow_move(client, robot):
    """A motion that takes some seconds and has begun."""
    sent = Sent(client, MoveGroup, "move_action", move_goal(joint_goal(RIGHT), max_velocity_scaling_factor=0.05))
    robot.wait_for(lambda command: command[JOINTS[0]] > LEFT[0] + 0.01, timeout=120.0)
    return sent


def test_a_cancelled_motion_stops(client, robot):
    sent = slow_move(client, robot)
    sent.cancel()
    sent.wait()
    assert sent.status == GoalStatus.STATUS_CANCELED
    assert sent.result.error_code.val == M.PREEMPTED
    assert at_rest_at(robot)[0] < RIGHT[0] - 0.1


def test_the_stop_event_stops_a_motion(client, robot):
    events = publisher_with_subscriber(client, String, "trajectory_execution_event")
    sent = slow_move(client, robot)
    events.publish(String(data="stop"))
    sent.wait()
    assert sent.result.error_code.val == M.PREEMPTED
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert at_rest_at(robot)[0] < RIGHT[0] - 0.1


class Triggers:
    """Calls servo_node/start_servo or stop_servo, several times at once."""

    def __init__(self, client):
        self._clients = {
            name: client._made(lambda name=name: client.node.create_client(Trigger, f"servo_node/{name}_servo"))
            for name in ("start", "stop")
        }

    def call(self, name, count=1):
        assert self._clients[name].wait_for_service(60.0)
        futures, done = [], threading.Semaphore(0)
        for _ in range(count):
            futures.append(self._clients[name].call_async(Trigger.Request()))
            futures[-1].add_done_callback(lambda _: done.release())
        for _ in range(count):
            assert done.acquire(timeout=120.0)
        return [future.result() for future in futures]


class Sender:
    """Sends a command again and again."""

    def __init__(self, client, kind, topic, fill):
        self._node, self._message, self._fill = client.node, kind(), fill
        self._publisher = publisher_with_subscriber(client, kind, topic)
        self._timer = self._node.create_timer(PERIOD, self._send)

    def _send(self):
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._fill(self._message)
        self._publisher.publish(self._message)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._node.destroy_timer(self._timer)


def height(robot_command):
    return world_pose(CELL, STATE.with_configuration({name: robot_command[name] for name in JOINTS}), "tool0").position[
        2
    ]


def test_servo_follows_twists_and_joints_and_starts_as_often_as_requested(client, robot):
    triggers, begin = Triggers(client), height(robot.positions)
    assert all(reply.success for reply in triggers.call("start", 8)), "all at once"

    def upwards(message):
        message.twist.linear.z = 0.2  # of scale.linear: 0.08 m/s

    def turn(message):
        message.joint_names, message.velocities = [JOINTS[0]], [0.4]

    with Sender(client, TwistStamped, "servo_node/delta_twist_cmds", upwards):
        robot.wait_for(lambda command: height(command) > begin + 0.01, timeout=60.0)
        assert all(reply.success for reply in triggers.call("start", 3)), "while it runs"
        robot.wait_for(lambda command: height(command) > begin + 0.02, timeout=60.0)
    with Sender(client, JointJog, "servo_node/delta_joint_cmds", turn):
        robot.wait_for(lambda command: command[JOINTS[0]] > LEFT[0] + 0.02, timeout=60.0)
    assert all(reply.success for reply in triggers.call("stop"))
    robot.wait_for_rest(JOINTS)
