"""Geometries, colours and inertial properties in SDFormat documents."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...errors import FileError, GeometryError, NotSupportedError, ResourceError, RobotCellError
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, MeshUse, Rgba, Sphere, Triangles
from ...model.mechanism import Inertial
from ...model.pose import IDENTITY, Pose, normalised
from ...model.value import Vector3
from ..common.resources import ResourceRoots
from ..common.xml_reader import Element, XmlReader, tag
from ..mesh.loading import mesh_reference

# Planes are unbounded in SDFormat; they are replaced by a box of this size below the plane.
PLANE_SIZE, PLANE_THICKNESS = 100.0, 0.1  # [m]
ELLIPSOID_POINTS = 256
INERTIA_DEFAULTS = {"ixx": 1.0, "ixy": 0.0, "ixz": 0.0, "iyy": 1.0, "iyz": 0.0, "izz": 1.0}
UNSUPPORTED = ("heightmap", "image", "polyline")


def read_geometry(
    xml: XmlReader, element: Element, folder: str, roots: ResourceRoots, mesh_use: MeshUse
) -> tuple[Geometry, Pose] | None:
    """Return the shape of a <geometry> and its pose in the parent; None if it is <empty>.

    Raises:
        FileError: The geometry is malformed.
        NotSupportedError: It is a height map, image or polyline, or a part of a mesh.
        ResourceError, GeometryError: A mesh cannot be found, or the file is not a mesh.
    """
    forms = list(element.iterchildren())
    if len(forms) != 1:
        raise xml.error(element, f"holds {len(forms)} elements, expected one shape")
    form = forms[0]
    if form.tag == "empty":
        return None
    if form.tag in UNSUPPORTED:
        raise _not_supported(xml, form, "has no counterpart in a cell")
    try:
        if form.tag == "plane":
            return _plane(xml, form)
        return _shape(xml, form, folder, roots, mesh_use), IDENTITY
    except ValueError as error:
        raise xml.error(form, f"is refused: {error}") from error


def _not_supported(xml: XmlReader, element: Element, text: str) -> NotSupportedError:
    error = xml.error(element, text)
    return NotSupportedError(error.message, stage=error.stage, subjects=error.subjects)


def _shape(xml: XmlReader, form: Element, folder: str, roots: ResourceRoots, mesh_use: MeshUse) -> Geometry:
    def number(name: str) -> float:
        return xml.text_numbers(xml.required_child(form, name), 1)[0]

    if form.tag == "box":
        return Box(_vector(xml, xml.required_child(form, "size")))
    if form.tag == "sphere":
        return Sphere(number("radius"))
    if form.tag == "ellipsoid":
        return ellipsoid(_vector(xml, xml.required_child(form, "radii")))
    if form.tag == "mesh":
        return _mesh(xml, form, folder, roots, mesh_use)
    if form.tag == "cylinder":
        return Cylinder(number("radius"), number("length"))
    if form.tag == "capsule":
        return Capsule(number("radius"), number("length"))
    if form.tag == "cone":
        return Cone(number("radius"), number("length"))
    raise xml.error(form, "is no shape, expected box, sphere, cylinder, capsule, cone, ellipsoid, mesh or plane")


def _vector(xml: XmlReader, element: Element) -> Vector3:
    x, y, z = xml.text_numbers(element, 3)
    return x, y, z


def _mesh(xml: XmlReader, form: Element, folder: str, roots: ResourceRoots, mesh_use: MeshUse) -> Mesh:
    if xml.child(form, "submesh") is not None:
        raise _not_supported(xml, form, "is a part of a mesh, which is not read")
    uri = xml.text(xml.required_child(form, "uri"))
    scale = xml.child(form, "scale")
    try:
        return mesh_reference(uri, folder, roots, (1.0, 1.0, 1.0) if scale is None else _vector(xml, scale), mesh_use)
    except (ResourceError, GeometryError, FileError) as error:
        raise placed(error, xml, form) from error


def placed(error: RobotCellError, xml: XmlReader, element: Element) -> RobotCellError:
    """Return the same error with the position in the file prepended to its message."""
    return error.with_message(f"{xml.source}:{element.sourceline}: {error.message}")


def _plane(xml: XmlReader, form: Element) -> tuple[Box, Pose]:
    """Return a box whose top face is the plane, rotated from z to the normal by the minimal rotation."""
    normal = xml.child(form, "normal")
    nx, ny, nz = (0.0, 0.0, 1.0) if normal is None else _vector(xml, normal)
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if length < 1e-9:
        raise ValueError("the normal of the plane has no direction")
    nx, ny, nz = nx / length, ny / length, nz / length
    quaternion = (1.0, 0.0, 0.0, 0.0) if nz < -1.0 + 1e-12 else normalised((-ny, nx, 0.0, 1.0 + nz))
    depth = -0.5 * PLANE_THICKNESS
    return Box((PLANE_SIZE, PLANE_SIZE, PLANE_THICKNESS)), Pose((depth * nx, depth * ny, depth * nz), quaternion)


def ellipsoid(radii: Vector3) -> Triangles:
    """Return a polyhedron that tightly encloses an ellipsoid."""
    if min(radii) <= 0.0:
        raise ValueError(f"radii {list(radii)} are not all above 0")
    points, faces = _around_sphere()
    return Triangles(tuple((x * radii[0], y * radii[1], z * radii[2]) for x, y, z in points), faces, MeshUse.HULL)


@lru_cache(maxsize=1)
def _around_sphere() -> tuple[tuple[Vector3, ...], tuple[tuple[int, int, int], ...]]:
    """Return the convex hull of points on a spiral (Saff and Kuijlaars, Distributing Many Points on a Sphere, 1997),
    scaled so that the nearest face touches the unit sphere from outside."""
    from scipy.spatial import ConvexHull

    index = np.arange(ELLIPSOID_POINTS)
    z = 1.0 - (2.0 * index + 1.0) / ELLIPSOID_POINTS
    angle = index * math.pi * (3.0 - math.sqrt(5.0))
    radius = np.sqrt(1.0 - z * z)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
    hull = ConvexHull(points)
    points = points / float((-hull.equations[:, 3]).min())
    faces = []
    for (a, b, c), normal in zip(hull.simplices.tolist(), hull.equations[:, :3], strict=True):
        outwards = np.cross(points[b] - points[a], points[c] - points[a]) @ normal > 0.0
        faces.append((a, b, c) if outwards else (a, c, b))
    return tuple((float(x), float(y), float(w)) for x, y, w in points), tuple(faces)


def read_colour(xml: XmlReader, visual: Element) -> Rgba | None:
    """Return the colour of a <visual>: <diffuse>, or else <ambient>, with <transparency> applied."""
    material = xml.child(visual, "material")
    if material is None:
        return None
    colour = xml.child(material, "diffuse")
    colour = xml.child(material, "ambient") if colour is None else colour
    if colour is None:
        return None
    count = len((colour.text or "").split())
    red, green, blue, alpha = (*xml.text_numbers(colour, 3 if count == 3 else 4), 1.0)[:4]
    transparency = xml.child(visual, "transparency")
    if transparency is not None:
        alpha *= 1.0 - xml.text_numbers(transparency, 1)[0]
    if not all(0.0 <= value <= 1.0 for value in (red, green, blue, alpha)):
        raise xml.error(colour, f"is {(colour.text or '').strip()!r}, expected numbers from 0 to 1")
    return red, green, blue, alpha


def read_inertial(xml: XmlReader, element: Element, pose: Pose) -> Inertial:
    """Read an <inertial>; missing values have the defaults of the specification."""
    mass, inertia = xml.child(element, "mass"), xml.child(element, "inertia")
    numbers = dict(INERTIA_DEFAULTS)
    for part in inertia.iterchildren() if inertia is not None else ():
        if tag(part) in numbers:
            numbers[tag(part)] = xml.text_numbers(part, 1)[0]
    kilograms = 1.0 if mass is None else xml.text_numbers(mass, 1)[0]
    try:
        return Inertial(
            kilograms,
            pose,
            (numbers["ixx"], numbers["ixy"], numbers["ixz"], numbers["iyy"], numbers["iyz"], numbers["izz"]),
        )
    except ValueError as error:
        xml.defects.note(xml.error(element, f"is refused: {error}"), "the link has no inertia")
        return Inertial(max(kilograms, 0.0), pose)
