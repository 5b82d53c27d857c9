"""Every exported function and class refuses an argument of another type by an error of this package."""

import inspect
import sys
import typing
from collections.abc import Iterator
from enum import Enum

import pytest

import robot_cell_planner
from robot_cell_planner import RobotCellState
from robot_cell_planner.errors import InvalidValueError, RobotCellError
from robot_cell_planner.model.arguments import resolved

# Values that only this package makes, and named tuples, whose fields `plan_many` checks.
RESULTS = {
    "AcceptedChange",
    "CameraImage",
    "Case",
    "CollisionPair",
    "CollisionReport",
    "Draft",
    "ExecutedMotion",
    "Finding",
    "ImportedCell",
    "MotionCertificate",
    "NewCell",
    "NotebookView",
    "PlanningJob",
    "PlanningOutcome",
    "Reachability",
    "Reproduction",
    "Speed",
    "TrajectorySample",
    "WarmUp",
    "Wrench",
}
# Types of arguments that users do not make themselves: results, and parts of models and plans that are read.
MADE_BY_FUNCTIONS = {
    "Candidates",
    "CartesianReport",
    "CertifiedPath",
    "JointCurve",
    "JointExtras",
    "LookAheadRequest",
    "ModelSources",
    "MotionScene",
    "PathClearance",
    "Progress",
    "Recording",
    "RobotCellError",
    "StageTime",
    "SupervisedMotion",
    "TimeScaling",
    "TrackingReport",
    "TrajectoryReport",
    "ValidationRequest",
    "Variable",
}
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Other:
    """A type that no argument has."""


def takes_arguments(name):
    value = getattr(robot_cell_planner, name)
    return callable(value) and not (isinstance(value, type) and issubclass(value, (Enum, BaseException)))


def call(function, arguments):
    found = function(**arguments)
    if isinstance(found, Iterator):
        next(found)


EXPORTED = [getattr(robot_cell_planner, name) for name in robot_cell_planner.__all__]
ENUMERATIONS = [value for value in EXPORTED if isinstance(value, type) and issubclass(value, Enum)]
CALLABLES = [name for name in robot_cell_planner.__all__ if takes_arguments(name) and name not in RESULTS]


@pytest.mark.parametrize("name", CALLABLES)
def test_an_argument_of_another_type_is_refused(name):
    function = getattr(robot_cell_planner, name)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind in NAMED]
    required = [each.name for each in parameters if each.default is each.empty]
    for parameter in parameters:
        for wrong in (Other(), [Other()], {"a": Other()}):
            arguments = {each: Other() for each in required} | {parameter.name: wrong}
            if arguments:
                with pytest.raises(RobotCellError):
                    call(function, arguments)


def parts(annotation):
    """All classes that an annotation consists of."""
    inner = typing.get_args(annotation)
    if isinstance(annotation, type) and not inner:
        yield annotation
    for part in inner:
        yield from () if isinstance(part, list) else parts(part)


def test_types_of_arguments_can_be_imported():
    """The message about a wrong argument names the type to give."""
    exported = {getattr(robot_cell_planner, name) for name in CALLABLES} | set(ENUMERATIONS)
    hidden = set()
    for name in CALLABLES:
        function = getattr(robot_cell_planner, name)
        methods = [value for key, value in vars(function).items() if not key.startswith("_") and callable(value)]
        for each in (function, *(methods if isinstance(function, type) else ())):
            module = sys.modules[inspect.unwrap(each).__module__]
            for parameter in inspect.signature(each).parameters.values():
                hidden.update(parts(resolved(parameter.annotation, module, {})))
    ours = {kind.__name__ for kind in hidden - exported if kind.__module__.startswith("robot_cell_planner.")}
    assert ours - RESULTS - MADE_BY_FUNCTIONS == set()


@pytest.mark.parametrize("values", [[0.0] * 6, 1.0, None])
def test_joint_values_without_names_are_refused(values):
    with pytest.raises(InvalidValueError, match=r"values is .*, expected a mapping from joints to values"):
        RobotCellState().with_configuration(values)
