"""The tables of docs/interfaces.md name what the running nodes offer, with types and quality of service; the policies
of SROS 2 allow what the nodes use, and nothing else."""

import inspect
import re
import time
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest
import rclpy
from moveit_msgs.srv import GetPositionFK, GetPositionIK, GetStateValidity
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from running import DEMO, ROOT
from sources import SECTIONS

from robot_cell_planner import action, srv
from robot_cell_planner.commands.actions import graph
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.nodes.client.connection import CellConnection
from robot_cell_planner.nodes.doctor import observer
from robot_cell_planner.security.policy import read_policy

DOCUMENT = ROOT / "docs" / "interfaces.md"
GIVEN = {
    "scene_node": {"cell_file": DEMO},
    "execution_node": {"gripper_joint": "finger_joint"},
    "simulated_robot_node": {"cell_file": DEMO, "publish_clock": True, "sensors": ["*"]},
}
FOLDERS = {"service": "srv", "action": "action"}
STANDARD = ("rcl_interfaces/", "type_description_interfaces/", "lifecycle_msgs/")
OF_RCLPY = ("/rosout", "/parameter_events")
OF_SCENE_MONITOR = ("/scene/snapshot", "/scene/updates")  # every node but the scene's follows the scene
POLICIES = ROOT / "config" / "security"
OTHER = "other"  # namespace of nodes with other parameters, and therefore other topics
OTHERS = {
    "execution_node": {"mode": "controller", "gripper_joint": "finger_joint"},
    "simulated_robot_node": {"cell_file": DEMO, "follow_scene": True},
}
# What a client may not subscribe to: commands, descriptions, and markers and contacts for display.
NOT_FOR_CLIENTS = {
    "/joint_commands",
    "/robot_description",
    "/robot_description_semantic",
    "/scene/markers",
    "/collision/contacts",
    "/planning/markers",
}
DEFAULT_NAME = inspect.signature(CellConnection).parameters["name"].default
CLOCK = "rt/clock"  # subscribed to with use_sim_time
EVENTS = "rt/*/_service_event"  # published with service_introspection
TIMEOUT = 120.0  # [s] until a node's parts are known to others


@dataclass(frozen=True)
class Interface:
    """kind: "service", "action", "topic, in" or "topic, out". qos: reliability and durability of a topic."""

    name: str
    kind: str
    type: str
    qos: str = ""


def documented(text):
    """The interfaces in the tables, by node."""
    found = {}
    for part in text.split("\n## ")[1:]:
        title = part.splitlines()[0]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("|")]
        if title in SECTIONS:
            header, _, *rows = rows
            found[SECTIONS[title]] = {of_row(dict(zip(header, row, strict=True))) for row in rows}
    return found


def of_row(row):
    kind, name = row["Kind"], row["Name"].strip("`")
    package, _, short = row["Type"].rpartition("/")
    full = f"{package or 'robot_cell_planner'}/{FOLDERS.get(kind, 'msg')}/{short}"
    absolute = name if name.startswith("/") else f"/{name}"
    return Interface(absolute, kind, full, qos_of_text(row["Quality of service"]) if kind.startswith("topic") else "")


def qos_of_text(text):
    """Reliability and durability; the depth of others' queues is not known in DDS."""
    words = "reliable, transient local" if text == "latched" else text
    reliability = "best effort" if words.startswith("best effort") else "reliable"
    assert words.startswith(reliability), text
    return f"{reliability}, {'transient local' if 'transient local' in words else 'volatile'}"


def qos_of_profile(profile):
    reliability = {ReliabilityPolicy.RELIABLE: "reliable", ReliabilityPolicy.BEST_EFFORT: "best effort"}
    durability = {DurabilityPolicy.TRANSIENT_LOCAL: "transient local", DurabilityPolicy.VOLATILE: "volatile"}
    return f"{reliability[profile.reliability]}, {durability[profile.durability]}"


