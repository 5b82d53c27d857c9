"""Shapes of a cell as nodes of a viser scene: one frame for each link and body, with a child for each layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import viser
from numpy.typing import NDArray

from ...errors import RobotCellError
from ...model.cell import RobotCell
from ...model.geometry import Rgba
from ...model.pose import Pose
from ..appearance import LINK_COLOUR, Surface, VisibleObject, visible_objects
from ..overlays import MARGIN, SPHERES, Colour, margin_of
from ..triangles import collision_surfaces, margin_surfaces, shape_surfaces

VISUAL, COLLISION, MARGINS, SPHERE_MODEL, NAMES = "visual", "collision", "margins", "spheres", "names"
LAYERS = (VISUAL, COLLISION, MARGINS, SPHERE_MODEL, NAMES)
DRAWN_AT_ONCE = (VISUAL, COLLISION, MARGINS, NAMES)  # spheres may have to be computed first
AXES_LENGTH, AXES_RADIUS = 0.06, 0.002  # [m]
COLLISION_COLOUR: Colour = (120, 130, 150)
Pick = Callable[[str], None]


@dataclass
class DrawnObject:
    """A link or body in the scene.

    Attributes:
        item: What is drawn.
        root: Frame that is moved.
        layers: Frames of the layers that were drawn so far, children of the root.
        pose: Pose of the root.
        coloured: Meshes of the visual layer with their own colours.
        problems: Why layers could not be drawn, by layer.
    """

    item: VisibleObject
    root: viser.FrameHandle
    layers: dict[str, viser.FrameHandle] = field(default_factory=dict)
    pose: Pose | None = None
    coloured: list[tuple[viser.MeshHandle, Colour]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def add_problem(self, layer: str, error: RobotCellError) -> None:
        """Keep why a layer could not be drawn."""
        self.problems[layer] = f"{self.item.frame} is not drawn in layer {layer}: {error}"


class CellMeshes:
    """The links and bodies of a cell. Layers are drawn when they are first shown, except spheres, which the caller
    computes (`without_spheres`) and passes to `draw_spheres`, since that takes seconds.

    on_pick: Called with the frame of an object that is clicked.
    """

    def __init__(self, scene: viser.SceneApi, on_pick: Pick) -> None:
        self._scene = scene
        self._on_pick = on_pick
        self._cell: RobotCell | None = None
        self._objects: dict[str, DrawnObject] = {}
        self._visible = dict.fromkeys(LAYERS, False) | {VISUAL: True}
        self._made = 0

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames of all objects."""
        return tuple(self._objects)

    @property
    def problems(self) -> tuple[str, ...]:
        """Layers of the present objects that could not be drawn, and why."""
        return tuple(problem for drawn in self._objects.values() for problem in drawn.problems.values())

    def set_cell(self, cell: RobotCell) -> None:
        """Draw another cell. Objects that are equal in both are kept."""
        items = {item.frame: item for item in visible_objects(cell)}
        margins_changed = self._cell is not None and self._cell.collision != cell.collision
        self._cell = cell
        for frame in [name for name, drawn in self._objects.items() if items.get(name) != drawn.item]:
            self._objects.pop(frame).root.remove()
        if margins_changed:
            for drawn in self._objects.values():
                drawn.problems.pop(MARGINS, None)
                if layer := drawn.layers.pop(MARGINS, None):
                    layer.remove()
        for frame, item in items.items():
            if frame not in self._objects:
                self._made += 1
                root = self._scene.add_frame(f"/objects/{self._made}", show_axes=False, visible=False)
                self._objects[frame] = DrawnObject(item, root)
        self._draw_missing()

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer of LAYERS."""
        self._visible[layer] = visible
        for drawn in self._objects.values():
            if layer in drawn.layers:
                drawn.layers[layer].visible = visible
        self._draw_missing()

    def without_spheres(self) -> tuple[VisibleObject, ...]:
        """Return the objects whose sphere approximations should be shown and are not drawn yet."""
        if not self._visible[SPHERE_MODEL]:
            return ()
        return tuple(drawn.item for drawn in self._objects.values() if SPHERE_MODEL not in drawn.layers)

    def draw_spheres(self, item: VisibleObject, rows: NDArray[np.float64] | RobotCellError) -> None:
        """Draw the spheres (n, 4) of an object [m], or keep why there are none, unless it was removed or changed."""
        drawn = self._objects.get(item.frame)
        if drawn is None or drawn.item is not item or SPHERE_MODEL in drawn.layers:
            return
        name = self._add_layer(drawn, SPHERE_MODEL)
        drawn.layers[SPHERE_MODEL].visible = self._visible[SPHERE_MODEL]
        if isinstance(rows, RobotCellError):
            drawn.add_problem(SPHERE_MODEL, rows)
        elif len(rows):
            self._spheres(name, rows)

    def place(self, frame: str, pose: Pose, hidden: bool) -> None:
        """Put an object at its pose in the world."""
        drawn = self._objects[frame]
        if drawn.pose != pose:
            if drawn.pose is None or drawn.pose.position != pose.position:
                drawn.root.position = pose.position
            if drawn.pose is None or drawn.pose.quaternion != pose.quaternion:
                drawn.root.wxyz = wxyz(pose)
            drawn.pose = pose
        if drawn.root.visible == hidden:
            drawn.root.visible = not hidden

    def owners(self) -> dict[str, str]:
        """Return the robot, tool or body of each frame."""
        return {frame: drawn.item.object_name for frame, drawn in self._objects.items()}

    def highlight(self, frames: Sequence[str], colour: Colour) -> None:
        """Show the visual shapes of some frames in a colour, and all others in their own."""
        for frame, drawn in self._objects.items():
            for mesh, own in drawn.coloured:
                requested = colour if frame in frames else own
                if tuple(mesh.color) != requested:
                    mesh.color = requested

    def _draw_missing(self) -> None:
        for drawn in self._objects.values():
            for layer in DRAWN_AT_ONCE:
                if self._visible[layer] and layer not in drawn.layers:
                    self._draw(drawn, layer)

    def _add_layer(self, drawn: DrawnObject, layer: str) -> str:
        """Add the frame of a layer. Returns its name."""
        name = f"{drawn.root.name}/{layer}"
        drawn.layers[layer] = self._scene.add_frame(
            name, show_axes=layer == NAMES, axes_length=AXES_LENGTH, axes_radius=AXES_RADIUS
        )
        return name

    def _draw(self, drawn: DrawnObject, layer: str) -> None:
        name = self._add_layer(drawn, layer)
        try:
            self._draw_layer(drawn, layer, name)
        except RobotCellError as error:
            drawn.add_problem(layer, error)

    def _picked(self, frame: str, _: object) -> None:
        self._on_pick(frame)

    def _draw_layer(self, drawn: DrawnObject, layer: str, name: str) -> None:
        item = drawn.item
        if layer == NAMES:
            self._scene.add_label(f"{name}/label", item.frame)
        elif layer == VISUAL:
            for index, (shape, rgba) in enumerate(item.shapes):
                for part, surface in enumerate(shape_surfaces(shape)):
                    colour = rgba or surface.rgba or LINK_COLOUR
                    handle = self._mesh(f"{name}/{index}_{part}", surface, rgb(colour), colour[3])
                    handle.on_click(partial(self._picked, item.frame))
                    drawn.coloured.append((handle, rgb(colour)))
        else:
            assert self._cell is not None
            margin = margin_of(self._cell, item.frame, item.object_name) if layer == MARGINS else 0.0
            if layer == MARGINS and not margin:
                return
            for index, shape in enumerate(item.collisions):
                found = margin_surfaces(shape, margin) if margin else collision_surfaces(shape)
                for part, surface in enumerate(found):
                    tint, opacity = (MARGIN, 0.25) if margin else (COLLISION_COLOUR, 0.5)
                    self._mesh(f"{name}/{index}_{part}", surface, tint, opacity)

    def _mesh(self, name: str, surface: Surface, colour: Colour, opacity: float) -> viser.MeshHandle:
        return self._scene.add_mesh_simple(
            name,
            surface.vertices.astype(np.float32),
            surface.faces.astype(np.uint32),
            color=colour,
            opacity=None if opacity >= 1.0 else opacity,
            flat_shading=True,
            side="double",
        )

    def _spheres(self, name: str, rows: NDArray[np.float64]) -> None:
        import trimesh  # slow import, needed only for this layer

        sphere = trimesh.creation.icosphere(2, 1.0)
        self._scene.add_batched_meshes_simple(
            f"{name}/spheres",
            np.asarray(sphere.vertices, dtype=np.float32),
            np.asarray(sphere.faces, dtype=np.uint32),
            np.tile((1.0, 0.0, 0.0, 0.0), (len(rows), 1)),
            rows[:, :3],
            batched_scales=rows[:, 3],
            batched_colors=SPHERES,
            opacity=0.35,
        )


def wxyz(pose: Pose) -> tuple[float, float, float, float]:
    """Return the quaternion of a pose in the order of viser."""
    x, y, z, w = pose.quaternion
    return w, x, y, z


def rgb(colour: Rgba) -> Colour:
    """Return a colour with components 0 to 255."""
    r, g, b = (round(255.0 * value) for value in colour[:3])
    return r, g, b
