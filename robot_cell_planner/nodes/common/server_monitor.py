"""Detection of terminated servers, and handling of requests without a reply."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from rclpy.action.graph import get_action_server_names_and_types_by_node
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ...errors import OutcomeUnknownError, ServerLostError
from .other_publishers import UNKNOWN
from .presence import Observed

CHECK_PERIOD = 0.1  # [s] between checks of a server
REQUEST_AGAIN = 3.0  # [s] without a reply, after which an idempotent request is sent again; doubled each time
# The same for a server that has replied to this client before [s]. Both have discovered each other, so that DDS repeats
# lost packets itself; another request would only be served in addition to the first one.
KNOWN_AGAIN = 30.0
GRAPH_CHECK_PERIOD = 0.5  # [s] between queries of the graph
GRAPH_TIMEOUT = 1.0  # [s] without a server in the graph, after which it counts as lost
STATUS_TIMEOUT = 3.0  # [s] without execution/status, which is sent at least once a second: the node has ended
DISCOVERY = 1.0  # [s] for the discovery of a node if DDS does not report its endpoints
GOAL_AGAIN = 0.3  # [s] without a response, after which a goal is sent again; doubled each time

ON_EVERY_NODE = "/parameter_events"  # a topic that every node publishes

# Idempotent services: they only read, or set a value. Others change something with each request, and are called once.
IDEMPOTENT = (
    "scene/get_cell",
    "scene/get_state",
    "scene/wait_for_state",
    "kinematics/",
    "collision/",
    "planning/",
    "execution/set_speed_scale",
)
# The same of the services that rclpy gives every node, and managed nodes.
READING = (
    "describe_parameters",
    "get_available_states",
    "get_available_transitions",
    "get_logger_levels",
    "get_parameter_types",
    "get_parameters",
    "get_state",
    "get_transition_graph",
    "get_type_description",
    "list_parameters",
)
# Actions of this package accept a goal that is sent again, and execute it once (`goal_requests.py`).
OWN_ACTIONS = ("planning/", "execution/")
GOAL_SERVICES = ("send_goal", "get_result", "cancel_goal")
GOAL_TOPICS = ("feedback", "status")
HOW_TO_FIND_OUT = {
    "scene/": "compare revision and state of scene/get_state with those before the request",
    "execution/": "see execution/status and servo/status",
}


def is_idempotent(name: str) -> bool:
    """Return whether a service is idempotent. name: relative, as in docs/interfaces.md."""
    return name.startswith(IDEMPOTENT) or name.rpartition("/")[2] in READING


def may_be_sent_again(action: str) -> bool:
    """Return whether a goal may be sent again without a response. action: relative name."""
    return action.startswith(OWN_ACTIONS)


def outcome_unknown(name: str, why: str) -> OutcomeUnknownError:
    """Return the error of a request that must not be repeated and may have been executed."""
    how = next((text for prefix, text in HOW_TO_FIND_OUT.items() if name.startswith(prefix)), "query its node")
    text = f"{name}: {why}; the outcome of the request is unknown: {how}"
    return OutcomeUnknownError(text, stage="client", subjects=(name,))


def server_lost(name: str, node: str, what: str, replaced: bool) -> ServerLostError:
    """Return the error of a request or goal (what) whose server has terminated."""
    after = " (the node was restarted)" if replaced else ""
    text = f"{name}: node {node} terminated, and the {what} is lost{after}"
    return ServerLostError(text, stage="client", subjects=(name, node))


@dataclass
class Server:
    """The process of a server: full name of its node, its observer (None: on another computer, or not of this package),
    its publishers in the graph, and its known endpoints.
    """

    node: str
    observed: Observed | None
    publishers: frozenset[bytes] = frozenset()
    endpoints: frozenset[bytes] = frozenset()

    @property
    def lives(self) -> bool:
        """Whether it is on this computer, and has not terminated."""
        return self.observed is not None and self.observed.lives


class KnownServers:
    """What the monitors of a name know together: whether a server was on this computer, the endpoints of those there
    that have terminated, which DDS may still list, and the endpoints of the one that has replied last."""

    def __init__(self) -> None:
        self.are_local = False
        self.replied: frozenset[bytes] = frozenset()
        self._reached: list[Server] = []
        self._ended: set[bytes] = set()
        self._lock = threading.Lock()

    def add(self, server: Server) -> None:
        """Add a server on this computer whose endpoints are known."""
        with self._lock:
            self._reached.append(server)

    def ended_endpoints(self) -> frozenset[bytes]:
        """Return the endpoints of servers that have terminated."""
        with self._lock:
            self._ended.update(*(server.endpoints for server in self._reached if not server.lives))
            self._reached = [server for server in self._reached if server.lives]
            return frozenset(self._ended)


class ServerMonitor:
    """Checks whether the server of a service or an action is alive, for one call at a time (`ServerMonitors`).

    The end of a node on this computer is detected at once (`presence.py`); that of others by the graph when their DDS
    lease has expired.
    """

    def __init__(self, node: Node, name: str, is_action: bool, known: KnownServers | None = None) -> None:
        self._node = node
        self._name = node.resolve_service_name(name)
        self._is_action = is_action
        self._server: Server | None = None
        self._missing_since: float | None = None
        self._checked_at = -math.inf
        self._is_lost = False  # at that time
        self._known = KnownServers() if known is None else known
        self._sought_since = math.inf

    @property
    def node(self) -> str:
        """Return the full name of the server, as far as it is known."""
        return self._server.node if self._server else "(unknown node)"

    def begin(self) -> bool:
        """Monitor the present server. Returns False if the client has to wait: DDS has not discovered all of its
        endpoints, so that a request could be lost, or the former server on this computer has terminated and was not
        restarted yet."""
        self._missing_since, self._is_lost = None, False
        if not self._has_living():
            self._replace()
        if self._server is None:
            return not self._known.are_local and self._has_waited()
        if self._server.observed is None:
            return not self._known.are_local
        if self._server.endpoints:
            return True
        return self._reaches(self._server)

    @property
    def has_replied(self) -> bool:
        """Whether the present server has replied to this client before; False if its endpoints are not known."""
        found = self._identity()
        return bool(found) and found == self._known.replied

    def note_reply(self) -> None:
        """Note that the present server has replied."""
        self._known.replied = self._identity()

    def _identity(self) -> frozenset[bytes]:
        server = self._server
        return frozenset() if server is None else server.endpoints or server.publishers

    def _has_living(self) -> bool:
        return self._server is not None and self._server.lives

    def _replace(self) -> None:
        """Find the server that replaces one that has terminated."""
        self.close()
        self._find()
        self._sought_since = time.monotonic() if self._sought_since == math.inf else self._sought_since
        self._known.are_local = self._known.are_local or self._is_local()

    def _has_waited(self) -> bool:
        """Return whether the time for the discovery of a node has passed."""
        return time.monotonic() - self._sought_since >= DISCOVERY

    def _reaches(self, server: Server) -> bool:
        """Return whether all endpoints of a server on this computer are discovered."""
        topics = self._endpoints()
        ended = self._known.ended_endpoints()
        new = [found - ended for found in topics]
        if not all(new):
            # Empty for a middleware with other topic names.
            return not any(topics) and self._has_waited()
        server.endpoints = frozenset().union(*new)
        self._known.add(server)
        self._sought_since = math.inf
        return True

    def _endpoints(self) -> list[frozenset[bytes]]:
        """Return the GUIDs of the servers' endpoints, for each topic of the service or action."""
        return [frozenset(bytes(each.endpoint_gid) for each in topic) for topic in self._topics()]

    def _topics(self) -> list[list[TopicEndpointInfo]]:
        """Return the servers' endpoints, for each topic; empty for a middleware with other topic names."""
        name, node = self._name, self._node
        services = [f"{name}/_action/{part}" for part in GOAL_SERVICES] if self._is_action else [name]
        found = [node.get_subscriptions_info_by_topic(f"rq{each}Request", no_mangle=True) for each in services]
        found += [node.get_publishers_info_by_topic(f"rr{each}Reply", no_mangle=True) for each in services]
        if self._is_action:
            found += [node.get_publishers_info_by_topic(f"{name}/_action/{part}") for part in GOAL_TOPICS]
        return found

    def _is_local(self) -> bool:
        return self._server is not None and self._server.observed is not None

    def lost(self, ready: bool) -> bool:
        """Return whether the monitored server has terminated. ready: whether the graph contains a server of that
        name."""
        server = self._server
        if server is not None and server.observed is not None:
            return not server.observed.lives
        now = time.monotonic()
        if now - self._checked_at >= GRAPH_CHECK_PERIOD:
            self._checked_at = now
            self._is_lost = self._is_missing(ready, now)
        return self._is_lost

    def _is_missing(self, ready: bool, now: float) -> bool:
        """Return whether the server has been missing in the graph for GRAPH_TIMEOUT. now: steady clock [s]."""
        server = self._server
        if server is None:
            self._find()
            self._known.are_local = self._known.are_local or self._is_local()
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
        server.publishers = server.publishers or now  # the graph may not have contained them before
        return not server.publishers.isdisjoint(now)

    def _observe(self, server: Server) -> None:
        """Observe a node that was a server before its presence was found, unless it may have been replaced."""
        if self._publishers(server.node) != server.publishers:
            return
        try:
            server.observed = self._observed(server.node)
        except LookupError:
            return
        self._known.are_local = True

    def _publishers(self, node: str) -> frozenset[bytes]:
        """Return the GUIDs of the publishers that every node has."""
        found = self._node.get_publishers_info_by_topic(ON_EVERY_NODE)
        return frozenset(
            bytes(each.endpoint_gid) for each in found if f"{each.node_namespace.rstrip('/')}/{each.node_name}" == node
        )

    @property
    def replaced(self) -> bool:
        """Return whether another process has the name of the terminated node."""
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

    def _serving(self) -> Iterable[str]:
        """Return the full names of the servers: of their endpoints. Services by the name of a node are those of one of
        its processes only, which may have been killed, until its DDS lease expires."""
        found = {
            f"{each.node_namespace.rstrip('/')}/{each.node_name}"
            for topic in self._topics()
            for each in topic
            if each.node_name != UNKNOWN
        }
        return sorted(found) or self._serving_by_name()

    def _serving_by_name(self) -> Iterator[str]:
        for name, namespace in self._node.get_node_names_and_namespaces():
            try:
                if self._is_action:
                    offered = get_action_server_names_and_types_by_node(self._node, name, namespace)
                else:
                    offered = self._node.get_service_names_and_types_by_node(name, namespace)
            except RuntimeError:
                continue  # it has just been removed from the graph
            if any(found == self._name for found, _ in offered):
                yield f"{namespace.rstrip('/')}/{name}"

    def close(self) -> None:
        if self._server is not None and self._server.observed is not None:
            self._server.observed.close()


class ServerMonitors:
    """Monitors of the server of a service or an action, for calls of any thread or coroutine.

    Calls in progress have a monitor each: another one may find the replacement of a server that has terminated, and
    must not hide its end from those that wait for it. A call uses the monitor of one that has ended, if there is one.
    """

    def __init__(self, node: Node, name: str, is_action: bool) -> None:
        self._make = partial(ServerMonitor, node, name, is_action, KnownServers())
        self._unused: list[ServerMonitor] = []

    @contextmanager
    def of_call(self) -> Iterator[ServerMonitor]:
        """Context of a call, with its monitor."""
        try:
            monitor = self._unused.pop()
        except IndexError:
            monitor = self._make()
        try:
            yield monitor
        finally:
            self._unused.append(monitor)

    def close(self) -> None:
        """Close the monitors of calls that have ended."""
        for monitor in self._unused:
            monitor.close()
