"""Faults while the robot moves, through the real scene, planning and execution nodes: each ends the motion by a stop on
its path, within the limits of the joints, and with a named reason."""

import math
import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
from action_goals import execute, follow, move
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import PERIOD, FakeRobot, swing
from geometry_msgs.msg import Point, Pose
from rclpy.duration import Duration
from recorded import LONGEST_GAP, TORN, check_limits, check_rest, positions, stamps, velocities
from rosgraph_msgs.msg import Clock
from running import DEMO, wait_until_answered
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner import srv
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import StaleStateError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import BodyModel, Geometry, MotionRequest, SceneChange, Shape
from robot_cell_planner.nodes.client.client import make_goal
from robot_cell_planner.nodes.conversions.basic import duration_from_message, duration_to_message

pytestmark = pytest.mark.alone

CELL, STATE = load_cell(DEMO)
ARM = CELL.group().variables
FINGER = "finger_joint"
PAN = ARM[0]
HOME = [STATE.configuration[joint] for joint in ARM]
FAR = [-2.6, *HOME[1:]]  # the first joint turned away from the table
LIMITS = [getattr(CELL.variables[PAN].limits, name) for name in ("velocity", "acceleration", "jerk")]
EXECUTION = {
    "joints": f"[{', '.join(ARM)}]",
    "command_fields": "[position, velocity, effort]",
    "allow_partial_joints_goal": False,
    "motion_modes": "[automatic]",
    # Wide enough for a robot, and for nodes, whose processes a busy machine holds up.
    "joint_state_timeout": 1.5,
    "monitor_timeout": 4.0,
    "path_tolerance": 5.0,
    "goal_tolerance": 1e-9,
    "goal_time": 20.0,
}


class World:
    """The processes of this module; those that a test has killed are started again for the next one."""

    def __init__(self, start):
        self._start = start
        self._parameters = {
            "scene_node": {"cell_file": DEMO},
            "planning_node": {"resolution": 0.005},
            "execution_node": EXECUTION,
        }
        self.nodes = {name: start(name, **given) for name, given in self._parameters.items()}

    def heal(self):
        for name, node in self.nodes.items():
            if node.process.poll() is not None:
                self.nodes[name] = self._start(name, **self._parameters[name])


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, (*ARM, FINGER))
    robot.positions.update(zip(ARM, HOME, strict=True))
    robot.positions[FINGER] = STATE.tools["gripper"].configuration[FINGER]
    return robot


class Mode:
    """Keeps saying which mode the robot is in, to nodes that start later, too."""

    def __init__(self, node):
        self.value = "automatic"
        self._publisher = node.create_publisher(String, "robot_mode", 1)
        self._timer = node.create_timer(0.05, lambda: self._publisher.publish(String(data=self.value)))


@pytest.fixture(scope="module")
def mode(client):
    return Mode(client.node)


@pytest.fixture(scope="module")
def world(start_node, client, robot, mode):
    world = World(start_node)
    client.scene()
    wait_until_answered(_scale_client(client), srv.SetSpeedScale.Request(scale=1.0))
    return world


def _scale_client(client):
    name = "execution/set_speed_scale"
    if name not in client._clients:
        client._clients[name] = client.node.create_client(srv.SetSpeedScale, name, callback_group=client._group)
    return client._clients[name]


@pytest.fixture(autouse=True)
def at_home(client, world, robot, mode):
    """Everything runs, and the robot rests at home; the workpiece lies where it did."""
    world.heal()
    robot.heal()
    mode.value = "automatic"
    yield
    robot.heal()


def start_at(client, robot, configuration=HOME):
    """Put the robot somewhere by hand and let the nodes hear of it: a goal that does nothing succeeds."""
    for _ in range(200):
        robot.put(**dict(zip(ARM, configuration, strict=True)))
        sent = stand(client, configuration)
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            robot.taken()
            return
    raise AssertionError(sent.result.error.message)


