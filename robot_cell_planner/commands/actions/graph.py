"""`robot_cell call`, `echo` and `describe`: services and topics of running nodes, without the command `ros2`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
import yaml

from ...errors import FileError, UnknownNameError
from ...io.common.yaml_reader import parse_yaml
from ...model.name_suggestions import unknown_name
from ..progress import Elapsed
from ..reporting import echo_json, import_failure
from ..search import searched

if TYPE_CHECKING:
    from ...nodes.client.connection import CellConnection

NODE = "robot_cell_command"
SUCCESS = "success", "successful"  # fields of replies
MAPPING = "Write REQUEST as a YAML mapping of fields in one word of the shell, such as '{name: value}'."
NAMES = "`robot_cell describe` without a name prints all that the running nodes offer."


def ros() -> ModuleType:
    """Return the module that reads the graph.

    Raises:
        NotSupportedError: There is no ROS 2.
    """
    try:
        from ...nodes.client import inspection
    except ImportError as error:
        raise import_failure("the running nodes need ROS 2", error) from error
    return inspection


@contextmanager
def connected(namespace: str, domain_id: int | None, timeout: float) -> Iterator[CellConnection]:
    """Connect to the nodes.

    Raises:
        NotSupportedError: There is no ROS 2.
        ServiceUnavailableError: A node does not answer; the message says where it was searched.
    """
    if domain_id is not None:
        os.environ["ROS_DOMAIN_ID"] = str(domain_id)
    with (
        ros().CellConnection(NODE, namespace, timeout) as connection,
        searched(namespace, partial(ros().namespaces_of_cells, connection)),
    ):
        yield connection


def call(service: str, request: str, namespace: str, domain_id: int | None, timeout: float, as_json: bool) -> int:
    """Print the reply of a service."""
    try:
        fields = parse_yaml(request, "REQUEST", "command line") or {}
    except FileError as error:
        error.remedy = MAPPING
        raise
    with connected(namespace, domain_id, timeout) as connection:
        with Elapsed(f"waiting for service {service}"):
            kind = ros().wait_for_type(connection, "service", service, timeout)
        reply = connection.call_service(
            kind, ros().full_name(connection, service), ros().message_from_plain(kind.Request, fields), timeout
        )
    plain = ros().message_to_plain(reply)
    _echo(plain, as_json)
    return 0 if is_successful(plain) else 1


def is_successful(reply: Mapping[str, Any]) -> bool:
    """Return whether a reply of std_srvs, lifecycle_msgs or rcl_interfaces, which have no error report, says that the
    request was done; others do."""
    results = (reply, reply.get("result"), *(reply.get("results") or ()))
    words = (result.get(word, True) for result in results if isinstance(result, dict) for word in SUCCESS)
    return all(word is not False for word in words)


def echo(topic: str, count: int | None, namespace: str, domain_id: int | None, timeout: float, as_json: bool) -> int:
    """Print the messages of a topic."""
    with connected(namespace, domain_id, timeout) as connection:
        with Elapsed(f"waiting for topic {topic}"):
            ros().wait_for_type(connection, "topic", topic, timeout)
        for message in islice(ros().messages(connection, topic, timeout), count):
            _echo(ros().message_to_plain(message), as_json)
            click.echo("---", err=as_json)
    return 0


def describe(name: str, namespace: str, domain_id: int | None, timeout: float, as_json: bool) -> int:
    """Print what the nodes offer, a definition, or the parameters of a node."""
    if name.count("/") == 2 and not name.startswith("/") and name.split("/")[1] in ("msg", "srv", "action"):
        found: Any = {"type": name, "definition": ros().definition(name)}
    else:
        with connected(namespace, domain_id, timeout) as connection, Elapsed("waiting for the running nodes"):
            found = _described(connection, name, timeout) if name else ros().settled(connection, timeout)
    if as_json:
        echo_json({key: [asdict(each) for each in found[key]] if key == "parameters" else found[key] for key in found})
    elif "definition" in found:
        click.echo(f"{found['type']}\n\n{found['definition']}", nl=False)
    elif "parameters" in found:
        click.echo("\n".join(ros().parameter_lines(found["parameters"])))
    else:
        click.echo("\n".join(ros().lines(found)))
    return 0


def _described(connection: CellConnection, name: str, timeout: float) -> dict[str, Any]:
    full = ros().full_name(connection, name)
    names = ros().offered_with(connection, full, timeout)
    if f"{full}/{ros().LIST}" in names["service"]:
        return {"node": full, "parameters": ros().node_parameters(connection, full, timeout)}
    types = {entry: type_name for entries in names.values() for entry, type_name in entries.items()}
    if full not in types:
        nodes = {entry.removesuffix(f"/{ros().LIST}") for entry in names["service"] if entry.endswith(f"/{ros().LIST}")}
        # Without the services that every node has, whose names are similar to that of their node.
        known = {entry for entry in types if entry.rpartition("/")[0] not in nodes} | nodes
        text = unknown_name(f"{full!r}", full, known)
        raise UnknownNameError(text, stage="describe", subjects=(full,), remedy=NAMES)
    return {"type": types[full], "definition": ros().definition(types[full])}


def _echo(value: Any, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(value))
    else:
        click.echo(yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=120), nl=False)
