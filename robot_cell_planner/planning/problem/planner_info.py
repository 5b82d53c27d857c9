"""Description of a planner: its name, purpose and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import InvalidRequestError, UnknownNameError
from ...errors.remedies import LIST_PLANNERS
from ...model.name_suggestions import unknown_name
from .planner_parameters import PlannerParameter, Setting

AUTOMATIC = "Automatic"  # the planner of requests that name none

Settings: TypeAlias = dict[str, Setting]


@dataclass(frozen=True)
class PlannerInfo:
    """Description of a planner.

    Attributes:
        library: Library that implements it.
        improves: Whether it continues to optimize its path.
        constraints: Whether it supports constraints on frames; all planners support combinations of joints.
        restriction: Known limitation; "" for none.
    """

    name: str
    library: str
    description: str
    parameters: tuple[PlannerParameter, ...] = ()
    improves: bool = False
    constraints: bool = False
    restriction: str = ""

    def settings(self, given: Mapping[str, str]) -> Settings:
        """Return the value of every parameter by setter, with defaults for those not given.

        Raises:
            UnknownNameError: The planner has no parameter of a name.
            InvalidRequestError: A value has the wrong type or is out of range, or two values exclude each other.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                text = unknown_name(f"parameter {name!r} of planner {self.name}", name, known)
                raise UnknownNameError(text, stage="request", subjects=(name,), remedy=LIST_PLANNERS)
        settings = {
            parameter.setter: parameter.parse(given[name]) if name in given else parameter.default
            for name, parameter in known.items()
        }
        if settings.get("setInformedSampling") and settings.get("setSampleRejection"):
            text = "planner parameters informed_sampling and sample_rejection exclude each other"
            raise InvalidRequestError(text, stage="request", subjects=("informed_sampling", "sample_rejection"))
        return settings