def without_sensor(name, placeholder):
    """The name of a topic, with a placeholder for the name of a sensor."""
    return re.sub(r"(^(?:rt)?/sensors/)[^/]+", rf"\g<1>{placeholder}", name)


def is_own(name, kinds):
    standard = any(kind.startswith(STANDARD) for kind in kinds)
    return not standard and "/_action/" not in name and name not in OF_RCLPY


def offered(watcher, node):
    """The interfaces that a running node has, as other nodes discover it."""
    services = watcher.get_service_names_and_types_by_node(node, "/")
    actions = get_action_server_names_and_types_by_node(watcher, node, "/")
    published = watcher.get_publisher_names_and_types_by_node(node, "/")
    received = watcher.get_subscriber_names_and_types_by_node(node, "/")
    found = {Interface(name, "service", *kinds) for name, kinds in services if is_own(name, kinds)}
    found |= {Interface(name, "action", *kinds) for name, kinds in actions}
    for kind, topics, infos_of in (
        ("topic, out", published, watcher.get_publishers_info_by_topic),
        ("topic, in", received, watcher.get_subscriptions_info_by_topic),
    ):
        for name, kinds in topics:
            if not is_own(name, kinds) or (kind == "topic, in" and name in (*OF_SCENE_MONITOR, "/clock")):
                continue
            infos = [info for info in infos_of(name) if info.node_name == node]
            name = without_sensor(name, "NAME")
            found |= {Interface(name, kind, *kinds, qos_of_profile(info.qos_profile)) for info in infos}
    return found


@pytest.fixture(scope="module")
def nodes(start_node, client, tmp_path_factory):
    given = {**GIVEN, "planning_node": {"case_folder": str(tmp_path_factory.mktemp("cases"))}}
    for name, parameters in OTHERS.items():
        start_node(name, namespace=OTHER, **parameters)
    return {name: start_node(name, **given.get(name, {})) for name in SECTIONS.values()}


@pytest.mark.parametrize("node", SECTIONS.values())
def test_the_table_of_a_node_lists_its_interfaces(nodes, client, node):
    expected = documented(DOCUMENT.read_text(encoding="utf-8"))[node]
    deadline = time.monotonic() + TIMEOUT
    found = set()
    while found != expected and time.monotonic() < deadline and nodes[node].process.poll() is None:
        time.sleep(0.2)
        with suppress(NodeNameNonExistentError):  # it has not appeared yet
            found = offered(client.node, node)
    assert nodes[node].process.poll() is None, nodes[node].output
    assert expected - found == set(), "documented, but not offered"
    assert found - expected == set(), "offered, but not documented"


def enclave_of(name):
    (found,) = read_policy(POLICIES / f"{name}.policy.xml")
    return found


def used(watcher, node, namespace=""):
    """Topics of DDS that a running node publishes and subscribes to, as of a node without a namespace."""
    published = watcher.get_publisher_names_and_types_by_node(node, f"/{namespace}", no_demangle=True)
    received = watcher.get_subscriber_names_and_types_by_node(node, f"/{namespace}", no_demangle=True)
    plain = [
        {without_sensor(name.replace(f"/{namespace}/", "/", 1), "*") for name, _ in topics}
        for topics in (published, received)
    ]
    published, received = ({name for name in topics if not name.endswith("/_service_event")} for topics in plain)
    return [published, received - {CLOCK}]


def call_adapter(client):
    """Let the adapter call the services of the other nodes that it calls for single states."""
    target = GetPositionIK.Request()
    target.ik_request.group_name, target.ik_request.pose_stamped.pose.position.x = "manipulator", 0.5
    node = rclpy.create_node("user_of_moveit", context=client.node.context)
    executor = SingleThreadedExecutor(context=client.node.context)
    executor.add_node(node)
    for kind, name, request in (
        (GetPositionFK, "compute_fk", GetPositionFK.Request(fk_link_names=["tool0"])),
        (GetPositionIK, "compute_ik", target),
        (GetStateValidity, "check_state_validity", GetStateValidity.Request()),
    ):
        caller = node.create_client(kind, name)
        assert caller.wait_for_service(TIMEOUT)
        future = caller.call_async(request)
        executor.spin_until_future_complete(future, TIMEOUT)
        assert future.done(), name
    executor.shutdown()
    node.destroy_node()


