"""Clocks that were set are distinguished from time that passed: in the stamps of joint_states, and on /clock."""

import math

import numpy as np
import pytest

from robot_cell_planner.nodes.common.clock_monitor import ClockMonitor
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback

SECOND = 1_000_000_000
START = 5 * SECOND
PERIOD = 0.005


class Joint:
    """Measurements of one joint; now: steady clock [s], stamp: of the robot's clock [ns]."""

    def __init__(self, speed=1.0):
        self.feedback = JointFeedback(jump=0.5)
        self.now, self.stamp = 0.0, START
        for _ in range(20):
            self.receive(PERIOD, speed * PERIOD)

    def receive(self, passed, robot_passed):
        self.now += passed
        self.stamp += round(robot_passed * SECOND)
        self.feedback.start_poll(self.now)
        received = START + round(self.now * SECOND)
        self.feedback.update(["joint"], [0.0], [], [], self.stamp, self.now, received)

    @property
    def lag(self):
        return self.feedback.lag(["joint"])

    @property
    def paused_at(self):
        return self.feedback.paused_at(["joint"])

    @property
    def faults(self):
        return [error.message for error in self.feedback.take_faults()]


def test_stamps_that_go_on_are_no_fault():
    joint = Joint()
    for passed in (PERIOD, 0.04, 0.9):
        joint.receive(passed, passed)
    assert joint.faults == []


@pytest.mark.parametrize("speed", [0.1, 3.0])
def test_a_simulation_may_be_slower_or_faster(speed):
    joint = Joint()
    for _ in range(1000):
        joint.receive(PERIOD, speed * PERIOD)
    assert joint.faults == []


@pytest.mark.parametrize("speed", [5.0, 22.0, 60.0, 100.0])
@pytest.mark.parametrize("interval", [0.02, 0.05])
def test_a_fast_simulation_sets_no_clock(speed, interval):
    """Also after a pause of this process, whether the messages that waited were kept or not."""
    joint = Joint(speed)
    for _ in range(100):
        joint.receive(interval, speed * interval)
    joint.receive(0.3, speed * 0.3)
    for _ in range(3):
        joint.receive(interval, speed * interval)
    joint.receive(0.3, speed * 0.02)
    joint.receive(0.0, speed * 0.28)
    assert joint.faults == []


@pytest.mark.parametrize("speed", [2.0, 5.0, 20.0])
@pytest.mark.parametrize("direction, sign", [("ahead", 1.0), ("back", -1.0)])
def test_a_fast_clock_of_the_robot_that_was_set(speed, direction, sign):
    joint = Joint(speed)
    for _ in range(100):
        joint.receive(0.02, speed * 0.02)
    joint.receive(0.02, speed * 0.02 + sign * 3.0)
    (fault,) = joint.faults
    assert f"set {direction}" in fault
    for _ in range(20):
        joint.receive(0.02, speed * 0.02)
    assert joint.faults == []


def test_delays_of_a_fast_simulation_count_on_the_steady_clock():
    """Stamps of a clock with another origin, of which a message comes 10 ms late."""
    feedback, speed, origin = JointFeedback(jump=0.5), 20.0, 1_700_000_000 * SECOND
    for step in range(200):
        now = 0.02 * step
        feedback.start_poll(now)
        late = 0.01 if step == 199 else 0.0
        received = origin + round(speed * now * SECOND)
        feedback.update(["joint"], [0.0], [], [], round(speed * (now - late) * SECOND) + 1, now, received)
    assert feedback.lag(["joint"]) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize("seconds, direction", [(1.5, "ahead"), (3600.0, "ahead"), (-1.5, "back"), (-4.5, "back")])
def test_a_clock_of_the_robot_that_was_set(seconds, direction):
    joint = Joint()
    joint.receive(PERIOD, PERIOD + seconds)
    (fault,) = joint.faults
    assert f"set {direction}" in fault
    joint.receive(PERIOD, PERIOD)
    assert joint.faults == []


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_messages_that_waited_unread_do_not_count_as_a_clock_that_was_set(kept):
    """After a pause of four seconds, the queued messages arrive at once, followed by new ones."""
    joint = Joint()
    joint.receive(4.0, PERIOD)
    for _ in range(kept):
        joint.receive(0.0, PERIOD)
    joint.receive(PERIOD, 4.0 - kept * PERIOD)
    assert joint.faults == []
    # The queued messages have arrived: the next step ahead is one of the clock.
    joint.receive(PERIOD, 1.5)
    assert len(joint.faults) == 1


