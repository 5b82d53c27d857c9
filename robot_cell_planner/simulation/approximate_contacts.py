"""Pairs of links that engines, which move convex pieces, would press apart although their meshes do not touch."""

from __future__ import annotations

from frozendict import frozendict
from msgspec.structs import replace

from ..collision.checker import CollisionChecker
from ..model.bodies import Tool
from ..model.cell import RobotCell
from ..model.geometry import Mesh, MeshUse, Shape, Triangles
from ..model.robot import Robot
from ..model.state import RobotCellState


def pairs_of_pieces_alone(cell: RobotCell, state: RobotCellState) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links of robots and tools that are apart at a state, where meshes are checked by their
    triangles, while the convex pieces of these meshes overlap, as those of gear wheels that mesh do.

    Raises:
        GeometryError: A mesh cannot be read or decomposed.
    """
    robots = frozendict({name: _in_pieces(robot) for name, robot in cell.robots.items()})
    tools = frozendict({name: _in_pieces(tool) for name, tool in cell.tools.items()})
    if robots == cell.robots and tools == cell.tools:
        return ()
    in_pieces = CollisionChecker(replace(cell, robots=robots, tools=tools), state)
    overlapping = {(pair.first, pair.second) for pair in in_pieces.report().pairs}
    if overlapping:
        overlapping -= {(pair.first, pair.second) for pair in CollisionChecker(cell, state).report().pairs}
    return tuple(sorted(pair for pair in overlapping if cell.bodies.keys().isdisjoint(pair)))


def _in_pieces(model: Robot | Tool) -> Robot | Tool:
    """Return a robot or tool with decompositions of meshes that are checked by their triangles."""
    mechanism = model.mechanism
    links = {
        name: replace(link, collisions=tuple(map(_decomposed, link.collisions)))
        for name, link in mechanism.links.items()
    }
    return replace(model, mechanism=replace(mechanism, links=frozendict(links)))


def _decomposed(shape: Shape) -> Shape:
    geometry = shape.geometry
    if isinstance(geometry, Mesh | Triangles) and geometry.use is MeshUse.EXACT:
        return replace(shape, geometry=replace(geometry, use=MeshUse.DECOMPOSITION))
    return shape