def stand(client, configuration=HOME, **options):
    """The end of a goal that does nothing."""
    return execute(client, swing(ARM, configuration, configuration, duration=0.1, samples=3), **options).wait()


def to_and_fro(times=10, duration=2.2):
    """From home to the far place and back, again and again, at a good part of the joint's limits."""
    trajectory = JointTrajectory(joint_names=list(ARM))
    for index in range(times):
        ends = (HOME, FAR) if index % 2 == 0 else (FAR, HOME)
        part = swing(ARM, *ends, duration=duration, samples=111)
        for point in part.points[1 if index else 0 :]:
            point.time_from_start = duration_to_message(duration_from_message(point.time_from_start) + index * duration)
            trajectory.points.append(point)
    return trajectory


def begin(client, robot, send=execute, **options):
    """A motion that is in its fast part."""
    start_at(client, robot)
    sent = send(client, to_and_fro(), **options)
    wait_for(robot, sent, lambda command: command[PAN] < -1.7)
    return sent


def wait_for(robot, sent, condition):
    """Wait until a command of a goal fulfils a condition; if the goal ends before, say why."""
    seen = 0
    while not any(condition(command) for command, _ in robot.commands[seen:]):
        seen = max(len(robot.commands) - 1, 0)
        assert not sent.done.is_set(), sent.result
        robot.run_for(1)


def was_torn(sent):
    """Whether the stream of a motion had a gap, by the steady clock; stamps of a simulated clock do not show one."""
    return sent.result.record.longest_interval > LONGEST_GAP


def between_gaps(commands):
    """Commands in parts: after a gap they go on from rest, from the very place that the last one before it named."""
    p, v = positions(commands, [PAN])[:, 0], velocities(commands, [PAN])[:, 0]
    stands = np.flatnonzero((np.diff(p) == 0.0) & (v[1:] == 0.0) & (v[:-1] != 0.0)) + 1
    bounds = [0, *stands.tolist(), len(commands)]
    return [commands[begin:end] for begin, end in pairwise(bounds) if v[begin:end].any()]


def check_stop(robot, ended_early=True, lowest=FAR[0], torn=False):
    """The commands that were recorded keep to the path and to the limits, and end at rest. torn: the parts before and
    after a gap are held to the limits each by itself."""
    if ended_early:
        robot.wait_for_rest(ARM)
    commands = robot.taken()
    assert np.array_equal(positions(commands, ARM[1:]), np.tile(HOME[1:], (len(commands), 1)))
    assert not velocities(commands, ARM[1:]).any()
    for part in between_gaps(commands) if torn else [commands]:
        check_limits(part, PAN, LIMITS)
    p = positions(commands, [PAN])[:, 0]
    assert lowest - 1e-9 <= p.min() <= p.max() <= HOME[0] + 1e-9
    if ended_early:
        check_rest(commands, PAN)
    return p


def check_error(sent, name, *words):
    assert sent.status == GoalStatus.STATUS_ABORTED
    error = sent.result.error
    assert error.name == name, (error.name, error.message)
    for word in words:
        assert word in f"{error.stage} {error.message} {' '.join(error.subjects)}"
    return error


def test_joint_states_that_stop(client, robot):
    sent = begin(client, robot)
    robot.silent = True
    error = check_error(sent.wait(), "FeedbackLostError", "no joint_states received for")
    assert error.values[0].value > error.values[0].limit == 2.0
    check_stop(robot)


def test_joint_states_that_repeat_the_same_message(client, robot):
    """As from a driver that has hung: messages go on, with the stamp and the positions of the last one."""
    sent = begin(client, robot)
    robot.frozen = True
    error = check_error(sent.wait(), "FeedbackLostError", "no joint_states received for")
    assert error.values[0].value > error.values[0].limit == 2.0
    check_stop(robot)
    assert stand(client).result.error.name == "FeedbackLostError"
    request = srv.WaitForState.Request(min_joint_stamp=client.node.get_clock().now().to_msg())
    request.timeout.nanosec = 100_000_000
    with pytest.raises(StaleStateError, match=r"older than requested|were not measured"):
        client.call_service(srv.WaitForState, "scene/wait_for_state", request)
    robot.frozen = False
    start_at(client, robot)