def test_a_publisher_that_paused_sets_no_clock():
    """A simulation whose process was suspended publishes its old state, and then skips the time that it has lost."""
    joint = Joint()
    joint.receive(1.5, PERIOD)
    joint.receive(0.0, 1.5)
    joint.receive(PERIOD, PERIOD)
    assert joint.faults == []
    joint.receive(PERIOD, 1.5)
    assert len(joint.faults) == 1


def test_a_simulation_that_fell_behind_little_by_little_sets_no_clock():
    """On a busy computer each message arrives a little late; then the lost time is skipped at once."""
    joint = Joint()
    for _ in range(400):
        joint.receive(PERIOD, 0.1 * PERIOD)
    joint.receive(PERIOD, 1.8)
    assert joint.faults == []
    joint.receive(PERIOD, 1.5)
    assert len(joint.faults) == 1


def test_a_pause_of_the_publisher_or_of_the_node_is_noticed():
    for robot_passed in (0.3, PERIOD):
        joint = Joint()
        assert joint.paused_at == -math.inf
        joint.receive(0.3, robot_passed)
        assert joint.paused_at == joint.now


def test_a_pause_of_a_publisher_is_one_of_its_joints_and_a_pause_of_the_node_one_of_all():
    feedback, robots = JointFeedback(jump=0.5), ("left/elbow", "right/elbow")

    def receive(names, at):
        feedback.start_poll(at)
        for name in names:
            feedback.update([name], [0.0], [], [], START + round(at * SECOND), at)

    steps = (0.02 * np.arange(60)).tolist()
    for index, now in enumerate(steps):
        receive(robots if not 20 <= index < 40 else robots[:1], now)  # the right robot does not publish for 0.4 s
    assert feedback.paused_at(["right/elbow"]) == steps[40]
    assert feedback.paused_at(["left/elbow"]) == -math.inf
    assert feedback.paused_at(robots) == steps[40]
    receive((), steps[-1] + 3.0)
    assert feedback.paused_at(["left/elbow"]) == feedback.paused_at(["right/elbow"]) == steps[-1] + 3.0


@pytest.mark.parametrize("speed, lost", [(0.6, 1.0), (0.9, 0.2)])
def test_time_that_a_slow_simulation_skips_is_a_pause_of_the_robot(speed, lost):
    """It falls behind gradually, and then jumps to the present: the robot is at its old position, off its path."""
    joint, period = Joint(), 0.02
    for _ in range(round(lost / (1.0 - speed) / period)):
        joint.receive(period, speed * period)
    assert joint.paused_at == -math.inf
    joint.receive(period, period + lost)
    assert joint.paused_at == joint.now
    assert joint.faults == []


def test_a_simulation_slower_than_the_clock_lags_until_it_skips_time():
    joint = Joint()
    for _ in range(200):
        joint.receive(PERIOD, 0.5 * PERIOD)
    assert joint.lag == pytest.approx(0.5, abs=0.06)
    joint.receive(PERIOD, PERIOD + 0.5)
    assert joint.lag == pytest.approx(0.0, abs=PERIOD)


@pytest.mark.parametrize("speed", [1.0, 0.999, 0.96, 1.5])
def test_clocks_that_drift_do_not_lag(speed):
    joint = Joint()
    for _ in range(10_000):
        joint.receive(PERIOD, speed * PERIOD)
    assert joint.lag < 0.01


@pytest.mark.parametrize("seconds", [-0.5, 3600.0, -3600.0])
def test_a_clock_that_was_set_is_no_lasting_lag(seconds):
    joint = Joint()
    for sign in (1.0, -1.0):
        joint.receive(PERIOD, PERIOD + sign * seconds)
        for _ in range(4000):
            joint.receive(PERIOD, PERIOD)
        assert joint.lag < 0.01


