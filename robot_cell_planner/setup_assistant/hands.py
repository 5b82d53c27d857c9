"""Open and closed states of a hand, and its tool centre point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from frozendict import frozendict

from ..collision.checker import CollisionChecker
from ..model.cell import RobotCell
from ..model.mechanism import Variable
from ..model.name_suggestions import listed
from ..model.pose import Pose
from ..model.random_configurations import finite_bounds
from ..model.robot import Robot
from .fingertips import fingertips, mean_reach, mean_spread, points_of
from .kinematic_tree import Hand
from .tool_centre_point import tool_centre_point

Values = dict[str, float]
Measure = Callable[[Mapping[str, float]], float]  # of the fingertips at values of the variables [m]
MIN_DIFFERENCE = 1e-3  # [m] of a measure of the fingertips, for open and closed to be distinguished
MAX_STROKE = np.pi  # [rad] of a finger; it turns half of that to either side of its rest value
MAX_OPENED = 0.9  # of the way from closed to open, if the fingers overlap when closed
MAX_CLOSED = 0.3  # of the way from open to closed, if parts of the open hand overlap
OPENING_STEPS = 14  # of the search for where they do not
MAX_OPPOSED = 3  # fingers that close towards each other; more of them bend towards the palm


@dataclass(frozen=True)
class HandDraft:
    """States and tool centre point of a hand.

    Attributes:
        opened, closed: Values of the variables of its fingers [rad or m].
        tcp: Pose of the tool centre point in the link that carries the fingers; z points along the fingers.
        base: That link.
        tcp_link: Link of the description that is at the tool centre point; "" if there is none.
        opening: Distance of the fingertips when open, minus that when closed [m].
        doubt: Why open and closed are guesses; "" if they are not.
    """

    opened: frozendict[str, float]
    closed: frozendict[str, float]
    tcp: Pose
    base: str
    opening: float
    doubt: str = ""
    tcp_link: str = ""


def draft_hand(robot: Robot, hand: Hand) -> HandDraft:
    """Find the open and closed states of a hand at the limits of each variable, with the others at rest.

    A joint that turns by more than half a turn has a quarter turn to either side of its rest value instead of its
    limits, which are not those of a finger: at -2 pi and 2 pi the hand is the same. It is closed, or if that is wider
    open, at rest.

    The tips of up to three fingers are nearer to each other when closed, those of more fingers nearer to the base,
    because a finger that bends alone moves away from its neighbours. So are those of three that would be farther apart
    when all are closed. Two that would be are exchanged: a finger that moves alone can come nearer by passing the other
    one.

    Raises:
        GeometryError: A mesh of a fingertip cannot be read.
    """
    base = hand.joints[0].parent if hand.joints else hand.base
    names = [variable for joint in hand.joints for variable in joint.variables]
    tips = fingertips(robot.mechanism, hand)
    points = {tip: points_of(robot, tip) for tip in tips}
    variables = [robot.variables[name] for name in names]
    lower, upper = finite_bounds(variables)
    rest = {name: float(np.clip(0.0, low, high)) for name, low, high in zip(names, lower, upper, strict=True)}
    ends = {
        variable.name: _stroke(variable, low, high, rest[variable.name])
        for variable, low, high in zip(variables, lower, upper, strict=True)
    }
    spread, reach = partial(mean_spread, robot, base, points), partial(mean_reach, robot, base, points)
    measure = reach if _fingers(robot, hand) > MAX_OPPOSED else spread
    opened, closed = _ends(measure, ends, rest)
    closed |= {v.name: rest[v.name] for v in variables if _is_cut(v, ends)}
    if spread(opened) < spread(closed):
        if len(tips) > 2:
            measure = reach
            opened, closed = _ends(reach, ends, rest)
        else:
            opened, closed = closed, opened
    tcp, link = tool_centre_point(robot, base, points, closed)
    return HandDraft(
        opened=frozendict(opened),
        closed=frozendict(closed),
        tcp=tcp,
        base=base,
        opening=max(spread(opened) - spread(closed), 0.0),
        doubt=_doubt(variables, ends, measure(opened) - measure(closed)),
        tcp_link=link,
    )


def _doubt(variables: list[Variable], ends: Mapping[str, tuple[float, float]], difference: float) -> str:
    """Return why the states of a hand are guesses, whose measure has a difference [m]; "" if they are not."""
    if cut := [variable.name for variable in variables if _is_cut(variable, ends)]:
        return f"the limits of {listed(cut)} allow more than half a turn, which no finger makes"
    if difference < MIN_DIFFERENCE:
        return f"its fingertips are as far apart at both limits of {listed(v.name for v in variables)}"
    return ""


def _is_cut(variable: Variable, ends: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether a finger does not move to the limits of its variable."""
    low, high = ends[variable.name]
    return low > variable.limits.lower or high < variable.limits.upper


