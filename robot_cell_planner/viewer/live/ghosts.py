"""Transparent copies of robots at other states: solutions of inverse kinematics, starts, goals and previews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import viser
from numpy.typing import NDArray

from ...errors import RobotCellError
from ...kinematics.transforms import WorldTransforms
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ..appearance import visible_objects
from ..overlays import Colour
from ..triangles import shape_surfaces

MAX_GHOSTS = 8
OPACITY = 0.35


@dataclass(frozen=True)
class _Part:
    frame: str
    object_name: str
    mesh: viser.BatchedMeshHandle


class Ghosts:
    """Up to MAX_GHOSTS copies of everything that joints move, in one colour. Meshes are drawn at the first use."""

    def __init__(self, scene: viser.SceneApi, name: str, colour: Colour) -> None:
        self._scene = scene
        self._name = f"/{name}"
        self._colour = colour
        self._parts: list[_Part] = []
        self._drawn_for = ""
        self.count = 0

    def show(self, cell: RobotCell, states: Sequence[RobotCellState]) -> None:
        """Show the first MAX_GHOSTS of some states instead of those that were shown."""
        states = states[:MAX_GHOSTS]
        if states and self._drawn_for != cell.digest_with_places():
            self._draw(cell)
        self.count = len(states)
        placed = [WorldTransforms(cell, state) for state in states]
        for part in self._parts:
            positions = np.zeros((MAX_GHOSTS, 3))
            rotations = np.tile((1.0, 0.0, 0.0, 0.0), (MAX_GHOSTS, 1))
            scales = np.zeros(MAX_GHOSTS)
            for index, (state, transforms) in enumerate(zip(states, placed, strict=True)):
                if not _moves(state, part.object_name):
                    continue
                pose = transforms.pose(part.frame)
                positions[index] = pose.position
                rotations[index] = np.roll(pose.quaternion, 1)
                scales[index] = 1.0
            _update(part.mesh, positions, rotations, scales)

    def clear(self) -> None:
        """Show none."""
        self.count = 0
        for part in self._parts:
            part.mesh.visible = False

    def _draw(self, cell: RobotCell) -> None:
        for part in self._parts:
            part.mesh.remove()
        self._parts = []
        self._drawn_for = cell.digest_with_places()
        nowhere, upright = np.zeros((MAX_GHOSTS, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (MAX_GHOSTS, 1))
        for item in visible_objects(cell):
            for index, (shape, _) in enumerate(item.shapes):
                try:
                    found = shape_surfaces(shape)
                except RobotCellError:  # reported where the object itself is drawn
                    continue
                for surface in found:
                    mesh = self._scene.add_batched_meshes_simple(
                        f"{self._name}/{len(self._parts)}_{index}",
                        surface.vertices.astype(np.float32),
                        surface.faces.astype(np.uint32),
                        upright,
                        nowhere,
                        batched_scales=np.zeros(MAX_GHOSTS),
                        batched_colors=self._colour,
                        opacity=OPACITY,
                        cast_shadow=False,
                        receive_shadow=False,
                    )
                    self._parts.append(_Part(item.frame, item.object_name, mesh))


def _moves(state: RobotCellState, object_name: str) -> bool:
    """Return whether an object belongs to a robot or is attached to something, and is not hidden."""
    scene_object = state.tools.get(object_name) or state.bodies.get(object_name)
    return scene_object is None or (bool(scene_object.attached_to) and not scene_object.hidden)


def _update(
    mesh: viser.BatchedMeshHandle,
    positions: NDArray[np.float64],
    rotations: NDArray[np.float64],
    scales: NDArray[np.float64],
) -> None:
    mesh.batched_positions = positions.astype(np.float32)
    mesh.batched_wxyzs = rotations.astype(np.float32)
    mesh.batched_scales = scales.astype(np.float32)
    mesh.visible = bool(scales.any())
