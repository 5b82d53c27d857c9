"""Too many commands: each joint loses its own earliest ones, and none because another joint is flooded."""

from bisect import insort
from collections import defaultdict
from multiprocessing import Pipe

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.simulation.commands import JointCommand
from robot_cell_planner.simulation.operations import Disturb, Request
from robot_cell_planner.simulation.outbox import Outbox
from robot_cell_planner.simulation.process import TimedCommand, joints_of, without
from robot_cell_planner.simulation.quotas import Quotas

CAPACITY = 3


def test_a_command_without_some_of_its_joints_keeps_the_others():
    command = JointCommand({"a": 1.0, "b": 2.0}, {"b": 0.5, "c": 0.1}, {"d": 4.0})
    assert command.joints == {"a", "b", "c", "d"}
    assert command.without(("b", "d")) == JointCommand({"a": 1.0}, {"c": 0.1}, {})
    assert command.without(command.joints).is_empty


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sets(st.sampled_from("abc"), min_size=1), st.integers(0, 20), st.booleans()), max_size=40))
def test_each_joint_keeps_its_latest_commands(entries):
    """Commands in the order of their times, of which some are carried out in between; numbers tell them apart."""
    waiting = []
    quotas = Quotas(
        waiting, CAPACITY, lambda entry: frozenset(entry[1]), lambda entry, lost: (entry[0], entry[1] - lost)
    )
    expected, thinned = defaultdict(list), 0
    for number, (joints, time, carried_out) in enumerate(entries):
        entry = (time, number), set(joints)
        insort(waiting, entry)
        before = len(waiting)
        removed = quotas.added(entry)
        assert len(waiting) == before - removed
        lost = set()
        for joint in joints:
            insort(expected[joint], (time, number))
            if len(expected[joint]) > CAPACITY:
                lost.add(expected[joint].pop(0))
        thinned += len(lost)
        if carried_out and waiting:
            first = waiting.pop(0)
            quotas.removed(first)
            for joint in first[1]:
                assert expected[joint].pop(0) == first[0]
        for joint in "abc":
            assert [key for key, each in waiting if joint in each] == expected[joint]
    assert quotas.thinned == thinned
    assert all(joints for _, joints in waiting)


@pytest.fixture
def outbox():
    """An outbox to a process that reads nothing at first, and the other end."""
    here, there = Pipe()
    outbox = Outbox(here, CAPACITY, joints_of, without)
    yield outbox, there
    there.close()
    outbox.close()
    here.close()


def command(**positions):
    return TimedCommand(JointCommand(positions), None)


def fill(outbox):
    """Send until the connection takes no more; return the number of commands that it took."""
    count = 0
    while not outbox._waiting:
        outbox.put(command(filler=0.0, more=float(count)))
        count += 1
    return count - 1


def test_a_flood_of_one_joint_leaves_the_commands_of_others_and_requests(outbox):
    outbox, there = outbox
    taken = fill(outbox)
    request = Request(0, Disturb(()))
    outbox.put(command(rare=1.0))
    outbox.put(command(rare=2.0, flooded=-1.0))
    outbox.put(request)
    for number in range(100):
        assert outbox.put(command(flooded=float(number)))
    assert outbox.discarded == 98
    for _ in range(taken + 1):
        there.recv()
    found = [there.recv() for _ in range(outbox.accepted - taken - 1)]
    last = [command(flooded=float(number)) for number in (97, 98, 99)]
    assert found == [command(rare=1.0), command(rare=2.0), request, *last]


def test_too_many_requests_are_refused_and_commands_are_not(outbox):
    outbox, _ = outbox
    fill(outbox)
    assert [outbox.put(Request(number, Disturb(()))) for number in range(4)] == [True, True, True, False]
    assert outbox.put(command(a=1.0))