@pytest.mark.parametrize("value, words", [(math.nan, ("nan", "elbow_joint")), (0.5, ("jumped", "elbow_joint"))])
def test_joint_states_that_cannot_be(client, robot, value, words):
    sent = begin(client, robot, path_tolerance=100.0)
    robot.measured["elbow_joint"] = value
    check_error(sent.wait(), "FeedbackLostError", *words)
    check_stop(robot)


@pytest.mark.parametrize("seconds, way", [(3600.0, "ahead"), (-3600.0, "back")])
def test_a_clock_that_jumps(client, robot, seconds, way):
    sent = begin(client, robot)
    robot.clock_error = seconds
    error = check_error(sent.wait(), "FeedbackLostError", "clock", way)
    assert error.values[0].value == pytest.approx(3600.0, abs=10.0)
    robot.clock_error = 0.0
    check_stop(robot)


class SimulatedTime:
    """Publishes /clock: the time of the computer, wrong by error [s]."""

    def __init__(self, node):
        self.error = 0.0
        self._node = node
        self._publisher = node.create_publisher(Clock, "/clock", 1)
        self._timer = node.create_timer(0.005, self._publish)

    def _publish(self):
        now = self._node.get_clock().now() + Duration(seconds=self.error)
        self._publisher.publish(Clock(clock=now.to_msg()))

    def end(self):
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)


@pytest.fixture
def simulated_time(client, world, start_node):
    """An execution node that runs on the time of /clock, in place of the other."""
    simulated = SimulatedTime(client.node)
    world.nodes["execution_node"].stop()
    node = start_node("execution_node", use_sim_time=True, **EXECUTION)
    wait_until_answered(_scale_client(client), srv.SetSpeedScale.Request(scale=1.0))
    yield simulated
    node.stop()
    simulated.end()


def test_simulated_time_that_jumps(client, robot, simulated_time):
    for seconds, way in ((3600.0, "ahead"), (0.0, "back")):
        sent = begin(client, robot)
        simulated_time.error = seconds
        error = check_error(sent.wait(), "StoppedError", "clock", "/clock", f"set {way}")
        assert error.values[0].value == pytest.approx(3600.0, abs=10.0)
        check_stop(robot, torn=was_torn(sent))


def test_simulated_time_that_jumps_with_the_robot(client, robot, simulated_time):
    """As when a simulation is reset: the stamps of joint_states jump, too; whichever is seen first is told."""
    sent = begin(client, robot)
    simulated_time.error = robot.clock_error = -3600.0
    assert sent.wait().result.error.name in ("StoppedError", "FeedbackLostError")
    check_error(sent, sent.result.error.name, "clock", "set back")
    check_stop(robot, torn=was_torn(sent))


@pytest.mark.parametrize("cycles", [100, 700])  # of the robot: half a second, and longer than the clock may be off
def test_a_gap_in_the_stream(client, robot, world, cycles):
    """What stands still with the robot under way goes on from where it was, not where it would be by now."""
    start_at(client, robot)
    sent = execute(client, to_and_fro(2))
    wait_for(robot, sent, lambda command: command[PAN] < -1.7)
    process = world.nodes["execution_node"].process
    process.send_signal(signal.SIGSTOP)
    robot.run_for(cycles)
    process.send_signal(signal.SIGCONT)
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    assert sent.result.record.longest_interval > 0.9 * cycles * PERIOD
    robot.wait_for_rest(ARM)
    commands = robot.taken()
    gaps = np.flatnonzero(np.diff(stamps(commands)) > TORN)
    p, v = check_limits(commands, PAN, LIMITS)
    assert len(gaps) >= 1
    assert np.array_equal(p[gaps + 1], p[gaps])
    assert not v[gaps + 1].any()
    steps = np.delete(np.abs(np.diff(p)), gaps)
    assert steps.max() <= LIMITS[0] * TORN
    assert p[-1] == pytest.approx(HOME[0])


