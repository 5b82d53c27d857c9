"""The client does not wait for servers that have ended, and resends only requests that may be resent."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from folders import SUPPORT
from rclpy.action import ActionClient
from unique_identifier_msgs.msg import UUID

from robot_cell_planner import action, srv
from robot_cell_planner.errors import (
    CancelledError,
    InvalidRequestError,
    OutcomeUnknownError,
    ServerLostError,
    ServiceUnavailableError,
)
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.client import inspection
from robot_cell_planner.nodes.client import waits as client_waits
from robot_cell_planner.nodes.client.client import CellClient, make_goal
from robot_cell_planner.nodes.client.usage import Usage
from robot_cell_planner.nodes.common import server_monitor
from robot_cell_planner.nodes.common.goal_requests import RepeatableActionClient
from robot_cell_planner.nodes.common.presence import NameTakenError, Observed, Presence
from robot_cell_planner.nodes.common.server_monitor import is_idempotent

PROGRAM = SUPPORT / "stubborn_server.py"
FOR_EVER = 86_400.0
CHECK = srv.CheckStates, "collision/check_states", srv.CheckStates.Request()
CHANGE = srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request()
STATE = srv.GetState, "scene/get_state", srv.GetState.Request()


class Server:
    """The server program, and its output."""

    def __init__(self, *arguments):
        command = [sys.executable, str(PROGRAM), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def wait_for(self, word):
        for line in self.process.stdout:
            if line.startswith(word):
                return
        raise AssertionError(f"it never printed {word!r}")

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        try:
            self.rest = self.process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@pytest.fixture
def server(domain):
    server = Server()
    yield server
    if server.process.poll() is None:
        server.end(signal.SIGINT)


@pytest.fixture
def client(domain):
    """A client that has discovered no server that was killed before."""
    with CellClient("test_client", discovery_timeout=60.0) as client:
        yield client


class Call:
    """A call in a thread of its own."""

    def __init__(self, function, *arguments, **keywords):
        self.error = None
        self._thread = threading.Thread(target=self._run, args=(function, arguments, keywords), daemon=True)
        self._thread.start()

    def _run(self, function, arguments, keywords):
        try:
            function(*arguments, **keywords)
        except Exception as error:
            self.error = error

    def wait(self):
        self._thread.join(200)
        assert not self._thread.is_alive(), "it waits for ever"
        return self.error


@pytest.fixture
def no_graph(monkeypatch):
    """Without the graph, which reports a killed process only after its lease has expired."""
    monkeypatch.setattr(server_monitor, "GRAPH_TIMEOUT", float("inf"))


@pytest.fixture
def no_presence(monkeypatch):
    """As if the server ran on another computer: only the graph reports it."""

    def find(domain, node):
        raise LookupError(node)

    monkeypatch.setattr(server_monitor, "Observed", find)


def plan(client, **keywords):
    return client.plan_motion(make_goal(["home"]), **keywords)


def test_a_goal_whose_server_is_killed_ends_with_an_error_that_names_it(server, client, no_graph):
    call = Call(plan, client, timeout=FOR_EVER)
    server.wait_for("goal")
    server.end()
    error = call.wait()
    assert isinstance(error, ServerLostError)
    assert "planning/plan_motion" in error.message
    assert "/stubborn_node" in error.message


def test_a_goal_is_lost_although_another_server_has_taken_the_place(server, client, no_graph, monkeypatch):
    monkeypatch.setattr(client_waits, "CHECK_PERIOD", 1.0)  # the server is replaced between two checks
    call = Call(plan, client, timeout=FOR_EVER)
    server.wait_for("goal")
    server.end()
    other = Server()
    try:
        assert isinstance(call.wait(), ServerLostError)
    finally:
        other.end()


def test_a_call_ends_with_its_server_although_another_one_has_found_the_replacement(
    server, client, no_graph, monkeypatch
):
    monkeypatch.setattr(client_waits, "CHECK_PERIOD", 5.0)  # another call begins before the next check
    call = Call(client.call_service, *CHANGE, timeout=FOR_EVER)
    server.wait_for("request")
    server.end()
    next_call = Call(client.call_service, *CHANGE, timeout=FOR_EVER)
    other = Server()
    try:
        other.wait_for("request")
        assert isinstance(call.wait(), OutcomeUnknownError)
    finally:
        other.end()
    assert isinstance(next_call.wait(), OutcomeUnknownError)


def test_a_server_of_another_computer_that_is_replaced_is_lost(server, client, no_presence):
    call = Call(plan, client, timeout=FOR_EVER)
    server.wait_for("goal")
    server.end(signal.SIGINT)
    other = Server()
    try:
        assert isinstance(call.wait(), ServerLostError)
    finally:
        other.end()


def test_a_server_that_does_not_have_the_goal_is_not_waited_for(server, client, monkeypatch):
    """The result is requested again, and the server's replacement reports that it has no such goal."""
    monkeypatch.setattr(client_waits, "REQUEST_AGAIN", 0.0)
    monkeypatch.setattr(client_waits, "ENDED", (0, 1, 2, 3, 4, 5, 6))
    monkeypatch.setattr(server_monitor.ServerMonitor, "lost", lambda self, ready: False)
    call = Call(plan, client, timeout=FOR_EVER)
    server.wait_for("goal")
    server.end()
    other = Server()
    try:
        error = call.wait()
        assert isinstance(error, ServerLostError)
        assert "the goal is lost (the node was restarted)" in error.message
    finally:
        other.end()


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_goal_that_nobody_answers_is_sent_again(client, lost):
    for timeout in (5.0, 40.0):  # a busy computer takes longer
        server = Server(lost)
        try:
            error = Call(plan, client, timeout=timeout).wait()
        finally:
            server.end()
        if isinstance(error, ServiceUnavailableError):
            break
    assert isinstance(error, ServiceUnavailableError), "it was accepted, and has not ended in time"
    assert "unanswered\n" in server.rest
    assert server.rest.count("goal\n") == 1


