"""Worker process of the cameras of a simulation: renders images of the places that it receives."""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RobotCellError
from ..model.placement import Placements, placements
from ..model.simulated_sensors import CameraSensor
from ..system.lifeline import end_when_closed
from ..system.physics import load_pybullet, require_physics
from .camera_process import (
    DEPTH,
    POINTS,
    RGB,
    SEGMENTATION,
    CameraFrame,
    CamerasReady,
    CameraStart,
    ImageRequest,
    Rendered,
)

if TYPE_CHECKING:
    from .camera_process import FromWorker, ToWorker
    from .camera_view import CameraImage, CameraView
    from .engines.bullet_engine import BulletEngine
    from .sensors import FramePoses

    ToParent = Connection[FromWorker, ToWorker]

NICENESS = 5  # rendering yields to the physics and to streaming


def main() -> None:
    """Serve the connection whose file descriptor is a command line argument.

    Ends when the other end closes the connection, or when the pipe named after it is closed.
    """
    end_when_closed(int(sys.argv[2]))
    os.nice(NICENESS)
    connection: ToParent = Connection(int(sys.argv[1]))
    try:
        _serve(connection)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the other end is closed; nobody to report to


def _serve(connection: ToParent) -> None:
    start = connection.recv()
    if not isinstance(start, CameraStart):
        return
    try:
        require_physics("the image of a camera")
        load_pybullet()
        engine, frames = _build(start)
    except RobotCellError as error:
        connection.send(error)
        return
    from .imaging import object_names

    connection.send(CamerasReady(object_names(engine)))
    sensors = start.options.robot.sensors
    cameras = {name: each for name, each in sensors.items() if isinstance(each, CameraSensor)}
    while isinstance(request := connection.recv(), ImageRequest):
        for frame in _frames(request, engine, frames, cameras):
            connection.send(frame)
        connection.send(Rendered())


def _build(start: CameraStart) -> tuple[BulletEngine, FramePoses]:
    """Return an engine with the multibodies of the simulation, in the same order."""
    from .assumptions import assume_masses_and_efforts
    from .engines.bullet_engine import BulletEngine
    from .multibody.multibodies import Multibodies
    from .sensors import FramePoses

    multibodies = Multibodies(start.cell, start.state)
    for item in multibodies.items:  # centres of mass, at which poses are sent, depend on assumed masses
        assume_masses_and_efforts(item, start.options.assumed_density)
    engine = BulletEngine(multibodies, start.options)
    return engine, FramePoses(engine, multibodies, Placements(placements(start.cell, start.state)))


def _frames(
    request: ImageRequest, engine: BulletEngine, frames: FramePoses, cameras: dict[str, CameraSensor]
) -> list[CameraFrame]:
    from .imaging import image
    from .sensors import view_of

    engine.place(request.placement)
    found: list[CameraFrame] = []
    for name, kinds in request.kinds.items():
        view = view_of(cameras[name], frames.pose(cameras[name].frame))
        found.append(_frame(name, request.moment, kinds, view, image(engine, view)))
    return found


def _frame(name: str, moment: float, kinds: tuple[str, ...], view: CameraView, seen: CameraImage) -> CameraFrame:
    return CameraFrame(
        name,
        moment,
        rgb=seen.rgb.tobytes() if RGB in kinds else b"",
        depth=seen.depth.tobytes() if DEPTH in kinds else b"",
        segmentation=seen.segmentation.tobytes() if SEGMENTATION in kinds else b"",
        points=_points(view, seen) if POINTS in kinds else b"",
    )


def _points(view: CameraView, seen: CameraImage) -> bytes:
    """Return points with their colours, see `CameraFrame`."""
    points = np.empty((*seen.depth.shape, 4), dtype=np.float32)
    points[:, :, :3] = view.points(seen.depth)
    red, green, blue = (seen.rgb[:, :, channel].astype(np.uint32) for channel in range(3))
    points.view(np.uint32)[:, :, 3] = red << 16 | green << 8 | blue
    return points.tobytes()


if __name__ == "__main__":
    main()
