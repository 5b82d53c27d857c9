"""Sizes of bodies that are probably in millimetres."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...errors import RobotCellError
from ...model.bodies import RigidBody
from .bounds import bounding_box

MAX_EDGE, MAX_EVERY_EDGE = 200.0, 20.0  # [m] of a body: of one edge of its bounding box, and of all of them


def doubtful_sizes(bodies: Iterable[RigidBody]) -> tuple[str, ...]:
    """Return a sentence for each body whose size is probably in mm, with the edges of its largest collision shape.

    Meshes that cannot be read are left out.
    """
    found = []
    for body in bodies:
        edges = _edges(body)
        if edges.max() > MAX_EDGE or edges.min() > MAX_EVERY_EDGE:
            size = f"{edges[0]:.6g} x {edges[1]:.6g} x {edges[2]:.6g} m"
            found.append(f"body {body.name} is {size} large; is its size in mm?")
    return tuple(found)


def _edges(body: RigidBody) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the edges (3,) of the largest bounding box of a collision shape, each in the frame of its shape [m]; zeros
    without one that can be read."""
    largest = np.zeros(3)
    for shape in body.collisions:
        try:
            lower, upper = bounding_box(shape.geometry)
        except RobotCellError:
            continue  # reported where the shape is used
        largest = max(largest, upper - lower, key=lambda edges: float(edges.max()))
    return largest