def test_a_goal_that_is_sent_again_is_carried_out_once(server, client):
    actions = client._made(lambda: RepeatableActionClient(client.node, action.PlanMotion, "planning/plan_motion"))
    assert actions.wait_for_server(60.0)
    faults = client.node.faults.count
    for goal_id in (UUID(uuid=[1] * 16), UUID(uuid=[2] * 16)):
        first = client._wait(client._send_goal_async(actions, action.PlanMotion.Goal(), goal_id=goal_id), 60.0, "goal")
        assert first.accepted
        again = client._send_goal_async(actions, action.PlanMotion.Goal(), goal_id=goal_id)
        other = client._wait(client._send_goal_async(actions, action.PlanMotion.Goal()), 60.0, "goal")
        assert other.accepted
        assert not again.done(), "its response, which arrived before, is ignored"
        for _ in (first, other):
            server.wait_for("goal")
    assert client.node.faults.count == faults
    server.end()
    assert "goal" not in server.rest


def test_a_request_that_reads_is_lost_with_its_server(server, client, no_graph):
    call = Call(client.call_service, *STATE, timeout=FOR_EVER)
    server.wait_for("request")
    server.end()
    error = call.wait()
    assert isinstance(error, ServerLostError)
    assert "/stubborn_node" in error.message


def test_the_outcome_of_a_change_is_not_known_when_its_server_is_killed(server, client, no_graph):
    call = Call(client.call_service, *CHANGE, timeout=FOR_EVER)
    server.wait_for("request")
    server.end()
    error = call.wait()
    assert isinstance(error, OutcomeUnknownError)
    assert "scene/get_state" in error.message, "how to find out"


@pytest.mark.parametrize("prefix", ["", "/"])
def test_a_lost_reply_is_requested_again(server, client, monkeypatch, prefix):
    monkeypatch.setattr(client_waits, "REQUEST_AGAIN", 0.3)
    kind, name, request = CHECK
    assert client.call_service(kind, prefix + name, request, timeout=FOR_EVER).in_collision == [True]


