"""Servers are found by their endpoints: DDS lists a killed process until its lease expires."""

from types import SimpleNamespace

import pytest

from robot_cell_planner.nodes.common.other_publishers import UNKNOWN
from robot_cell_planner.nodes.common.server_monitor import ServerMonitor

SERVICE = "/scene/get_cell"


class Graph:
    """The graph of a node in which a killed process is listed beside the new one of its name. endpoints: names of the
    nodes of the endpoints that are discovered. named: names of the nodes whose services are listed by name."""

    def __init__(self, endpoints, named=()):
        self._endpoints, self._named = endpoints, named

    def resolve_service_name(self, name):
        return name

    def get_publishers_info_by_topic(self, topic, no_mangle=False):
        assert SERVICE in topic
        return [SimpleNamespace(node_name=name, node_namespace="/", endpoint_gid=[0]) for name in self._endpoints]

    get_subscriptions_info_by_topic = get_publishers_info_by_topic

    def get_node_names_and_namespaces(self):
        return [("scene_node", "/"), ("scene_node", "/")]

    def get_service_names_and_types_by_node(self, name, namespace):
        return [(SERVICE, [])] if name in self._named else []  # those of the killed process, which has none left


@pytest.mark.parametrize("is_action", [False, True])
@pytest.mark.parametrize("endpoints", [["scene_node"], [UNKNOWN, "scene_node", "scene_node"]])
def test_a_server_is_found_beside_a_killed_process_of_its_name(endpoints, is_action):
    monitor = ServerMonitor(Graph(endpoints), SERVICE, is_action)
    assert list(monitor._serving()) == ["/scene_node"]


@pytest.mark.parametrize("endpoints", [[], [UNKNOWN]])
def test_without_named_endpoints_a_server_is_found_by_its_node(endpoints):
    monitor = ServerMonitor(Graph(endpoints, ["scene_node"]), SERVICE, is_action=False)
    assert set(monitor._serving()) == {"/scene_node"}
