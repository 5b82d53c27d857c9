"""A robot of the cell: its mechanism, planning groups, named states, and the pairs that need no collision check."""

from __future__ import annotations

from functools import cached_property

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError, ModelError, NotSupportedError, UnknownNameError
from .arguments import check_fields
from .mechanism import Mechanism, Variable
from .name_suggestions import unknown_name
from .sources import ModelSources
from .value import check_keys, check_name


class PlanningGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Joints that are planned for together.

    variables: the group's degrees of freedom, in the order of every configuration (dof,) of the group.
    links: the links that they move or that SRDF lists. base_link, tip_link: ends of the chain; "" if it is none.
    """

    name: str
    variables: tuple[str, ...]
    links: tuple[str, ...] = ()
    base_link: str = ""
    tip_link: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "planning group")
        if len(set(self.variables)) != len(self.variables):
            raise InvalidValueError(f"planning group {self.name} lists a joint twice")


class DisabledPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two links whose collision is not checked, and why (adjacent, never, ...)."""

    first: str
    second: str
    reason: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


class Robot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """A robot. All its link, joint and group names carry `prefix` already, so that several fit in one cell.

    named_states: by "group/state", values by variable.
    """

    name: str
    mechanism: Mechanism
    groups: frozendict[str, PlanningGroup] = frozendict()
    named_states: frozendict[str, frozendict[str, float]] = frozendict()
    disabled_pairs: tuple[DisabledPair, ...] = ()
    prefix: str = ""
    sources: ModelSources = ModelSources()

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "robot")
        check_keys(self.groups, "planning group")
        variables = {variable.name for variable in self.mechanism.variables}
        for group in self.groups.values():
            for name in group.variables:
                if name not in variables:
                    text = unknown_name(f"joint {name!r} of group {group.name}", name, variables)
                    raise ModelError(text, subjects=(group.name, name))

    @cached_property
    def variables(self) -> frozendict[str, Variable]:
        return frozendict({variable.name: variable for variable in self.mechanism.variables})

    @cached_property
    def main_group(self) -> str:
        """The group used where a request names none: the chain with most variables, the first such in the file.

        Raises:
            NotSupportedError: the robot has no planning group.
        """
        chains = [g for g in self.groups.values() if g.tip_link] or list(self.groups.values())
        if not chains:
            raise NotSupportedError(f"robot {self.name} has no planning group", subjects=(self.name,))
        return max(chains, key=lambda group: len(group.variables)).name

    def group(self, name: str = "") -> PlanningGroup:
        """The group of that name, or the main one for "".

        Raises:
            UnknownNameError: no such group.
        """
        name = name or self.main_group
        if name not in self.groups:
            raise UnknownNameError(unknown_name(f"group {name!r}", name, self.groups), subjects=(name,))
        return self.groups[name]

    def named_state(self, group: str, state: str) -> frozendict[str, float]:
        """Values by variable of a named state of a group.

        Raises:
            UnknownNameError: no such state.
        """
        key = f"{self.group(group).name}/{state}"
        if key not in self.named_states:
            raise UnknownNameError(unknown_name(f"named state {key!r}", key, self.named_states), subjects=(key,))
        return self.named_states[key]