def test_a_change_is_sent_once(server, client, monkeypatch):
    monkeypatch.setattr(client_waits, "REQUEST_AGAIN", 0.01)
    with pytest.raises(OutcomeUnknownError, match=r"no reply within 1\.5 s"):
        client.call_service(*CHANGE, timeout=1.5)
    server.end(signal.SIGINT)


def test_a_goal_that_nobody_waits_for_any_more_is_cancelled(server, client):
    for timeout in (5.0, 40.0):  # a busy computer takes longer to accept it
        with pytest.raises(ServiceUnavailableError) as caught:
            plan(client, timeout=timeout)
        if not isinstance(caught.value, OutcomeUnknownError):
            break
    assert "has not ended within the timeout" in caught.value.message
    server.wait_for("cancel")


def test_a_client_continues_with_the_replacement_of_its_server(server, client, no_graph, monkeypatch):
    monkeypatch.setattr(client_waits, "REQUEST_AGAIN", 0.3)
    client.call_service(*CHECK, timeout=60.0)
    for _ in range(2):
        server.end()
        server = Server()
        assert client.call_service(*CHECK, timeout=60.0).in_collision == [True]
    server.end()


@pytest.mark.parametrize("timeout", [2.0**31, float("inf"), float("nan"), 0.0, -1.0])
def test_timeouts_are_bounded(client, timeout):
    for call in (lambda: client.call_service(*CHECK, timeout=timeout), lambda: plan(client, timeout=timeout)):
        with pytest.raises(InvalidRequestError, match="86400"):
            call()


def test_services_that_change_something_are_not_idempotent():
    changing = ("apply_changes", "load_cell", "load_state", "save_cell", "undo")
    assert not any(is_idempotent(f"scene/{name}") for name in changing)
    assert not is_idempotent("execution/control_motion")
    assert not is_idempotent("execution/set_servo")
    assert is_idempotent("kinematics/inverse_kinematics")
    assert is_idempotent("scene_node/get_state")
    assert is_idempotent("left/scene_node/get_parameters")
    assert not any(is_idempotent(f"scene_node/{name}") for name in ("set_parameters", "change_state"))


def test_a_process_is_not_mistaken_for_the_one_that_it_replaces(domain):
    name = f"/presence_{os.getpid()}"
    with pytest.raises(LookupError):
        Observed(0, name)
    first = Presence(0, name)
    with pytest.raises(NameTakenError):
        Presence(0, name)
    Presence(1, name).close()
    observed = Observed(0, name)
    assert all(observed.lives for _ in range(100)), "it may be read any number of times"
    first.close()
    second = Presence(0, name)
    assert not observed.lives
    assert Observed(0, name).lives
    second.close()


def test_a_name_of_any_length_can_be_shown(domain):
    name = f"/presence_{os.getpid()}/" + "long/" * 60
    presence = Presence(0, name)
    assert Observed(0, name).lives
    presence.close()


def test_cancelled_goals_are_reported_as_such(server, client):
    actions = client._made(lambda: ActionClient(client.node, action.PlanMotion, "planning/plan_motion"))
    assert actions.wait_for_server(60.0)
    handle = client._wait(client._send_goal_async(actions, action.PlanMotion.Goal()), 60.0, "goal")
    client._wait(handle.cancel_goal_async(), 60.0, "cancel")
    result = client._wait(handle.get_result_async(), 60.0, "result").result
    assert result.error.code == CancelledError.code


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            srv.ApplyChanges.Request(changes=[[SceneChange()]]),
            "changes contains another type than SceneChange",
        ),
        (srv.ApplyChanges.Request(changes=[SceneChange(name=7)]), "expected"),
        (srv.SetSpeedScale.Request(scale="fast"), "expected a number, not str"),
    ],
    ids=["nested list", "text", "number"],
)
def test_a_field_of_another_type_is_an_error_and_does_not_end_the_process(client, request_, text):
    with pytest.raises(InvalidRequestError, match=text):
        client.call_service(srv.ApplyChanges, "scene/apply_changes", request_)


