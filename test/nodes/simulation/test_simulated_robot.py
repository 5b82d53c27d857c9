"""The simulated robot through its topics: it follows commands, refuses invalid ones, and ends without errors."""

import math
import os
import signal
import statistics
import threading
import time
from itertools import pairwise

import pytest
from builtin_interfaces.msg import Time
from loaded_cells import loaded
from rosgraph_msgs.msg import Clock
from running import DEMO, RunningNode
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import (
    DisturbanceError,
    InvalidRequestError,
    SimulationError,
    UnknownNameError,
)
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.msg import SimulationDisturbance, SimulationDisturbances, SimulationState
from robot_cell_planner.nodes.common.node import LATCHED, reliable, sensor
from robot_cell_planner.nodes.conversions.basic import pose_from_message, time_from_message, time_to_message

pytestmark = pytest.mark.alone

RATE = 200.0
STAY = 20  # states
TIMEOUT = 120.0
ARM = (
    "shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
)  # fmt: skip


class Robot:
    """Commands the simulated robot and stores what it publishes."""

    def __init__(self, node):
        self.node = node
        self.states = []
        self.reports = []
        self.clock = []
        self._changed = threading.Condition()
        self._commands = node.create_publisher(JointState, "joint_commands", reliable(10))
        self._subscriptions = [
            node.create_subscription(JointState, "joint_states", lambda m: self._keep(self.states, m), reliable(10)),
            node.create_subscription(
                SimulationState, "simulation/state", lambda m: self._keep(self.reports, m), reliable(10)
            ),
            node.create_subscription(Clock, "/clock", lambda m: self._keep(self.clock, m), sensor(10)),
        ]

    def _keep(self, kept, message):
        with self._changed:
            kept.append(message)
            self._changed.notify_all()

    def wait(self, condition, what):
        """Wait until a condition holds; it is checked when a message has arrived."""
        with self._changed:
            if not self._changed.wait_for(condition, TIMEOUT):
                raise AssertionError(f"{what} did not happen within {TIMEOUT} s")

    def command(self, names, positions=(), velocities=(), efforts=(), stamp=None):
        message = JointState(name=list(names))
        message.position, message.velocity, message.effort = list(positions), list(velocities), list(efforts)
        message.header.stamp = stamp or Time()
        self._commands.publish(message)

    def position(self, name):
        state = self.states[-1]
        return state.position[list(state.name).index(name)]

    def is_connected(self):
        return self._commands.get_subscription_count() > 0 and bool(self.states) and bool(self.reports)

    def go_to(self, **positions):
        """Command positions, and wait until the joints stay there: earlier commands that were not executed yet may
        lead them past."""
        self.command(positions, positions.values())
        begin = len(self.states)

        def is_there():
            return len(self.states) >= begin + STAY and all(
                abs(state.position[list(state.name).index(name)] - value) < 1e-3
                for state in self.states[-STAY:]
                for name, value in positions.items()
            )

        self.wait(is_there, f"reaching {positions}")


@pytest.fixture(scope="module")
def node(start_node):
    return start_node("simulated_robot_node", cell_file=DEMO, rate=RATE, state_rate=20.0)


@pytest.fixture(scope="module")
def robot(node, client):
    robot = Robot(client.node)
    robot.wait(robot.is_connected, "the first state")
    return robot


def wait_for_output(robot, node, words):
    """Wait until the node has printed something."""
    robot.wait(lambda: words in node.output, f"{words!r} in the output of the node")


def test_joint_states_are_whole_and_even(robot):
    start = len(robot.states)
    robot.wait(lambda: len(robot.states) > start + 100, "more states")
    states = robot.states[start : start + 100]
    names = (*ARM, "finger_joint", "right_finger_joint")
    for state in states:
        assert tuple(state.name) == names
        for values in (state.position, state.velocity, state.effort):
            assert len(values) == len(names)
            assert all(math.isfinite(value) for value in values)
    stamps = [time_from_message(state.header.stamp) for state in states]
    intervals = [later - earlier for earlier, later in pairwise(stamps)]
    assert statistics.median(intervals) == pytest.approx(1e9 / RATE, abs=2e5)
    assert abs(stamps[-1] - robot.node.get_clock().now().nanoseconds) < 60e9


