"""Parameters of nodes: each with its type, default, bounds and meaning, declared in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.exceptions import InvalidParameterTypeException, ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from ...errors import InvalidRequestError, bounded

MAX_REASON = 1_000  # [characters] of a refusal


@dataclass(frozen=True)
class Parameter:
    """A parameter of a node.

    default: also says its type (bool, int, float, str, or a list of strings). lower, upper: bounds of a number,
    included. choices: the only values of a string. running: it may change while the node runs.
    """

    name: str
    default: bool | int | float | str | list[str]
    description: str
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()
    running: bool = False

    def problem(self, value: Any) -> str:
        """What is wrong with a value, or ""."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not self.lower <= value <= self.upper:
            return f"{self.name} is {value}, expected {self.lower:g} to {self.upper:g}"
        if self.choices and value not in self.choices:
            return f"{self.name} is {value!r}, expected one of {', '.join(self.choices)}"
        return ""


class Parameters:
    """The declared parameters of a node, by name.

    Changes while running go through the same checks; those that only count at start are refused with that reason.

    Raises:
        InvalidRequestError: the parameters the node was started with are of a wrong type or out of bounds.
    """

    def __init__(self, node: Node, declared: Sequence[Parameter]) -> None:
        self._node = node
        self._declared = {parameter.name: parameter for parameter in declared}
        self._listeners: list[Callable[[str, Any], None]] = []
        for parameter in declared:
            self._declare(parameter)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._tell)

    def _declare(self, parameter: Parameter) -> None:
        descriptor = ParameterDescriptor(description=parameter.description)
        try:
            value = self._node.declare_parameter(parameter.name, parameter.default, descriptor).value
        except InvalidParameterTypeException as error:
            found = self._node._parameter_overrides.get(parameter.name)
            given = "" if found is None else f" {found.value!r}"
            kind = type(parameter.default).__name__
            raise InvalidRequestError(
                f"parameter {parameter.name} is{given}, expected a {kind}", stage="parameters"
            ) from error
        except ParameterException as error:
            raise InvalidRequestError(f"parameter {parameter.name}: {error}", stage="parameters") from error
        problem = parameter.problem(value)
        if problem:
            raise InvalidRequestError(f"parameter {problem}", stage="parameters", subjects=(parameter.name,))

    def _check(self, changes: list[RosParameter]) -> SetParametersResult:
        for change in changes:
            parameter = self._declared.get(change.name)
            if parameter is None:
                continue
            reason = parameter.problem(change.value)
            if not parameter.running and change.value != self[change.name]:
                reason = f"{change.name} only counts when the node starts"
            if reason:
                return SetParametersResult(successful=False, reason=bounded(reason, MAX_REASON))
        return SetParametersResult(successful=True)

    def _tell(self, changes: list[RosParameter]) -> None:
        for change in changes:
            for listener in self._listeners:
                listener(change.name, change.value)

    def on_change(self, listener: Callable[[str, Any], None]) -> None:
        """Call `listener(name, value)` after a parameter has changed."""
        self._listeners.append(listener)

    def __getitem__(self, name: str) -> Any:
        return self._node.get_parameter(name).value


def refuse_parameters(request: Any, response: Any, error: Exception) -> None:
    """Fill the response of a service that sets parameters when rclpy cannot make sense of the request; leave that of
    any other service."""
    refused = SetParametersResult(successful=False, reason=bounded(f"{type(error).__name__}: {error}", MAX_REASON))
    if isinstance(response, SetParameters.Response):
        missing = len(request.parameters) - len(response.results)
        response.results = [*response.results, *[refused] * missing]
    elif isinstance(response, SetParametersAtomically.Response):
        response.result = refused
