"""Images of PyBullet, rendered without a graphics processor."""

from __future__ import annotations

import numpy as np
import pybullet
from numpy.typing import NDArray

from .camera_view import NOTHING, CameraImage, CameraView
from .engines.base import Engine
from .engines.bullet_engine import BulletEngine


def image(engine: BulletEngine, view: CameraView) -> CameraImage:
    """Return the image of a camera. It has no effect on the motion of anything."""
    while engine.colours:
        address, rgba = engine.colours.popitem()
        pybullet.changeVisualShape(*address, rgbaColor=rgba, physicsClientId=engine.client)
    width, height, colours, depth, mask = pybullet.getCameraImage(
        view.width,
        view.height,
        view.view_matrix(),
        view.projection_matrix(),
        renderer=pybullet.ER_TINY_RENDERER,
        flags=pybullet.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=engine.client,
    )
    codes = np.reshape(np.asarray(mask, dtype=np.int64), (height, width))
    rgb = np.reshape(np.asarray(colours, dtype=np.uint8), (height, width, 4))[:, :, :3]
    buffer = np.reshape(np.asarray(depth, dtype=np.float32), (height, width))
    names = object_names(engine)
    return CameraImage(rgb, view.metres(buffer), _segmentation(engine, codes, names), names)


def object_names(engine: Engine) -> tuple[str, ...]:
    """Return the names of links, tool links and bodies in images, in the order of their numbers."""
    return tuple(dict.fromkeys(name for name in engine.object_names.values() if name))


def _segmentation(engine: BulletEngine, codes: NDArray[np.int64], names: tuple[str, ...]) -> NDArray[np.int32]:
    """Return numbers of objects for the engine's codes of body and link."""
    order = {name: number for number, name in enumerate(names)}
    numbers = {(body, link): order[name] for (body, link), name in engine.object_names.items() if name}
    result = np.full(codes.shape, NOTHING, dtype=np.int32)
    for code in np.unique(codes[codes >= 0]).tolist():
        result[codes == code] = numbers.get((code & 0xFFFFFF, (code >> 24) - 1), NOTHING)
    return result