def test_it_starts_in_the_state_of_the_file_and_reports_the_bodies(robot):
    cell, state = loaded()
    for name, value in state.configuration.items():
        assert robot.position(name) == pytest.approx(value, abs=1e-3)
    report = robot.reports[-1]
    assert report.header.frame_id == "world"
    assert [body.name for body in report.bodies] == list(cell.bodies)
    for body in report.bodies:
        distance, angle = pose_from_message(body.pose, body.name).distance_to(state.bodies[body.name].pose)
        assert distance < 1e-4
        assert angle < 1e-3
    assert list(report.contacts) == []


def test_joints_without_a_command_yet_stay_where_they_are_without_a_warning(robot, node):
    robot.command(ARM, [math.nan] * len(ARM))
    robot.command(["elbow_joint", "finger_joint"], [math.nan, 0.01])
    robot.wait(lambda: abs(robot.position("finger_joint") - 0.01) < 1e-3, "the commanded joint moving")
    assert robot.position("elbow_joint") == pytest.approx(1.9, abs=1e-3)
    assert "is nan" not in node.output


def test_a_part_of_the_joints_in_any_order(robot):
    robot.go_to(wrist_3_joint=0.3, shoulder_pan_joint=-1.1)
    assert robot.position("elbow_joint") == pytest.approx(1.9, abs=1e-3)
    robot.go_to(finger_joint=0.02)
    assert robot.position("right_finger_joint") == pytest.approx(0.02, abs=1e-3)
    robot.command(["finger_joint", "stranger", "gripper/finger_joint"], [0.01, 1.0, 0.03])
    robot.go_to(**{"finger_joint": 0.03})


def test_joints_of_tools_are_commanded_by_either_of_their_names(robot, node):
    """Their states have the short name, which the other nodes accept as well."""
    robot.command(["gripper/finger_joint"], [0.02])
    robot.wait(lambda: abs(robot.position("finger_joint") - 0.02) < 1e-3, "the joint moving by its full name")
    robot.go_to(finger_joint=0.03)
    robot.command(["gripper/finger", "wrist_3_joint"], [0.0, 0.05])
    robot.wait(lambda: abs(robot.position("wrist_3_joint") - 0.05) < 1e-3, "the joint with a name that exists moving")
    wait_for_output(robot, node, "joint_commands: driven joint 'gripper/finger' does not exist; nearest: ")
    robot.go_to(wrist_3_joint=0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(robot, node, bad):
    robot.go_to(elbow_joint=1.9)
    robot.command(["elbow_joint", "wrist_3_joint"], [bad, -0.1])
    robot.wait(lambda: abs(robot.position("wrist_3_joint") + 0.1) < 1e-3, "the joint with a good number moving")
    assert robot.position("elbow_joint") == pytest.approx(1.9, abs=1e-3)
    wait_for_output(robot, node, "position of joint elbow_joint is nan; the joint keeps its last command")
    robot.go_to(wrist_3_joint=0.0)


def test_lists_that_do_not_fit_are_refused_and_the_node_continues(robot, node):
    robot.command(["elbow_joint", "wrist_3_joint"], [1.0])
    wait_for_output(robot, node, "joint_commands: rejected: there are 2 names and 1 values of position")
    robot.command([], [1.0, 2.0])
    robot.command(["elbow_joint"] * 3, [1.0] * 3)
    robot.go_to(wrist_3_joint=0.1)


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ({"positions": [9.0]}, "position of joint elbow_joint is 9, beyond its limit"),
        ({"velocities": [99.0]}, "velocity of joint elbow_joint is 99, beyond its limit"),
        ({"efforts": [1e6]}, "effort of joint elbow_joint is 1e+06, beyond its limit"),
    ],
)
def test_commands_beyond_limits_are_refused_by_name_and_the_joint_holds(robot, node, lists, words):
    robot.go_to(elbow_joint=1.9)

    def is_reported():  # warnings of one kind are throttled
        robot.command(["elbow_joint"], **lists)
        return words in node.output

    robot.wait(is_reported, f"{words!r} in the output of the node")
    robot.go_to(wrist_3_joint=robot.position("wrist_3_joint") + 0.1)
    assert robot.position("elbow_joint") == pytest.approx(1.9, abs=1e-3)
    robot.go_to(wrist_3_joint=0.0)