def test_cancel(client, robot):
    sent = begin(client, robot)
    sent.cancel()
    assert sent.wait().status == GoalStatus.STATUS_CANCELED
    assert sent.result.error.name == "CancelledError"
    p = check_stop(robot)
    # What comes next begins where the commands ended.
    here = [p[-1], *HOME[1:]]
    assert execute(client, swing(ARM, here, HOME, duration=3.0)).wait().status == GoalStatus.STATUS_SUCCEEDED
    assert positions(robot.taken(), [PAN])[0, 0] == p[-1]


def test_a_mode_without_motion_ends_it_at_once_and_blocks_it(client, robot, mode):
    sent = begin(client, robot)
    mode.value = "manual"
    check_error(sent.wait(), "StoppedError", "robot mode", "manual", "automatic")
    check_stop(robot, ended_early=False)
    blocked = execute(client, to_and_fro(1)).wait()
    check_error(blocked, "StoppedError", "robot mode", "manual")
    assert robot.taken() == []


def test_an_emergency_stop_ends_it_at_once_and_blocks_it(client, robot):
    publisher = client.node.create_publisher(Bool, "emergency_stop", 1)
    sent = begin(client, robot)
    publisher.publish(Bool(data=True))
    check_error(sent.wait(), "StoppedError", "emergency stop")
    check_stop(robot, ended_early=False)
    check_error(execute(client, to_and_fro(1)).wait(), "StoppedError", "emergency stop")
    publisher.publish(Bool(data=False))
    start_at(client, robot)
    client.node.destroy_publisher(publisher)


def test_a_second_publisher_of_commands(client, robot):
    sent = begin(client, robot)
    publisher = client.node.create_publisher(JointState, "joint_commands", 1)
    error = check_error(sent.wait(), "ExecutionError", "command topic", "/joint_commands", "/test_client")
    client.node.destroy_publisher(publisher)
    assert list(error.subjects) == ["/joint_commands", "/test_client"]
    check_stop(robot)


def test_a_newer_goal_takes_over_without_a_jump(client, robot):
    first = begin(client, robot, follow)
    # To home, from wherever it is, in 4 s.
    goal = swing(ARM, HOME, HOME, duration=4.0, samples=2)
    goal.points = goal.points[1:]
    second = follow(client, goal).wait()
    assert second.status == GoalStatus.STATUS_SUCCEEDED, second.result.error_string
    assert first.wait().status == GoalStatus.STATUS_ABORTED
    assert first.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert "newer goal" in first.result.error_string
    # On its way into the new direction it may go a little further than the first goal would have.
    p = check_stop(robot, lowest=FAR[0] - 0.5)
    assert p[-1] == pytest.approx(HOME[0])


def test_a_newer_goal_that_is_not_valid_changes_nothing(client, robot):
    first = begin(client, robot, follow)
    goal = swing(ARM, HOME, [HOME[0], 3.0, *HOME[2:]], duration=4.0, samples=2)
    goal.points = goal.points[1:]
    second = follow(client, goal).wait()
    assert second.status == GoalStatus.STATUS_ABORTED
    assert ARM[1] in second.result.error_string
    assert not first.done.is_set()
    first.cancel()
    assert first.wait().status == GoalStatus.STATUS_CANCELED
    check_stop(robot)


def test_a_goal_without_some_of_the_joints_is_refused_if_that_is_not_allowed(client, robot):
    start_at(client, robot)
    goal = swing(ARM[:3], HOME[:3], FAR[:3])
    sent = follow(client, goal).wait()
    assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_JOINTS
    assert all(joint in sent.result.error_string for joint in ARM[3:])
    assert robot.taken() == []


