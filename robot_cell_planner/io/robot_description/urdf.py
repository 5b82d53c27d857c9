"""URDF reader.

All elements of the specification (http://wiki.ros.org/urdf/XML) are read, in versions 1.0 to 1.2 of urdfdom. Elements
that are not interpreted (transmission, ros2_control, gazebo, sensor, model_state, vendor extensions) are retained as
XML text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches

from frozendict import frozendict

from ...errors import FileError, ModelError
from ...model.geometry import Box, Capsule, Cylinder, Geometry, MeshUse, Rgba, Shape, Sphere
from ...model.joint_extras import JointExtras
from ...model.mechanism import Inertial, Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from ...model.value import WORLD, Vector3
from ..common.defects import Defects
from ..common.file_kinds import DESCRIPTION_REMEDY, other_kind
from ..common.resources import NO_ROOTS, ResourceRoots
from ..common.xml_reader import DRAKE, Element, XmlReader, tag, text_of
from .meshes import MeshReader
from .urdf_attributes import check_attributes
from .urdf_names import link_name, mimicked_joint, robot_name

STAGE = "read urdf"
AXIS_TOLERANCE = 1e-3
# Attributes of <limit> of which the smallest is the acceleration limit.
ACCELERATIONS = ("acceleration", "deceleration", *(f"{{{namespace}}}acceleration" for namespace in DRAKE))
UNBOUNDED_RATES = frozenset((*ACCELERATIONS, "jerk"))
SIZES: Mapping[str, tuple[str, ...]] = frozendict(
    {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
)
PARTS, SIMILAR = ("link", "joint", "material"), 0.8  # of a robot; similarity of a name that is meant as one of them
MAX_COMPARED = 1000  # elements of other names that are compared with them
OLD_XACRO = frozenset(("include", "macro", "property"))
SRDF_TAGS = frozenset(("group", "group_state", "end_effector", "virtual_joint", "disable_collisions"))
LINK_TAGS = frozenset(("inertial", "visual", "collision"))
JOINT_TAGS = frozenset(
    ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller")
)


def read_urdf(
    text: str,
    folder: str = "",
    roots: ResourceRoots = NO_ROOTS,
    source: str = "robot description",
    prefix: str = "",
    mesh_use: MeshUse = MeshUse.HULL,
    defects: Defects | None = None,
    files: dict[str, str] | None = None,
    mesh_uses: Mapping[str, MeshUse] = frozendict(),
) -> Mechanism:
    """Read a mechanism from a URDF.

    A link named "world" would conflict with the root frame of the cell; it is renamed to "<name of the robot>_world". A
    joint axis whose length differs from 1 by up to 1e-3 is normalised. Another length is a defect of axes of rotation,
    and refused for prismatic joints, where it could be intended.

    Args:
        text: Content of the URDF.
        folder: Base folder of relative mesh URIs.
        roots: Folders that may be read.
        source: Name of the text in messages.
        prefix: Prefix of the names of links and joints.
        mesh_use: Collision representation of meshes.
        defects: Takes note of defects that do not prevent the use of the model: visual meshes that cannot be shown,
            inertias that are not physical, attributes that are not known, shapes of size zero, visuals without a shape,
            negative velocity and effort limits, axes of rotation whose length is not 1, colours that are not valid, a
            second material, flat meshes for which a hull is requested, a robot without a name, joints that mimic one
            that does not exist. None: they are errors.
        files: Paths of meshes by URI that are known; those that are resolved are added. See `ModelSources.files`.
        mesh_uses: Collision representation of meshes that differ from `mesh_use`, by URI; unchecked ones are left out.

    Raises:
        FileError: The text is malformed; the message gives file, line and what was expected.
        ResourceError: A mesh is missing or outside the roots.
        GeometryError: A mesh of a collision element is not valid for collision checks: unreadable, empty, not finite,
            or without a convex hull.
        ModelError: Links and joints do not form a tree.
    """
    xml = XmlReader(source, STAGE, defects, first_of_several=True)  # as urdfdom: FirstChildElement
    meshes = MeshReader(xml, folder, roots, mesh_use, mesh_uses, {} if files is None else files)
    mechanism = _Reader(xml, meshes, prefix).mechanism(text)
    meshes.note_defects()
    return mechanism


class _Reader:
    def __init__(self, xml: XmlReader, meshes: MeshReader, prefix: str) -> None:
        self.xml = xml
        self.meshes = meshes
        self.prefix = prefix
        self.robot = ""
        self.joints: set[str] = set()  # names of all, without prefix
        self.materials: dict[str, tuple[Rgba | None, str]] = {}

    def mechanism(self, text: str) -> Mechanism:
        robot = self.xml.parse(text)
        if tag(robot) != "robot":
            raise self.xml.error(robot, "is the root element, expected <robot>")
        self.robot = robot_name(self.xml, robot)
        self.joints = {self.xml.attribute(joint, "name") for joint in robot.iterchildren("joint")}
        check_attributes(self.xml, robot)
        # A material may be used before its definition, which may be in a later link or at the end of the file.
        for material in robot.iter("material"):
            if len(material):
                self.materials.setdefault(self.xml.attribute(material, "name", ""), self._appearance(material))
        links: dict[str, Link] = {}
        joints: dict[str, Joint] = {}
        blocks: list[str] = []
        for element in robot.iterchildren():
            if element.tag == "link":
                link = self._link(element)
                self._unique(element, link.name, links)
                links[link.name] = link
            elif element.tag == "joint":
                joint = self._joint(element)
                self._unique(element, joint.name, joints)
                joints[joint.name] = joint
            elif element.tag != "material":
                self._note_old_xacro(element)
                if len(blocks) < MAX_COMPARED:
                    self._note_misspelt(element)
                blocks.append(text_of(element))
        if not links:
            if not SRDF_TAGS.isdisjoint(element.tag for element in robot.iterchildren()):
                raise other_kind(self.xml.source, "an SRDF", "a URDF", STAGE, DESCRIPTION_REMEDY)
            text = f"{self.xml.source}: robot {self.robot} has no link, expected at least one <link> in <robot>"
            raise ModelError(text, stage=STAGE, subjects=(self.xml.source, self.robot))
        try:
            return Mechanism(self.robot, frozendict(links), frozendict(joints), tuple(blocks))
        except ModelError as error:
            renamed = link_name(WORLD, "", self.robot)
            note = f"; {renamed} is the link {WORLD!r} of the description" if renamed in error.message else ""
            text = f"{self.xml.source}: {error.message}{note}"
            raise ModelError(text, stage=STAGE, subjects=(self.xml.source, *error.subjects)) from error

    def _note_old_xacro(self, element: Element) -> None:
        """Note an instruction of xacro without its prefix, which xacro leaves as it is."""
        if element.tag in OLD_XACRO:
            error = self.xml.error(
                element, f"is the syntax of an older xacro; the present one needs <xacro:{element.tag}>"
            )
            self.xml.defects.note(error, "it has no effect")

    def _note_misspelt(self, element: Element) -> None:
        """Note an element that is probably meant as one of URDF. Others belong to other programs."""
        name = tag(element)
        near = [known for known in PARTS if known == name.casefold()] or get_close_matches(name[:20], PARTS, 1, SIMILAR)
        if near and "}" not in str(element.tag):
            error = self.xml.error(element, f"is no element of URDF; nearest: {near[0]}")
            self.xml.defects.note(error, "it is left out")

    def _link_name(self, element: Element, attribute: str) -> str:
        return link_name(self.xml.attribute(element, attribute), self.prefix, self.robot)

    def _unique(self, element: Element, name: str, existing: dict[str, Link] | dict[str, Joint]) -> None:
        if name in existing:
            raise self.xml.error(element, f"has the name {name!r}, which another one has already", name)

    def _link(self, element: Element) -> Link:
        name = self._link_name(element, "name")
        visuals = [self._shape(e, visual=True) for e in self.xml.children(element, "visual")]
        collisions = [self._shape(e, visual=False) for e in self.xml.children(element, "collision")]
        shown = tuple(shape for shape in visuals if shape is not None)
        checked = tuple(shape for shape in collisions if shape is not None)
        try:
            return Link(name, shown, checked, self._inertial(element), self._blocks(element, LINK_TAGS))
        except ValueError as error:
            raise self.xml.error(element, f"is refused: {error}", name) from error

    def _blocks(self, element: Element, known: frozenset[str]) -> tuple[str, ...]:
        return tuple(text_of(child) for child in element.iterchildren() if child.tag not in known)

    def _inertial(self, link: Element) -> Inertial | None:
        element = self.xml.child(link, "inertial")
        if element is None:
            return None
        mass_element, inertia = self.xml.child(element, "mass"), self.xml.child(element, "inertia")
        if mass_element is None:
            self.xml.defects.note(self.xml.error(element, "has no <mass>"), f"link {link.get('name')} has no mass")
            return None
        mass = self.xml.number(mass_element, "value")
        if inertia is None:
            error = self.xml.error(element, "has no <inertia>")
            self.xml.defects.note(error, f"link {link.get('name')} has its mass and no inertia")
            return Inertial(mass, self.xml.origin(element))
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        ixx, ixy, ixz, iyy, iyz, izz = (self.xml.number(inertia, name) for name in names)
        pose = self.xml.origin(element)
        try:
            return Inertial(mass, pose, (ixx, ixy, ixz, iyy, iyz, izz))
        except ValueError as error:
            refused = self.xml.error(element, f"is refused: {error}")
            if mass < 0.0:
                self.xml.defects.note(refused, f"link {link.get('name')} has no mass")
                return None
            self.xml.defects.note(refused, f"link {link.get('name')} has its mass and no inertia")
            return Inertial(mass, pose)

    def _shape(self, element: Element, visual: bool) -> Shape | None:
        forms = self._forms(element, visual)
        if not forms:
            return None
        rgba, material, texture = self._material(element) if visual else (None, "", "")
        try:
            if self._without_size(forms[0], visual):
                return None
            form = self.meshes.read(forms[0], visual) if forms[0].tag == "mesh" else self._geometry(forms[0])
            if form is None:
                return None
            name = self.xml.attribute(element, "name", "")
            return Shape(form, self.xml.origin(element), name, rgba, material, texture)
        except ValueError as error:
            raise self.xml.error(forms[0], f"is refused: {error}") from error

    def _forms(self, element: Element, visual: bool) -> list[Element]:
        """Return the only shape of an element; of a visual that has none, nothing, and note it."""
        geometry = self.xml.child(element, "geometry")
        forms = [] if geometry is None else [form for form in geometry.iterchildren() if self._is_plain(form)]
        if len(forms) == 1:
            return forms
        error = self.xml.error(element, "has no <geometry>")
        if geometry is not None:
            error = self.xml.error(geometry, f"holds {len(forms)} elements, expected one shape")
        if forms or not visual:
            raise error
        self.xml.defects.note(error, "the shape is left out")
        return []

    def _is_plain(self, element: Element) -> bool:
        """Return whether an element has no namespace, as those of URDF; note one that has, of another program."""
        if "}" not in str(element.tag):
            return True
        text = f"<{element.prefix}:{tag(element)}> in <geometry> has no effect"
        self.xml.defects.remark(f"{self.xml.source}:{element.sourceline}: {text}")
        return False

    def _without_size(self, element: Element, visual: bool) -> bool:
        """Return whether a shape is left out because its size is zero, and note it.

        A collision shape is only left out if all its sizes are zero: a plate without thickness has an extent.
        """
        names = SIZES.get(str(element.tag), ())
        sizes = [size for name in names for size in self.xml.numbers(element, name, 3 if name == "size" else 1)]
        if not sizes or min(sizes) < 0.0 or all(sizes) or (any(sizes) and not visual):
            return False
        text = f"has {' and '.join(f'{name} {element.get(name)}' for name in names)}, expected numbers above 0"
        self.xml.defects.note(self.xml.error(element, text), "the shape is left out")
        return True

    def _geometry(self, element: Element) -> Geometry:
        kind = element.tag
        if kind == "box":
            x, y, z = self.xml.numbers(element, "size", 3)
            return Box((x, y, z))
        if kind == "sphere":
            return Sphere(self.xml.number(element, "radius"))
        if kind == "cylinder":
            return Cylinder(self.xml.number(element, "radius"), self.xml.number(element, "length"))
        if kind == "capsule":
            return Capsule(self.xml.number(element, "radius"), self.xml.number(element, "length"))
        raise self.xml.error(element, "is no shape, expected box, sphere, cylinder, capsule or mesh")

    def _material(self, visual: Element) -> tuple[Rgba | None, str, str]:
        elements = list(self.xml.children(visual, "material"))
        if not elements:
            return None, "", ""
        element = elements[0]
        if len(elements) > 1:
            error = self.xml.error(elements[1], "is the second one in <visual>, expected one at most")
            self.xml.defects.note(error, "the first one is used")
        name = self.xml.attribute(element, "name", "")
        rgba, texture = self._appearance(element) if len(element) else self.materials.get(name, (None, ""))
        return rgba, name, texture

    def _appearance(self, material: Element) -> tuple[Rgba | None, str]:
        color, texture = self.xml.child(material, "color"), self.xml.child(material, "texture")
        uri = "" if texture is None else self.xml.attribute(texture, "filename", "")
        if color is None:
            return None, uri
        try:
            return self._colour(color), uri
        except FileError as error:
            self.xml.defects.note(error, "the colour is left out")
            return None, uri

    def _colour(self, color: Element) -> Rgba:
        red, green, blue, alpha = self.xml.numbers(color, "rgba", 4)
        if not all(0.0 <= value <= 1.0 for value in (red, green, blue, alpha)):
            raise self.xml.error(color, f"has rgba={color.get('rgba')!r}, expected numbers from 0 to 1")
        return red, green, blue, alpha

    def _joint(self, element: Element) -> Joint:
        name = self.xml.attribute(element, "name")
        kind_name = self.xml.attribute(element, "type")
        kinds = [kind.value for kind in JointKind]
        if kind_name not in kinds:
            raise self.xml.error(element, f"has type {kind_name!r}, expected one of {', '.join(kinds)}", name)
        kind = JointKind(kind_name)
        try:
            return Joint(
                name=self.prefix + name,
                kind=kind,
                parent=self._link_name(self.xml.required_child(element, "parent"), "link"),
                child=self._link_name(self.xml.required_child(element, "child"), "link"),
                origin=self.xml.origin(element),
                axis=self._axis(element, kind),
                limits=self._limits(element, kind),
                mimic=None if kind is JointKind.FIXED else self._mimic(element),
                extras=self._extras(element, kind),
            )
        except ValueError as error:
            raise self.xml.error(element, f"is refused: {error}", name) from error

    def _axis(self, joint: Element, kind: JointKind) -> Vector3:
        element = self.xml.child(joint, "axis")
        if element is None or kind in (JointKind.FIXED, JointKind.FLOATING):
            return (1.0, 0.0, 0.0)
        x, y, z = self.xml.numbers(element, "xyz", 3, (1.0, 0.0, 0.0))
        length = math.sqrt(x * x + y * y + z * z)
        if abs(length - 1.0) > AXIS_TOLERANCE:
            text = f"has xyz={element.get('xyz')!r} of length {length:.6g}, expected length 1"
            error = self.xml.error(element, text, self.xml.attribute(joint, "name"))
            if kind is JointKind.PRISMATIC or length == 0.0:
                raise error
            self.xml.defects.note(error, "its direction is used")
        return (x, y, z) if length == 1.0 else (x / length, y / length, z / length)

    def _limits(self, joint: Element, kind: JointKind) -> JointLimits:
        element = self.xml.child(joint, "limit")
        if element is None:
            if kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                raise self.xml.error(joint, f"is {kind.value} and has no <limit>", self.xml.attribute(joint, "name"))
            return JointLimits()
        lower, upper = -math.inf, math.inf
        if kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            lower, upper = self.xml.number(element, "lower", 0.0), self.xml.number(element, "upper", 0.0)
        velocity, effort = self._limit(element, "velocity"), self._limit(element, "effort")
        given = [self._limit(element, name) for name in ACCELERATIONS]
        acceleration = min((value for value in given if value is not None), default=None)
        try:
            return JointLimits(lower, upper, velocity, acceleration, self._limit(element, "jerk"), effort)
        except ValueError as error:
            raise self.xml.error(element, f"is refused: {error}", self.xml.attribute(joint, "name")) from error

    def _limit(self, element: Element, name: str) -> float | None:
        """Return a limit of a <limit> element; None without one, or with a negative velocity or effort, which is noted.

        Since URDF 1.2, "inf" means that there is none.
        """
        text = element.get(name)
        if text is None or (name in UNBOUNDED_RATES and str(text).strip().lower().lstrip("+") in ("inf", "infinity")):
            return None
        value = self.xml.number(element, name)
        if value < 0.0 and name not in UNBOUNDED_RATES:  # some files use -1 for "unknown"
            error = self.xml.error(element, f"has {name}={text!r}, expected a number of at least 0")
            self.xml.defects.note(error, "the limit counts as unknown")
            return None
        return value

    def _mimic(self, joint: Element) -> Mimic | None:
        element = self.xml.child(joint, "mimic")
        if element is None:
            return None
        multiplier, offset = self.xml.number(element, "multiplier", 1.0), self.xml.number(element, "offset", 0.0)
        mimicked = mimicked_joint(self.xml, joint, element, self.joints)
        return None if mimicked is None else Mimic(self.prefix + mimicked, multiplier, offset)

    def _extras(self, joint: Element, kind: JointKind) -> JointExtras:
        dynamics = self.xml.child(joint, "dynamics")
        damping = 0.0 if dynamics is None else self.xml.number(dynamics, "damping", 0.0)
        friction = 0.0 if dynamics is None else self.xml.number(dynamics, "friction", 0.0)
        return JointExtras(
            damping,
            friction,
            self._all_numbers(self.xml.child(joint, "calibration")),
            self._all_numbers(self.xml.child(joint, "safety_controller")),
            # Joints that were changed to fixed by hand often still have a mimic element.
            self._blocks(joint, JOINT_TAGS - {"mimic"} if kind is JointKind.FIXED else JOINT_TAGS),
        )

    def _all_numbers(self, element: Element | None) -> frozendict[str, float]:
        if element is None:
            return frozendict()
        return frozendict({str(name): self.xml.number(element, str(name)) for name in element.attrib})
