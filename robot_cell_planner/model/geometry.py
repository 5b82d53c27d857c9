"""Shapes of links, tools and bodies: primitives and meshes, validated at construction."""

from __future__ import annotations

import msgspec
import numpy as np

from ..errors import InvalidValueError
from .arguments import check_fields
from .mesh_use import REPRESENTATIONS
from .mesh_use import MeshUse as MeshUse
from .pose import IDENTITY, Pose
from .value import Vector3, positive, vector3

MAX_SIZE = 1e4  # [m] larger values indicate wrong units


def _size(value: float, what: str) -> None:
    if positive(value, what) > MAX_SIZE:
        raise InvalidValueError(f"{what} is {value:g} m, expected at most {MAX_SIZE:g} m")


class Box(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="box", tag_field="type"):
    """Box centred at its origin; `size` is the edge lengths along x, y, z [m]."""

    size: Vector3

    def __post_init__(self) -> None:
        check_fields(self)
        for axis, value in zip("xyz", vector3(self.size, "size"), strict=True):
            _size(value, f"box size {axis}")


class Sphere(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sphere", tag_field="type"):
    """Sphere centred at its origin; `radius` [m]."""

    radius: float

    def __post_init__(self) -> None:
        check_fields(self)
        _size(self.radius, "sphere radius")


class Cylinder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="cylinder", tag_field="type"):
    """Cylinder along z, centred at its origin; `radius` and full `length` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        check_fields(self)
        _size(self.radius, "cylinder radius")
        _size(self.length, "cylinder length")


class Capsule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="capsule", tag_field="type"):
    """Capsule along z, centred at its origin.

    `radius` and the `length` of the cylindrical part [m]; the ends are at +-(length / 2 + radius).
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        check_fields(self)
        _size(self.radius, "capsule radius")
        _size(self.length, "capsule length")


class Cone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="cone", tag_field="type"):
    """Cone along z with its apex at +length / 2 and its base disc at -length / 2; `radius` and `length` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        check_fields(self)
        _size(self.radius, "cone radius")
        _size(self.length, "cone length")


class Mesh(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="mesh", tag_field="type"):
    """Mesh file.

    Attributes:
        uri: URI as written in the description.
        path: Resolved file.
        digest: SHA-256 of the file content, to detect changes of the file.
        scale: Factors along x, y, z from file units to metres; a negative factor mirrors the mesh.
    """

    uri: str
    path: str
    digest: str
    scale: Vector3 = (1.0, 1.0, 1.0)
    use: MeshUse = MeshUse.HULL

    def __post_init__(self) -> None:
        check_fields(self)
        if 0.0 in vector3(self.scale, "mesh scale"):
            raise InvalidValueError(f"mesh scale {list(self.scale)} has a zero")
        _check_use(self.use)


class Triangles(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="triangles", tag_field="type"):
    """Mesh given by `vertices` [m] and `faces`, each with three vertex indices."""

    vertices: tuple[Vector3, ...]
    faces: tuple[tuple[int, int, int], ...]
    use: MeshUse = MeshUse.HULL

    def __post_init__(self) -> None:
        if not all(isinstance(rows, (tuple, list)) for rows in (self.vertices, self.faces)):
            raise InvalidValueError("vertices and faces of a mesh are tuples of three numbers each")
        if len(self.vertices) < 3 or not self.faces:
            count = f"{len(self.vertices)} vertices and {len(self.faces)} faces"
            raise InvalidValueError(f"mesh has {count}, expected 3 and 1")
        vertices = tuple(vector3(vertex, f"vertex {index}") for index, vertex in enumerate(self.vertices))
        top = len(self.vertices) - 1
        for index, face in enumerate(self.faces):
            if not _is_face(face, top):
                text = str(face)[:80]
                raise InvalidValueError(f"face {index} is {text}, expected three indices from 0 to {top}")
        _check_use(self.use)
        # Lists become tuples, and numbers of other types those of the annotations.
        msgspec.structs.force_setattr(self, "vertices", vertices)
        msgspec.structs.force_setattr(self, "faces", tuple((int(a), int(b), int(c)) for a, b, c in self.faces))


def _check_use(use: MeshUse) -> None:
    if use not in REPRESENTATIONS:
        given = str(getattr(use, "value", use))[:80]
        text = f"a mesh has the use {given!r}, expected one of {', '.join(REPRESENTATIONS)}"
        raise InvalidValueError(f"{text}; only `mesh_uses` of a robot or tool leaves single meshes out of checks")


def _is_face(face: object, top: int) -> bool:
    if not isinstance(face, (tuple, list)) or len(face) != 3:
        return False
    return all(
        isinstance(index, (int, np.integer)) and not isinstance(index, bool) and 0 <= index <= top for index in face
    )


Geometry = Box | Sphere | Cylinder | Capsule | Cone | Mesh | Triangles
Rgba = tuple[float, float, float, float]


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Geometry at a pose in its link or body.

    The following fields affect display only:

    rgba: Colour, components 0 to 1 rounded to six decimals; all zero means no colour.
    material: Name of the material.
    texture: Image URI as written in the description.
    """

    geometry: Geometry
    pose: Pose = IDENTITY
    name: str = ""
    rgba: Rgba | None = None
    material: str = ""
    texture: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        for text in (self.name, self.material, self.texture):
            if "\0" in text:
                raise InvalidValueError(f"{text!r} has a zero byte, which messages cannot contain")
        if self.rgba is None:
            return
        if not all(0.0 <= value <= 1.0 for value in self.rgba):
            raise InvalidValueError(f"rgba {list(self.rgba)} leaves the range 0 to 1")
        # Rounded to the precision of messages, so that a cell is identical after transmission.
        r, g, b, a = (round(value, 6) + 0.0 for value in self.rgba)
        msgspec.structs.force_setattr(self, "rgba", (r, g, b, a) if any((r, g, b, a)) else None)