def test_efforts_go_along_linearly(client, robot):
    start_at(client, robot)
    goal = swing(ARM, HOME, FAR, duration=3.0, samples=4)
    for point, effort in zip(goal.points, (0.0, 3.0, 6.0, 9.0), strict=True):
        point.effort = [effort] * len(ARM)
    assert follow(client, goal).wait().status == GoalStatus.STATUS_SUCCEEDED
    robot.wait_for_rest(ARM)
    efforts = np.array([message.effort for _, message in robot.taken()])
    assert efforts.min() >= 0.0
    assert efforts[-1] == pytest.approx(9.0)
    assert (np.diff(efforts, axis=0) >= 0.0).all()
    assert len(np.unique(efforts[:, 0])) > 10


# What gets in the way: the last part of a slow motion from home to the far place.
SLOW = 30.0
SPEED = 0.2  # scale of moves whose goal is the far place
BLOCKED_AT = -2.3


def in_the_way(beyond=0.0):
    """Where the tool, or a point beyond its tip, will be when the first joint is at the blocked place."""
    state = STATE.with_configuration(dict(zip(ARM, [BLOCKED_AT, *HOME[1:]], strict=True)))
    point = (world_pose(CELL, state, "gripper/tcp").matrix @ [0.0, 0.0, beyond, 1.0])[:3]
    return Pose(position=Point(x=point[0], y=point[1], z=point[2]))


def obstacle(size=0.1):
    change = SceneChange(operation=SceneChange.ADD)
    shape = Shape(geometry=Geometry(type=Geometry.BOX, dimensions=[size] * 3))
    change.models.bodies = [BodyModel(name="box", collision=[shape])]
    return change


def put(name, pose):
    return SceneChange(operation=SceneChange.MOVE, name=name, pose=pose)


@pytest.fixture
def box(client):
    """A box that is out of the way; it is gone after the test."""
    client.apply(obstacle(), put("box", Pose(position=Point(x=0.0, y=0.0, z=3.0))))
    yield
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="box"))


def blocked(client, robot, change, subjects):
    """A slow motion, into whose way something gets; it stops before that."""
    start_at(client, robot)
    sent = execute(client, swing(ARM, HOME, FAR, duration=SLOW, samples=301))
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.03)
    revision = client.apply(*change)
    error = check_error(sent.wait(), "StoppedError", "look-ahead", *subjects)
    numbers = {value.name: value.value for value in error.values}
    assert numbers["revision"] == revision
    assert 0.0 < numbers["time reached"] < numbers["time of the collision"] < SLOW
    p = check_stop(robot)
    scene, _ = client.scene()
    checker = CollisionChecker(scene.cell, scene.state, ARM)
    assert not checker.in_collision_batch(np.array([[value, *HOME[1:]] for value in p[::10]])).any()
    assert checker.in_collision(np.array([BLOCKED_AT, *HOME[1:]]))


def test_a_thing_that_is_moved_into_the_way(client, robot, box):
    blocked(client, robot, [put("box", in_the_way())], ["box"])


def test_a_thing_that_comes_new(client, robot):
    blocked(client, robot, [obstacle(), put("box", in_the_way())], ["box"])
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="box"))


def test_a_thing_that_was_hidden(client, robot, box):
    client.apply(SceneChange(operation=SceneChange.HIDE, name="box"), put("box", in_the_way()))
    blocked(client, robot, [SceneChange(operation=SceneChange.SHOW, name="box")], ["box"])


def test_a_thing_that_is_attached_to_the_robot(client, robot, box):
    """What the gripper gets to carry meets something that the gripper alone would not."""
    pillar = obstacle(0.05)
    pillar.models.bodies[0].name = "pillar"
    client.apply(pillar, put("pillar", in_the_way(beyond=0.135)))
    hanging = Pose(position=Point(z=0.25))
    attach = SceneChange(operation=SceneChange.ATTACH, name="box", attach_to="gripper", pose=hanging)
    blocked(client, robot, [attach], ["box", "pillar"])
    client.apply(SceneChange(operation=SceneChange.DETACH, name="box"))
    client.apply(SceneChange(operation=SceneChange.REMOVE, name="pillar"))


