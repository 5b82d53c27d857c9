"""Nodes on simulated time whose clock starts late, runs faster than real time, stops, and is set back."""

import threading
import time

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from loaded_cells import loaded
from rosgraph_msgs.msg import Clock
from running import DEMO
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from robot_cell_planner import srv
from robot_cell_planner.errors import StaleStateError, TransformError
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.basic import time_from_message, time_to_message

CELL, STATE = loaded()
JOINTS = list(CELL.variables)
SECOND = 10**9
RATE = 3.0  # simulated seconds per second
PERIOD = 0.02  # [s] of the simulation's messages
BEGIN, EARLIER = 1000 * SECOND, 10 * SECOND
LONG = 60.0  # [s]
LOOKUP = "kinematics/lookup_transforms"


class Simulation:
    """Publishes /clock and joint_states as a simulation does; its time passes at `rate`."""

    def __init__(self, node):
        self.rate, self._now, self._node = 0.0, 0, node
        self._last = time.monotonic()
        self._tf = node.create_publisher(TFMessage, "/tf", reliable(100))
        self._guard = threading.Lock()
        self._timer = None

    def run(self, rate, now=None):
        with self._guard:
            self.rate, self._last = rate, time.monotonic()
            self._now = self._now if now is None else now
        if self._timer is None:
            self._clock = self._node.create_publisher(Clock, "/clock", 10)
            self._joints = self._node.create_publisher(JointState, "joint_states", 10)
            self._timer = self._node.create_timer(PERIOD, self._publish)

    def now(self):
        with self._guard:
            passed = time.monotonic() - self._last
            self._last += passed
            self._now += int(self.rate * passed * SECOND)
            return self._now

    def _publish(self):
        stamp = time_to_message(self.now())
        self._clock.publish(Clock(clock=stamp))
        joints = JointState(name=JOINTS, position=[STATE.configuration[name] for name in JOINTS])
        joints.header.stamp = stamp
        self._joints.publish(joints)

    def transform(self, child, x, stamp):
        entry = TransformStamped(child_frame_id=child)
        entry.header.frame_id, entry.header.stamp = "world", time_to_message(stamp)
        entry.transform.translation.x, entry.transform.rotation.w = x, 1.0
        self._tf.publish(TFMessage(transforms=[entry]))


@pytest.fixture(scope="module")
def simulation(client):
    return Simulation(client.node)


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, simulation):
    start_node("scene_node", cell_file=DEMO, use_sim_time=True)
    start_node("kinematics_node", use_sim_time=True, transform_timeout=0.05)
    client.scene()


def latest(client, kind, topic, holds):
    """The first message that fulfils a condition."""
    found, arrived = [], threading.Event()

    def take(message):
        if holds(message):
            found.append(message)
            arrived.set()

    subscription = client.node.create_subscription(kind, topic, take, reliable(50))
    assert arrived.wait(LONG), topic
    client.node.destroy_subscription(subscription)
    return found[0]


def state_at(client, stamp, timeout=LONG):
    """The stamp of the joints in a state that was measured at a stamp or later."""
    reference = StateRef(min_joint_stamp=time_to_message(stamp))
    reference.timeout.sec, reference.timeout.nanosec = int(timeout), int(timeout % 1.0 * SECOND)
    request = srv.ForwardKinematics.Request(state=reference, frames=["tool0"], mode=3)
    reply = client.call_service(srv.ForwardKinematics, "kinematics/forward_kinematics", request)
    return time_from_message(reply.state.joint_stamp)


def x_of(client, frame, stamp=0):
    request = srv.LookupTransforms.Request(frames=[frame], stamp=time_to_message(stamp))
    return client.call_service(srv.LookupTransforms, LOOKUP, request).poses[0].position.x


def wait_until(condition):
    until = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_known(client, frame, stamp=0):
    try:
        x_of(client, frame, stamp)
    except TransformError:
        return False
    return True


def test_before_the_clock_starts_nodes_answer_and_stamp_with_zero(client):
    message = latest(client, DiagnosticArray, "/diagnostics", lambda m: m.status[0].name == "scene")
    assert message.header.stamp == Time()
    assert x_of(client, "world") == 0.0


def test_stamps_and_waits_follow_a_clock_that_is_faster_than_real_time(client, simulation):
    simulation.run(RATE, BEGIN)
    assert state_at(client, simulation.now() + 2 * SECOND) >= BEGIN + 2 * SECOND
    now = simulation.now()
    published = latest(client, TFMessage, "/tf", lambda m: _is_of_robot(m) and _stamp(m) > now)
    assert _stamp(published) <= simulation.now()

    def is_of_scene(message):
        """The clock of a node that a busy computer holds up is behind."""
        return message.status[0].name == "scene" and time_from_message(message.header.stamp) >= now

    diagnostics = latest(client, DiagnosticArray, "/diagnostics", is_of_scene)
    assert time_from_message(diagnostics.header.stamp) <= simulation.now()


def test_frames_of_tf_are_looked_up_at_simulated_times(client, simulation):
    stamp = simulation.now() - SECOND
    for fraction in (0, 1):
        simulation.transform("part", 0.2 * fraction, stamp + fraction * SECOND)
    wait_until(lambda: is_known(client, "part", stamp + SECOND))
    assert x_of(client, "part", stamp + SECOND // 4) == pytest.approx(0.05)


def test_while_the_clock_is_stopped_requests_are_answered_and_waits_end(client, simulation):
    simulation.run(0.0)
    stopped_at = simulation.now()
    state_at(client, stopped_at)
    assert is_known(client, "part")
    with pytest.raises(StaleStateError, match=r"older than requested, after 0\.2 s"):
        state_at(client, stopped_at + SECOND, timeout=0.2)
    message = latest(client, DiagnosticArray, "/diagnostics", lambda m: m.status[0].name == "kinematics")
    assert time_from_message(message.header.stamp) <= stopped_at


def test_after_the_clock_was_set_back_earlier_measurements_are_discarded(client, simulation):
    """As when a simulation is reset: the joints are followed again, and frames of the other time are unknown."""
    assert is_known(client, "part")
    simulation.run(1.0, EARLIER)
    wait_until(lambda: not is_known(client, "part"))
    wait_until(lambda: EARLIER <= state_at(client, EARLIER) < BEGIN)
    simulation.transform("part", 0.7, simulation.now())
    wait_until(lambda: is_known(client, "part"))
    assert x_of(client, "part") == pytest.approx(0.7)
    latest(client, TFMessage, "/tf", lambda m: _is_of_robot(m) and EARLIER <= _stamp(m) < BEGIN)


def _is_of_robot(message):
    return any(entry.child_frame_id == "forearm_link" for entry in message.transforms)


def _stamp(message):
    return time_from_message(message.transforms[0].header.stamp)
