"""Calls at given times, most of which are cancelled."""

import threading
import time

import pytest

from robot_cell_planner.system.alarm import FEWEST_TO_CLEAR, Alarm

LATER = 1000.0  # [s]
CALLS = 10 * FEWEST_TO_CLEAR
PATIENCE = 60.0  # [s]


@pytest.fixture
def alarm():
    alarm = Alarm()
    yield alarm
    alarm.close()


def test_calls_are_made_in_the_order_of_their_times(alarm):
    made, done = [], threading.Event()
    begun = time.monotonic()
    for number in (3, 1, 2):
        alarm.at(begun + 0.05 * number, lambda number=number: made.append((number, time.monotonic())))
    alarm.at(begun + 0.2, done.set)
    assert done.wait(PATIENCE)
    assert [number for number, _ in made] == [1, 2, 3]
    assert all(moment >= begun + 0.05 * number for number, moment in made)


def test_an_earlier_call_does_not_wait_for_a_later_one(alarm):
    for _ in range(3):
        alarm.at(time.monotonic() + LATER, lambda: None)
        done = threading.Event()
        alarm.at(time.monotonic() + 0.01, done.set)
        assert done.wait(PATIENCE)
    assert len(alarm) == 3


def test_the_thread_does_not_wake_for_later_and_cancelled_calls(alarm, monkeypatch):
    notices, notify = [], alarm._changed.notify
    monkeypatch.setattr(alarm._changed, "notify", lambda: notices.append(1) or notify())
    first = alarm.at(time.monotonic() + LATER, lambda: None)
    for number in range(CALLS):
        entry = alarm.at(time.monotonic() + LATER + number, lambda: None)
        alarm.call_off(entry)
    assert len(alarm) == 1
    alarm.call_off(first)
    done = threading.Event()
    alarm.at(time.monotonic(), done.set)
    assert done.wait(PATIENCE)
    assert len(alarm) == 0
    assert len(notices) <= 2, "for the first call and for the last one"


def test_cancelled_entries_before_one_that_is_due_are_skipped(alarm):
    made, done = [], threading.Event()
    now = time.monotonic()
    entries = [alarm.at(now + 0.05, lambda: made.append(1)) for _ in range(CALLS)]
    alarm.at(now + 0.06, done.set)
    for entry in entries:
        alarm.call_off(entry)
    assert done.wait(PATIENCE)
    assert made == []
    assert len(alarm) == 0