@pytest.mark.parametrize("seconds", [3.0, 3600.0, -3600.0])
def test_a_clock_of_this_node_that_was_set_is_no_lag(seconds):
    joint, now = Joint(), 0.0
    for error in (0.0, seconds, 0.0):
        for _ in range(20):
            now += PERIOD
            stamp = joint.stamp + round(now * SECOND)
            received = stamp + round(error * SECOND)
            joint.feedback.start_poll(joint.now + now)
            joint.feedback.update(["joint"], [0.0], [], [], stamp, joint.now + now, received)
        assert joint.lag < 0.01


def test_messages_that_waited_for_this_process_do_not_lag():
    joint = Joint()
    joint.now += 2.0
    for _ in range(400):
        joint.receive(0.0, PERIOD)
        assert joint.lag == 0.0


def test_a_simulation_that_is_always_faster_does_not_pause():
    joint = Joint()
    for _ in range(100):
        joint.receive(PERIOD, 20.0 * PERIOD)
    assert joint.paused_at == -math.inf


def test_a_slow_publisher_does_not_pause_all_the_time():
    feedback, now = JointFeedback(jump=0.5), 0.0
    for index in range(100):
        now += 0.02
        feedback.start_poll(now)
        if index % 5 == 0:
            feedback.update(["joint"], [0.0], [], [], round(now * SECOND), now)
    assert feedback.paused_at(["joint"]) == -math.inf


@pytest.mark.parametrize("passed, step, faulty", [(PERIOD, 0.6, True), (0.1, 0.9, False), (0.5, 2.1, True)])
def test_a_joint_may_move_further_between_messages_that_are_far_apart(passed, step, faulty):
    joint = Joint()
    now, stamp = joint.now + passed, joint.stamp + round(passed * SECOND)
    joint.feedback.start_poll(now)
    joint.feedback.update(["joint"], [step], [], [], stamp, now)
    assert (len(joint.faults) == 1) is faulty


