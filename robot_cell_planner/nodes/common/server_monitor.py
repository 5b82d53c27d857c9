"""Whether the node that answers a request still lives, and what to do with a request whose reply does not come."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rclpy.action.graph import get_action_server_names_and_types_by_node
from rclpy.node import Node

from ...errors import OutcomeUnknownError, ServerLostError
from .presence import Observed

CHECK_PERIOD = 0.1  # [s] between two looks whether a server lives
REQUEST_AGAIN = 3.0  # [s] without a reply, after which an idempotent request is sent again; twice as long each time
GRAPH_CHECK_PERIOD = 0.5  # [s] between two looks at the graph
GRAPH_TIMEOUT = 1.0  # [s] that the graph may go without a server before that counts as lost
DISCOVERY = 1.0  # [s] that DDS has to find a node, where it does not tell of its endpoints
GOAL_AGAIN = 0.3  # [s] without an answer, after which a goal is sent again; twice as long each time

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
# Actions of this suite accept a goal that is sent again, and carry it out once (`goal_requests.py`).
OWN_ACTIONS = ("planning/", "execution/")
GOAL_SERVICES = ("send_goal", "get_result", "cancel_goal")
GOAL_TOPICS = ("feedback", "status")
HOW_TO_FIND_OUT = {
    "scene/": "scene/get_state tells the revision: compare it, and the state, with those before the request",
    "execution/": "execution/status tells what the robot does, and servo/status whether servo is on",
}


def is_idempotent(name: str) -> bool:
    """Whether a service may be asked again when no reply comes. name: relative, as in docs/interfaces.md."""
    return name.startswith(IDEMPOTENT)


def may_be_sent_again(action: str) -> bool:
    """Whether a goal may be sent again when nobody says whether it is accepted. action: relative."""
    return action.startswith(OWN_ACTIONS)


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
    or no node of this suite), the publishers by which the graph knows it, and its endpoints, as far as they are known.
    """

    node: str
    observed: Observed | None
    publishers: frozenset[bytes] = frozenset()
    endpoints: frozenset[bytes] = frozenset()


class ServerMonitor:
    """Checks whether the node that serves a service or an action is alive.

    The kernel reports the end of a node of this computer at once (`presence.py`); that of others appears in the
    graph when their lease in DDS has expired.
    """

    def __init__(self, node: Node, name: str, is_action: bool) -> None:
        self._node = node
        self._name = node.resolve_service_name(name)
        self._is_action = is_action
        self._server: Server | None = None
        self._missing_since: float | None = None
        self._checked_at = -math.inf
        self._local = False  # it was a node of this computer
        self._ended: frozenset[bytes] = frozenset()  # endpoints of those that have served, of which DDS may still tell
        self._sought_since = math.inf

    @property
    def node(self) -> str:
        """Full name of the node that serves, as far as it is known."""
        return self._server.node if self._server else "(a node that is not known)"

    def begin(self) -> bool:
        """Take whoever serves now for the one that will answer. False: it is better to wait a little, since DDS does
        not know all of its endpoints yet, so that a request might be lost, or a node of this computer that served
        before has ended, and no other has taken its place."""
        self._missing_since = None
        if not self._has_living():
            self._replace()
        if self._server is None:
            return not self._local and self._has_waited()
        if self._server.observed is None:
            return not self._local
        if self._server.endpoints:
            return True
        return self._reaches(self._server)

    def _has_living(self) -> bool:
        return self._server is not None and self._server.observed is not None and self._server.observed.lives

    def _replace(self) -> None:
        """Find who serves in the place of one that does not any more."""
        self.close()
        if self._server is not None:
            self._ended |= self._server.endpoints
        self._find()
        self._sought_since = time.monotonic() if self._sought_since == math.inf else self._sought_since
        self._local = self._local or self._is_local()

    def _has_waited(self) -> bool:
        """Whether DDS has had the time to find a node."""
        return time.monotonic() - self._sought_since >= DISCOVERY

    def _reaches(self, server: Server) -> bool:
        """Whether all endpoints of a server of this computer are known here."""
        topics = self._endpoints()
        new = [found - self._ended for found in topics]
        if not all(new):
            # A middleware that names topics in another way tells of none.
            return not any(topics) and self._has_waited()
        server.endpoints = frozenset().union(*new)
        self._sought_since = math.inf
        return True

    def _endpoints(self) -> list[frozenset[bytes]]:
        """What DDS tells of those who serve: the identities of their endpoints, for each topic of the service or
        action."""
        name, node = self._name, self._node
        services = [f"{name}/_action/{part}" for part in GOAL_SERVICES] if self._is_action else [name]
        found = [node.get_subscriptions_info_by_topic(f"rq{each}Request", no_mangle=True) for each in services]
        found += [node.get_publishers_info_by_topic(f"rr{each}Reply", no_mangle=True) for each in services]
        if self._is_action:
            found += [node.get_publishers_info_by_topic(f"{name}/_action/{part}") for part in GOAL_TOPICS]
        return [frozenset(bytes(each.endpoint_gid) for each in topic) for topic in found]

    def _is_local(self) -> bool:
        return self._server is not None and self._server.observed is not None

    def lost(self, ready: bool) -> bool:
        """Whether the one that was to answer has ended. ready: whether the graph has a server of that name."""
        server = self._server
        if server is not None and server.observed is not None:
            return not server.observed.lives
        now = time.monotonic()
        if now - self._checked_at < GRAPH_CHECK_PERIOD:
            return False
        self._checked_at = now
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
        return self._missing_since is not None and now - self._missing_since >= GRAPH_TIMEOUT

    def _in_graph(self, server: Server) -> bool:
        now = self._publishers(server.node)
        server.publishers = server.publishers or now  # the graph may have known none of them before
        return not server.publishers.isdisjoint(now)

    def _observe(self, server: Server) -> None:
        """Observe a node that served before it showed itself, unless another may have taken its place since."""
        if self._publishers(server.node) != server.publishers:
            return
        try:
            server.observed = self._observed(server.node)
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
            self._observed(self._server.node).close()
        except LookupError:
            return False
        return True

    def _find(self) -> None:
        self._server = None
        for node in self._serving():
            try:
                self._server = Server(node, self._observed(node))
            except LookupError:
                self._server = Server(node, None, self._publishers(node))
            else:
                return

    def _observed(self, node: str) -> Observed:
        return Observed(self._node.context.get_domain_id(), node)

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
