"""Parameters of nodes: each with its type, default, bounds and meaning, declared in one place."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from ...errors import InvalidRequestError, bounded
from .unknown_parameters import unknown_parameters

MAX_REASON = 1_000  # [characters] of an error


KINDS = {  # as `ros2 param describe` calls them
    RosParameter.Type.BOOL: "boolean",
    RosParameter.Type.INTEGER: "integer",
    RosParameter.Type.DOUBLE: "double",
    RosParameter.Type.STRING: "string",
    RosParameter.Type.STRING_ARRAY: "string array",
}


@dataclass(frozen=True)
class Relation:
    """A constraint between a parameter and others of the same node.

    others: their names. holds: whether it is satisfied by the value of the parameter and theirs. text: the constraint,
    such as "below gripper_goal_time".
    """

    others: tuple[str, ...]
    holds: Callable[..., bool]
    text: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a node.

    default: also defines the type (bool, int, float, str, or a list of strings). description: with the unit in
    brackets. lower, upper: inclusive bounds of a number. choices: allowed values of a string, or of each string of a
    list. running: whether it may change while the node runs; otherwise it is read-only. constraint: further constraints
    as text. relation: constraint between it and others. when_off: of a boolean that turns on a check which protects the
    robot: what happens without it, as a clause.
    """

    name: str
    default: bool | int | float | str | list[str]
    description: str
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()
    running: bool = False
    constraint: str = ""
    relation: Relation | None = None
    when_off: str = ""

    @property
    def type(self) -> RosParameter.Type:
        """Return the ROS type of the parameter."""
        return RosParameter.Type.from_parameter_value(self.default)

    @property
    def has_range(self) -> bool:
        """Return whether it is a number with bounds."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    @property
    def range_text(self) -> str:
        """Return the bounds of a number as "lower to upper", or "" without bounds."""
        if not self.has_range:
            return ""
        return f"{_number_text(self.lower, self.type)} to {_number_text(self.upper, self.type)}"

    @property
    def constraint_text(self) -> str:
        """Return the choices and other constraints as text, or "" without any."""
        word = "each one of" if isinstance(self.default, list) else "one of"
        choices = f"{word}: {', '.join(self.choices)}" if self.choices else ""
        related = self.relation.text if self.relation is not None else ""
        return "; ".join(text for text in (choices, self.constraint, related) if text)

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor, shown by `ros2 param describe`."""
        descriptor = ParameterDescriptor(
            name=self.name,
            type=self.type.value,
            description=self.description,
            additional_constraints=self.constraint_text,
            read_only=not self.running,
        )
        if self.has_range and self.type is RosParameter.Type.INTEGER:
            descriptor.integer_range = [IntegerRange(from_value=int(self.lower), to_value=int(self.upper), step=1)]
        elif self.has_range:
            bounds = FloatingPointRange(from_value=float(self.lower), to_value=float(self.upper), step=0.0)
            descriptor.floating_point_range = [bounds]
        return descriptor

    def type_problem(self, given: RosParameter[Any]) -> str:
        """Return the problem of the type of a value, or ""."""
        if given.type_ is self.type:
            return ""
        example = f", such as {float(given.value)}" if given.type_ is RosParameter.Type.INTEGER else ""
        hint = example if self.type is RosParameter.Type.DOUBLE else ""
        return f"{self.name} is {given.value!r}, expected a {KINDS[self.type]}{hint}"

    def problem(self, value: Any) -> str:
        """Return the problem of a value of the right type, or ""."""
        if self.has_range and not self.lower <= value <= self.upper:
            return f"{self.name} is {value}, expected {self.range_text}"
        values = value if isinstance(self.default, list) else [value]
        if self.choices and any(entry not in self.choices for entry in values):
            return f"{self.name} is {value!r}, expected {self.constraint_text}"
        return ""

    def contradiction(self, values: Mapping[str, Any]) -> str:
        """Return how the values of the parameters of the node, by name, contradict its relation, or ""."""
        relation = self.relation
        if relation is None:
            return ""
        others = {name: values[name] for name in relation.others}
        if relation.holds(values[self.name], *others.values()):
            return ""
        found = ", ".join(f"{name} is {value}" for name, value in others.items())
        return f"{self.name} is {values[self.name]}, expected {relation.text}; {found}"


def _number_text(number: float, kind: RosParameter.Type) -> str:
    return str(int(number)) if kind is RosParameter.Type.INTEGER else f"{number:.10g}"