def test_what_is_not_ahead_does_not_stop_it(client, robot, box):
    start_at(client, robot)
    sent = execute(client, to_and_fro(1, duration=6.0))
    wait_for(robot, sent, lambda command: command[PAN] < BLOCKED_AT - 0.25)
    client.apply(put("box", in_the_way()))
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED
    check_stop(robot)


def request_to(configuration):
    return MotionRequest(goal=make_goal([dict(zip(ARM, configuration, strict=True))]))


def slow_move(client, robot, change, **options):
    start_at(client, robot)
    sent = move(client, request_to(FAR), speed_scale=SPEED, **options)
    wait_for(robot, sent, lambda command: command[PAN] < HOME[0] - 0.03)
    client.apply(*change)
    return sent


def test_a_move_stops_before_what_got_in_the_way(client, robot, box):
    sent = slow_move(client, robot, [put("box", in_the_way())]).wait()
    check_error(sent, "StoppedError", "look-ahead", "box")
    check_stop(robot)


def test_a_move_plans_a_way_around_if_asked(client, robot, box):
    sent = slow_move(client, robot, [put("box", in_the_way())], replan=True).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    assert sent.result.record.replans == 1
    robot.wait_for_rest(ARM)
    commands = robot.taken()
    assert positions(commands, ARM)[-1] == pytest.approx(FAR, abs=1e-9)
    scene, _ = client.scene()
    checker = CollisionChecker(scene.cell, scene.state, ARM)
    assert not checker.in_collision_batch(positions(commands, ARM)[::10]).any()
    # Neither the stop nor the new beginning is a jump.
    fastest = max(CELL.variables[joint].limits.velocity for joint in ARM)
    assert np.abs(np.diff(positions(commands, ARM), axis=0)).max() < TORN * SPEED * fastest * 1.01
    assert np.abs(velocities(commands, ARM)).max() < SPEED * fastest * 1.01


def test_a_killed_planning_node(client, robot, world):
    sent = begin(client, robot)
    world.nodes["planning_node"].kill()
    check_error(
        sent.wait(), "ServiceUnavailableError", "monitoring", "the planning node does not reply", "planning/look_ahead"
    )
    check_stop(robot)


def test_a_killed_execution_node(client, robot, world):
    begin(client, robot)
    world.nodes["execution_node"].kill()
    # Whatever was on its way has come when the robot has published twice a hundred times.
    robot.run_for(100)
    robot.taken()
    robot.run_for(100)
    assert robot.taken() == []
    world.heal()
    wait_until_answered(_scale_client(client), srv.SetSpeedScale.Request(scale=1.0))
    start_at(client, robot)
    sent = execute(client, swing(ARM, HOME, [-1.4, *HOME[1:]], duration=1.0)).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message


def test_a_killed_robot(client, robot, start_node):
    """The simulated robot takes the place of the one of this process."""
    start_at(client, robot)
    robot.silent = True
    node = start_node("simulated_robot_node", cell_file=DEMO, rate=200.0)
    came = threading.Event()
    subscription = client.node.create_subscription(JointState, "joint_states", lambda _: came.set(), 10)
    assert came.wait(60.0)
    client.node.destroy_subscription(subscription)
    # The execution node may find the new robot later than this process does.
    # Its arm sags a little, so that it never stands as exactly as the robot of this process does.
    assert any(stand(client, goal_tolerance=1e-3).status == GoalStatus.STATUS_SUCCEEDED for _ in range(200))
    robot.taken()
    sent = execute(client, to_and_fro())
    wait_for(robot, sent, lambda command: command[PAN] < -1.7)
    node.kill()
    check_error(sent.wait(), "FeedbackLostError", "no joint_states received for")
    check_stop(robot)


def test_a_killed_scene_node(client, robot, world):
    sent = begin(client, robot)
    world.nodes["scene_node"].kill()
    words = "monitoring", "the scene node does not reply", "scene/wait_for_state"
    check_error(sent.wait(), "ServiceUnavailableError", *words)
    check_stop(robot)
