"""The command stream alone: no command is sent once commands are forbidden."""

import math
import threading
from contextlib import nullcontext

import numpy as np
import pytest
import rclpy
from std_msgs.msg import Bool

from robot_cell_planner.errors import ExecutionError, MotionBusyError, StoppedError
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.motion import command_stream
from robot_cell_planner.nodes.motion.channels import Channel
from robot_cell_planner.nodes.motion.command_stream import CommandStream
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock
from robot_cell_planner.nodes.motion.permission import MotionPermission
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

RATE = 500.0
REASON = StoppedError("the emergency stop is pressed", stage="emergency stop")


@pytest.fixture
def node(domain):
    context = rclpy.Context()
    rclpy.init(context=context)
    made = rclpy.create_node("stream", context=context)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


class Publisher:
    """Records the positions that are published. stop_at: forbids commands once so many are."""

    topic_name = "joint_commands"

    def __init__(self, stop_at):
        self.sent, self.calls, self._stop_at = [], 0, stop_at
        self.forbidden = threading.Event()

    def publish(self, values):
        assert not self.forbidden.is_set()
        self.sent.append(list(values.positions))

    def is_forbidden(self, _):
        if len(self.sent) < self._stop_at:
            return 0, None
        self.forbidden.set()
        return 1, REASON


def line(on_end):
    trajectory = Trajectory(("joint",), np.array([0.0, 10.0]), np.array([[0.0], [1.0]]))
    return Channel(("joint",), "owner", trajectory, 1.0, SamplerOptions(), on_end)


@pytest.mark.parametrize("hold", [False, True])
def test_no_command_follows_once_it_is_forbidden(node, hold):
    publisher, ended = Publisher(100), threading.Event()
    clock = node.get_clock()
    stream = CommandStream(
        node,
        publisher,
        rate=RATE,
        clock=SteadyClock(node, lambda: clock.now().nanoseconds * 1e-9),
        hold=hold,
        forbidden=publisher.is_forbidden,
    )
    channel = line(ended.set)
    stream.start(channel, {})
    assert ended.wait(60.0)
    assert channel.failure is REASON
    with pytest.raises(StoppedError):
        stream.start(line(ended.set), {})
    stream.close()
    assert len(publisher.sent) == 100
    assert stream.commanded == {}


@pytest.mark.parametrize("part", ["CommandValues.fill", "CommandStream._count", "successors.hand_over"])
def test_an_error_in_the_thread_ends_the_motions_but_not_the_thread(node, monkeypatch, part):
    """Without its thread, the node would send no command any more, and report all motions as moving."""
    publisher, ended, clock = Publisher(math.inf), threading.Event(), node.get_clock()
    stream = CommandStream(node, publisher, rate=RATE, clock=SteadyClock(node, lambda: clock.now().nanoseconds * 1e-9))
    failures = [ZeroDivisionError("broken")]
    owner, name = part.split(".")
    used = getattr(getattr(command_stream, owner), name)

    def fail_once(*arguments):
        if publisher.sent and failures:
            raise failures.pop()
        return used(*arguments)

    monkeypatch.setattr(getattr(command_stream, owner), name, fail_once)
    channel = line(ended.set)
    stream.start(channel, {})
    assert ended.wait(60.0)
    assert isinstance(channel.failure, ZeroDivisionError)
    count = len(publisher.sent)
    again = line(threading.Event().set)
    stream.start(again, {})
    while len(publisher.sent) <= count:
        pass
    assert again.failure is None
    stream.close()


def test_an_end_that_cannot_be_reported_does_not_end_the_thread(node):
    publisher, clock = Publisher(math.inf), node.get_clock()
    stream = CommandStream(node, publisher, rate=RATE, clock=SteadyClock(node, lambda: clock.now().nanoseconds * 1e-9))
    called, ended = threading.Event(), threading.Event()

    def fail():
        called.set()
        raise RuntimeError("the node was destroyed")

    trajectory = Trajectory(("joint",), np.array([0.0, 0.01]), np.array([[0.0], [1e-6]]))
    for on_end, event in ((fail, called), (ended.set, ended)):
        channel = Channel(("joint",), "owner", trajectory, 1.0, SamplerOptions(), on_end)
        stream.start(channel, {})
        assert event.wait(60.0)
        stream.drop(channel)
    stream.close()


