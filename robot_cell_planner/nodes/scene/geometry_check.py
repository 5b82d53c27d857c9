"""Builds collision geometry before it enters the scene, in a separate thread, so that invalid meshes are rejected."""

from __future__ import annotations

import threading
from functools import partial

from ...collision.geometry.collision_geometry import prepare_geometry
from ...model.cell import RobotCell
from ...model.geometry import Mesh, Triangles
from ..common.node import CellNode
from ..common.threads import in_thread


class GeometryCheck:
    """Builds the meshes of models, while other requests are served. A decomposition can take minutes."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._one_at_a_time = threading.Lock()

    async def check(self, *cells: RobotCell) -> None:
        """Build the geometry of models with meshes.

        Raises:
            GeometryError: A mesh cannot be built; names its object.
        """
        for cell in cells:
            if _has_meshes(cell):
                await in_thread(self._node, "geometry", partial(self._build, cell))

    def _build(self, cell: RobotCell) -> None:
        with self._one_at_a_time:
            prepare_geometry(cell)


def _has_meshes(cell: RobotCell) -> bool:
    mechanisms = [robot.mechanism for robot in cell.robots.values()] + [tool.mechanism for tool in cell.tools.values()]
    shapes = [shape for mechanism in mechanisms for link in mechanism.links.values() for shape in link.collisions]
    shapes += [shape for body in cell.bodies.values() for shape in body.collisions]
    return any(isinstance(shape.geometry, Mesh | Triangles) for shape in shapes)
