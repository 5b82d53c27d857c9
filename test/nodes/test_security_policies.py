"""The shipped policies of SROS 2 allow what the nodes use, and nothing else; topics are named as on the wire."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
from interface_tables import DOCUMENT, GIVEN, SECTIONS, documented
from rclpy.node import NodeNameNonExistentError

from robot_cell_planner.security.policy import read_policy

POLICIES = Path(__file__).parents[2] / "config" / "security"
PATIENCE = 6.0  # [s] until a node's parts are known to others
OTHER = "other"  # namespace of the nodes that are started with other parameters
# The modes of the execution node have not the same topics.
OTHERS = {"execution_node": {**GIVEN["execution_node"], "mode": "controller"}}
TIME = "rt/clock"  # subscribed to with use_sim_time


def enclave(name):
    (found,) = read_policy(POLICIES / f"{name}.policy.xml")
    return found


def used(watcher, node, namespace="/"):
    """The topics of DDS that a running node publishes and subscribes to."""
    published = watcher.get_publisher_names_and_types_by_node(node, namespace, no_demangle=True)
    heard = watcher.get_subscriber_names_and_types_by_node(node, namespace, no_demangle=True)
    return {name for name, _ in published}, {name for name, _ in heard}


def used_when_complete(watcher, node, expected, namespace="/"):
    """Waits until the expected topics are there, and for a while."""
    deadline = time.monotonic() + PATIENCE
    found = set(), set()
    while time.monotonic() < deadline and not all(a <= b for a, b in zip(expected, found, strict=True)):
        time.sleep(0.2)
        with suppress(NodeNameNonExistentError):  # it has not appeared yet
            found = used(watcher, node, namespace)
    return found


@pytest.fixture(scope="module")
def nodes(start_node, client):
    for name in SECTIONS.values():
        start_node(name, **GIVEN.get(name, {}))
    for name, parameters in OTHERS.items():
        start_node(name, namespace=OTHER, **parameters)


def of_controller(topic):
    """Whether the execution node has a topic in one of its modes alone."""
    return "joint_trajectory_controller/" in topic or topic.startswith("rr/gripper") or "/gripper_controller/" in topic


@pytest.mark.parametrize("namespace", ["", OTHER])
@pytest.mark.parametrize("node", SECTIONS.values())
def test_a_policy_allows_what_the_node_uses_and_nothing_else(nodes, client, node, namespace):
    if namespace and node not in OTHERS:
        pytest.skip("it has one set of topics")
    moved = enclave(node).in_namespace(namespace)
    allowed = set(moved.publishes), set(moved.subscribes)
    found = used_when_complete(client.node, node, allowed, f"/{namespace}")
    print(node, [a - b for a, b in zip(allowed, found)], [b - a for a, b in zip(allowed, found)])
