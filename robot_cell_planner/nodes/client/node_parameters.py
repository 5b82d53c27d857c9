"""Parameters of a running node with their descriptions, for installations without the `ros2` command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python

from .connection import CellConnection

LIST = "list_parameters"


@dataclass(frozen=True)
class NodeParameter:
    """A parameter.

    Attributes:
        value: None if it is declared without a value.
        bounds: Lowest and highest value of a number; None without.
        constraint: What values have to fulfil besides, in words.
    """

    name: str
    value: Any
    description: str
    read_only: bool
    bounds: tuple[float, float] | None
    constraint: str


def node_parameters(connection: CellConnection, node: str, timeout: float) -> list[NodeParameter]:
    """Return the parameters of a node, by name. timeout: of each request [s].

    Raises:
        ServiceUnavailableError: The node does not answer.
    """
    listed = connection.call_service(ListParameters, f"{node}/{LIST}", ListParameters.Request(), timeout)
    names = sorted(listed.result.names)
    described = connection.call_service(
        DescribeParameters, f"{node}/describe_parameters", DescribeParameters.Request(names=names), timeout
    )
    read = connection.call_service(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names), timeout)
    return [
        _parameter(descriptor, parameter_value_to_python(value))
        for descriptor, value in zip(described.descriptors, read.values, strict=True)
    ]


def _parameter(descriptor: ParameterDescriptor, value: Any) -> NodeParameter:
    ranges: list[Any] = [*descriptor.floating_point_range, *descriptor.integer_range]
    return NodeParameter(
        descriptor.name,
        value if value is None or isinstance(value, (bool, int, float, str)) else list(value),
        descriptor.description,
        descriptor.read_only,
        (ranges[0].from_value, ranges[0].to_value) if ranges else None,
        descriptor.additional_constraints,
    )


def parameter_lines(parameters: list[NodeParameter]) -> Iterator[str]:
    """Yield a line for each parameter, and one with its description."""
    for each in parameters:
        bounds = "" if each.bounds is None else f"  [{each.bounds[0]:g} to {each.bounds[1]:g}]"
        yield f"{each.name}: {each.value!r}{bounds}{'  read-only' if each.read_only else ''}"
        text = " ".join(part for part in (each.description, each.constraint) if part)
        if text:
            yield f"    {text}"
