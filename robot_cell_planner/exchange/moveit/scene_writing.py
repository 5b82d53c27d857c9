"""Export of the bodies of a cell as a .scene file of MoveIt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...collision.geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface, collision_geometries
from ...errors import FileError
from ...io.common.resources import write_text
from ...io.scene_import.scene_files import SCENES
from ...kinematics.transforms import WorldTransforms
from ...model.arguments import checked_fields, public
from ...model.bodies import CollisionSettings, RigidBody
from ...model.cell import RobotCell
from ...model.geometry import Box, Capsule, Cone, Cylinder, Rgba, Sphere
from ...model.name_suggestions import listed
from ...model.pose import IDENTITY, Pose
from ...model.state import RobotCellState
from ...model.value import WORLD

STAGE = "write scene"


@checked_fields
@dataclass(frozen=True)
class MoveItScene:
    """Text of a .scene file.

    Attributes:
        text: Content of the file.
        left_out: What such a file cannot have, or has in another form, one line each.
    """

    text: str
    left_out: tuple[str, ...]


@public
def export_moveit_scene(
    cell: RobotCell, state: RobotCellState, file: str | Path = "", *, overwrite: bool = True
) -> MoveItScene:
    """Convert the bodies of a cell to a scene that MoveIt's panel of RViz and `import_file` read.

    Each body is an object at its pose in the world, with its collision shapes as they are checked: a mesh is written as
    its convex hull, its convex pieces or its triangles, a capsule as a cylinder and two spheres. Named frames that are
    attached to a body are its subframes; "part/grasp" of body "part" is "grasp".

    Args:
        cell: Cell with the bodies.
        state: Poses of the bodies; hidden ones are left out.
        file: File to write, with the extension .scene; "" to write none.
        overwrite: Allow replacing the file.

    Raises:
        GeometryError: A mesh cannot be read or used.
        FileError: The file has another extension, or cannot be written.
    """
    cell.check_state(state)
    scene = _Writer(cell, state).scene()
    if str(file):
        path = Path(file).absolute()
        if path.suffix not in SCENES:
            text = f"{path} ends in {path.suffix or 'nothing'}, expected {', '.join(SCENES)}"
            raise FileError(text, stage=STAGE, subjects=(str(path),))
        write_text(path, scene.text, STAGE, overwrite)
    return scene


class _Writer:
    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self.cell = cell
        self.state = state
        self.transforms = WorldTransforms(cell, state)
        self.left_out: list[str] = []
        self.written: set[str] = set()  # named frames

    def scene(self) -> MoveItScene:
        lines = [self.cell.name]
        for name, body in self.cell.bodies.items():
            placed = self.state.bodies[name]
            if placed.hidden:
                self.left_out.append(f"body {name}, which is hidden")
                continue
            if not body.collisions:
                self.left_out.append(f"body {name}, which has no collision shape")
                continue
            if placed.attached_to not in ("", WORLD):
                self.left_out.append(f"attachment of body {name} to {placed.attached_to}; it is an object of the world")
            pose = placed.pose if placed.attached_to in ("", WORLD) else self.transforms.pose(name)
            lines += [f"* {name}", *_pose(pose), *_counted(self._shapes(body))]
            lines += _counted(self._subframes(name))
        lines.append(".")
        self._note_others()
        return MoveItScene("\n".join(lines) + "\n", tuple(self.left_out))

    def _shapes(self, body: RigidBody) -> Iterator[list[str]]:
        for shape in body.collisions:
            for geometry in collision_geometries(shape.geometry):
                for form, pose in _forms(geometry):
                    placed = shape.pose if pose is IDENTITY else shape.pose @ pose
                    yield [*form, *_pose(placed), _colour(shape.rgba)]

    def _subframes(self, body: str) -> Iterator[list[str]]:
        for name, frame in self.cell.frames.items():
            own = name.removeprefix(f"{body}/")
            if frame.attached_to == body and len(own.split()) == 1:
                self.written.add(name)
                if own == name:
                    self.left_out.append(f"name of frame {name}, which is {body}/{name}")
                yield [own, *_pose(frame.pose)]

    def _note_others(self) -> None:
        cell = self.cell
        others = {
            "robots": cell.robots,
            "tools": cell.tools,
            "composite groups": cell.groups,
            "named frames": [name for name in cell.frames if name not in self.written],
        }
        self.left_out += [f"{kind}: {listed(list(names))}" for kind, names in others.items() if names]
        if cell.collision != CollisionSettings():
            self.left_out.append("safety margins and ignore groups")


def _counted(items: Iterable[list[str]]) -> list[str]:
    """Return the number of items, and their lines."""
    found = list(items)
    return [str(len(found)), *(line for lines in found for line in lines)]


def _pose(pose: Pose) -> tuple[str, str]:
    return _numbers(pose.position), _numbers(pose.quaternion)


def _colour(rgba: Rgba | None) -> str:
    return _numbers(rgba or (0.0, 0.0, 0.0, 0.0))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(repr, map(float, values)))


def _forms(geometry: CollisionGeometry) -> Iterator[tuple[list[str], Pose]]:
    """Yield the shapes of MoveIt that a geometry consists of, and their poses in its frame."""
    if isinstance(geometry, ConvexGeometry | Surface):
        vertices, faces = geometry.mesh.vertices, geometry.mesh.faces
        rows = [*map(_numbers, vertices.tolist()), *(" ".join(map(str, face)) for face in faces.tolist())]
        yield ["mesh", f"{len(vertices)} {len(faces)}", *rows], IDENTITY
    elif isinstance(geometry, Box):
        yield ["box", _numbers(geometry.size)], IDENTITY
    elif isinstance(geometry, Sphere):
        yield ["sphere", _numbers([geometry.radius])], IDENTITY
    elif isinstance(geometry, Cylinder | Cone):
        kind = "cylinder" if isinstance(geometry, Cylinder) else "cone"
        yield [kind, _numbers((geometry.radius, geometry.length))], IDENTITY
    else:
        yield from _forms_of_capsule(geometry)


def _forms_of_capsule(capsule: Capsule) -> Iterator[tuple[list[str], Pose]]:
    yield ["cylinder", _numbers((capsule.radius, capsule.length))], IDENTITY
    for end in (-0.5 * capsule.length, 0.5 * capsule.length):
        yield ["sphere", _numbers([capsule.radius])], Pose((0.0, 0.0, end))
