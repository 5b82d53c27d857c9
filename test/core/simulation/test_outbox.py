"""Messages to a process that reads late: none blocks who sends it, whatever its size and its descriptor."""

import fcntl
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from robot_cell_planner.simulation.outbox import Outbox
from robot_cell_planner.simulation.repetition import Repetition
from robot_cell_planner.system.readiness import SELECTABLE, wait_readable, wait_writable

LARGE = b"x" * (1 << 22)  # bytes, more than a socket holds


def renumbered(connection):
    """The same connection by a descriptor that select(2) does not support."""
    number = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, SELECTABLE + 100)
    connection.close()
    return Connection(number)


@pytest.fixture(params=["low", "high"])
def pair(request):
    here, there = Pipe()
    if request.param == "high":
        here, there = renumbered(here), renumbered(there)
    yield here, there
    for end in (here, there):
        if not end.closed:
            end.close()


@pytest.fixture
def outbox(pair):
    here, there = pair
    outbox = Outbox(here, 10, lambda message: frozenset(), lambda message, joints: message)
    yield outbox
    there.close()
    outbox.close()


def test_messages_arrive_in_order_and_large_ones_do_not_block_the_sender(outbox, pair):
    sent = [b"first", LARGE, b"second", LARGE, b"third"]
    assert all(outbox.put(message) for message in sent)  # before anything is read
    assert [pair[1].recv() for _ in sent] == sent
    assert outbox.accepted == len(sent)


def test_a_message_that_the_other_end_never_reads_does_not_prevent_the_end(outbox, pair):
    assert outbox.put(LARGE)
    pair[1].close()
    outbox.close()
    assert not outbox.put(b"more")


def test_a_message_that_is_being_sent_does_not_count_as_waiting(outbox, pair):
    assert outbox.put(LARGE)
    pair[1].poll(None)  # the first part has arrived
    assert [outbox.put(number) for number in range(11)] == [True] * 10 + [False]
    assert pair[1].recv() == LARGE
    assert [pair[1].recv() for _ in range(10)] == list(range(10))


def test_waits_see_data_space_and_the_end(pair):
    here, there = pair
    assert not wait_readable(here, 0.0)
    assert wait_writable(here, 0.0)
    there.send(1)
    assert wait_readable(here)
    here.recv()
    there.close()
    assert wait_readable(here)
    assert wait_writable(here)


def test_repeated_samples_end_with_a_message(pair):
    here, there = pair
    there.send(1)
    Repetition(0.0, lambda: 0, print).wait(here)
    assert here.recv() == 1