def test_no_motion_begins_for_a_joint_that_moves_or_is_about_to(node):
    """Also for a joint that belongs only to the motion that will replace the running one."""
    moves, publisher = threading.Event(), Publisher(math.inf)
    stream = CommandStream(node, publisher, rate=RATE, clock=SteadyClock(node))
    running = line(moves.set)
    stream.start(running, {})
    for _ in range(10_000):
        if running.sampler is not None:
            break
        moves.wait(0.01)
    trajectory = Trajectory(("joint", "further"), np.array([0.0, 10.0]), np.zeros((2, 2)))
    newer = Channel(
        ("joint", "further"), "newer", trajectory, 1.0, SamplerOptions(), moves.set, begins=stream.now() + 1e6
    )
    assert stream.replace(running, newer, running.sampler.time_scaling)
    for joint in newer.joints:
        single = Trajectory((joint,), np.array([0.0, 1.0]), np.zeros((2, 1)))
        with pytest.raises(MotionBusyError, match=joint):
            stream.start(Channel((joint,), "other", single, 1.0, SamplerOptions(), moves.set), {})
    stream.close()


def test_the_emergency_stop_is_detected_while_the_node_is_busy(domain):
    """No executor spins: the thread of the commands checks itself. A stop that is released at once counts, too."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("permission", context=context)
    changes = []
    permission = MotionPermission(node, (), changes.append)
    publisher = node.create_publisher(Bool, "emergency_stop", reliable(10))
    count, reason = permission.forbidden(0)
    assert (count, reason) == (0, None)
    pressed = released = False
    moment = threading.Event()
    for _ in range(10_000):
        if publisher.get_subscription_count():
            publisher.publish(Bool(data=True))
            publisher.publish(Bool(data=False))
            break
        moment.wait(0.01)
    for _ in range(10_000):
        times, reason = permission.forbidden(count)
        pressed = pressed or (reason is not None and reason.stage == "emergency stop" and times == 1)
        released = pressed and permission.forbidden(times)[1] is None
        if released:
            break
        moment.wait(0.001)
    assert pressed
    assert released
    assert permission.reason is None
    permission.report_change()
    permission.report_change()
    assert [None if change is None else change.stage for change in changes] == ["emergency stop", None]
    node.destroy_node()
    rclpy.shutdown(context=context)


def reaches(condition):
    """Whether a condition becomes true."""
    moment = threading.Event()
    return any(condition() or moment.wait(0.01) for _ in range(3_000))


def test_a_stop_that_was_pressed_before_the_node_started_counts(node):
    """It is published as a latched message; any publisher may release it."""
    button = node.create_publisher(Bool, "emergency_stop", reliable(10, latched=True))
    button.publish(Bool(data=True))
    permission = MotionPermission(node, (), lambda _: None)
    assert reaches(lambda: permission.reason is not None)
    panel = node.create_publisher(Bool, "emergency_stop", reliable(10))
    assert reaches(lambda: panel.get_subscription_count() > 0)
    panel.publish(Bool(data=False))
    assert reaches(lambda: permission.reason is None)


class FastClock(SteadyClock):
    """A clock that goes on at a rate of its own, and may stand."""

    rate, may_stand = 1.0, True


@pytest.mark.parametrize("rate, is_refused", [(1.0, False), (49.0, False), (51.0, True)])
def test_no_motion_begins_if_its_commands_would_be_further_apart_than_a_gap(node, rate, is_refused):
    clock = FastClock(node)
    clock.rate = rate
    stream = CommandStream(node, Publisher(math.inf), rate=RATE, clock=clock, max_command_gap=50.0 / RATE)
    with pytest.raises(ExecutionError, match="too fast") if is_refused else nullcontext():
        stream.check_rate()
    stream.close()


def test_no_command_is_sent_twice_for_one_time(node):
    """A clock that stands: the last command is the setpoint, and motions end also then."""
    times = iter([*np.repeat(np.arange(50.0) * 0.004, 3), *[0.2] * 100_000])
    publisher, moments, ended = Publisher(math.inf), [], threading.Event()

    class Standing(FastClock):
        def moment(self):
            moments.append(next(times))
            return moments[-1], round(1e9 * moments[-1])

    stream = CommandStream(node, publisher, rate=RATE, clock=Standing(node))
    channel = line(ended.set)
    stream.start(channel, {})
    while len(moments) < 300:
        assert not ended.wait(0.01)
    stream.close()
    assert len(publisher.sent) == len(set(moments)) == 51
    assert (np.diff([position for (position,) in publisher.sent]) > 0.0).all()
