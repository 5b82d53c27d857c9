"""Every exported function and class refuses an argument of another type by an error of this package."""

import inspect
from collections.abc import Iterator
from enum import Enum

import pytest

import robot_cell_planner
from robot_cell_planner import RobotCellState
from robot_cell_planner.errors import InvalidValueError, RobotCellError

# Values that only this package makes, and named tuples, whose fields `plan_many` checks.
RESULTS = {
    "AcceptedChange",
    "CameraImage",
    "Case",
    "CollisionPair",
    "CollisionReport",
    "CompasFiles",
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


@pytest.mark.parametrize("values", [[0.0] * 6, 1.0, None])
def test_joint_values_without_names_are_refused(values):
    with pytest.raises(InvalidValueError, match=r"values is .*, expected a mapping from joints to values"):
        RobotCellState().with_configuration(values)