def test_how_long_a_joint_has_been_at_rest():
    joint = Joint()
    feedback, now = joint.feedback, joint.now
    since = now
    for index in range(1, 41):
        now += PERIOD
        position = 0.01 * min(index, 20)
        since = now if index <= 20 else since
        feedback.update(["joint"], [position], [], [], START + SECOND + index * SECOND // 200, now)
    assert feedback.stood_for(["joint"]) == pytest.approx(now - since)


def test_a_pause_may_fall_between_two_messages_that_waited():
    """The first of them was sent before the pause, the second after it; both are read at once."""
    joint = Joint()
    joint.receive(PERIOD, PERIOD)
    joint.receive(3.5, PERIOD)
    joint.receive(0.0, 3.5)
    assert joint.faults == []


def test_silence_is_counted_while_messages_are_read():
    """A suspended process has received nothing, whether or not it has polled again since."""
    joint = Joint()

    def age(passed):
        joint.now += passed
        return joint.feedback.age(["joint"], joint.now)

    def poll():
        joint.feedback.start_poll(joint.now)

    assert age(0.04) == pytest.approx(0.04)
    assert age(4.0) == pytest.approx(0.0)
    poll()
    assert age(0.01) == pytest.approx(0.01)
    for _ in range(100):
        poll()
        silence = age(0.02)
    assert silence == pytest.approx(2.01)


class TestClockOfTheNode:
    def test_time_that_runs_at_any_speed_or_stops(self):
        monitor = ClockMonitor()
        stamp, now = START, 0.0
        for passed, simulated in ((0.02, 0.02), (0.02, 0.002), (0.02, 0.2), (5.0, 5.0), (8.0, 0.0), (2.0, 10.0)):
            now, stamp = now + passed, stamp + round(simulated * SECOND)
            assert monitor.check(stamp, now) is None

    def test_the_first_time_is_no_jump(self):
        monitor = ClockMonitor()
        assert monitor.check(0, 0.0) is None
        assert monitor.check(START, 0.02) is None

    @pytest.mark.parametrize("seconds, direction", [(1.5, "ahead"), (-1.5, "back")])
    def test_a_jump_is_reported_once(self, seconds, direction):
        monitor = ClockMonitor()
        monitor.check(START, 0.0)
        stamp = START + round((seconds + 0.02) * SECOND)
        error = monitor.check(stamp, 0.02)
        assert f"set {direction}" in error.message
        assert math.isclose(error.values[0].value, 1.5, abs_tol=0.03)
        assert monitor.check(stamp + SECOND // 50, 0.04) is None

    @pytest.mark.parametrize("speed", [0.3, 5.0, 22.0, 60.0, 100.0])
    @pytest.mark.parametrize("interval", [0.02, 0.05])
    def test_a_fast_clock_is_no_jump_once_its_rate_was_seen(self, speed, interval):
        monitor, now = ClockMonitor(), 0.0
        for passed in (interval, interval):
            monitor.check(START + round(speed * now * SECOND), now)
            now += passed
        for passed in (*50 * [interval], 0.3, interval, 2.0, interval, interval):
            assert monitor.check(START + round(speed * now * SECOND), now) is None
            now += passed

    def test_a_fast_clock_that_is_late_may_catch_up(self):
        """A simulation that had little time for 0.2 s continues as fast as it can."""
        monitor, now, stamp = ClockMonitor(), 0.0, START
        for passed in (*50 * [0.1], *10 * [0.01], 1.3, 0.1, 0.1):  # on its clock, in 0.02 s
            assert monitor.check(stamp, now) is None
            now, stamp = now + 0.02, stamp + round(passed * SECOND)
        monitor.check(stamp, now)
        assert monitor.check(stamp + 2 * SECOND, now + 0.02) is not None  # it was not late

    @pytest.mark.parametrize("speed", [0.3, 1.0, 5.0, 20.0])
    @pytest.mark.parametrize("direction, sign", [("ahead", 1.0), ("back", -1.0)])
    def test_a_jump_of_a_clock_of_any_rate_is_reported_once(self, speed, direction, sign):
        monitor = ClockMonitor()
        found = []
        for step in range(100):
            jump = sign * 3.0 if step >= 50 else 0.0
            error = monitor.check(START + 10 * SECOND + round((0.02 * speed * step + jump) * SECOND), 0.02 * step)
            found += [(step, error.message, error.values[0].value)] if error is not None else []
        ((step, message, size),) = found
        assert step == 50
        assert f"set {direction}" in message
        assert math.isclose(size, 3.0, abs_tol=0.021 * max(speed, 1.0))

    def test_a_rate_that_changes_is_followed(self):
        monitor, now, stamp, found = ClockMonitor(), 0.0, START, []
        for step in range(100):
            error = monitor.check(stamp, now)
            found += [step] if error is not None else []
            now, stamp = now + 0.05, stamp + (SECOND // 20 if step < 50 else 3 * SECOND)
        assert found == [51, 52, 53]  # most of the last five intervals have the new rate


def test_a_pause_of_the_publisher_is_no_time_at_rest():
    """A robot that was suspended while it moved goes on from where it was; its first message repeats the last."""
    joint = Joint()
    joint.receive(3.0, 3.0)
    assert joint.feedback.stood_for(["joint"]) == 0.0
    joint.receive(PERIOD, PERIOD)
    assert joint.feedback.stood_for(["joint"]) == pytest.approx(PERIOD)


def test_a_slow_publisher_shows_how_long_its_robot_has_been_at_rest():
    feedback, period = JointFeedback(jump=0.5), 0.2
    for index in range(10):
        now = index * period
        feedback.start_poll(now, period)
        feedback.update(["joint"], [0.0], [], [], START + round(now * SECOND), now)
    assert feedback.stood_for(["joint"]) == pytest.approx(9 * period)


@pytest.mark.parametrize("burst", [0.02, 0.06, 0.1, 0.2])
def test_messages_that_arrive_in_bursts_show_how_long_their_robot_has_been_at_rest(burst):
    """As over a wireless network that saves power: 250 messages per second, which are read together."""
    feedback, sent = JointFeedback(jump=0.5), 0
    for index in range(1, 21):
        now = index * burst
        feedback.start_poll(now, burst)
        while sent * 0.004 < now:
            sent += 1
            read = now + 1e-4 * (sent % 50)
            feedback.update(["joint"], [0.0], [], [], START + round(0.004 * sent * SECOND), read)
    assert feedback.stood_for(["joint"]) == pytest.approx(19 * burst, abs=0.01)
    now += 3.0  # the robot is suspended
    for _ in range(3):
        sent, now = sent + 1, now + 0.02
        feedback.start_poll(now, burst)
        feedback.update(["joint"], [0.0], [], [], START + round((0.004 * sent + 3.0) * SECOND), now)
    assert feedback.stood_for(["joint"]) == pytest.approx(0.04)
