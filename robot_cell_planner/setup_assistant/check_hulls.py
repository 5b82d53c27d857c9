"""Whether a state is in collision only because meshes are checked as their convex hulls."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from frozendict import frozendict
from msgspec.structs import replace

from ..collision.checker import CollisionChecker
from ..collision.report import CollisionReport
from ..errors import RobotCellError
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from .pieces import pieces, with_pieces

HULLS_REMEDY = (
    "Only the convex hulls of the meshes overlap, their convex pieces do not: check these meshes by `meshes: "
    "decomposition` of the robot or tool in the cell file, or `use: decomposition` of the body's mesh."
)
MAX_OBJECTS = 6  # that collide and are decomposed; more usually lack disabled pairs


def remedy_of_collision(
    cell: RobotCell, state: RobotCellState, values: Mapping[str, float], report: CollisionReport, otherwise: str
) -> str:
    """Return what to do about a collision at a state: `HULLS_REMEDY` if nothing collides when the meshes of up to
    `MAX_OBJECTS` objects are decomposed. Triangles would not show that an object is inside of another one.

    Args:
        cell: Models of robots, tools and bodies.
        state: State of the cell.
        values: Values of variables in place of those of the state [rad, m].
        report: Report of the state with these values, with all pairs.
        otherwise: Remedy of other collisions.
    """
    names = {name for pair in report.pairs for name in (pair.first, pair.second)}
    decomposed = _decomposed(cell, names)
    if len(names) > MAX_OBJECTS or decomposed == cell:
        return otherwise
    try:
        moved = replace(state, configuration=state.configuration | values)
        return otherwise if CollisionChecker(decomposed, moved).report(max_pairs=1).in_collision else HULLS_REMEDY
    except RobotCellError:
        return otherwise  # a mesh that cannot be decomposed


def _decomposed(cell: RobotCell, names: Collection[str]) -> RobotCell:
    """Return the cell with decompositions of the meshes of these objects in place of their hulls."""
    robots = {key: replace(robot, mechanism=with_pieces(robot.mechanism, names)) for key, robot in cell.robots.items()}
    tools = {
        key: replace(tool, mechanism=with_pieces(tool.mechanism, names, f"{tool.name}/"))
        for key, tool in cell.tools.items()
    }
    bodies = {
        name: replace(body, collisions=pieces(body.collisions)) if name in names else body
        for name, body in cell.bodies.items()
    }
    return replace(cell, robots=frozendict(robots), tools=frozendict(tools), bodies=frozendict(bodies))
