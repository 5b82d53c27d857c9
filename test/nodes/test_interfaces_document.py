"""The tables of docs/interfaces.md name what the running nodes offer, with types and quality of service."""

import time
from contextlib import suppress

import pytest
from interface_tables import DOCUMENT, GIVEN, SECTIONS, Interface, documented
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

STANDARD = ("rcl_interfaces/", "type_description_interfaces/", "lifecycle_msgs/")
OF_RCLPY = ("/rosout", "/parameter_events")
OF_SCENE_MONITOR = ("/scene/snapshot", "/scene/updates")  # every node but the scene's follows the scene
PATIENCE = 60.0  # [s] until a node's parts are known to others


def qos_of_profile(profile):
    reliability = {ReliabilityPolicy.RELIABLE: "reliable", ReliabilityPolicy.BEST_EFFORT: "best effort"}
    durability = {DurabilityPolicy.TRANSIENT_LOCAL: "transient local", DurabilityPolicy.VOLATILE: "volatile"}
    return f"{reliability[profile.reliability]}, {durability[profile.durability]}"


def is_own(name, kinds):
    standard = any(kind.startswith(STANDARD) for kind in kinds)
    return not standard and "/_action/" not in name and name not in OF_RCLPY


def offered(watcher, node):
    """The interfaces that a running node has, as others see it."""
    services = watcher.get_service_names_and_types_by_node(node, "/")
    actions = get_action_server_names_and_types_by_node(watcher, node, "/")
    published = watcher.get_publisher_names_and_types_by_node(node, "/")
    heard = watcher.get_subscriber_names_and_types_by_node(node, "/")
    found = {Interface(name, "service", *kinds) for name, kinds in services if is_own(name, kinds)}
    found |= {Interface(name, "action", *kinds) for name, kinds in actions}
    for kind, topics, infos_of in (
        ("topic, out", published, watcher.get_publishers_info_by_topic),
        ("topic, in", heard, watcher.get_subscriptions_info_by_topic),
    ):
        for name, kinds in topics:
            if not is_own(name, kinds) or (kind == "topic, in" and name in (*OF_SCENE_MONITOR, "/clock")):
                continue
            infos = [info for info in infos_of(name) if info.node_name == node]
            found |= {Interface(name, kind, *kinds, qos_of_profile(info.qos_profile)) for info in infos}
    return found


@pytest.fixture(scope="module")
def nodes(start_node, client):
    return {name: start_node(name, **GIVEN.get(name, {})) for name in SECTIONS.values()}


@pytest.mark.parametrize("node", SECTIONS.values())
def test_the_table_of_a_node_is_what_it_offers(nodes, client, node):
    expected = documented(DOCUMENT.read_text(encoding="utf-8"))[node]
    deadline = time.monotonic() + PATIENCE
    found = set()
    while found != expected and time.monotonic() < deadline and nodes[node].process.poll() is None:
        time.sleep(0.2)
        with suppress(NodeNameNonExistentError):  # it has not appeared yet
            found = offered(client.node, node)
    assert nodes[node].process.poll() is None, nodes[node].output
    assert expected - found == set(), "documented, but not offered"
    assert found - expected == set(), "offered, but not documented"
