"""The planners that a request can name, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frozendict import frozendict

from ..cell.suggestions import unknown_name
from ..errors import InvalidRequestError, UnknownNameError, Value


@dataclass(frozen=True)
class PlannerParameter:
    """A number that a planner can be given: its default, and the range from `low` to `high` that is allowed.

    setter: the method of OMPL's planner that takes it.
    """

    name: str
    setter: str
    default: float
    low: float
    high: float
    description: str

    def parse(self, text: str) -> float:
        """The number that a text gives.

        Raises:
            InvalidRequestError: no number, or outside the range.
        """
        try:
            value = float(text)
        except ValueError as error:
            message = f"planner parameter {self.name} is {text!r}, expected a number"
            raise InvalidRequestError(message, stage="request", subjects=(self.name,)) from error
        if not self.low <= value <= self.high:
            message = f"planner parameter {self.name} is {value:g}, expected {self.low:g} to {self.high:g}"
            limit = self.low if value < self.low else self.high
            raise InvalidRequestError(
                message, stage="request", subjects=(self.name,), values=(Value(self.name, value, limit),)
            )
        return value


@dataclass(frozen=True)
class PlannerInfo:
    """A planner: the class of OMPL behind it, what it is good for, and its parameters."""

    name: str
    library: str
    description: str
    parameters: tuple[PlannerParameter, ...] = ()

    def settings(self, given: Mapping[str, str]) -> dict[str, float]:
        """Value by setter of every parameter; those not given have their defaults.

        Raises:
            UnknownNameError: the planner has no parameter of a name.
            InvalidRequestError: a value that is no number or out of range.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                text = unknown_name(f"parameter {name!r} of planner {self.name}", name, known)
                raise UnknownNameError(text, stage="request", subjects=(name,))
        return {
            parameter.setter: parameter.parse(given[name]) if name in given else parameter.default
            for name, parameter in known.items()
        }


RANGE = PlannerParameter(
    "range", "setRange", 0.5, 1e-3, 100.0, "Longest motion that is added to a tree at once, rad or m in joint space."
)

PLANNERS: Mapping[str, PlannerInfo] = frozendict(
    {
        "RRTConnect": PlannerInfo(
            "RRTConnect",
            "ompl",
            "Two trees, from start and goals, that reach for each other (Kuffner and LaValle, 2000). Fast; its path is "
            "the first one found.",
            (RANGE,),
        )
    }
)


def planner_info(name: str) -> PlannerInfo:
    """The planner of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in PLANNERS:
        raise UnknownNameError(unknown_name(f"planner {name!r}", name, PLANNERS), stage="request", subjects=(name,))
    return PLANNERS[name]
