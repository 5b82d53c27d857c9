"""Managed nodes over real DDS: states, requests that are refused in each state, and transitions without leaks."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetAvailableStates, GetAvailableTransitions, GetState
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.errors import NotActiveError
from robot_cell_planner.msg import SceneChange, SceneSnapshot
from robot_cell_planner.nodes.client.client import make_goal
from robot_cell_planner.nodes.common.node import LATCHED, reliable

T = Transition
TIMEOUT = 120.0  # [s]
GIVEN = {
    "scene_node": {"cell_file": DEMO},
    "kinematics_node": {},
    "collision_node": {},
    "planning_node": {"workers": 1},
    "execution_node": {},
    "simulated_robot_node": {"cell_file": DEMO},
}
# One request to each node that serves some.
REQUESTS = {
    "scene_node": (srv.GetCell, "scene/get_cell"),
    "kinematics_node": (srv.LookupTransforms, "kinematics/lookup_transforms"),
    "collision_node": (srv.CheckStates, "collision/check_states"),
    "planning_node": (srv.ListPlanners, "planning/list_planners"),
    "execution_node": (srv.SetSpeedScale, "execution/set_speed_scale"),
}


@pytest.fixture(scope="module")
def nodes(start_node, client):
    started = {name: start_node(name, diagnostics_period=0.1, **given) for name, given in GIVEN.items()}
    for name in GIVEN:
        wait_for_state(client, name, "active")
    return started


def call(client, kind, name, request=None):
    return client.call_service(kind, name, request or kind.Request(), timeout=TIMEOUT)


def state_of(client, name):
    return call(client, GetState, f"{name}/get_state").current_state.label


def wait_for_state(client, name, label):
    tries = threading.Event()
    for _ in range(600):
        if state_of(client, name) == label:
            return
        tries.wait(0.1)
    raise AssertionError(f"{name} is {state_of(client, name)}, expected {label}")


def change(client, name, transition):
    request = ChangeState.Request(transition=T(id=transition))
    return call(client, ChangeState, f"{name}/change_state", request).success


def request_to(client, name):
    kind, service = REQUESTS[name]
    request = kind.Request(scale=1.0) if name == "execution_node" else None
    return call(client, kind, service, request)


def resources(process):
    """Descriptors and threads of a process, and its children's number."""
    folder = Path(f"/proc/{process.pid}")
    children = 0
    for task in (folder / "task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has just ended
            children += len((task / "children").read_text().split())
    return len(os.listdir(folder / "fd")), len(os.listdir(folder / "task")), children


def wait_for_resources(process, limits):
    """Wait until a process uses no more resources than before; threads of running work may end later."""
    tries = threading.Event()
    for _ in range(600):
        found = resources(process)
        if all(now <= then for now, then in zip(found, limits, strict=True)):
            return
        tries.wait(0.1)
    raise AssertionError(f"descriptors, threads and children: {found}, expected at most {limits}")


class Latest:
    """The messages of a topic."""

    def __init__(self, client, kind, topic, quality):
        self.messages = []
        self._arrived = threading.Condition()
        client.node.create_subscription(kind, topic, self._take, quality)

    def _take(self, message):
        with self._arrived:
            self.messages.append(message)
            self._arrived.notify_all()

    def wait_for(self, condition):
        with self._arrived:
            assert self._arrived.wait_for(lambda: any(map(condition, self.messages)), TIMEOUT)


@pytest.mark.parametrize("name", GIVEN)
def test_a_node_goes_through_all_states_and_serves_again(nodes, client, name):
    events = Latest(client, TransitionEvent, f"{name}/transition_event", reliable(100))
    before = None  # allocations of the first requests remain, so the first cycle does not count
    for cycle in range(4):
        assert change(client, name, T.TRANSITION_DEACTIVATE)
        assert state_of(client, name) == "inactive"
        if name in REQUESTS:
            with pytest.raises(NotActiveError, match=f"/{name} is inactive"):
                request_to(client, name)
        assert not change(client, name, T.TRANSITION_CONFIGURE)  # not possible in this state
        assert change(client, name, T.TRANSITION_CLEANUP)
        assert state_of(client, name) == "unconfigured"
        if before:
            wait_for_resources(nodes[name].process, before)
        elif cycle:
            before = resources(nodes[name].process)
        assert change(client, name, T.TRANSITION_CONFIGURE)
        assert change(client, name, T.TRANSITION_ACTIVATE)
        assert state_of(client, name) == "active"
        if name in REQUESTS:
            request_to(client, name)
    events.wait_for(lambda event: event.goal_state.id == State.PRIMARY_STATE_UNCONFIGURED)
    assert "Traceback" not in nodes[name].output


def test_states_and_transitions_are_those_of_rclcpp(nodes, client):
    states = call(client, GetAvailableStates, "scene_node/get_available_states").available_states
    assert {"unconfigured", "inactive", "active", "finalized"} <= {state.label for state in states}
    found = call(client, GetAvailableTransitions, "scene_node/get_available_transitions").available_transitions
    assert {each.transition.label for each in found} == {"deactivate", "shutdown"}


def test_an_inactive_scene_publishes_nothing_and_diagnostics_report_it(nodes, client):
    diagnostics = Latest(client, DiagnosticArray, "/diagnostics", reliable(100))
    snapshots = Latest(client, SceneSnapshot, "scene/snapshot", LATCHED)
    revision = client.apply(SceneChange(operation=SceneChange.HIDE, name="post"))
    assert change(client, "scene_node", T.TRANSITION_DEACTIVATE)
    diagnostics.wait_for(lambda array: (array.status[0].name, array.status[0].message) == ("scene", "inactive"))
    with pytest.raises(NotActiveError):
        client.apply(SceneChange(operation=SceneChange.SHOW, name="post"))
    del snapshots.messages[:]
    assert change(client, "scene_node", T.TRANSITION_ACTIVATE)
    snapshots.wait_for(lambda message: message.state.revision == revision)
    assert client.apply(SceneChange(operation=SceneChange.SHOW, name="post")) == revision + 1


def test_requests_that_wait_end_with_the_reason_when_their_node_is_deactivated(nodes, client):
    request = srv.WaitForState.Request(min_revision=10**6)
    request.timeout.sec = 3600
    kinds = (srv.WaitForState, "scene/wait_for_state", request)
    failed = []

    def wait():
        try:
            client.call_service(*kinds, timeout=3600.0)
        except NotActiveError as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    client.scene()  # the request before it has arrived, as the order of replies holds for one service only
    while waiting.is_alive():
        assert change(client, "scene_node", T.TRANSITION_DEACTIVATE)
        waiting.join(0.5)
        assert change(client, "scene_node", T.TRANSITION_ACTIVATE)
    assert failed[0].subjects == ("/scene_node",)


def test_a_goal_is_aborted_with_the_reason_when_its_node_is_deactivated(nodes, client):
    assert change(client, "planning_node", T.TRANSITION_DEACTIVATE)
    with pytest.raises(NotActiveError, match="/planning_node is inactive"):
        client.plan_motion(make_goal(["home"]))
    assert change(client, "planning_node", T.TRANSITION_ACTIVATE)
    client.plan_motion(make_goal(["home"]))


def test_without_autostart_a_node_waits_for_its_transitions(start_node, client):
    node = start_node("kinematics_node", namespace="manual", autostart=False)
    name = "manual/kinematics_node"
    assert state_of(client, name) == "unconfigured"
    assert not change(client, name, T.TRANSITION_ACTIVATE)
    assert change(client, name, T.TRANSITION_CONFIGURE)
    assert change(client, name, T.TRANSITION_ACTIVATE)
    assert change(client, name, T.TRANSITION_ACTIVE_SHUTDOWN)
    assert state_of(client, name) == "finalized"
    node.stop()


def test_a_node_that_was_never_configured_can_be_shut_down(start_node, client):
    start_node("kinematics_node", namespace="unused", autostart=False)
    name = "unused/kinematics_node"
    assert state_of(client, name) == "unconfigured"
    assert change(client, name, T.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert state_of(client, name) == "finalized"


def test_a_node_that_cannot_be_configured_reports_why_and_stays_unconfigured(start_node, client, tmp_path):
    missing = tmp_path / "absent.yaml"
    node = start_node("scene_node", namespace="broken", autostart=False, cell_file=missing)
    before = None
    for _ in range(3):
        assert not change(client, "broken/scene_node", T.TRANSITION_CONFIGURE)
        assert state_of(client, "broken/scene_node") == "unconfigured"
        before = before or resources(node.process)
        wait_for_resources(node.process, before)
    assert "absent.yaml" in node.output
    assert "Traceback" not in node.output


def test_a_node_that_has_ended_is_no_longer_listed(start_node, client):
    """Other nodes used to list it until the lease of its DDS participant expired, 20 s later."""
    node = start_node("kinematics_node", namespace="ended")
    wait_for_state(client, "ended/kinematics_node", "active")
    node.stop()
    tries, listed = threading.Event(), True
    for _ in range(100):
        listed = ("kinematics_node", "/ended") in client.node.get_node_names_and_namespaces()
        if not listed:
            break
        tries.wait(0.05)
    assert not listed
