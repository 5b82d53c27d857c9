"""Callbacks of the client node, in its only thread: they may publish, and do not wait for themselves."""

import threading

import pytest
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.common.node import reliable

TIMEOUT = 60.0  # [s] for a callback


@pytest.fixture
def client(domain):
    with CellClient("test_callbacks", discovery_timeout=TIMEOUT / 2.0) as client:
        yield client


def run(client, function):
    """Run a function as a callback of the client node. Returns a function that waits for its end, or raises its
    error."""
    task = client._executor.create_task(function)
    done = threading.Event()
    task.add_done_callback(lambda _: done.set())

    def ended():
        assert done.wait(TIMEOUT), "the callback has not ended"
        return task.result()

    return ended


def test_the_first_command_of_a_callback_is_published(client):
    client_of_commands = threading.Event()
    with client.subscribed(JointState, "servo/twist_of_test", lambda _: client_of_commands.set(), reliable(10)):
        run(client, lambda: client._publish(JointState, "servo/twist_of_test", JointState()))()
        assert client_of_commands.wait(TIMEOUT)


def test_a_callback_publishes_while_another_thread_makes_its_first_call(client):
    """The first call of a service makes its client in the thread of the callbacks, which are busy."""
    is_in_callback, is_called = threading.Event(), threading.Event()
    original = client._executor.create_task

    def create_task(function, *arguments, **keywords):
        task = original(function, *arguments, **keywords)
        if threading.current_thread() is caller:
            is_called.set()
        return task

    def publish():
        is_in_callback.set()
        assert is_called.wait(TIMEOUT)
        client.send_twist([0.0, 0.0, 0.1])

    def first_call():
        client._entity("scene/get_cell", lambda: client.node.create_client(srv.GetCell, "scene/get_cell"))

    client.send_twist([0.0, 0.0, 0.1])
    ended = run(client, publish)
    assert is_in_callback.wait(TIMEOUT)
    caller = threading.Thread(target=first_call)
    client._executor.create_task = create_task
    caller.start()
    ended()
    caller.join(TIMEOUT)
    assert "scene/get_cell" in client._clients


def test_a_call_of_a_callback_is_refused_at_once(client):
    with pytest.raises(InvalidRequestError, match="cannot wait for a reply"):
        run(client, client.scene)()
    with pytest.raises(InvalidRequestError, match="cannot wait for a reply"):
        run(client, client.simulation)()
    with pytest.raises(InvalidRequestError, match="cannot wait for a reply"):
        run(client, lambda: client.plan_motion("home"))()


def test_a_callback_cannot_close_the_client_which_stays_open(client):
    with pytest.raises(InvalidRequestError, match="cannot close the client"):
        run(client, client.close)()
    client.send_twist([0.0, 0.0, 0.1])
    client.close()
    assert not client._thread.is_alive()
