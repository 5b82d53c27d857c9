"""Time of motions on a simulated clock, whose messages arrive late and irregularly, and are read at irregular times."""

import itertools

import numpy as np
import pytest

from robot_cell_planner.nodes.motion.clock_follower import AHEAD, GAPS, MAX_AHEAD, MAX_STEP, ClockFollower

SECOND = 1_000_000_000
BEGIN = 1000 * SECOND  # the first time of the clock
POLL, DELAY = 0.004, 0.003  # [s] between reads, and maximum delay of a message
MAX_GAP = 0.6  # [s]
STEP = 0.004  # [s] of the clock between two of its messages


class Clock:
    """A clock that is read by a follower.

    rows: (steady clock, time, stamp, latest reading) of each read; times in seconds since the begin.
    """

    def __init__(self, rate, seed=0, step=STEP):
        self.follower, self.rate, self.step, self.rows = ClockFollower(MAX_GAP), rate, step, []
        self._random = np.random.default_rng(seed)
        self._steady, self._present, self._reading = 50.0, 0.0, 0.0
        self._messages = []  # that are on their way: (arrival, reading)
        self._delivers_from = 0.0
        self.follower.note(BEGIN, self._steady)

    def run(self, seconds):
        """Let time pass on the steady clock."""
        until = self._steady + seconds
        while self._steady < until:
            passed = POLL * self._random.uniform(0.5, 2.0)
            before, self._present = self._present, self._present + self.rate * passed
            for reading in np.arange(np.floor(before / self.step) + 1, np.floor(self._present / self.step) + 1):
                since = passed * (reading * self.step - before) / (self._present - before)
                arrival = max(self._steady + since + self._random.uniform(0.0, DELAY), self._delivers_from)
                self._messages.append((arrival, float(reading * self.step)))
            self._steady += passed
            while self._messages and self._messages[0][0] <= self._steady:
                self._reading = self._messages.pop(0)[1]
            self.follower.note(BEGIN + round(self._reading * SECOND), self._steady)
            self.follower.advance(self._steady)
            stamp = (self.follower.stamp - BEGIN) / SECOND
            self.rows.append((self._steady, self.follower.time, stamp, self._reading))
        return np.array(self.rows)

    def hold_back(self, seconds):
        """Let messages arrive late for a time, all at once."""
        self._delivers_from = self._steady + seconds

    def set_by(self, seconds):
        self._messages.clear()
        self._present += seconds


def check_order(rows):
    """Time never decreases, and is never further ahead of the clock than it may be."""
    assert (np.diff(rows[:, 1]) >= 0.0).all()
    largest = np.maximum.accumulate(np.diff(rows[:, 3], prepend=0.0))
    ahead = rows[:, 2] - rows[:, 3]
    assert (ahead <= np.minimum(AHEAD * np.maximum(largest, STEP), MAX_AHEAD) + 1e-9).all()


@pytest.mark.parametrize(
    "rate, step, seed", itertools.product([0.02, 0.3, 1.0, 2.0, 5.0, 20.0], [0.001, STEP, 0.02], [1, 2])
)
def test_durations_are_those_of_the_clock(rate, step, seed):
    clock = Clock(rate, seed, step)
    rows = clock.run(8.0)
    check_order(rows)
    late = rows[:, 3] - rows[:, 1]  # a reading may be as old as a delay, and comes once per step
    assert np.abs(late).max() <= MAX_AHEAD
    settled = len(rows) // 4
    bound = AHEAD * np.median(np.diff(np.unique(rows[:, 3]))) + 2.0 * rate * (2.0 * POLL + DELAY)
    assert np.abs(late[settled:]).max() <= bound
    assert rows[-1, 1] == pytest.approx(rate * (rows[-1, 0] - 50.0), abs=bound)
    assert np.allclose(rows[:, 1], rows[:, 2], atol=1e-8)  # the clock was not set


