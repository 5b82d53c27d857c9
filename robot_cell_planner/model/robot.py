"""Robot model: mechanism, planning groups, named states and disabled collision pairs."""

from __future__ import annotations

from functools import cached_property

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError, ModelError, NotSupportedError, UnknownNameError
from .arguments import check_fields
from .digest import content_of
from .mechanism import Mechanism, Variable
from .name_suggestions import unknown_name
from .sources import ModelSources
from .value import check_keys, check_name

# Joins names of planning groups to that of a composite group.
JOINED = "+"
# Remedies of cells that nothing can be planned for.
GROUPS_REMEDY = "`robot_cell new` drafts an SRDF; name it as `srdf` of the robot."
STILL_REMEDY = "Give a description with revolute, continuous or prismatic joints; what does not move can be a body."
NO_CHAIN = (
    "Name a group that is a chain. In place of a composite group, name the group of one robot, or give each group its "
    "own target: `SimultaneousGoal` for plans, `composite_inverse_kinematics`, `composite_forward_kinematics`."
)
ROBOTS_REMEDY = "Name the robot or its group; a cell without one needs an entry in `robots` of its file."


class PlanningGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Set of joints that are planned together.

    Attributes:
        name: Name of the group.
        variables: Degrees of freedom, in the order of every configuration (dof,) of the group.
        links: Links that the variables move or that the SRDF lists.
        base_link: First link of the chain; "" if the group is not a chain.
        tip_link: Last link of the chain; "" if the group is not a chain.
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


class CompositeGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Planning groups of several robots that are planned together, such as both arms.

    Attributes:
        name: Name of the composite group.
        groups: Names of planning groups of robots; the variables are those of the first group, then of the second, ...
    """

    name: str
    groups: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "composite group")
        if JOINED in self.name:
            text = f"composite group {self.name} has a {JOINED!r} in its name, which joins names of groups in requests"
            raise InvalidValueError(text)
        if len(self.groups) < 2 or len(set(self.groups)) != len(self.groups):
            raise InvalidValueError(f"composite group {self.name} needs two or more different planning groups")


class DisabledPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pair of links that is not checked for collision, with the reason (adjacent, never, ...)."""

    first: str
    second: str
    reason: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


class Robot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """Robot model.

    The names of links, joints and groups include `prefix`, so that several robots fit in one cell.

    Attributes:
        name: Name of the robot.
        mechanism: Links and joints.
        groups: Planning groups by name.
        named_states: Values by variable [rad, m], for each "group/state".
        disabled_pairs: Link pairs that are not checked for collision.
        prefix: Prefix of all names.
        sources: Texts that the model was read from.
        attached_to: Frame that the base is fixed to: a link of another robot, a body or a named frame; "" for the
            world. The base pose in a state is relative to it.
    """

    name: str
    mechanism: Mechanism
    groups: frozendict[str, PlanningGroup] = frozendict()
    named_states: frozendict[str, frozendict[str, float]] = frozendict()
    disabled_pairs: tuple[DisabledPair, ...] = ()
    prefix: str = ""
    sources: ModelSources = ModelSources()
    attached_to: str = ""

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
    def content(self) -> msgspec.Raw:
        """The part of `RobotCell.digest` that this robot contributes, see `content_of`."""
        return content_of(self)

    @cached_property
    def variables(self) -> frozendict[str, Variable]:
        """Variables of the robot, by name."""
        return frozendict({variable.name: variable for variable in self.mechanism.variables})

    @cached_property
    def main_group(self) -> str:
        """Default group of requests that name no group: the chain with the most variables; the first one in a tie.

        Raises:
            NotSupportedError: The robot has no planning group.
        """
        chains = [g for g in self.groups.values() if g.tip_link] or list(self.groups.values())
        if not chains:
            text, remedy = f"robot {self.name} has no planning group", GROUPS_REMEDY if self.variables else STILL_REMEDY
            raise NotSupportedError(text, subjects=(self.name,), remedy=remedy)
        return max(chains, key=lambda group: len(group.variables)).name

    def group(self, name: str = "") -> PlanningGroup:
        """Return a planning group by name; "" selects the main group.

        Raises:
            UnknownNameError: The group does not exist.
            NotSupportedError: The name is empty and the robot has no planning group.
        """
        name = name or self.main_group
        if name not in self.groups:
            raise UnknownNameError(unknown_name(f"group {name!r}", name, self.groups), subjects=(name,))
        return self.groups[name]

    def named_state(self, group: str, state: str) -> frozendict[str, float]:
        """Return the values by variable [rad, m] of a named state of a group.

        Raises:
            UnknownNameError: The group or the named state does not exist.
        """
        key = f"{self.group(group).name}/{state}"
        if key not in self.named_states:
            raise UnknownNameError(unknown_name(f"named state {key!r}", key, self.named_states), subjects=(key,))
        return self.named_states[key]