FLOOD = 20_000


def test_a_flood_of_commands_ends_where_the_last_one_leads(robot, node):
    """Far more than the node can read; it executes the newest of the received ones, and continues to publish."""
    before = len(robot.states)
    for number in range(FLOOD):
        robot.command(["wrist_3_joint"], [0.2 * (1.0 - math.cos(20.0 * number / FLOOD))])
    robot.go_to(wrist_3_joint=0.15)
    assert len(robot.states) > before
    assert node.process.poll() is None
    robot.go_to(wrist_3_joint=0.1)


@pytest.mark.parametrize("kind", ["velocities", "efforts"])
def test_a_joint_holds_when_commands_cease(robot, kind):
    """Commands of a velocity or an effort; after `command_timeout`, the joint is at rest."""
    robot.go_to(wrist_3_joint=0.1)
    robot.command(["wrist_3_joint"], **{kind: [0.5]})
    robot.wait(lambda: abs(robot.position("wrist_3_joint") - 0.1) > 1e-3, "a motion")
    robot.wait(lambda: abs(robot.states[-1].velocity[5]) < 1e-6, "rest")
    where = robot.position("wrist_3_joint")
    count = len(robot.states)
    robot.wait(lambda: len(robot.states) > count + 100, "half a second of states")
    assert robot.position("wrist_3_joint") == pytest.approx(where, abs=1e-5)
    robot.go_to(wrist_3_joint=0.1)


STREAMS = 10  # tried on a computer that is too busy to send or to follow one


def test_a_stream_is_followed_at_its_stamps(robot):
    for _ in range(STREAMS):
        start = robot.position("wrist_2_joint")
        median = statistics.median(errors_along_a_stream(robot, start))
        robot.go_to(wrist_2_joint=start)
        if median < 5e-4:
            return
    raise AssertionError(f"half of the states are {median} rad or more from where the commands led at their stamps")


def errors_along_a_stream(robot, start):
    """How far a joint is from where it should be at the stamps of its states, along two seconds of commands."""
    began = robot.node.get_clock().now().nanoseconds

    def swing(stamp):
        seconds = (stamp - began) / 1e9
        return start + 0.4 * (1.0 - math.cos(2.0 * seconds)), 0.8 * math.sin(2.0 * seconds)

    first, due = len(robot.states), time.monotonic()
    for _ in range(500):
        now = robot.node.get_clock().now().nanoseconds
        position, velocity = swing(now)
        robot.command(["wrist_2_joint"], [position], [velocity], stamp=time_to_message(now))
        due += 0.004
        time.sleep(max(due - time.monotonic(), 0.0))
    errors = []
    for state in robot.states[first:]:
        stamp = time_from_message(state.header.stamp)
        if began + 2e8 < stamp < now:
            errors.append(abs(state.position[list(state.name).index("wrist_2_joint")] - swing(stamp)[0]))
    return errors


def test_velocities_alone_drive_a_joint_for_a_while(robot):
    start = robot.position("wrist_3_joint")
    for _ in range(5):
        robot.command(["wrist_3_joint"], velocities=[0.5])
    robot.wait(lambda: robot.position("wrist_3_joint") > start + 0.03, "turning")
    robot.wait(lambda: abs(robot.states[-1].velocity[5]) < 1e-6, "coming to rest")


def test_contacts_are_reported_with_their_pair_force_and_time(robot):
    robot.command(["shoulder_lift_joint", "elbow_joint"], [-0.9, 1.9])
    robot.wait(lambda: bool(robot.reports[-1].contacts), "touching the table")
    robot.wait(lambda: any(c.max_force > 1.0 for c in robot.reports[-1].contacts), "pressing on the table")
    report = robot.reports[-1]
    touch = report.contacts[0]
    assert touch.name_a < touch.name_b
    assert "workpiece" not in (touch.name_a, touch.name_b)
    stamps = [time_from_message(stamp) for stamp in (touch.first, touch.last, report.header.stamp)]
    assert stamps[0] <= stamps[1] <= stamps[2] + 1e6
    assert touch.steps > 0
    assert 0.0 <= touch.max_depth < 0.05
    robot.go_to(shoulder_lift_joint=-1.9)


