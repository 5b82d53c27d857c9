"""Balls around geometry that enters the cell, made before a request needs them, in a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...collision.sphere_model.report import graspable, prepare_sphere_models
from ...errors import RobotCellError
from ...model.cell import RobotCell
from ...scene.scene import Scene
from .node import CellNode
from .scene_monitor import SceneMonitor
from .waiting import Deadline, Waiters

# [s] that a request waits for sphere models, before it does without proofs. Those of known meshes are read in less than
# a second; on a busy computer, too, a plan is to depend on its seed alone.
PATIENCE = 10.0
REMARK = "nothing is proven: the balls around new geometry were still being made"
NOTHING: tuple[str, tuple[str, ...]] = ("", ())


class SpherePreparation:
    """Covers the links, tools and bodies of a replica that move or may be gripped, whenever those change. Covers are
    kept on disk, where workers find them. on_covered(scene): called when there is nothing more to make for a while."""

    def __init__(
        self, node: CellNode, replica: SceneMonitor, on_covered: Callable[[Scene], None] = lambda scene: None
    ) -> None:
        self._node = node
        self._on_covered = on_covered
        self._replica = replica
        self._covered = self._making = NOTHING
        self._waiting = Waiters()
        replica.on_change(self._follow)

    @property
    def ready(self) -> bool:
        """Whether all geometry of the latest scene that may move is covered, or cannot be."""
        return self._covered == self._wanted()

    def _wanted(self) -> tuple[str, tuple[str, ...]]:
        scene = self._replica.scene
        return scene.cell.digest(), graspable(scene.cell, scene.state)

    async def wait(self) -> bool:
        """Whether all of it is covered, at once or within ten seconds."""
        deadline = Deadline(self._node, PATIENCE)
        try:
            while not self.ready and not deadline.passed:
                await self._waiting.wait(deadline)
        finally:
            deadline.end()
        return self.ready

    def _follow(self) -> None:
        wanted = self._wanted()
        if self._making != NOTHING or wanted == self._covered:
            return
        self._making = wanted
        arguments = (self._replica.scene.cell, wanted[1])
        # The process must be able to end in the middle of it.
        threading.Thread(target=self._make, args=arguments, name="covers", daemon=True).start()

    def _make(self, cell: RobotCell, bodies: tuple[str, ...]) -> None:
        warnings: tuple[str, ...] = ()
        try:
            report = prepare_sphere_models(cell, bodies=bodies)
            warnings = report.warnings
            text = f"{report.spheres} balls cover what can move, found or made in {report.seconds:.1f} s"
        except Exception as error:  # whoever waits for covers must not wait for ever
            kind = "" if isinstance(error, RobotCellError) else f"{type(error).__name__}: "
            text = f"not all geometry can be covered by balls, so that nothing is proven of motions: {kind}{error}"
        self._node.soon(lambda: self._made(text, warnings))

    def _made(self, text: str, warnings: tuple[str, ...]) -> None:
        self._node.get_logger().info(text)
        for warning in warnings:
            self._node.get_logger().warning(warning)
        self._covered, self._making = self._making, NOTHING
        self._waiting.wake()
        self._follow()
        if self._making == NOTHING:
            self._on_covered(self._replica.scene)
