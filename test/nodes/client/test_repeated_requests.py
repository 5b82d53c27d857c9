"""When requests without a reply are sent again: seldom to a server that has replied before, and every reply counts."""

import math
from types import SimpleNamespace

import pytest
from rclpy.task import Future

from robot_cell_planner.errors import ServiceUnavailableError
from robot_cell_planner.nodes.client import waits
from robot_cell_planner.nodes.common import remote_calls
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.server_monitor import (
    KNOWN_AGAIN,
    REQUEST_AGAIN,
    KnownServers,
    Server,
    ServerMonitor,
)

NAME = "planning/validate_trajectory"


@pytest.fixture
def monitor():
    node = SimpleNamespace(resolve_service_name=lambda name: f"/{name}")
    return ServerMonitor(node, NAME, False, KnownServers())


def test_a_server_is_known_from_its_first_reply_on(monitor):
    monitor._server = Server("/planning_node", None, endpoints=frozenset([b"1", b"2"]))
    assert not monitor.has_replied
    monitor.note_reply()
    assert monitor.has_replied


def test_the_monitors_of_a_name_share_what_they_know(monitor):
    other = ServerMonitor(monitor._node, NAME, False, monitor._known)
    monitor._server = other._server = Server("/planning_node", None, endpoints=frozenset([b"1"]))
    monitor.note_reply()
    assert other.has_replied


def test_a_server_that_was_restarted_is_not_known(monitor):
    monitor._server = Server("/planning_node", None, endpoints=frozenset([b"1"]))
    monitor.note_reply()
    monitor._server = Server("/planning_node", None, endpoints=frozenset([b"2"]))
    assert not monitor.has_replied


@pytest.mark.parametrize("server", [None, Server("/planning_node", None)])
def test_a_server_without_known_endpoints_is_not_known(monitor, server):
    monitor._server = server
    monitor.note_reply()
    assert not monitor.has_replied


class Clock:
    """Time that passes while a future is waited for."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class Client:
    """A client of a server that needs some time for a reply, and serves one request after the other."""

    def __init__(self, clock, needs):
        self.sent_at, self.futures = [], []
        self.clock, self._needs = clock, needs

    def call_async(self, request):
        self.sent_at.append(self.clock.now)
        self.futures.append(Future())
        return self.futures[-1]

    def remove_pending_request(self, future):
        future.cancel()

    def run(self, seconds):
        self.clock.now += seconds
        served = int(self.clock.now / self._needs + 1e-9)
        for number, future in enumerate(self.futures[:served]):
            if not (future.done() or future.cancelled()):
                future.set_result(number)


@pytest.fixture
def client(monkeypatch):
    clock = Clock()
    client = Client(clock, needs=20.0)

    class Futures(waits.Futures):
        def wait(self, seconds):
            client.run(seconds)
            return super().wait(0.0)

    async def outcome(node, future, token, seconds, what, is_there):
        while not future.done() and seconds > 1e-9:
            client.run(step := min(seconds, 1.0))
            seconds -= step
        if not future.done():
            raise ServiceUnavailableError("no reply")
        return future.result()

    monkeypatch.setattr(waits, "Futures", Futures)
    monkeypatch.setattr(waits, "time", clock)
    monkeypatch.setattr(remote_calls, "outcome", outcome)
    return client


class Alive:
    node = "/planning_node"

    def lost(self, ready):
        return False


def test_a_client_does_not_repeat_a_slow_request_to_a_server_that_it_knows(client):
    assert waits.reply_to(client, None, NAME, Alive(), lambda: True, 60.0, is_known=True) == 0
    assert client.sent_at == [0.0]


def test_a_client_repeats_a_request_that_may_be_lost(client):
    assert waits.reply_to(client, None, NAME, Alive(), lambda: True, 60.0) == 0
    assert client.sent_at == pytest.approx([0.0, REQUEST_AGAIN, 3 * REQUEST_AGAIN], abs=0.5)


def repeated(client, again, timeout=60.0):
    """Call `_repeated` of a node to its end."""
    send, drop = lambda: client.call_async(None), client.remove_pending_request
    work = remote_calls._repeated(None, send, drop, again, timeout, NAME, CancellationToken(), lambda: True)
    with pytest.raises(StopIteration) as end:
        work.send(None)
    return end.value.value


def test_the_reply_to_the_first_request_counts_after_it_was_repeated(client):
    """A request that was repeated is not computed in vain, and the next one need not wait for its own turn."""
    assert repeated(client, REQUEST_AGAIN) == 0
    assert client.clock.now == pytest.approx(20.0)
    assert len(client.sent_at) == math.ceil(math.log2(20.0 / REQUEST_AGAIN + 1.0))


def test_a_node_does_not_repeat_a_slow_request_to_a_server_that_it_knows(client):
    assert repeated(client, KNOWN_AGAIN) == 0
    assert client.sent_at == [0.0]


def test_no_request_stays_pending(client):
    repeated(client, REQUEST_AGAIN)
    assert all(future.done() or future.cancelled() for future in client.futures)