USES = {
    "service": lambda client: client.scene(),
    "change": lambda client: client.apply(),
    "goal": lambda client: client.plan_motion("home"),
    "topic": lambda client: client.send_twist((0.0, 0.0, 0.0)),
    "simulation": lambda client: client.simulation(),
    "gripper": lambda client: client.move_gripper(0.0),
    "readiness": lambda client: client.wait_until_ready(),
    "graph": lambda client: inspection.offered(client),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_closed_client_refuses_every_call(domain, use):
    client = CellClient("test_closed")
    client.close()
    client.close()
    with pytest.raises(ServiceUnavailableError, match="the client was closed") as caught:
        use(client)
    assert "another client" in caught.value.remedy


WAITS = {
    "a service that does not appear": lambda client: client.call_service(*STATE, timeout=FOR_EVER),
    "a message": lambda client: client.simulation(timeout=FOR_EVER),
    "messages": lambda client: next(inspection.messages(client, "/parameter_events", FOR_EVER)),
    "a gripper": lambda client: client.move_gripper(0.0),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_call_that_waits_ends_when_the_client_is_closed(domain, wait):
    client = CellClient("test_closed", discovery_timeout=FOR_EVER)
    call = Call(wait, client)
    with client.usage._changed:
        client.usage._changed.wait_for(lambda: client.usage._calls)
    client.close()
    error = call.wait()
    assert isinstance(error, ServiceUnavailableError)
    assert error.message == "the client was closed"


def test_a_wait_for_messages_is_a_call_in_progress():
    """Without it, a thread that waits for the begin of a call would see none, and the node would be destroyed first."""
    usage = Usage()
    call = Call(usage.wait, threading.Event(), FOR_EVER)
    with usage._changed:
        assert usage._changed.wait_for(lambda: usage._calls, 60.0)
    usage.close(60.0)
    assert not usage._calls
    assert call.wait().message == "the client was closed"


def test_a_goal_is_cancelled_when_the_client_is_closed(server, client):
    call = Call(plan, client, timeout=FOR_EVER)
    server.wait_for("goal")
    client.close()
    assert call.wait().message == "the client was closed"
    server.wait_for("cancel")


def test_the_outcome_of_a_change_is_not_known_when_the_client_is_closed(server, client):
    call = Call(client.call_service, *CHANGE, timeout=FOR_EVER)
    server.wait_for("request")
    client.close()
    error = call.wait()
    assert isinstance(error, OutcomeUnknownError)
    assert "the client was closed before it replied" in error.message


def test_threads_share_publishers_and_clients(domain):
    count = 8
    begin = threading.Barrier(count)
    made = []

    def send(client):
        begin.wait()
        client.send_twist((0.0, 0.0, 0.0))

    with CellClient("test_threads") as client:
        create, thread = client.node.create_publisher, client._thread

        def create_publisher(*arguments, **keywords):
            made.append(threading.current_thread())
            return create(*arguments, **keywords)

        client.node.create_publisher = create_publisher
        for call in [Call(send, client) for _ in range(count)]:
            assert call.wait() is None
        assert made == [thread]


def test_subscriptions_are_created_and_destroyed_in_the_clients_thread(domain, monkeypatch):
    with CellClient("test_threads") as client:
        threads = []
        for name in ("create_subscription", "destroy_subscription"):
            function = getattr(client.node, name)

            def watched(*arguments, function=function, **keywords):
                threads.append(threading.current_thread())
                return function(*arguments, **keywords)

            setattr(client.node, name, watched)
        with pytest.raises(ServiceUnavailableError, match="no message"):
            client.simulation(timeout=0.01)
        assert threads == [client._thread] * 2
