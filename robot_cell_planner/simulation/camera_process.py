"""Cameras of a simulation in a process of their own, so that rendering delays neither the physics nor its owner."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from ..errors import InternalError, RobotCellError, TimedOutError, WorkerCrashedError
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..system.worker_process import disconnect, ended_on_error, start_worker, wait_or_kill
from .engines.base import Placement
from .options import SimulationOptions
from .outbox import Outbox
from .process import END_TIMEOUT, STAGE, START_TIMEOUT

WORKER = "robot_cell_planner.simulation.camera_worker"
RGB, DEPTH, SEGMENTATION, POINTS = "rgb", "depth", "segmentation", "points"
KINDS = (RGB, DEPTH, SEGMENTATION, POINTS)
MAX_UNSENT = 10  # messages; a request is sent when the images of the one before have arrived


@dataclass(frozen=True)
class CameraStart:
    """Configuration of the worker: the cell and the state in which the simulation began."""

    cell: RobotCell
    state: RobotCellState
    options: SimulationOptions


@dataclass(frozen=True)
class CamerasReady:
    """First message of the worker. `names`: Objects by their numbers in segmentations."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class ImageRequest:
    """Images to render.

    Attributes:
        moment: Timestamp [s].
        placement: Where everything is.
        kinds: Kinds of images (`KINDS`) by camera.
    """

    moment: float
    placement: Placement
    kinds: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class CameraFrame:
    """Images of a camera, row by row from the top left, in the byte order of the machine; empty where not requested.

    Attributes:
        camera: Name of the camera.
        moment: Timestamp [s].
        rgb: 3 bytes a pixel.
        depth: Distance along the view axis as float32 [m]; infinite where nothing is seen.
        segmentation: Number of an object as int32; -1 where nothing is seen.
        points: x, y, z in the axes of the camera [m] as float32, and the colour 0x00rrggbb as uint32; NaN where nothing
            is seen.
    """

    camera: str
    moment: float
    rgb: bytes = b""
    depth: bytes = b""
    segmentation: bytes = b""
    points: bytes = b""


@dataclass(frozen=True)
class Rendered:
    """All images of a request were sent."""


FromWorker = CamerasReady | CameraFrame | Rendered | RobotCellError
ToWorker = CameraStart | ImageRequest | None
if TYPE_CHECKING:  # connections are not generic at run time
    ToCameraWorker = Connection[ToWorker, FromWorker]


def _joints_of(_: ToWorker) -> frozenset[str]:
    """Return no joints: all messages are kept."""
    return frozenset()


def _without(message: ToWorker, _: frozenset[str]) -> ToWorker:
    return message


class CameraProcess:
    """Renders images in its own process, one request after the other. Callbacks run in a thread that receives images.

    Attributes:
        names: Objects by their numbers in segmentations.
        skipped: Number of requests that were replaced by later ones, because rendering took too long.

    Raises:
        RobotCellError: Any error of the construction of the cell.
        TimedOutError: The cell was not ready in time.
        WorkerCrashedError: The process ended before it was ready.
    """

    def __init__(
        self, start: CameraStart, on_frame: Callable[[CameraFrame], None], on_end: Callable[[RobotCellError], None]
    ) -> None:
        self._on_frame, self._on_end = on_frame, on_end
        self._closing = False
        self.skipped = 0
        self._lock = threading.Lock()
        self._is_busy = False
        self._waiting: ImageRequest | None = None
        connection, self._lifeline, self._process = start_worker(WORKER, STAGE)
        self._connection: ToCameraWorker = connection
        self._thread = threading.Thread(target=self._listen, name="cameras", daemon=True)
        with ended_on_error(self._connection, self._lifeline, self._process) as on_error:
            self._outbox: Outbox[ToWorker] = Outbox(self._connection, MAX_UNSENT, _joints_of, _without)
            on_error.callback(self._outbox.close)
            on_error.callback(disconnect, self._connection)
            self.names = self._begin(start)
            self._thread.start()

    def _begin(self, start: CameraStart) -> tuple[str, ...]:
        self._outbox.put(start)
        try:
            if not self._connection.poll(START_TIMEOUT):
                raise TimedOutError(f"the cameras were not ready within {START_TIMEOUT:g} s", stage=STAGE)
            answer = self._connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise self._crash() from error
        if isinstance(answer, RobotCellError):
            raise answer
        if not isinstance(answer, CamerasReady):
            raise TypeError(f"the worker sent {type(answer).__name__} first")
        return answer.names

    def _crash(self) -> WorkerCrashedError:
        how = wait_or_kill(self._process, END_TIMEOUT)
        return WorkerCrashedError(f"the process of the cameras {how}", stage=STAGE)

    def render(self, request: ImageRequest) -> None:
        """Render images as soon as those of earlier requests are sent. A request that waits is replaced by a later
        one, which then renders the cameras of the new cell as well."""
        with self._lock:
            if self._is_busy:
                if self._waiting is not None:
                    self.skipped += 1
                    request = replace(request, kinds={**self._waiting.kinds, **request.kinds})
                self._waiting = request
                return
            self._send(request)

    def _send(self, request: ImageRequest) -> None:
        self._is_busy = True
        self._outbox.put(request)

    def _listen(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, CameraFrame):
                    self._on_frame(message)
                elif isinstance(message, Rendered):
                    self._continue()
                elif isinstance(message, RobotCellError):
                    self._on_end(message)
                    return
        except (EOFError, ConnectionResetError):
            if not self._closing:
                self._on_end(self._crash())
        except Exception as error:
            # A callback failed; without a report the thread would end unnoticed.
            self._on_end(InternalError(f"{type(error).__name__}: {error}", stage=STAGE))

    def _continue(self) -> None:
        with self._lock:
            self._is_busy = False
            if self._waiting is not None:
                request, self._waiting = self._waiting, None
                self._send(request)

    def close(self) -> None:
        """End the process. Has no effect if it already ended."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            self._waiting, self._is_busy = None, True
        self._process.terminate()
        wait_or_kill(self._process, END_TIMEOUT)
        disconnect(self._connection)
        self._thread.join()
        self._outbox.close()
        self._connection.close()
        os.close(self._lifeline)
