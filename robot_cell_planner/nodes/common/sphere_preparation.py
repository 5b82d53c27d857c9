"""Sphere models of new geometry, computed before a request needs them, in a thread of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...collision.sphere_model.report import (
    PreparedObjects,
    graspable,
    missing_sphere_models,
    prepare_sphere_models,
)
from ...errors import RobotCellError
from ...model.cell import RobotCell
from ...scene.scene import Scene
from .cancellation import CancellationToken
from .node import CellNode
from .scene_monitor import SceneMonitor
from .threads import lower_priority
from .timed_calls import TimedCall
from .waiting import Deadline, Waiters, call_later

# [s] that a request waits for sphere models that are loaded from disk. This takes less than a second; the limit is
# larger so that plans depend on their seed only, also on a busy computer. Nothing waits while models are computed.
WAIT_TIMEOUT = 10.0
LOG_PERIOD = 3.0  # [s] between log lines about the progress
RETRY_PERIOD = 5.0  # [s] after which the computation is started again that found no thread
UNCERTIFIED = "not certified: the sphere models of new geometry are still being computed"
NOTHING: tuple[str, tuple[str, ...]] = ("", ())


class SpherePreparation:
    """Computes sphere models of the links, tools and bodies that move or may be gripped after each change.

    The models are cached on disk for the workers.

    Args:
        on_prepared: Called with the scene when all of its models are stored.
        loads_first: This process uses the models itself: it is ready when it has loaded them.
    """

    def __init__(
        self,
        node: CellNode,
        scene_monitor: SceneMonitor,
        on_prepared: Callable[[Scene], None] = lambda scene: None,
        loads_first: bool = False,
    ) -> None:
        self._node = node
        self._on_prepared = on_prepared
        self._loads_first = loads_first
        self._scene_monitor = scene_monitor
        self._required = self._prepared = self._making = NOTHING
        self._objects = PreparedObjects()
        self._waiting = Waiters()
        self._computing = False
        self._again: TimedCall | None = None  # of the start of a computation
        self._progress = (0, 0)
        self._reported = 0.0  # steady clock [s] of the last line in the log
        scene_monitor.on_change(self._on_scene)
        self._is_released = False
        node.on_release(self._release)

    @property
    def ready(self) -> bool:
        """Return whether all movable geometry of the latest scene has sphere models, or cannot have any."""
        return self._prepared == self._required != NOTHING

    @property
    def progress(self) -> str:
        """Return the progress for diagnostics."""
        done, count = self._progress
        return "ready" if self.ready else f"{done} of {count} objects"

    async def wait(self, computed: bool = False, token: CancellationToken | None = None) -> bool:
        """Return whether all of it has sphere models, after a wait of up to WAIT_TIMEOUT.

        computed: wait also for models that have to be computed, which can take much longer than to load them.

        Raises:
            RobotCellError: The reason of a cancellation by the token.
        """
        token = token or CancellationToken()
        deadline = Deadline(self._node, WAIT_TIMEOUT)
        token.on_set(self._wake)
        try:
            while not self.ready and not deadline.passed and (computed or not self._computing):
                token.check()
                await self._waiting.wait(deadline)
        finally:
            token.remove(self._wake)
            deadline.end()
        return self.ready

    def _wake(self, _: RobotCellError) -> None:
        """Let waiting requests look for a cancellation."""
        self._waiting.wake()

    def _on_scene(self) -> None:
        scene = self._scene_monitor.scene
        self._required = scene.cell.digest(), graspable(scene.cell, scene.state)
        self._prepare_spheres()

    def _prepare_spheres(self) -> None:
        required = self._required
        if self._making != NOTHING or required == self._prepared:
            return
        self._cancel_retry()
        self._making, self._computing = required, False
        arguments = (self._scene_monitor.scene.cell, required[1])
        # A daemon thread, so that the process can end meanwhile.
        thread = threading.Thread(target=self._make, args=arguments, name="sphere models", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # too many threads; requests do not wait for the next one
            self._making, self._computing = NOTHING, True
            self._again = call_later(self._node, RETRY_PERIOD, self._prepare_spheres)
            text = f"sphere models are not computed, and nothing is certified: {error}; the next try is in"
            self._node.get_logger().warning(f"{text} {RETRY_PERIOD:g} s")
            self._waiting.wake()

    def _release(self) -> None:
        """Do nothing from now on: the node may be configured again before the thread ends."""
        self._is_released = True
        self._cancel_retry()

    def _soon(self, work: Callable[[], object]) -> None:
        """Call a function in the executor of the node, unless that is released."""
        self._node.soon(lambda: None if self._is_released else work())

    def _cancel_retry(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _make(self, cell: RobotCell, bodies: tuple[str, ...]) -> None:
        warnings: tuple[str, ...] = ()
        lower_priority()
        try:
            missing = missing_sphere_models(cell, bodies, self._objects)
            if missing:
                self._soon(lambda: self._note_computing(missing))
            elif not self._loads_first:
                self._soon(self._note_stored)
            report = prepare_sphere_models(cell, bodies=bodies, on_progress=self._note, prepared=self._objects)
            warnings = report.warnings
            text = f"sphere models: {report.spheres} spheres, loaded or computed in {report.seconds:.1f} s"
        except Exception as error:  # wake waiting requests
            kind = "" if isinstance(error, RobotCellError) else f"{type(error).__name__}: "
            text = f"motions cannot be certified, since sphere models are missing: {kind}{error}"
        self._soon(lambda: self._made(text, warnings))

    def _note_computing(self, missing: tuple[str, ...]) -> None:
        self._computing = True
        text = f"sphere models of {len(missing)} objects are computed; until then, nothing is certified"
        self._node.get_logger().info(text)
        self._waiting.wake()

    def _note_stored(self) -> None:
        self._prepared = self._making
        self._waiting.wake()
        if self.ready:
            self._on_prepared(self._scene_monitor.scene)

    def _note(self, name: str, done: int, count: int) -> None:
        """Note the progress of the thread, and log it where it takes long."""
        self._progress = done, count
        now = time.monotonic()
        if not done:
            self._reported = now
        elif now - self._reported > LOG_PERIOD:
            self._reported = now
            text = f"sphere models: {done} of {count} objects"
            self._soon(lambda: self._node.get_logger().info(text))

    def _made(self, text: str, warnings: tuple[str, ...]) -> None:
        self._node.get_logger().info(text)
        for warning in warnings:
            self._node.get_logger().warning(warning)
        was_ready = self.ready
        self._prepared, self._making, self._computing = self._making, NOTHING, False
        self._waiting.wake()
        self._prepare_spheres()
        if self._making == NOTHING and not was_ready:
            self._on_prepared(self._scene_monitor.scene)
