"""Bodies that a script adds to its cell."""

from __future__ import annotations

import logging
from pathlib import Path

from frozendict import frozendict

from ..io.common.resources import NO_ROOTS
from ..io.mesh.body_sizes import doubtful_sizes
from ..io.mesh.loading import check_collision_geometry, mesh_reference
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.geometry import MeshUse, Shape
from ..model.pose import Pose
from ..model.state import BodyState, RobotCellState
from ..model.value import WORLD
from ..scene.model_changes import Add

# What to do about a body that cannot be added any more.
BEGUN = "add it before the first motion, or continue with a simulation of its own in OfflineCell(cell.cell, cell.state)"
logger = logging.getLogger(__name__)


def body_of_mesh(name: str, file: str | Path, scale: float, use: MeshUse) -> RigidBody:
    """Return a body with the mesh of a file as its shape.

    Raises:
        ResourceError, GeometryError: The file is missing, or is no mesh that can be checked.
    """
    path = Path(file).resolve()
    mesh = mesh_reference(str(path), roots=NO_ROOTS.with_file(path), scale=(scale, scale, scale), use=use)
    check_collision_geometry(mesh)
    return RigidBody(name, (Shape(mesh),))


def addition(body: RigidBody, pose: Pose, attached_to: str) -> Add:
    """Return the change that adds a body at a pose in a frame. A size that is probably in mm is logged as a warning."""
    for text in doubtful_sizes([body]):
        logger.warning(text)
    place = BodyState(pose=pose, attached_to="" if attached_to == WORLD else attached_to)
    bodies = frozendict({body.name: body})
    return Add(RobotCell(bodies=bodies), RobotCellState(bodies=frozendict({body.name: place})))
