"""Search for a home configuration: free of collisions, away from limits and from singularities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..kinematics.differential import jacobians
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.geometry import Box, Shape
from ..model.mechanism import Variable
from ..model.pose import Pose
from ..model.random_configurations import finite_bounds
from ..model.robot import Robot
from .fingertips import points_of
from .names import free_name

Floats = NDArray[np.float64]
CANDIDATES = 400
SPREAD = 0.25  # of the range of each joint, around its rest value
MAX_REST_SPAN = 2.0  # [rad or m] candidates are within this of the rest values
LIMIT_MARGIN = 0.1  # of the range, at most MAX_LIMIT_MARGIN
MAX_LIMIT_MARGIN = 0.2  # [rad or m]
MAX_PASSES = 3  # over the joints, to set them to their neutral values
GOOD_CLEARANCE = 0.05  # [m] a larger clearance is no better
FLOOR = 20.0  # [m] length of a floor to each side, and its thickness
SEED = 1


@dataclass(frozen=True)
class Home:
    """Home configuration of a robot.

    Attributes:
        values: Value of each variable [rad or m].
        clearance: Smallest distance of the checked pairs [m]; negative if no free configuration was found.
        limit_margin: Smallest distance to a limit [rad or m], without the variables that are kept, such as those of
            open hands.
        limit_unit: Unit of this distance; "" if there is none.
        colliding: Pairs that collide at the values.
        tried: Number of configurations that were checked.
    """

    values: frozendict[str, float]
    clearance: float
    limit_margin: float
    limit_unit: str
    colliding: tuple[tuple[str, str], ...]
    tried: int

    @property
    def from_limits(self) -> str:
        """The distance to a limit as text."""
        if np.isinf(self.limit_margin):
            return "no joint has limits, besides those of hands"
        return f"{self.limit_margin:.3g} {self.limit_unit} from the nearest limit"


def find_home(robot: Robot, preferred: frozendict[str, float]) -> Home:
    """Search a configuration of all variables of a robot with groups and disabled pairs.

    Candidates are the neutral values, the middles of the limits, and random values around them. Of those that are free
    and away from limits, and if there are such, above the bottom of the base, the one is taken that is far from contact
    and singularities and near to the neutral values. Joints that contribute nothing to that, such as the first one of
    an arm, are then set to their neutral values. If none is free, the one with the smallest overlap is returned.

    Args:
        robot: Robot with drafted groups and pairs.
        preferred: Values of variables that are kept, such as those of open hands.

    Raises:
        GeometryError: A collision shape cannot be built.
    """
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: robot}))
    checker = CollisionChecker(cell, cell.default_state())
    variables = [robot.variables[name] for name in checker.variables]
    candidates = _candidates(variables, preferred)
    free = candidates[~checker.in_collision_batch(candidates)]
    if not len(free):
        return _least_overlap(checker, variables, candidates, preferred)
    on_floor = _checker_on_floor(robot)
    above = free[~on_floor.in_collision_batch(free)]
    found, judge = (above, on_floor) if len(above) else (free, checker)
    best = found[int(np.argmax(_scores(cell, checker, variables, found)))]
    best = _nearer_to_rest(cell, checker, judge, variables, best, preferred)
    return _home(checker, variables, best, len(candidates), preferred)


def _inner_bounds(variables: list[Variable]) -> tuple[Floats, Floats]:
    """Return the limits of a home configuration, which are away from those of the joints."""
    lower, upper = finite_bounds(variables)
    margin = np.minimum(LIMIT_MARGIN * (upper - lower), MAX_LIMIT_MARGIN)
    return lower + margin, upper - margin


def _checker_on_floor(robot: Robot) -> CollisionChecker:
    """Return the checker of a robot that stands on a floor: many do, and a home below it could not be reached."""
    links = robot.mechanism.links
    bottom = float(points_of(robot, robot.mechanism.root)[:, 2].min())
    name = free_name(("floor",), {robot.name, *links, *robot.mechanism.joints, *robot.groups})
    shape = Shape(Box((2.0 * FLOOR, 2.0 * FLOOR, FLOOR)), Pose((0.0, 0.0, bottom - 0.5 * FLOOR)))
    bodies = frozendict({name: RigidBody(name, (shape,))})
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: robot}), bodies=bodies)
    return CollisionChecker(cell, cell.default_state())


def _nearer_to_rest(
    cell: RobotCell,
    checker: CollisionChecker,
    judge: CollisionChecker,
    variables: list[Variable],
    q: Floats,
    kept: Collection[str],
) -> Floats:
    """Return a configuration in which each joint has its neutral value where that is no worse, and free for the judge.

    checker, judge: Of the robot alone, which rates configurations, and the one with all that must not be touched.
    """
    low, high = _inner_bounds(variables)
    rest: Floats = np.clip(np.zeros(len(low)), low, high)
    movable = [column for column, variable in enumerate(variables) if variable.name not in kept]
    for _ in range(MAX_PASSES):
        before = q
        for column in movable:
            other = q.copy()
            other[column] = rest[column]
            pair = np.vstack([q, other])
            if q[column] != rest[column] and not judge.in_collision(other):
                q = np.asarray(pair[int(np.argmax(_scores(cell, checker, variables, pair)))])
        if np.array_equal(before, q):
            break
    return q


def _candidates(variables: list[Variable], preferred: frozendict[str, float]) -> Floats:
    lower, upper = finite_bounds(variables)
    low, high = _inner_bounds(variables)
    rest = np.clip(np.zeros(len(low)), low, high)
    middle = 0.5 * (lower + upper)
    random = np.random.default_rng(SEED)
    span = np.minimum(upper - lower, 2.0 * MAX_REST_SPAN)
    around = rest + SPREAD * span * random.normal(size=(CANDIDATES, len(low)))
    halfway = 0.5 * (rest + middle) + SPREAD * span * random.normal(size=(CANDIDATES // 2, len(low)))
    found = np.clip(np.vstack([rest, middle, around, halfway]), low, high)
    for column, variable in enumerate(variables):
        if variable.name in preferred:
            found[:, column] = preferred[variable.name]
    return found


def _scores(cell: RobotCell, checker: CollisionChecker, variables: list[Variable], free: Floats) -> Floats:
    """Rate configurations (n, dof): clearance, dexterity of the chains, and nearness to the rest values count alike."""
    clearance = np.array([min(checker.distance(q, GOOD_CLEARANCE).distance, GOOD_CLEARANCE) for q in free])
    lower, upper = finite_bounds(variables)
    near = np.abs(free - np.clip(0.0, lower, upper)) / np.maximum(np.minimum(upper - lower, 2.0 * np.pi), 1e-9)
    score = clearance / GOOD_CLEARANCE - 0.5 * near.sum(axis=1) / max(near.shape[1], 1)
    columns = {name: column for column, name in enumerate(checker.variables)}
    for robot in cell.robots.values():
        for group in robot.groups.values():
            if len(group.variables) >= 5 and group.tip_link:
                rows = free[:, [columns[name] for name in group.variables]]
                dexterity = _dexterity(cell, group.name, group.tip_link, rows)
                score = score + dexterity / max(float(dexterity.max()), 1e-12)
    return np.asarray(score)


def _dexterity(cell: RobotCell, group: str, tip: str, rows: Floats) -> Floats:
    """Return the smallest singular value of the Jacobian at each configuration (n, dof), lengths in units of 0.5 m."""
    jacobian = jacobians(cell, cell.default_state(), group, tip, configurations=rows).jacobian.copy()
    jacobian[:, :3] /= 0.5
    return np.asarray(np.linalg.svd(jacobian, compute_uv=False)[:, -1])


def _least_overlap(
    checker: CollisionChecker, variables: list[Variable], candidates: Floats, kept: Collection[str]
) -> Home:
    overlaps = [checker.distance(q).distance for q in candidates[:CANDIDATES]]
    return _home(checker, variables, candidates[int(np.argmax(overlaps))], len(candidates), kept)


def _home(checker: CollisionChecker, variables: list[Variable], q: Floats, tried: int, kept: Collection[str]) -> Home:
    lower, upper = ([getattr(variable.limits, end) for variable in variables] for end in ("lower", "upper"))
    q = np.clip(np.round(q, 4), lower, upper)
    margins = [
        (min(value - v.limits.lower, v.limits.upper - value), v.unit)
        for v, value in zip(variables, q, strict=True)
        if v.name not in kept
    ]
    margin, unit = min(margins, default=(np.inf, ""))
    colliding = tuple((pair.first, pair.second) for pair in checker.report(q).pairs)
    return Home(
        frozendict({name: float(value) for name, value in zip(checker.variables, q, strict=True)}),
        checker.distance(q).distance,
        float(margin),
        unit,
        colliding,
        tried,
    )
