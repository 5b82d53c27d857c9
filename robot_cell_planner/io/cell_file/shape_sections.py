"""Poses, shapes and inertial properties in cell files."""

from __future__ import annotations

from ...errors import FileError, GeometryError, LimitExceededError, ResourceError
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, MeshUse, Rgba, Shape, Sphere, Triangles
from ...model.mechanism import Inertial
from ...model.pose import IDENTITY, Pose
from ...model.value import Vector3
from ..common.resources import ResourceRoots
from ..common.sections import Section
from ..mesh.inertia import uniform_inertial
from ..mesh.loading import check_collision_geometry, mesh_reference

KINDS = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "cone": ("radius", "length"),
    "mesh": ("uri", "scale", "use"),
    "triangles": ("vertices", "faces", "use"),
}
ZERO: Vector3 = (0.0, 0.0, 0.0)


def read_pose(parent: Section, key: str = "pose") -> Pose:
    """Read a pose from `position` and `quaternion` (x, y, z, w) or `rpy` [rad]; identity without the key.

    Raises:
        FileError: The pose is malformed, or both orientations are given.
    """
    if not parent.has(key):
        return IDENTITY
    section = parent.section(key)
    section.allow("position", "rpy", "quaternion")
    position = section.lengths("position", ZERO)
    try:
        pose = _oriented(section, position)
    except ValueError as error:
        raise section.error(str(error)) from error
    section.finish()
    return pose


def _oriented(section: Section, position: Vector3) -> Pose:
    turned, quaternion = section.has("rpy"), section.has("quaternion")
    if turned and quaternion:
        raise section.error("has both rpy and quaternion, expected one of them")
    if turned:
        return Pose.from_rpy(position, section.vector("rpy"))
    if quaternion:
        x, y, z, w = section.numbers("quaternion", 4)
        return Pose(position, (x, y, z, w))
    return Pose(position)


def read_collisions(parent: Section, folder: str, roots: ResourceRoots) -> tuple[Shape, ...]:
    """Read the list `collisions` of shapes that are valid for collision checks; empty without the key.

    Raises:
        FileError: The list is malformed.
        ResourceError, GeometryError: A mesh cannot be found or is not valid for collision checks.
    """
    shapes = read_shapes(parent, "collisions", folder, roots)
    for index, shape in enumerate(shapes):
        try:
            check_collision_geometry(shape.geometry)
        except (GeometryError, FileError, LimitExceededError) as error:
            location = parent.error("", "collisions", index).message
            raise error.with_message(location + error.message) from error
    return shapes


def read_shapes(parent: Section, key: str, folder: str, roots: ResourceRoots) -> tuple[Shape, ...]:
    """Read a list of shapes; empty without the key.

    Raises:
        FileError: The list is malformed.
        ResourceError, GeometryError: A mesh cannot be found, or the file is not a mesh.
    """
    return tuple(_shape(section, folder, roots) for section in parent.listed_sections(key))


def _shape(section: Section, folder: str, roots: ResourceRoots) -> Shape:
    try:
        geometry = _geometry(section, folder, roots)
        rgba: Rgba | None = None
        if section.has("rgba"):
            r, g, b, a = section.numbers("rgba", 4)
            rgba = (r, g, b, a)
        shape = Shape(
            geometry,
            read_pose(section),
            section.text("name", ""),
            rgba,
            section.text("material", ""),
            section.text("texture", ""),
        )
    except ValueError as error:
        raise section.error(str(error)) from error
    section.finish()
    return shape


def _geometry(section: Section, folder: str, roots: ResourceRoots) -> Geometry:
    kind = section.text("type")
    if kind in KINDS:
        section.allow("type", "pose", "name", "rgba", "material", "texture", *KINDS[kind])
    if kind == "box":
        return Box(section.lengths("size"))
    if kind == "sphere":
        return Sphere(section.length("radius"))
    if kind == "cylinder":
        return Cylinder(section.length("radius"), section.length("length"))
    if kind == "capsule":
        return Capsule(section.length("radius"), section.length("length"))
    if kind == "cone":
        return Cone(section.length("radius"), section.length("length"))
    if kind == "triangles":
        return _triangles(section)
    if kind != "mesh":
        raise section.error(f"is {kind!r}, expected one of {', '.join(KINDS)}", "type")
    use = section.choice("use", MeshUse, MeshUse.HULL)
    try:
        return mesh_reference(section.text("uri"), folder, roots, _scale(section), use)
    except (ResourceError, GeometryError) as error:
        location = section.error("", "uri").message
        raise error.with_message(location + error.message) from error


def _scale(section: Section) -> Vector3:
    """Read one factor for all axes, or three; the file's length unit also applies to mesh files."""
    if isinstance(section.values.get("scale"), list):
        return section.lengths("scale")
    factor = section.number("scale", 1.0) * section.native_scale
    return (factor, factor, factor)


def _triangles(section: Section) -> Triangles:
    vertices = section.rows("vertices", 3)
    faces = section.rows("faces", 3)
    for index, face in enumerate(faces):
        if any(value != int(value) for value in face):
            raise section.error("has numbers with a fraction, expected indices of vertices", "faces", index)
    factor = section.native_scale
    return Triangles(
        tuple((x * factor, y * factor, z * factor) for x, y, z in vertices),
        tuple((int(a), int(b), int(c)) for a, b, c in faces),
        section.choice("use", MeshUse, MeshUse.HULL),
    )


def read_inertial(section: Section, shapes: tuple[Shape, ...]) -> Inertial | None:
    """Read `inertial`, or compute it from `mass` [kg] or `density` [kg/m3] with uniform density of the shapes.

    Raises:
        FileError: The section is malformed, or more than one of the three is given.
        GeometryError: A mesh has no volume.
    """
    given = [key for key in ("inertial", "mass", "density") if section.has(key)]
    if len(given) > 1:
        raise section.error(f"has {' and '.join(given)}, expected one of them")
    if not given:
        return None
    try:
        if given == ["inertial"]:
            return _inertial(section.section("inertial"))
        value = section.number(given[0])
        return uniform_inertial(shapes, **{given[0]: value})
    except ValueError as error:
        raise section.error(str(error), given[0]) from error


def _inertial(section: Section) -> Inertial:
    section.allow("mass", "pose", "inertia")
    ixx, ixy, ixz, iyy, iyz, izz = section.numbers("inertia", 6) if section.has("inertia") else (0.0,) * 6
    result = Inertial(section.number("mass"), read_pose(section), (ixx, ixy, ixz, iyy, iyz, izz))
    section.finish()
    return result
