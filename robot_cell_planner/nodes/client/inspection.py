"""Inspection of a running graph by name, for installations without the `ros2` command."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ...errors import InvalidRequestError, ResourceError, ServiceUnavailableError
from ...model.name_suggestions import unknown_name
from ..conversions.plain_values import message_from_plain, message_to_plain
from .connection import CellConnection
from .node_parameters import LIST, node_parameters, parameter_lines

__all__ = [
    "LIST",
    "CellConnection",
    "definition",
    "full_name",
    "interface",
    "lines",
    "message_from_plain",
    "message_to_plain",
    "messages",
    "node_parameters",
    "offered",
    "offered_with",
    "parameter_lines",
    "settled",
    "wait_for_type",
]

POLL_PERIOD = 0.1  # [s]
SETTLE_TIME = 1.0  # [s]
SCENE = "/scene/get_cell"  # service of each cell
OTHER_KIND = (
    "`robot_cell call` takes services, `robot_cell echo` topics. Actions have commands of their own, such as "
    "`robot_cell plan @running` and `robot_cell execute @running`, and methods of CellClient."
)


def full_name(connection: CellConnection, name: str) -> str:
    """Return a name with the namespace of the connection's node, unless it begins with a slash."""
    return name if name.startswith("/") else f"{connection.node.get_namespace().rstrip('/')}/{name}"


def offered(connection: CellConnection) -> dict[str, dict[str, str]]:
    """Return the types of all services, actions and topics, by kind and full name, without the node's own services."""
    with connection.usage.call():
        own = f"{connection.node.get_fully_qualified_name()}/"
        every = dict(connection.node.get_service_names_and_types())
        topics = dict(connection.node.get_topic_names_and_types())
    services = {name: types for name, types in every.items() if not name.startswith(own)}
    suffix = "/_action/send_goal"
    actions = {name.removesuffix(suffix): types for name, types in services.items() if name.endswith(suffix)}
    return {
        "service": {name: types[0] for name, types in services.items() if "/_action/" not in name},
        "action": {name: types[0].removesuffix("_SendGoal") for name, types in actions.items()},
        "topic": {name: types[0] for name, types in topics.items() if "/_action/" not in name},
    }


def namespaces_of_cells(connection: CellConnection) -> list[str]:
    """Return the namespaces in which a scene node runs, "/" for the root."""
    with connection.usage.call():
        services = [name for name, _ in connection.node.get_service_names_and_types()]
    return sorted(name.removesuffix(SCENE) or "/" for name in services if name.endswith(SCENE))


def settled(connection: CellConnection, timeout: float) -> dict[str, dict[str, str]]:
    """Return `offered` once another node and nothing else new has appeared for 1 s, or after `timeout` [s].

    Raises:
        ServiceUnavailableError: No other node has appeared.
    """
    tries = threading.Event()
    until = time.monotonic() + timeout
    found, since = offered(connection), time.monotonic()
    while True:
        now = offered(connection)
        with connection.usage.call():
            is_alone = len(connection.node.get_node_names()) <= 1
        if now != found or is_alone:
            found, since = now, time.monotonic()
        elif time.monotonic() >= since + SETTLE_TIME:
            return found
        if time.monotonic() >= until:
            break
        tries.wait(POLL_PERIOD)
    if is_alone:
        raise ServiceUnavailableError(f"no node was found within {timeout:g} s.", stage="graph")
    return found


def offered_with(connection: CellConnection, name: str, timeout: float) -> dict[str, dict[str, str]]:
    """Return `offered` once it contains what has a full name, a node by its parameters, or after `timeout` [s]."""
    tries = threading.Event()
    until = time.monotonic() + timeout
    while True:
        found = offered(connection)
        is_there = f"{name}/{LIST}" in found["service"] or any(name in entries for entries in found.values())
        if is_there or time.monotonic() >= until:
            return found
        tries.wait(POLL_PERIOD)


def wait_for_type(connection: CellConnection, kind: str, name: str, timeout: float) -> Any:
    """Wait for a service or topic and return its interface type.

    Args:
        kind: "service" or "topic".
        name: Name, relative to the namespace or from the root.
        timeout: Time to wait [s].

    Raises:
        ServiceUnavailableError: It does not appear; the message suggests similar names.
        InvalidRequestError: Something else has the name, such as an action.
        ResourceError: The package of its type is not installed.
    """
    full = full_name(connection, name)
    until = time.monotonic() + timeout
    tries = threading.Event()
    while full not in (names := (every := offered(connection))[kind]):
        for other in (each for each in every if full in every[each]):
            text = f"{full} is {'an' if other == 'action' else 'a'} {other}, not a {kind}"
            raise InvalidRequestError(text, stage="graph", subjects=(full,), remedy=OTHER_KIND)
        if time.monotonic() > until:
            text = unknown_name(f"{kind} {full!r}", full, names)
            raise ServiceUnavailableError(
                f"{text}; is ROS_DOMAIN_ID that of the nodes?", stage="graph", subjects=(full,)
            )
        tries.wait(POLL_PERIOD)
    return interface(names[full])


def interface(type_name: str) -> Any:
    """Return the class of an interface such as robot_cell_planner/srv/GetCell.

    Raises:
        ResourceError: It is not installed.
    """
    package, _, name = type_name.replace("::", "/").rpartition("/")
    try:
        return getattr(import_module(package.replace("/", ".")), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ResourceError(f"interface {type_name} is not installed", subjects=(type_name,)) from error


def definition(type_name: str) -> str:
    """Return the text of an interface such as robot_cell_planner/srv/GetCell, with its comments.

    Raises:
        ResourceError: It is not installed.
    """
    package, _, rest = type_name.partition("/")
    folder, _, name = rest.rpartition("/")
    try:
        path = Path(get_package_share_directory(package), folder or "msg", f"{name}.{folder or 'msg'}")
        return path.read_text(encoding="utf-8")
    except (PackageNotFoundError, ValueError, OSError) as error:
        raise ResourceError(f"interface {type_name} is not installed", subjects=(type_name,)) from error


def messages(connection: CellConnection, name: str, timeout: float) -> Iterator[Any]:
    """Yield the messages of a topic, latched ones first.

    Args:
        name: Name, relative to the namespace or from the root.
        timeout: Time to wait for the topic and for each message [s].

    Raises:
        ServiceUnavailableError: The topic does not appear, or no message arrives.
    """
    kind = wait_for_type(connection, "topic", name, timeout)
    full = full_name(connection, name)
    queue: SimpleQueue[Any] = SimpleQueue()
    arrived = threading.Event()

    def take(message: Any) -> None:
        queue.put(message)
        arrived.set()

    with connection.subscribed(kind, full, take, _profile(connection, full)) as wait:
        while True:
            arrived.clear()
            if queue.empty() and not wait(arrived, timeout):
                raise ServiceUnavailableError(
                    f"no message on {full} within {timeout:g} s", stage="graph", subjects=(full,)
                )
            yield queue.get()


def _profile(connection: CellConnection, name: str) -> QoSProfile:
    """Return a QoS profile that is compatible with all publishers of a topic."""
    with connection.usage.call():
        profiles = [info.qos_profile for info in connection.node.get_publishers_info_by_topic(name)]
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in profiles)
    latched = bool(profiles) and all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def lines(types: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a line for each entry of `offered`."""
    for kind, names in types.items():
        for name, type_name in sorted(names.items()):
            yield f"{kind:8} {name}  [{type_name}]"