@pytest.mark.parametrize("node", SECTIONS.values())
def test_the_policy_of_a_node_allows_its_own_interfaces_and_nothing_else(nodes, client, node):
    enclave = enclave_of(node)
    profiles = tuple(
        profile for profile in enclave.profiles if profile.node == node
    )  # without the profile of the client of acts
    enclave = replace(enclave, profiles=profiles)
    assert CLOCK in enclave.subscribes
    assert EVENTS in enclave.publishes
    allowed = [set(enclave.publishes) - {EVENTS}, set(enclave.subscribes) - {CLOCK}]
    runs = ["", OTHER] if node in OTHERS else [""]
    if node == "execution_node":  # plans from the first goal on, and follows the scene from the first servo session on
        with suppress(RobotCellError):
            client.send_goal(action.Move, "execution/move", action.Move.Goal())
        with suppress(RobotCellError):
            client.call_service(srv.SetServo, "execution/set_servo", srv.SetServo.Request(enabled=True))
    if node == "moveit_adapter_node":  # calls these from the first request on
        call_adapter(client)
    deadline = time.monotonic() + TIMEOUT
    found = [set(), set()]
    while found != allowed and time.monotonic() < deadline:
        time.sleep(0.2)
        with suppress(NodeNameNonExistentError):  # it has not appeared yet
            each = [used(client.node, node, namespace) for namespace in runs]
            found = [set().union(*topics) for topics in zip(*each, strict=True)]
    for direction, needed, granted in zip(("publishes", "subscribes to"), found, allowed, strict=True):
        assert needed - granted == set(), f"{node} {direction} this without permission"
        assert granted - needed == set(), f"{node} is allowed this and does not need it"


def test_a_client_may_subscribe_to_all_that_nodes_publish_but_what_the_page_excepts():
    tables = documented(DOCUMENT.read_text(encoding="utf-8"))
    del tables["moveit_adapter_node"]  # its clients are those of MoveIt
    outputs = {found.name for found in set().union(*tables.values()) if found.kind == "topic, out"}
    allowed = {name.removeprefix("rt").replace("/*/", "/NAME/") for name in enclave_of("client").subscribes}
    assert outputs - allowed == NOT_FOR_CLIENTS


def test_the_policy_of_a_client_allows_all_documented_interfaces_but_those_of_the_robot(nodes, client):
    tables = documented(DOCUMENT.read_text(encoding="utf-8"))
    del tables["moveit_adapter_node"]  # its clients are those of MoveIt
    interfaces = set().union(*tables.values())
    enclave = enclave_of("client")
    profile, *others = enclave.profiles
    assert {found.node for found in enclave.profiles} == {DEFAULT_NAME, graph.NODE, observer.NAME, "pick_and_place"}
    assert {other.accesses for other in others} == {profile.accesses[: len(others[0].accesses)]}
    names = {kind: {found.name for found in interfaces if found.kind == kind} for kind in ("service", "action")}
    granted = {use: {name for a in profile.accesses if a.use == use for name in a.names} for use in ("request", "call")}
    assert {f"/{name}" for name in granted["request"]} == names["service"]
    assert {f"/{name}" for name in granted["call"]} == names["action"]
    outputs = {f"rt{found.name}" for found in interfaces if found.kind == "topic, out"}
    inputs = {f"rt{found.name}" for found in interfaces if found.kind == "topic, in"}
    published = {topic for topic in enclave.publishes if topic.startswith("rt/")}
    own = {f"rt{name}" for name in OF_RCLPY}
    assert published - own == inputs - outputs
    renamed = replace(enclave, profiles=(replace(profile, node="test_client"),))
    needed, received = used(client.node, "test_client")
    assert needed <= set(renamed.publishes)
    assert received <= set(renamed.subscribes)
