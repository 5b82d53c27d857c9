"""Chains of planning groups whose robots stand on each other, such as an arm on a rail that is a robot of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from .bodies import NamedFrame
from .robot import PlanningGroup


def ancestors(link: str, parents: Mapping[str, str], frames: Mapping[str, NamedFrame]) -> tuple[str, ...]:
    """Return a link and its ancestors, as far as they do not depend on a state.

    Args:
        parents: Parent frame of each link of robots and tools.
        frames: Named frames.
    """
    found = {link: None}
    while link in parents or link in frames:
        named = frames.get(link)
        link = parents[link] if named is None else named.attached_to
        if link in found:
            break
        found[link] = None
    return tuple(found)


def ends_of(groups: Sequence[PlanningGroup], ancestors: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    """Return the first and the last link of groups whose robots are attached to each other, "" if they are not.

    ancestors: Base link of each group by its name, and the ancestors of that link that do not depend on a state.
    """
    ordered = sorted(groups, key=lambda group: len(ancestors[group.name]))
    if all(one.tip_link and one.tip_link in ancestors[other.name] for one, other in pairwise(ordered)):
        return ordered[0].base_link, ordered[-1].tip_link
    return "", ""


def chains_of(
    groups: Sequence[PlanningGroup], ancestors: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[PlanningGroup, ...], ...]:
    """Return groups in their order, those that form a chain together at the place of their first; groups that carry
    another one beside their chain, such as a rail with two arms, are alone. ancestors: As of `ends_of`.
    """
    chains: list[tuple[PlanningGroup, ...]] = []
    for group in groups:
        place = next((i for i, chain in enumerate(chains) if ends_of((*chain, group), ancestors)[1]), len(chains))
        chains[place:] = [(*chains[place], group), *chains[place + 1 :]] if place < len(chains) else [(group,)]
    found: list[tuple[PlanningGroup, ...]] = []
    for chain in chains:
        links = {link for group in chain for link in (*group.links, group.tip_link)}
        carried = [group for group in groups if group not in chain and links.intersection(ancestors[group.name])]
        found.extend([(group,) for group in chain] if carried else [chain])
    return tuple(found)
