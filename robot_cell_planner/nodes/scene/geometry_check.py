"""Builds collision geometry before it enters the scene, in a separate thread, so that invalid meshes are rejected."""

from __future__ import annotations

import threading
from concurrent.futures import Future as ThreadFuture

from rclpy.task import Future

from ...collision.geometry.collision_geometry import prepare_geometry
from ...model.cell import RobotCell
from ...model.geometry import Mesh, Triangles
from ..common.node import CellNode


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
                await self._built(cell)

    async def _built(self, cell: RobotCell) -> None:
        arrived: Future[None] = Future()
        work: ThreadFuture[None] = ThreadFuture()
        work.add_done_callback(lambda _: self._node.resolve(arrived, None))
        # A daemon thread instead of a pool, so that the process can end meanwhile.
        threading.Thread(target=self._build, args=(cell, work), name="geometry", daemon=True).start()
        await arrived
        work.result()

    def _build(self, cell: RobotCell, work: ThreadFuture[None]) -> None:
        try:
            with self._one_at_a_time:
                prepare_geometry(cell)
        except Exception as error:
            work.set_exception(error)  # raised where it is awaited
        else:
            work.set_result(None)


def _has_meshes(cell: RobotCell) -> bool:
    mechanisms = [robot.mechanism for robot in cell.robots.values()] + [tool.mechanism for tool in cell.tools.values()]
    shapes = [shape for mechanism in mechanisms for link in mechanism.links.values() for shape in link.collisions]
    shapes += [shape for body in cell.bodies.values() for shape in body.collisions]
    return any(isinstance(shape.geometry, Mesh | Triangles) for shape in shapes)
