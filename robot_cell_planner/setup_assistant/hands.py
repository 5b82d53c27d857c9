"""Open and closed states of a hand, and its tool centre point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..errors import RobotCellError
from ..io.mesh.loading import load_mesh
from ..kinematics.transforms import WorldTransforms
from ..model.cell import RobotCell
from ..model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Sphere, Triangles
from ..model.geometry import Mesh as MeshGeometry
from ..model.pose import Pose
from ..model.random_configurations import finite_bounds
from ..model.robot import Robot
from .kinematic_tree import Hand

Floats = NDArray[np.float64]
Values = dict[str, float]
Measure = Callable[[Mapping[str, float]], float]  # of the fingertips at values of the variables [m]
INSET = 0.01  # [m] the tool centre point is this far behind the fingertips
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
        opening: Distance of the fingertips when open, minus that when closed [m].
    """

    opened: frozendict[str, float]
    closed: frozendict[str, float]
    tcp: Pose
    base: str
    opening: float


def draft_hand(robot: Robot, hand: Hand) -> HandDraft:
    """Find the open and closed states of a hand at the limits of each variable, with the others at rest.

    The tips of up to three fingers are nearer to each other when closed, those of more fingers nearer to the base,
    because a finger that bends alone moves away from its neighbours. So are those of three that would be farther apart
    when all are closed. The tool centre point is between the closed fingertips, 10 mm behind their ends.

    Raises:
        GeometryError: A mesh of a fingertip cannot be read.
    """
    base = hand.joints[0].parent if hand.joints else hand.base
    names = [variable for joint in hand.joints for variable in joint.variables]
    tips = _fingertips(hand)
    points = {tip: _points(robot, tip) for tip in tips}
    variables = [robot.variables[name] for name in names]
    lower, upper = finite_bounds(variables)
    rest = {name: float(np.clip(0.0, low, high)) for name, low, high in zip(names, lower, upper, strict=True)}
    ends = {name: (float(low), float(high)) for name, low, high in zip(names, lower, upper, strict=True)}
    spread, reach = partial(_spread, robot, base, points), partial(_reach, robot, base, points)
    opened, closed = _ends(reach if _fingers(robot, hand) > MAX_OPPOSED else spread, ends, rest)
    if spread(opened) < spread(closed) and len(tips) > 2:
        opened, closed = _ends(reach, ends, rest)
    opening = spread(opened) - spread(closed)
    return HandDraft(frozendict(opened), frozendict(closed), _tcp(robot, base, points, closed), base, max(opening, 0.0))


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
    for link in _fingertips(hand):
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


def _fingertips(hand: Hand) -> tuple[str, ...]:
    parents = {joint.parent for joint in hand.joints}
    return tuple(joint.child for joint in hand.joints if joint.child not in parents)


def _points(robot: Robot, link: str) -> Floats:
    """Return points (n, 3) of the shapes of a link in its frame; its origin if it has none."""
    found = robot.mechanism.links[link]
    rows = [np.zeros((1, 3))]
    for shape in found.collisions or found.visuals:
        try:
            points = _geometry_points(shape.geometry)
        except RobotCellError:
            continue  # a visual mesh that changed or went; the other shapes remain
        matrix = shape.pose.matrix
        rows.append(points @ matrix[:3, :3].T + matrix[:3, 3])
    return np.vstack(rows[1:] or rows)


def _geometry_points(geometry: Geometry) -> Floats:
    if isinstance(geometry, (MeshGeometry, Triangles)):
        return np.asarray(load_mesh(geometry).vertices)
    if isinstance(geometry, Box):
        half = 0.5 * np.array(geometry.size)
    elif isinstance(geometry, Sphere):
        half = np.full(3, geometry.radius)
    else:
        length = geometry.length + (2.0 * geometry.radius if isinstance(geometry, Capsule) else 0.0)
        assert isinstance(geometry, (Cylinder, Capsule, Cone))
        half = np.array([geometry.radius, geometry.radius, 0.5 * length])
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    return np.asarray(signs * half)


def _in_base(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> dict[str, Floats]:
    """Return the points of fingertips in the frame of the hand's base."""
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: robot}))
    transforms = WorldTransforms(cell, cell.default_state().with_configuration(values))
    result = {}
    for link, rows in points.items():
        matrix = transforms.matrix(link, base)
        result[link] = rows @ matrix[:3, :3].T + matrix[:3, 3]
    return result


def _spread(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> float:
    """Return the mean distance of the centres of the fingertips; of a single one from the base."""
    centres = [_centre(rows) for rows in _in_base(robot, base, points, values).values()]
    if len(centres) < 2:
        return float(np.linalg.norm(centres[0][:2])) if centres else 0.0
    pairs = [(i, j) for i in range(len(centres)) for j in range(i)]
    return float(np.mean([np.linalg.norm(centres[i] - centres[j]) for i, j in pairs]))


def _reach(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> float:
    """Return the mean distance of the centres of the fingertips from the base."""
    located = _in_base(robot, base, points, values).values()
    return float(np.mean([np.linalg.norm(_centre(rows)) for rows in located]))


def _centre(points: Floats) -> Floats:
    return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))


def _tcp(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> Pose:
    located = _in_base(robot, base, points, values)
    centre = np.mean([_centre(rows) for rows in located.values()], axis=0)
    length = float(np.linalg.norm(centre))
    if length < 1e-6:
        return Pose()
    # The coordinate axis of the base that points along the fingers.
    axis = np.zeros(3)
    index = int(np.argmax(np.abs(centre)))
    axis[index] = np.sign(centre[index])
    end = max(float((rows @ axis).max()) for rows in located.values())
    position = centre + axis * (end - INSET - centre @ axis)
    x, y, z = (round(float(value), 5) for value in position)
    return Pose.from_rpy((x, y, z), _rpy_of(axis))


def _rpy_of(axis: Floats) -> tuple[float, float, float]:
    """Return the roll, pitch and yaw that turn z to a coordinate axis."""
    x, y, z = axis
    if x:
        return (0.0, 0.5 * np.pi * x, 0.0)
    if y:
        return (-0.5 * np.pi * y, 0.0, 0.0)
    return (0.0, 0.0, 0.0) if z > 0.0 else (np.pi, 0.0, 0.0)
