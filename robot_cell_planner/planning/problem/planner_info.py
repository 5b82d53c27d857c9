"""What requests and users know of a planner: its name, what it is good for, its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import InvalidRequestError, UnknownNameError
from ...model.name_suggestions import unknown_name
from .planner_parameters import PlannerParameter, Setting

AUTOMATIC = "Automatic"  # the planner of requests that name none

Settings: TypeAlias = dict[str, Setting]


@dataclass(frozen=True)
class PlannerInfo:
    """A planner: its name, the library that it is from, what it is good for, and its parameters.

    improves: goes on improving its path. constraints: takes constraints on frames; all take combinations of joints.
    restriction: what is known to go wrong with it; "": nothing.
    """

    name: str
    library: str
    description: str
    parameters: tuple[PlannerParameter, ...] = ()
    improves: bool = False
    constraints: bool = False
    restriction: str = ""

    def settings(self, given: Mapping[str, str]) -> Settings:
        """Value by setter of every parameter; those not given have their defaults.

        Raises:
            UnknownNameError: the planner has no parameter of a name.
            InvalidRequestError: a value of another type or out of range, or two that exclude each other.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                text = unknown_name(f"parameter {name!r} of planner {self.name}", name, known)
                raise UnknownNameError(text, stage="request", subjects=(name,))
        settings = {
            parameter.setter: parameter.parse(given[name]) if name in given else parameter.default
            for name, parameter in known.items()
        }
        if settings.get("setInformedSampling") and settings.get("setSampleRejection"):
            text = "planner parameters informed_sampling and sample_rejection exclude each other"
            raise InvalidRequestError(text, stage="request", subjects=("informed_sampling", "sample_rejection"))
        return settings