def _stroke(variable: Variable, lower: float, upper: float, rest: float) -> tuple[float, float]:
    """Return the positions between which a finger moves [rad or m]."""
    if variable.unit == "rad" and upper - lower > MAX_STROKE:
        return float(max(lower, rest - 0.5 * MAX_STROKE)), float(min(upper, rest + 0.5 * MAX_STROKE))
    return float(lower), float(upper)


def _ends(
    measure: Measure, ends: Mapping[str, tuple[float, float]], rest: Mapping[str, float]
) -> tuple[Values, Values]:
    """Return the limits of variables at which a measure is greater, and the others; the upper one if they are equal."""
    greater, others = {}, {}
    for name, (low, high) in ends.items():
        first = measure({**rest, name: low}) > measure({**rest, name: high})
        greater[name], others[name] = (low, high) if first else (high, low)
    return greater, others


def _fingers(robot: Robot, hand: Hand) -> int:
    """Return the number of fingers with variables of their own: all parts of a linkage are moved by the same."""
    mechanism = robot.mechanism
    joints = {joint.child: joint for joint in hand.joints}
    found = set()
    for link in fingertips(mechanism, hand):
        variables = set[str]()
        while (joint := mechanism.parent_joints.get(link)) is not None:
            if link in joints:
                variables.add(mechanism.mimic_source(joint.name)[0])
            link = joint.parent
        found.add(frozenset(variables))
    return len(found)


def opened_without_overlap(robot: Robot, hand: Hand, found: HandDraft) -> HandDraft:
    """Return a hand that is closed so far that its parts do not overlap in the open state, by at most MAX_CLOSED of the
    way, if it can be.

    Args:
        robot: Robot with the disabled pairs.
        hand: The hand; pairs of its parts and of its base count.
        found: Its states; they are returned unchanged if open parts do not overlap, or wherever it was tried.

    Raises:
        GeometryError: A collision shape cannot be built.
    """
    parts = {found.base, hand.base}
    for joint in robot.mechanism.tree_order:
        if joint.parent in parts:
            parts.add(joint.child)
    checker, rest = _checker(robot)

    def overlaps(fraction: float) -> bool:
        values = {**rest, **_between(found.opened, found.closed, fraction)}
        pairs = checker.report(np.array([values[name] for name in checker.variables])).pairs
        return any(pair.first in parts and pair.second in parts for pair in pairs)

    fraction = _first_without(overlaps, MAX_CLOSED)
    return replace(found, opened=frozendict(_between(found.opened, found.closed, fraction))) if fraction else found


def closed_without_overlap(robot: Robot, home: Mapping[str, float], hand: HandDraft) -> HandDraft:
    """Return a hand that is opened so far that its fingers do not overlap in the closed state, if it can be.

    Args:
        robot: Robot with the disabled pairs.
        home: Values of all variables, with the hand open.
        hand: The hand; it is returned unchanged if it overlaps nowhere, or wherever it was tried.

    Raises:
        GeometryError: A collision shape cannot be built.
    """
    checker, _ = _checker(robot)

    def overlaps(fraction: float) -> bool:
        found = {**home, **_between(hand.closed, hand.opened, fraction)}
        return checker.in_collision(np.array([found[name] for name in checker.variables]))

    fraction = _first_without(overlaps, MAX_OPENED)
    return replace(hand, closed=frozendict(_between(hand.closed, hand.opened, fraction))) if fraction else hand


def _checker(robot: Robot) -> tuple[CollisionChecker, Mapping[str, float]]:
    """Return the checker of a robot alone, and the values of its variables at rest."""
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: robot}))
    state = cell.default_state()
    return CollisionChecker(cell, state), state.configuration


def _between(first: Mapping[str, float], second: Mapping[str, float], fraction: float) -> Values:
    """Return the values at a fraction of the way from some values to others."""
    return {name: value + fraction * (second[name] - value) for name, value in first.items()}


def _first_without(overlaps: Callable[[float], bool], highest: float) -> float:
    """Return the fraction, up to the highest one, from which on there is no overlap; 0 if there is none at 0, or one at
    the highest fraction."""
    low, high = 0.0, highest
    if not overlaps(low) or overlaps(high):
        return 0.0
    for _ in range(OPENING_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if overlaps(middle) else (low, middle)
    return high
