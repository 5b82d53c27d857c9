"""Whether a state is in collision only because meshes are checked as their convex hulls or pieces."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from frozendict import frozendict
from msgspec.structs import replace

from ..collision.checker import CollisionChecker
from ..collision.enclosed_objects import enclosed_objects
from ..collision.report import CollisionReport
from ..errors import RobotCellError
from ..model.cell import RobotCell
from ..model.geometry import MeshUse
from ..model.state import RobotCellState
from .pieces import pieces, with_pieces

HULLS_REMEDY = (
    "Only the convex hulls of the meshes overlap, their convex pieces do not: check these meshes by `meshes: "
    "decomposition` of the robot or tool in the cell file, or `use: decomposition` of the body's mesh."
)
TRIANGLES_REMEDY = (
    "Only the convex hulls or pieces of the meshes overlap, their triangles do not, as those of gear wheels that mesh: "
    "check these meshes by their triangles, `exact` in `mesh_uses` of the robot or tool in the cell file, or `use: "
    "exact` of the body's mesh."
)
MAX_OBJECTS = 6  # that collide and are decomposed; more usually lack disabled pairs


def remedy_of_collision(
    cell: RobotCell, state: RobotCellState, values: Mapping[str, float], report: CollisionReport, otherwise: str
) -> str:
    """Return what to do about a collision at a state: `HULLS_REMEDY` if nothing collides when the meshes of up to
    `MAX_OBJECTS` objects are decomposed; `TRIANGLES_REMEDY` if nothing collides with their triangles, and none is
    inside of another one, which triangles do not show.

    Args:
        cell: Models of robots, tools and bodies.
        state: State of the cell.
        values: Values of variables in place of those of the state [rad, m].
        report: Report of the state with these values, with all pairs.
        otherwise: Remedy of other collisions.
    """
    names = {name for pair in report.pairs for name in (pair.first, pair.second)}
    if len(names) > MAX_OBJECTS:
        return otherwise
    moved = replace(state, configuration=state.configuration | values)
    for use, remedy in ((MeshUse.DECOMPOSITION, HULLS_REMEDY), (MeshUse.EXACT, TRIANGLES_REMEDY)):
        finer = _with_use(cell, names, use)
        if finer != cell and not _collides(finer, moved, names):
            return remedy
    return otherwise


def _collides(cell: RobotCell, state: RobotCellState, names: set[str]) -> bool:
    """Return whether something collides or cannot be checked, or one of some objects is inside of a surface."""
    try:
        checker = CollisionChecker(cell, state)
        if checker.report(max_pairs=1).in_collision:
            return True
        return any(names & set(pair) for pair in enclosed_objects(cell, state, checker.allowed_pairs))
    except RobotCellError:
        return True  # such as a mesh that cannot be decomposed


def _with_use(cell: RobotCell, names: Collection[str], use: MeshUse) -> RobotCell:
    """Return the cell with the meshes of these objects checked in this way, if that is finer than their own."""
    robots = {
        key: replace(robot, mechanism=with_pieces(robot.mechanism, names, use=use))
        for key, robot in cell.robots.items()
    }
    tools = {
        key: replace(tool, mechanism=with_pieces(tool.mechanism, names, f"{tool.name}/", use=use))
        for key, tool in cell.tools.items()
    }
    bodies = {
        name: replace(body, collisions=pieces(body.collisions, use=use)) if name in names else body
        for name, body in cell.bodies.items()
    }
    return replace(cell, robots=frozendict(robots), tools=frozendict(tools), bodies=frozendict(bodies))
