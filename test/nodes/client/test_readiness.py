"""Waiting until the planning node is ready, with nodes that appear later than servers usually do."""

import threading

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from robot_cell_planner import srv
from robot_cell_planner.errors import ServiceUnavailableError
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.common.diagnostics import READY, REVISION
from robot_cell_planner.nodes.common.node import reliable

SHORT = 2.0  # [s] discovery timeout
POLLS = 150  # every 20 ms, after which a client with that timeout does not wait any more


class Nodes:
    """Stands for the scene node and the planning node of a cell of revision 1."""

    def __init__(self):
        self._client = CellClient("nodes")
        self._client._made(self._offer)

    def _offer(self):
        node = self._client.node
        node.create_service(srv.GetCell, "scene/get_cell", self._cell)
        publisher = node.create_publisher(DiagnosticArray, "/diagnostics", reliable(10))
        values = [KeyValue(key=REVISION, value="1")]
        report = DiagnosticArray(status=[DiagnosticStatus(name="planning", message=READY, values=values)])
        node.create_timer(0.1, lambda: publisher.publish(report))

    def _cell(self, request, response):
        response.scene.state.revision = 1
        return response

    def close(self):
        self._client.close()


def test_the_time_to_become_ready_includes_the_discovery_of_the_scene_node(domain, monkeypatch):
    with CellClient("test_readiness", discovery_timeout=SHORT) as client:
        polls, waits = [], threading.Event()
        while_open = client.usage.while_open

        def counted(is_ready):
            ready = while_open(is_ready)

            def poll():
                polls.append(1)
                if len(polls) > POLLS:
                    waits.set()
                return ready()

            return poll

        monkeypatch.setattr(client.usage, "while_open", counted)
        errors = []

        def wait():
            try:
                client.wait_until_ready(60.0)
            except ServiceUnavailableError as error:
                errors.append(error)
                waits.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert waits.wait(60.0)
        nodes = Nodes()
        thread.join()
        nodes.close()
        assert errors == []


def test_without_a_scene_node_the_wait_ends(domain):
    with (
        CellClient("test_readiness", discovery_timeout=3600.0) as client,
        pytest.raises(ServiceUnavailableError, match=r"scene/get_cell did not appear within 0.1 s"),
    ):
        client.wait_until_ready(0.1)
