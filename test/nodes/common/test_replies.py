"""Replies are sent again while their client is not discovered, as on a busy computer."""

import threading
import warnings

import pytest
from rclpy.service import Service
from std_srvs.srv import Trigger

from robot_cell_planner.nodes.common import replies
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.node import CellNode

TEXT = "failed to send response (timeout): client will not receive response"


def warned():
    """As in rclpy: a warning that is raised as an error."""
    warnings.warn(TEXT, RuntimeWarning, stacklevel=1)


def ignored_by_c():
    """The error that Python raises for a C function that returns normally after it has raised."""
    try:
        warned()
    except RuntimeWarning as error:
        raise SystemError("returned a result with an exception set") from error


@pytest.fixture
def answered(client, monkeypatch):
    """Answer a request whose client is discovered after some attempts to reply. Returns the reply, None for none, the
    number of attempts, that of replies sent, and that of faults."""
    monkeypatch.setattr(replies, "FIRST_DELAY", 0.01)
    real = Service.send_response

    def answered(unknown, fault):
        attempts, sent, ended = [], [], threading.Event()

        def send(service, response, header):
            attempts.append(response)
            if len(attempts) <= unknown:
                if len(attempts) == replies.ATTEMPTS:
                    ended.set()
                with warnings.catch_warnings():
                    warnings.filterwarnings("error", replies.UNKNOWN_CLIENT, RuntimeWarning)
                    fault()
            real(service, response, header)  # may find the client unknown, too
            sent.append(response)

        monkeypatch.setattr(Service, "send_response", send)
        node = CellNode("late_node", sole=False)
        executor = GuardedExecutor(node.faults)
        executor.add_node(node)
        node.create_service(Trigger, "late", lambda _, response: Trigger.Response(success=True, message="here"))
        thread = threading.Thread(target=executor.spin)
        thread.start()
        try:
            late = client.node.create_client(Trigger, "late")
            assert late.wait_for_service(60.0)
            future = late.call_async(Trigger.Request())
            future.add_done_callback(lambda _: ended.set())
            assert ended.wait(60.0)
            client.node.destroy_client(late)
        finally:
            executor.create_task(executor.end)
            thread.join()
            executor.shutdown()
            node.destroy_node()
        return future.result(), len(attempts), len(sent), node.faults.count

    return answered


@pytest.mark.parametrize("fault", [warned, ignored_by_c])
@pytest.mark.parametrize("unknown", [0, 1, 3])
def test_a_client_that_is_discovered_late_gets_its_reply(answered, unknown, fault):
    reply, attempts, sent, faults = answered(unknown, fault)
    assert reply.message == "here"
    assert attempts > unknown
    assert (sent, faults) == (1, 0)


def test_a_client_that_is_never_discovered_is_given_up(answered):
    reply, attempts, sent, faults = answered(100, warned)
    assert reply is None
    assert (attempts, sent, faults) == (replies.ATTEMPTS, 0, 0)


def test_other_errors_of_sending_are_faults_of_the_node(answered, monkeypatch):
    def fails():
        raise SystemError("another one")

    monkeypatch.setattr(replies, "ATTEMPTS", 1)  # the first attempt ends the wait
    reply, attempts, _, faults = answered(1, fails)
    assert (reply, attempts) == (None, 1)
    assert faults == 1
