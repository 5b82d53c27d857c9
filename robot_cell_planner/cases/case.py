"""Requests with their cells, states and answers, and their repetition."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from platform import machine, python_version
from typing import Any, TypeAlias

from .. import __version__
from ..errors import InvalidRequestError, RobotCellError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.json_difference import first_difference
from ..model.json_values import to_json
from ..model.state import RobotCellState
from ..planning.cartesian.planner import CartesianRequest, plan_cartesian
from ..planning.joint_space.planner import plan_motion
from ..planning.path.look_ahead import LookAheadRequest, look_ahead
from ..planning.problem.plan import Plan
from ..planning.problem.plan_file import plan_to_json
from ..planning.problem.request import MotionRequest
from ..planning.problem.steps import MultistepRequest
from ..planning.sequence import plan_multistep
from ..planning.workers.tasks import ValidationRequest, validated
from ..scene.scene import Scene
from ..trajectory.tracking import SupervisedMotion, TrackingReport, supervise
from ..trajectory.validation import TrajectoryReport

Request: TypeAlias = (
    MotionRequest | CartesianRequest | MultistepRequest | ValidationRequest | LookAheadRequest | SupervisedMotion
)
Answer: TypeAlias = Plan | Sequence[Plan] | TrajectoryReport | TrackingReport | RobotCellError
Method: TypeAlias = Callable[..., Plan | tuple[Plan, ...] | TrajectoryReport | TrackingReport]
EXECUTION = "execute_trajectory"


def _validate(cell: RobotCell, state: RobotCellState, request: ValidationRequest) -> TrajectoryReport:
    return validated(Scene(cell, state), request)


def _look_ahead(cell: RobotCell, state: RobotCellState, request: LookAheadRequest) -> TrajectoryReport:
    return look_ahead(Scene(cell, state), request)


def _supervise(cell: RobotCell, state: RobotCellState, motion: SupervisedMotion) -> TrackingReport:
    return supervise(motion)


METHODS: Mapping[str, type[Request]] = {
    "plan_motion": MotionRequest,
    "plan_cartesian": CartesianRequest,
    "plan_multistep": MultistepRequest,
    "validate_trajectory": ValidationRequest,
    "look_ahead": LookAheadRequest,
    EXECUTION: SupervisedMotion,
}


def _function(method: str) -> Method:
    """Return the function that answers requests of a method of METHODS."""
    functions: dict[str, Method] = {
        "plan_motion": plan_motion,
        "plan_cartesian": plan_cartesian,
        "plan_multistep": plan_multistep,
        "validate_trajectory": _validate,
        "look_ahead": _look_ahead,
        EXECUTION: _supervise,
    }
    return functions[method]


LIBRARIES = ("coal", "eaik", "numba", "numpy", "ompl", "pin", "ruckig", "scipy")  # that compute plans


@dataclass(frozen=True, eq=False)
class Case:
    """A request and its answer.

    Attributes:
        method: What answers the request: plan_motion, plan_cartesian, plan_multistep, validate_trajectory, look_ahead
            or execute_trajectory. The last one checks the recorded measurements of a motion again; nothing moves.
        answer: JSON form of the answer: {"plans": [...]} without times, {"report": {...}}, {"tracking": {...}} or
            {"error": {...}}.
        versions: Versions of the software that gave the answer.
    """

    cell: RobotCell
    state: RobotCellState
    method: str
    request: Request
    answer: Mapping[str, Any]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Reproduction:
    """Outcome of a repeated request.

    Attributes:
        same: Whether the answer is equal, byte for byte, except for times.
        difference: Place of the first difference, the recorded and the present value; None if there is none.
        versions: Software whose version differs, with the recorded and the present one.
        found: JSON form of the present answer.
        result: The present answer.
    """

    same: bool
    difference: tuple[str, str, str] | None
    versions: Mapping[str, tuple[str, str]]
    found: Mapping[str, Any]
    result: Answer

    def __str__(self) -> str:
        lines = [f"{name}: was {was}, is {now}" for name, (was, now) in self.versions.items()]
        if self.difference is not None:
            place, was, now = self.difference
            lines.append(f"the answer differs: {place} was {was}, is {now}")
        else:
            lines.append("the same answer")
        return "\n".join(lines)


@public
def reproduce(case: Case) -> Reproduction:
    """Answer the request of a case again, and compare."""
    function = _function(case.method)
    result: Answer
    try:
        result = function(case.cell, case.state, case.request)
    except RobotCellError as error:
        result = error
    found = answer_to_json(result)
    now = versions()
    names = dict.fromkeys((*case.versions, *now))
    pairs = {name: (case.versions.get(name, "missing"), now.get(name, "missing")) for name in names}
    return Reproduction(
        same=_text(found) == _text(case.answer),
        difference=first_difference(case.answer, found),
        versions={name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
        found=found,
        result=result,
    )


def method_of(request: Request) -> str:
    """Return the name of the function that answers a request.

    Raises:
        InvalidRequestError: It is none of a method.
    """
    for name, kind in METHODS.items():
        if isinstance(request, kind):
            return name
    expected = ", ".join(kind.__name__ for kind in METHODS.values())
    raise InvalidRequestError(f"request is a {type(request).__name__}, expected one of {expected}", stage="case")


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Return the JSON form of an answer, without times."""
    if isinstance(answer, RobotCellError):
        return {
            "error": {
                "name": type(answer).__name__,
                "message": answer.message,
                "stage": answer.stage,
                "subjects": list(answer.subjects),
                "values": to_json(answer.values),
            }
        }
    if isinstance(answer, TrajectoryReport):
        return {"report": to_json(answer)}
    if isinstance(answer, TrackingReport):
        return {"tracking": to_json(answer)}
    plans = (answer,) if isinstance(answer, Plan) else tuple(answer)
    return {"plans": [json.loads(plan_to_json(plan, repeatable=True))["plan"] for plan in plans]}


def versions() -> dict[str, str]:
    """Return the versions of the software that plans."""
    found = {"robot_cell_planner": __version__, "python": python_version(), "machine": machine()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)