class Parameters:
    """The declared parameters of a node, by name.

    Their descriptors contain type, range, choices and meaning. Changes at run time are checked as the values at start;
    changes of read-only parameters are rejected. Values at start for unknown parameters are warnings.

    Raises:
        InvalidRequestError: An initial value has a wrong type or is out of bounds, or two contradict each other.
    """

    def __init__(self, node: Node, declared: Sequence[Parameter]) -> None:
        self._node = node
        self._declared = {parameter.name: parameter for parameter in declared}
        self._listeners: list[Callable[[str, Any], None]] = []
        for parameter in declared:
            self._declare(parameter)
        problem, names = self._contradiction({})
        if problem:
            raise InvalidRequestError(f"parameter {problem}", stage="parameters", subjects=names)
        for text in unknown_parameters(sys.argv, node.get_name(), node.has_parameter, self._declared):
            node.get_logger().warning(text)
        self._off: tuple[str, ...] = ()
        self._note_off()
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._notify)

    def get(self, name: str, default: Any) -> Any:
        """Return the value of a parameter; `default` if the node does not declare it."""
        return self[name] if name in self._declared else default

    def _declare(self, parameter: Parameter) -> None:
        """Declare a parameter with dynamic type first, since rclpy's errors do not contain the value."""
        try:
            any_type = ParameterDescriptor(dynamic_typing=True)
            given: RosParameter[Any] = self._node.declare_parameter(parameter.name, parameter.default, any_type)
        except ParameterException as error:
            raise InvalidRequestError(f"parameter {parameter.name}: {error}", stage="parameters") from error
        problem = parameter.type_problem(given) or parameter.problem(given.value)
        if problem:
            raise InvalidRequestError(f"parameter {problem}", stage="parameters", subjects=(parameter.name,))
        self._node.set_descriptor(parameter.name, parameter.descriptor())

    def _check(self, changes: list[RosParameter[Any]]) -> SetParametersResult:
        """Check constraints that descriptors cannot express; rclpy has checked types, ranges and read-only
        parameters."""
        for change in changes:
            parameter = self._declared.get(change.name)
            reason = parameter.problem(change.value) if parameter is not None else ""
            if reason:
                return SetParametersResult(successful=False, reason=bounded(reason, MAX_REASON))
        reason, _ = self._contradiction({change.name: change.value for change in changes})
        return SetParametersResult(successful=not reason, reason=bounded(reason, MAX_REASON))

    def _contradiction(self, changes: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """Return the first relation that values after changes contradict, with the names of its parameters; "" if they
        contradict none."""
        for parameter in self._declared.values():
            if parameter.relation is not None:
                names = parameter.name, *parameter.relation.others
                problem = parameter.contradiction({name: changes.get(name, self[name]) for name in names})
                if problem:
                    return problem, names
        return "", ()

    def _notify(self, changes: list[RosParameter[Any]]) -> None:
        for change in changes:
            for listener in self._listeners:
                listener(change.name, change.value)
        self._note_off()

    @property
    def checks_off(self) -> tuple[str, ...]:
        """A sentence for each check that protects the robot and is turned off."""
        guards = (parameter for parameter in self._declared.values() if parameter.when_off)
        return tuple(f"{guard.name} is false: {guard.when_off}" for guard in guards if not self[guard.name])

    def _note_off(self) -> None:
        """Log checks that have been turned off or on since the last call."""
        off, log = self.checks_off, self._node.get_logger()
        for text in (each for each in off if each not in self._off):
            log.warning(f"parameter {text}")
        for text in (each for each in self._off if each not in off):
            log.info(f"parameter {text.partition(' ')[0]} is true again")
        self._off = off

    def on_change(self, listener: Callable[[str, Any], None]) -> None:
        """Call `listener(name, value)` after a parameter has changed."""
        self._listeners.append(listener)

    def __getitem__(self, name: str) -> Any:
        return self._node.get_parameter(name).value


def refuse_parameters(request: Any, response: Any, error: Exception) -> None:
    """Fill the response of a service that sets parameters if rclpy cannot process the request; ignore other
    services."""
    refused = SetParametersResult(successful=False, reason=bounded(f"{type(error).__name__}: {error}", MAX_REASON))
    if isinstance(response, SetParameters.Response):
        missing = len(request.parameters) - len(response.results)
        response.results = [*response.results, *[refused] * missing]
    elif isinstance(response, SetParametersAtomically.Response):
        response.result = refused