def children(process):
    return [int(word) for word in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()]


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def test_a_service_changes_the_controller_of_joints(robot, client):
    request = srv.SetJointController.Request(names=["manipulator"], type="computed_torque")
    request.setting_names, request.setting_values = ["bandwidth"], [80.0]
    reply = client.call_service(srv.SetJointController, "simulation/set_controller", request)
    assert reply.joints == list(ARM)
    robot.go_to(shoulder_pan_joint=0.2)
    client.call_service(
        srv.SetJointController, "simulation/set_controller", srv.SetJointController.Request(type="motor")
    )
    robot.go_to(shoulder_pan_joint=0.0)


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"type": "perfect"}, InvalidRequestError, "controller 'perfect'"),
        ({"type": "pid", "setting_names": ["bandwidth"]}, InvalidRequestError, "1 setting_names and 0"),
        ({"type": "pid", "setting_names": ["band"], "setting_values": [1.0]}, InvalidRequestError, "'band'.*bandwidth"),
        ({"type": "pid", "setting_names": ["bandwidth"], "setting_values": [-1.0]}, InvalidRequestError, "0 to 1000"),
        ({"type": "motor", "names": ["elbow"]}, UnknownNameError, "'elbow'.*elbow_joint"),
        ({"type": "cartesian_impedance", "frame": "moon"}, UnknownNameError, "moon"),
    ],
)
def test_invalid_controllers_are_refused(client, robot, fields, kind, words):
    request = srv.SetJointController.Request(**fields)
    with pytest.raises(kind, match=words):
        client.call_service(srv.SetJointController, "simulation/set_controller", request)


def control(client, command, **fields):
    request = srv.ControlSimulation.Request(command=command, **fields)
    return client.call_service(srv.ControlSimulation, "simulation/control", request)


def test_time_is_paused_and_continues_in_steps(robot, client):
    kinds = srv.ControlSimulation.Request
    begin = control(client, kinds.PAUSE)
    assert begin.paused
    later = control(client, kinds.STEP, steps=20)
    while later.time - begin.time < 20 / RATE - 1e-9:
        later = control(client, kinds.STATUS)
    assert later.paused
    assert control(client, kinds.STATUS).time - begin.time == pytest.approx(20 / RATE, abs=1e-9)
    assert not control(client, kinds.CONTINUE).paused
    robot.go_to(shoulder_pan_joint=0.1)
    with pytest.raises(SimulationError, match="paused"):
        control(client, kinds.STEP, steps=1)
    with pytest.raises(SimulationError, match="publish_clock"):
        control(client, kinds.SET_TIME_FACTOR, time_factor=2.0)
    with pytest.raises(InvalidRequestError, match="command is 9"):
        control(client, 9)


def test_injected_disturbances_are_published(robot, client):
    active = []
    robot.node.create_subscription(SimulationDisturbances, "simulation/disturbances", active.append, LATCHED)
    bias = SimulationDisturbance(kind=SimulationDisturbance.ENCODER_BIAS, name="elbow_joint", value=0.01)
    request = srv.DisturbSimulation.Request(disturbances=[bias])
    before = robot.position("elbow_joint")
    reply = client.call_service(srv.DisturbSimulation, "simulation/disturb", request)
    assert [each.kind for each in reply.active] == ["encoder_bias"]
    robot.wait(lambda: active and list(active[-1].disturbances) == [bias], "the publication of the bias")
    request = srv.DisturbSimulation.Request(clear=True)
    client.call_service(srv.DisturbSimulation, "simulation/disturb", request)
    robot.wait(lambda: not active[-1].disturbances, "the publication of its end")
    robot.wait(lambda: abs(robot.position("elbow_joint") - before) < 1e-3, "the true position")
    bad = SimulationDisturbance(kind="earthquake")
    with pytest.raises(DisturbanceError, match="'earthquake'"):
        client.call_service(
            srv.DisturbSimulation, "simulation/disturb", srv.DisturbSimulation.Request(disturbances=[bad])
        )


def test_a_reset_gives_the_state_of_the_file(robot, client):
    robot.go_to(shoulder_pan_joint=0.3)
    control(client, srv.ControlSimulation.Request.RESET)
    start = load_cell(DEMO)[1].configuration["shoulder_pan_joint"]
    robot.wait(lambda: abs(robot.position("shoulder_pan_joint") - start) < 1e-3, "the start position")


