"""Draft of what a robot description lacks: groups, states, disabled pairs, a home configuration and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from frozendict import frozendict

from ..errors import NotSupportedError
from ..model.arguments import public
from ..model.robot import Robot
from .files import limits_text, srdf_text
from .groups import DraftedGroup, draft_groups, passive_joints
from .hands import HandDraft, closed_without_overlap, draft_hand, opened_without_overlap
from .home import Home, find_home
from .options import DraftOptions
from .pairs import DEFAULT, DraftedPair, drafted_pairs

HOME, OPEN, CLOSED = "home", "open", "closed"
MAX_ROUNDS = 4  # of a search for a home after pairs were left out
DEFAULT_OPTIONS = DraftOptions()


@dataclass(frozen=True)
class Draft:
    """Texts of an SRDF and a limits file, and their content.

    Attributes:
        srdf, limits: Texts of the files.
        robot: The robot with the drafted groups, states and pairs.
        groups: Groups, each with the reason.
        pairs: Pairs that need no check, each with the reason and how sure it is.
        home: Home configuration of all variables.
        hands: States and tool centre point of each hand, by its group.
        passive: Joints that are in no group: wheels and a base that moves freely.
    """

    srdf: str
    limits: str
    robot: Robot
    groups: tuple[DraftedGroup, ...]
    pairs: tuple[DraftedPair, ...]
    home: Home
    hands: frozendict[str, HandDraft]
    passive: tuple[str, ...]


@public
def draft_robot(robot: Robot, options: DraftOptions = DEFAULT_OPTIONS) -> Draft:
    """Draft the SRDF and limits file of a robot, to be reviewed and edited.

    Groups, states and pairs that the robot has are not used. Pairs of links are disabled if they are fixed to each
    other or connected by a joint ("Adjacent"), if they collide in nearly all random configurations ("Always"), or if
    neither these nor a search found a collision ("Never"). The home configuration is free of collisions; if there is
    none, the pairs that overlap least are also disabled ("Default").

    Raises:
        NotSupportedError: The names of the robot have a prefix, which files do not.
        GeometryError: A mesh cannot be read.
    """
    if robot.prefix:
        raise NotSupportedError(f"robot {robot.name} has the prefix {robot.prefix!r}; draft it without", stage="draft")
    mechanism = robot.mechanism
    groups = draft_groups(mechanism)
    named = frozendict({found.group.name: found.group for found in groups})
    pairs = drafted_pairs(robot, options)
    bare = msgspec.structs.replace(robot, groups=named, named_states=frozendict(), disabled_pairs=())
    apart = msgspec.structs.replace(bare, disabled_pairs=tuple(pair.disabled for pair in pairs))
    hands = {
        found.group.name: opened_without_overlap(apart, found.hand, draft_hand(robot, found.hand))
        for found in groups
        if found.hand is not None
    }
    opened = frozendict({name: value for hand in hands.values() for name, value in hand.opened.items()})
    home, pairs = _home(bare, pairs, opened)
    checked = msgspec.structs.replace(bare, disabled_pairs=tuple(pair.disabled for pair in pairs))
    hands = {name: closed_without_overlap(checked, home.values, hand) for name, hand in hands.items()}
    states = _states(groups, hands, home)
    drafted = msgspec.structs.replace(checked, named_states=states)
    passive = tuple(joint.name for joint in passive_joints(mechanism))
    note = f"Drafted from {options.samples} random configurations of seed {options.seed}: check it before use."
    return Draft(
        srdf_text(drafted, groups, passive, note),
        limits_text(mechanism),
        drafted,
        groups,
        pairs,
        home,
        frozendict(hands),
        passive,
    )


def _home(
    robot: Robot, pairs: tuple[DraftedPair, ...], preferred: Mapping[str, float]
) -> tuple[Home, tuple[DraftedPair, ...]]:
    """Return a home configuration, and the pairs with those that had to be disabled for it."""
    for _ in range(MAX_ROUNDS):
        disabled = tuple(pair.disabled for pair in pairs)
        home = find_home(msgspec.structs.replace(robot, disabled_pairs=disabled), frozendict(preferred))
        if not home.colliding:
            break
        sure = f"not sure: overlaps at the best of {home.tried} states that were tried as home; check it"
        added = [DraftedPair(*pair, DEFAULT, sure) for pair in home.colliding]
        pairs = tuple(sorted((*pairs, *added), key=lambda pair: (pair.first, pair.second)))
    return home, pairs


def _states(
    groups: tuple[DraftedGroup, ...], hands: Mapping[str, HandDraft], home: Home
) -> frozendict[str, frozendict[str, float]]:
    """Return the named states of each group: open and closed of hands, home of all others."""
    states: dict[str, frozendict[str, float]] = {}
    for found in groups:
        name = found.group.name
        if name in hands:
            states[f"{name}/{OPEN}"] = hands[name].opened
            states[f"{name}/{CLOSED}"] = hands[name].closed
        else:
            states[f"{name}/{HOME}"] = frozendict({v: home.values[v] for v in found.group.variables})
    return frozendict(states)
