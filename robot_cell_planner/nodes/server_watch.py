"""Whether the node that answers a request still lives, and what to do with a request whose reply does not come."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rclpy.action.graph import get_action_server_names_and_types_by_node
from rclpy.node import Node

from ..errors import OutcomeUnknownError, ServerLostError
from .presence import Observed

LOOK = 0.1  # [s] between two looks whether a server lives
ASK_AGAIN = 3.0  # [s] without a reply, after which an idempotent request is sent again; twice as long each time
GRAPH_LOOK = 0.5  # [s] between two looks at the graph
GRAPH_PATIENCE = 1.0  # [s] that the graph may go without a server before that counts as lost
DISCOVERY = 1.0  # [s] that a node which has taken another's place has to be found through DDS

ON_EVERY_NODE = "/parameter_events"  # a topic that every node publishes

# Services that may be asked any number of times: they only read, or set what is set already. What is not listed here
# changes something each time that it is asked, and is asked once.
IDEMPOTENT = (
    "scene/get_cell",
    "scene/get_state",
    "scene/wait_for_state",
    "kinematics/",
    "collision/",
    "planning/",
    "execution/set_speed_scale",
)
HOW_TO_FIND_OUT = {
    "scene/": "scene/get_state tells the revision: compare it, and the state, with those before the request",
    "execution/": "execution/status tells what the robot does, and servo/status whether servo is on",
}


def is_idempotent(name: str) -> bool:
    """Whether a service may be asked again when no reply comes. name: relative, as in docs/interfaces.md."""
    return name.startswith(IDEMPOTENT)


def outcome_unknown(name: str, why: str) -> OutcomeUnknownError:
    """The error for a request that must not be sent twice, and may have been met."""
    how = next((text for prefix, text in HOW_TO_FIND_OUT.items() if name.startswith(prefix)), "ask its node")
    text = f"{name}: {why}; whether the request was met is not known. {how}"
    return OutcomeUnknownError(text, stage="client", subjects=(name,))


def server_lost(name: str, node: str, what: str, replaced: bool) -> ServerLostError:
    """The error for a request or goal (what) whose server has ended."""
    after = f"; another one has taken its place, which knows nothing of the {what}" if replaced else ""
    text = f"{name}: its server {node} has ended, and the {what} is lost with it{after}"
    return ServerLostError(text, stage="client", subjects=(name, node))


@dataclass
class Server:
    """The process that serves something: full name of its node, how it is observed (None: it is of another computer,
    or no node of this suite), and the publishers by which the graph knows it."""

    node: str
    observed: Observed | None
    publishers: frozenset[bytes]


class ServerWatch:
    """Looks whether the node that serves a service or an action lives.

    Of nodes of this computer the kernel tells at once (`presence.py`); of others the graph, which notices a killed
    process when its lease in DDS has run out.
    """

    def __init__(self, node: Node, name: str, is_action: bool) -> None:
        self._node = node
        self._name = node.resolve_service_name(name)
        self._is_action = is_action
        self._server: Server | None = None
        self._missing_since: float | None = None
        self._looked_at = -math.inf
        self._local = False  # it was a node of this computer
        self._found_at = -math.inf
        self._sought_since = math.inf

    @property
    def node(self) -> str:
        """Full name of the node that serves, as far as it is known."""
        return self._server.node if self._server else "(a node that is not known)"

    def begin(self) -> bool:
        """Take whoever serves now for the one that will answer. False: it is better to wait a little, since the graph
        does not know yet whose the service is, or a node of this computer that served before has ended, and no other
        has taken its place, or has only just done so."""
        now = time.monotonic()
        self._missing_since = None
        if self._server is None or self._server.observed is None or not self._server.observed.lives:
            self.close()
            self._find()
            if self._is_local():
                self._found_at = now if self._local else -math.inf
                self._local = True
            elif self._local:
                return False
        if self._server is None:
            self._sought_since = min(self._sought_since, now)
            return now - self._sought_since >= DISCOVERY
        self._sought_since = math.inf
        return now - self._found_at >= DISCOVERY

    def _is_local(self) -> bool:
        return self._server is not None and self._server.observed is not None

    def lost(self, ready: bool) -> bool:
        """Whether the one that was to answer has ended. ready: whether the graph has a server of that name."""
        server = self._server
        if server is not None and server.observed is not None:
            return not server.observed.lives
        now = time.monotonic()
        if now - self._looked_at < GRAPH_LOOK:
            return False
        self._looked_at = now
        if server is None:
            self._find()
            self._local = self._local or self._is_local()
        elif self._in_graph(server):
            self._observe(server)
        else:
            ready = False
        if ready:
            self._missing_since = None
        elif self._missing_since is None:
            self._missing_since = now
        return self._missing_since is not None and now - self._missing_since >= GRAPH_PATIENCE

    def _in_graph(self, server: Server) -> bool:
        now = self._publishers(server.node)
        server.publishers = server.publishers or now  # the graph may have known none of them before
        return not server.publishers.isdisjoint(now)

    def _observe(self, server: Server) -> None:
        """Observe a node that served before it showed itself, unless another may have taken its place since."""
        if self._publishers(server.node) != server.publishers:
            return
        try:
            server.observed = Observed(server.node)
        except LookupError:
            return
        self._local = True

    def _publishers(self, node: str) -> frozenset[bytes]:
        """What each process that shows a node publishes with an identity of its own."""
        found = self._node.get_publishers_info_by_topic(ON_EVERY_NODE)
        return frozenset(
            bytes(each.endpoint_gid) for each in found if f"{each.node_namespace.rstrip('/')}/{each.node_name}" == node
        )

    @property
    def replaced(self) -> bool:
        """Whether another process shows the node of the one that has ended."""
        if self._server is None:
            return False
        try:
            Observed(self._server.node).close()
        except LookupError:
            return False
        return True

    def _find(self) -> None:
        self._server = None
        for node in self._serving():
            try:
                self._server = Server(node, Observed(node), frozenset())
            except LookupError:
                self._server = Server(node, None, self._publishers(node))
            else:
                return

    def _serving(self) -> Iterator[str]:
        """Full names of nodes that offer it."""
        for name, namespace in self._node.get_node_names_and_namespaces():
            try:
                if self._is_action:
                    offered = get_action_server_names_and_types_by_node(self._node, name, namespace)
                else:
                    offered = self._node.get_service_names_and_types_by_node(name, namespace)
            except RuntimeError:
                continue  # it has just left the graph
            if any(found == self._name for found, _ in offered):
                yield f"{namespace.rstrip('/')}/{name}"

    def close(self) -> None:
        if self._server is not None and self._server.observed is not None:
            self._server.observed.close()
