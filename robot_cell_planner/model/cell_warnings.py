"""Properties of a cell that limit what answers about it mean: what the user should know before the robot moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from .bodies import Tool
from .cell import RobotCell
from .geometry import Box, Cylinder, Geometry, Sphere
from .mechanism import JointKind, Link, Mechanism, Variable
from .mimic_texts import mimic_limit_texts
from .name_suggestions import listed
from .robot import Robot

MAX_MARKER = 0.02  # [m]
CHECKED_LIMITS = ("velocity", "acceleration", "jerk")


def cell_warnings(cell: RobotCell) -> tuple[str, ...]:
    """Return the warnings about all robots and tools of a cell, one line each.

    They are the defects of their descriptions, limits of mimic joints that narrow others, links that are shown but have
    no collision shapes, moving links without mass, and limits that no file specifies.
    """
    models: list[Robot | Tool] = [*cell.robots.values(), *cell.tools.values()]
    return tuple(text for model in models for text in model_warnings(model))


def model_warnings(model: Robot | Tool) -> tuple[str, ...]:
    """Return the warnings about a robot or tool, one line each."""
    name = f"{'robot' if isinstance(model, Robot) else 'tool'} {model.name}"
    mechanism = model.mechanism
    found = [f"{name}: {text}" for text in (*model.sources.warnings, *mimic_limit_texts(mechanism))]
    unchecked = links_without_collision_shapes(mechanism)
    if unchecked:
        found.append(f"{name}: {unchecked_text(unchecked)}")
    massless = massless_links(mechanism)
    if massless:
        one = "link has" if len(massless) == 1 else "moving links have"
        found.append(f"{name}: {len(massless)} {one} no mass, so dynamics are not right: {listed(massless)}")
    assumed = assumed_limits(mechanism, (variable.name for variable in mechanism.variables))
    if assumed:
        found.append(f"{name}: {assumed}")
    return tuple(found)


def links_without_collision_shapes(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the links that are shown but have no collision shapes, without markers of frames. All links count if none
    of them is shown."""
    without = [link for link in mechanism.links.values() if not link.collisions]
    if len(without) == len(mechanism.links):
        return tuple(link.name for link in without)
    return tuple(link.name for link in without if link.visuals and not _is_marker(link))


def _is_marker(link: Link) -> bool:
    """Return whether a link without collision shapes shows where a frame is: it has no mass, and its visual shapes are
    primitives of at most `MAX_MARKER`, such as the red cube at the end effector of some grippers."""
    return not _has_mass(link) and all(_extent(shape.geometry) <= MAX_MARKER for shape in link.visuals)


def _extent(geometry: Geometry) -> float:
    """Return the largest extent of a primitive along its axes [m]; infinity for others."""
    if isinstance(geometry, Box):
        return max(geometry.size)
    if isinstance(geometry, Sphere):
        return 2.0 * geometry.radius
    if isinstance(geometry, Cylinder):
        return max(2.0 * geometry.radius, geometry.length)
    return math.inf


def unchecked_text(links: Sequence[str]) -> str:
    """Return the sentence about links without collision shapes."""
    one = "link has" if len(links) == 1 else "links have"
    return f"{len(links)} {one} no collision shapes and can pass through anything: {listed(links)}"


def massless_links(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the links with shapes of each rigid body without mass that a joint moves.

    A rigid body is a link with all links that are fixed to it: a flange needs no mass of its own.
    """
    bodies: dict[str, list[str]] = {}  # links by the one that a joint moves
    body_of: dict[str, str] = {}
    for joint in mechanism.tree_order:
        if joint.kind is not JointKind.FIXED:
            body_of[joint.child] = joint.child
        elif joint.parent in body_of:
            body_of[joint.child] = body_of[joint.parent]
        if joint.child in body_of:
            bodies.setdefault(body_of[joint.child], []).append(joint.child)
    links = mechanism.links
    massless = (body for body in bodies.values() if not any(_has_mass(links[name]) for name in body))
    return tuple(name for body in massless for name in body if links[name].collisions or links[name].visuals)


def _has_mass(link: Link) -> bool:
    return link.inertial is not None and link.inertial.mass > 0.0


def assumed_limits(mechanism: Mechanism, variables: Iterable[str]) -> str:
    """Return a sentence about the limits of some variables that no file specifies; "" if there are none."""
    requested = set(variables)
    return assumed_limits_of([variable for variable in mechanism.variables if variable.name in requested])


def assumed_limits_of(variables: Iterable[Variable]) -> str:
    """Return a sentence about the limits of variables that no file specifies; "" if there are none."""
    limits = {variable.name: variable.limits for variable in variables}
    parts = [
        f"{kind} limits of {'all joints' if len(names) == len(limits) else listed(names)}"
        for kind in CHECKED_LIMITS
        if (names := [name for name, found in limits.items() if kind in found.defaulted])
    ]
    return f"{_joined(parts)} are assumed, because no file gives values above 0" if parts else ""


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def unchecked_warnings(cell: RobotCell, variables: Iterable[str]) -> tuple[str, ...]:
    """Return a warning for each robot with some of the variables that has links without collision shapes."""
    return tuple(
        f"robot {robot.name}: {unchecked_text(unchecked)}"
        for robot in _robots_of(cell, variables)
        if (unchecked := links_without_collision_shapes(robot.mechanism))
    )


def _robots_of(cell: RobotCell, variables: Iterable[str]) -> Iterator[Robot]:
    requested = set(variables)
    return (robot for robot in cell.robots.values() if not requested.isdisjoint(robot.variables))