def test_it_ends_on_request_and_so_do_its_physics(node, robot):
    physics = children(node.process)
    node.stop()
    assert node.process.returncode == 0
    assert "Traceback" not in node.output
    assert physics
    assert all(map(is_gone, physics))


@pytest.fixture(scope="module")
def fast_node(node, robot, start_node):
    """A node on simulated time, once the other one has ended."""
    node.stop()
    robot.states.clear()
    robot.reports.clear()
    fast = start_node(
        "simulated_robot_node", cell_file=DEMO, rate=100.0, publish_clock=True, real_time_factor=4.0, state_rate=50.0
    )
    robot.wait(lambda: robot.is_connected() and len(robot.states) > 100, "the first states")
    return fast


def test_simulated_time_is_even_and_on_the_clock(fast_node, robot):
    stamps = [time_from_message(state.header.stamp) for state in robot.states]
    assert stamps[0] < 1e11
    gaps = [later - earlier for earlier, later in pairwise(stamps)]
    assert min(gaps) == 10_000_000
    assert all(gap % 10_000_000 == 0 for gap in gaps), gaps  # a busy computer loses some of what is sent at best effort
    assert {time_from_message(message.clock) for message in robot.clock} & set(stamps)
    robot.go_to(wrist_3_joint=0.2)


def test_without_its_physics_the_node_ends_and_reports_it(fast_node):
    for pid in children(fast_node.process):
        os.kill(pid, signal.SIGKILL)
    assert fast_node.wait() == 4  # unlike a node that cannot start, it is started again
    assert "simulated_robot_node: simulation: the process of the physics ended with status -9" in fast_node.output
    assert "Traceback" not in fast_node.output


def test_physics_end_with_a_node_that_is_killed(fast_node, robot, start_node):
    fast_node.stop()
    robot.states.clear()
    robot.reports.clear()
    node = start_node("simulated_robot_node", cell_file=DEMO)
    robot.wait(robot.is_connected, "the first state")
    physics = children(node.process)
    node.kill()
    deadline = time.monotonic() + TIMEOUT
    while not all(map(is_gone, physics)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert physics
    assert all(map(is_gone, physics))


def test_it_runs_in_mujoco(fast_node, robot, start_node):
    fast_node.stop()
    robot.states.clear()
    robot.reports.clear()
    node = start_node("simulated_robot_node", cell_file=DEMO, engine="mujoco")
    robot.wait(robot.is_connected, "the first state")
    start = robot.position("elbow_joint")
    robot.go_to(shoulder_pan_joint=0.2, finger_joint=0.02)
    assert robot.position("elbow_joint") == pytest.approx(start, abs=1e-3)
    assert robot.position("right_finger_joint") == pytest.approx(0.02, abs=1e-3)
    node.stop()
    assert node.process.returncode == 0


BAD_STARTS = {
    "cell_file is empty": {},
    "/no/such/cell.yaml": {"cell_file": "/no/such/cell.yaml"},
    "rate is 0.0, expected 1 to 1000": {"cell_file": DEMO, "rate": 0.0},
    "real_time_factor is 2, expected 1 unless publish_clock": {"cell_file": DEMO, "real_time_factor": 2.0},
    "time_step is 1.0, expected 0.0001 to 0.01": {"cell_file": DEMO, "time_step": 1.0},
    "engine": {"cell_file": DEMO, "engine": "gazebo"},
    "parameter friction": {"cell_file": DEMO, "friction": "slippery"},
}


@pytest.fixture(scope="module")
def bad_starts(domain):
    """Nodes that cannot start, all tried at once, each in a namespace of its own."""
    return {
        words: RunningNode("simulated_robot_node", domain, namespace=f"bad_start_{number}", **given)
        for number, (words, given) in enumerate(BAD_STARTS.items())
    }


@pytest.mark.parametrize("words", BAD_STARTS)
def test_a_bad_start_ends_in_one_line(bad_starts, words):
    node = bad_starts[words]
    assert node.wait() != 0
    assert len(node.lines) == 1, node.output
    assert node.lines[0].startswith("simulated_robot_node: ")
    assert words in node.lines[0]
