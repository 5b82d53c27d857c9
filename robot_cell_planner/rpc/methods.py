"""Methods of the JSON-RPC interface, generated from the annotations of the library's public functions."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import io, kinematics, planning, setup_assistant
from ..collision import CollisionChecker, TargetChecker
from ..errors import InvalidRequestError
from ..io.common.resources import ResourceRoots
from ..kinematics import Dynamics
from ..model.arguments import resolved
from ..model.cell import RobotCell
from ..model.json_values import Field, from_json, to_json
from ..model.state import RobotCellState
from ..offline import OfflineCell
from ..scene import (
    Add,
    AddFrame,
    Attach,
    Change,
    Detach,
    Move,
    Remove,
    Replace,
    SetBasePose,
    SetHidden,
    SetIgnoreGroup,
    SetJoints,
    SetMargin,
    SetState,
    SetTouch,
)  # fmt: skip

# Public functions whose arguments and results have a JSON form. Cell, state and resource roots come from the session.
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    io.save_cell,
    io.save_state,
    kinematics.forward_batch,
    kinematics.forward_kinematics,
    kinematics.forward_kinematics_to_frame,
    kinematics.inverse_kinematics,
    kinematics.jacobians,
    kinematics.velocities_for_twist,
    planning.check_joint_path,
    planning.measure_joint_path,
    planning.plan_cartesian,
    planning.plan_motion,
    planning.plan_multistep,
    planning.process_path,
    planning.time_joint_path,
    planning.verify_plan,
    planning.warm_up,
    setup_assistant.check_cell,
    setup_assistant.new_cell,
)
# Classes that are made from cell and state for each call.
CLASSES: Mapping[type, tuple[str, ...]] = {
    CollisionChecker: (
        "in_collision", "in_collision_batch", "motion_in_collision", "first_pair", "report", "distance", "clearances",
    ),
    TargetChecker: ("report", "report_target"),
    Dynamics: ("inverse", "forward", "gravity", "mass_matrix"),
}  # fmt: skip
SCENE = (
    "pose", "apply", "add_box", "add_mesh", "attach", "detach", "plan", "move", "plan_line", "line", "follow",
    "command", "write_replay",
)  # fmt: skip
AnyChange = (
    Add | AddFrame | Attach | Detach | Move | Remove | Replace | SetBasePose | SetHidden | SetIgnoreGroup | SetJoints
    | SetMargin | SetState | SetTouch
)  # fmt: skip
NOT_IN_JSON = ("is_valid", "explain", "on_progress", "cancelled")  # functions that are called back


class Context(typing.NamedTuple):
    """Context of calls: a cell with its state, and the roots of files."""

    cell: OfflineCell
    roots: ResourceRoots


@dataclass(frozen=True)
class Method:
    """Method of the interface.

    Attributes:
        name: Name, as in the library; `Class.method` for classes that are made from cell and state for the call.
        description: Docstring.
        parameters: Parameters by name.
        result: Annotation of the result.
        call: Called with the context, or None for methods that need no cell, and the converted parameters.
    """

    name: str
    description: str
    parameters: Mapping[str, Field]
    result: Any
    call: Callable[[Any, dict[str, Any]], Any]

    def run(self, context: Context | None, given: Mapping[str, Any] | list[Any]) -> Any:
        """Call the method with JSON values, by name or in order, and return the result as JSON value.

        Raises:
            InvalidRequestError: A parameter is missing or unknown.
            RobotCellError: As the function of the library.
        """
        names = list(self.parameters)
        if isinstance(given, list):
            if len(given) > len(names):
                text = f"{self.name} takes at most {len(names)} parameters, {len(given)} are given"
                raise InvalidRequestError(text)
            given = dict(zip(names, given, strict=False))
        unknown = sorted(set(given) - set(names))
        missing = [name for name, field in self.parameters.items() if field.required and name not in given]
        if unknown or missing:
            problem = f"has no parameter {unknown[0]!r}" if unknown else f"needs parameter {missing[0]!r}"
            text = f"{self.name} {problem}; its parameters are {', '.join(names) or 'none'}"
            raise InvalidRequestError(text, subjects=tuple(unknown or missing))
        values = {name: from_json(self.parameters[name].annotation, value, name) for name, value in given.items()}
        return to_json(self.call(context, values))


@cache
def methods() -> Mapping[str, Method]:
    """Return all methods by name."""
    found = [_of_function(function) for function in FUNCTIONS]
    found.extend(_of_class(kind, name) for kind, names in CLASSES.items() for name in names)
    found.extend(_of_scene(name) for name in SCENE)
    return {method.name: method for method in found}


def plain_method(name: str, function: Callable[..., Any]) -> Method:
    """Return a method that needs no cell; its parameters are those of the function."""
    return Method(name, _doc(function), _parameters(function), _result(function), lambda _, values: function(**values))


def _parameters(function: Callable[..., Any]) -> dict[str, Field]:
    """Return the parameters of a function without `self`, with resolved annotations."""
    module = sys.modules[function.__module__]
    found: dict[str, Field] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = resolved(parameter.annotation, module, {})
        annotation = AnyChange if annotation is Change else annotation
        if name == "self" or name in NOT_IN_JSON:
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            found[name] = Field(types.GenericAlias(tuple, (annotation, Ellipsis)), inspect.Parameter.empty)
        else:
            found[name] = Field(annotation, parameter.default)
    return found


def _result(function: Callable[..., Any]) -> Any:
    return resolved(inspect.signature(function).return_annotation, sys.modules[function.__module__], {})


def _from_session(parameters: Mapping[str, Field]) -> dict[str, Callable[[Context], Any]]:
    """Return the parameters that the session provides."""
    sources: dict[Any, Callable[[Context], Any]] = {
        RobotCell: lambda context: context.cell.cell,
        RobotCellState: lambda context: context.cell.state,
        RobotCellState | None: lambda context: context.cell.state,
        ResourceRoots: lambda context: context.roots,
    }
    return {name: sources[field.annotation] for name, field in parameters.items() if field.annotation in sources}


def _without(parameters: Mapping[str, Field], names: typing.Collection[str]) -> dict[str, Field]:
    return {name: field for name, field in parameters.items() if name not in names}


def _doc(value: object) -> str:
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")


def _of_function(function: Callable[..., Any]) -> Method:
    parameters = _parameters(function)
    provided = _from_session(parameters)

    def call(context: Context, values: dict[str, Any]) -> Any:
        return function(**{name: source(context) for name, source in provided.items()}, **values)

    return Method(function.__name__, _doc(function), _without(parameters, provided), _result(function), call)


def _of_class(kind: type, name: str) -> Method:
    function = inspect.unwrap(getattr(kind, name))
    made = _parameters(inspect.unwrap(kind.__init__))  # type: ignore[misc]
    provided = _from_session(made)
    own, of_class = _parameters(function), _without(made, provided)

    def call(context: Context, values: dict[str, Any]) -> Any:
        arguments = {name: values[name] for name in of_class if name in values}
        instance = kind(**{key: source(context) for key, source in provided.items()}, **arguments)
        return getattr(instance, name)(**{key: value for key, value in values.items() if key in own})

    description = f"{_doc(function)}\n\n{kind.__name__}: {_doc(kind.__init__)}"  # type: ignore[misc]
    return Method(f"{kind.__name__}.{name}", description, {**own, **of_class}, _result(function), call)


def _of_scene(name: str) -> Method:
    function = inspect.unwrap(getattr(OfflineCell, name))
    parameters = _parameters(function)
    several = {key for key, p in inspect.signature(function).parameters.items() if p.kind is p.VAR_POSITIONAL}
    # `move` and `line` pass the parameters of these on.
    sources: dict[str, Callable[..., Any]] = {"move": OfflineCell.plan, "line": OfflineCell.plan_line}
    passed_on = sources.get(name)
    if passed_on is not None:
        parameters |= _parameters(inspect.unwrap(passed_on))

    def call(context: Context, values: dict[str, Any]) -> Any:
        listed = [item for key in several for item in values.pop(key)]
        return getattr(context.cell, name)(*listed, **values)

    return Method(name, _doc(function), parameters, _result(function), call)