@pytest.mark.parametrize("rate", [0.3, 1.0, 5.0])
def test_time_is_more_even_than_the_readings(rate):
    rows = Clock(rate, 3).run(8.0)
    steady, times, readings = (rows[len(rows) // 2 :, column] for column in (0, 1, 3))
    unevenness = [np.std(each - rate * steady) for each in (times, readings)]
    assert unevenness[0] < unevenness[1]


@pytest.mark.parametrize("rate", [0.3, 1.0, 5.0])
def test_time_stands_with_the_clock_and_goes_on_from_there(rate):
    clock = Clock(rate)
    clock.run(3.0)
    clock.rate, last = 0.0, clock._present
    rows = clock.run(10.0)
    ahead = AHEAD * rate * (2.0 * POLL + DELAY) + AHEAD * STEP
    assert rows[-1, 1] == rows[len(rows) // 2, 1] <= last + ahead
    assert clock.follower.stands(rows[-1, 0])
    stood = len(rows)
    clock.rate = rate
    rows = clock.run(3.0)
    check_order(rows)
    assert not clock.follower.stands(rows[-1, 0])
    assert np.diff(rows[stood - 1 :, 1]).max() <= 2.0 * ahead
    assert rows[-1, 1] == pytest.approx(clock._present, abs=2.0 * ahead)


@pytest.mark.parametrize("delay", [0.03, 0.09, 0.4])
def test_time_that_was_missed_is_made_up_for(delay):
    """Messages that arrive late do not make the motion longer."""
    clock = Clock(1.0)
    clock.run(3.0)
    clock.hold_back(delay)
    rows = clock.run(3.0)
    check_order(rows)
    assert rows[-1, 1] == pytest.approx(clock._present, abs=0.03)


@pytest.mark.parametrize("rate", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("jump", [3600.0, -600.0, 1.5 * MAX_STEP, -1.5 * MAX_STEP])
@pytest.mark.parametrize("stands", [False, True])
def test_time_does_not_follow_a_clock_that_is_set(rate, jump, stands):
    clock = Clock(rate)
    clock.run(3.0)
    if stands:
        clock.rate = 0.0
        clock.run(10.0)
    begin, clock.rate = len(clock.rows), rate
    clock.set_by(jump)
    rows = clock.run(3.0)
    steps = np.diff(rows[begin - 1 :, 1])
    assert steps.min() >= 0.0
    ahead = AHEAD * rate * (2.0 * POLL + DELAY) + AHEAD * STEP
    pauses = steps[steps > 2.0 * ahead]
    assert pauses.tolist() == pytest.approx([GAPS * MAX_GAP] if stands else [])
    assert steps.sum() - pauses.sum() == pytest.approx(3.0 * rate, abs=4.0 * ahead)
    assert rows[-1, 2] == pytest.approx(clock._present, abs=2.0 * ahead)  # stamps do


def test_readings_that_are_missing_for_long_are_a_pause():
    """The robot has had no commands while its time went on, and rests."""
    clock = Clock(1.0)
    clock.run(3.0)
    clock.hold_back(2.0 * MAX_STEP)
    begin = len(clock.rows)
    steps = np.diff(clock.run(3.0)[begin - 1 :, 1])
    assert steps[steps > 0.1].tolist() == pytest.approx([GAPS * MAX_GAP])


def test_a_clock_that_becomes_faster_or_slower_is_followed():
    clock = Clock(1.0)
    for rate in (1.0, 6.0, 0.2, 2.0):
        clock.rate = rate
        rows = clock.run(3.0)
    check_order(rows)
    assert rows[-1, 1] == pytest.approx(clock._present, abs=0.05)


@pytest.mark.parametrize("rate, share", [(0.25, 0.75), (1.0, 0.0), (4.0, 0.0)])
def test_time_for_which_it_stood_is_what_is_missing_to_the_steady_clock(rate, share):
    clock = Clock(rate)
    rows = clock.run(8.0)
    elapsed = rows[-1, 0] - 50.0
    assert clock.follower.stood(rows[-1, 0]) == pytest.approx(share * elapsed, abs=0.04 * elapsed)
    clock.rate = 0.0
    clock.run(8.0)
    assert clock.follower.stood(clock.rows[-1][0]) == pytest.approx(share * elapsed + 8.0, abs=0.04 * elapsed + 0.1)


def test_without_a_reading_there_is_no_time():
    follower = ClockFollower(MAX_GAP)
    follower.advance(1.0)
    assert (follower.time, follower.stamp, follower.started) == (0.0, 0, False)
    assert not follower.stands(100.0)
    assert follower.stood(100.0) == 0.0
