"""URDF of a robot in an SDFormat document.

The frame of a link is, as in URDF, that of the joint that moves it; the shapes of links whose own frame is elsewhere
are placed accordingly. Frames become links without shapes. The pose of the model in the world is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lxml import etree

from ...errors import FrameCycleError
from ...model.pose import IDENTITY, Pose, rotate
from ...model.value import WORLD
from ..common.defects import Defects
from ..common.resources import NO_ROOTS, ResourceRoots
from ..common.urdf_elements import add_origin, number_list
from ..common.xml_reader import DRAKE, Element, XmlReader
from .document import STAGE, VERSIONS, SdfFile, SdfJoint, SdfLink, not_supported, read_pose, read_root
from .frames import SEPARATOR, Reference, Scope, SdfKind
from .reader import SdfReader
from .shapes import read_colour, read_inertial

MOVING = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic"}
CYCLE_REMEDY = "Give one of these frames another `relative_to` or `attached_to`."
UNBOUNDED = 1e15  # [rad or m] larger limits mean none
AXIS_IN_JOINT_SINCE = VERSIONS.index("1.5")  # before, axes were given in the frame of the model
# Attributes of <limit> in URDF by the elements of <limit> here. Limits below 0 are refused for Drake's element, as by
# Drake; for others they mean that there is none.
LIMITS = {name: name for name in ("lower", "upper", "effort", "velocity")}
DRAKE_LIMITS = {f"{{{namespace}}}acceleration": "acceleration" for namespace in DRAKE}
SIZES = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}


def sdf_to_urdf(
    text: str,
    folder: str = "",
    roots: ResourceRoots = NO_ROOTS,
    source: str = "sdf",
    defects: Defects | None = None,
) -> str:
    """Convert the only model of an SDFormat document to a URDF.

    Joints are fixed, revolute, continuous or prismatic; mimic joints are kept. Links of nested models are named with
    their scope ("arm::link_1"). Visuals that URDF has no shape for are left out.

    Args:
        text: Content of the document.
        folder: Base folder of relative URIs.
        roots: Folders that may be read.
        source: Name of the text in messages.
        defects: Takes note of what is left out; None: visuals without a shape in URDF are errors.

    Raises:
        FileError: The document is malformed, or does not hold exactly one model.
        NotSupportedError: A joint is of another kind or has one position limit only, or a collision has a shape that
            URDF does not have.
        ResourceError: An included model is missing or outside the roots.
        FrameCycleError, DuplicateNameError, LimitExceededError: As `read_sdf`.
    """
    root, file = read_root(XmlReader(source, STAGE, defects), folder, text)
    reader = SdfReader(roots)
    reader.document(root, file)
    for line in reader.contents.warnings():
        file.xml.defects.remark(f"{source}: left out: {line}")
    frames = reader.contents.frames.frames
    models = [name for name, frame in frames.items() if frame.kind is SdfKind.MODEL and SEPARATOR not in name]
    if len(models) != 1:
        listed = ", ".join(models[:5])
        raise file.xml.error(root, f"holds {len(models)} models ({listed}), expected one for a robot", *models[:5])
    try:
        return _Converter(reader, models[0], file, root).urdf()
    except FrameCycleError as error:
        raise error.changed(f"{source}: {error.message}", remedy=CYCLE_REMEDY) from error


class _Converter:
    def __init__(self, reader: SdfReader, model: str, file: SdfFile, root: Element) -> None:
        self.contents = reader.contents
        self.frames = reader.contents.frames
        self.model = model
        self.file = file
        self.root = root
        self.urdf_frame: dict[str, Pose] = {}  # of each link in SDFormat's frame of the link

    def urdf(self) -> str:
        robot = etree.Element("robot", name=self._name(self.model))
        joints = {name: self._ends(joint) for name, joint in self.contents.joints.items()}
        self._check_tree(joints)
        placements = self.frames.placements  # refuses unknown frames, also in poses that are not used
        for name, (_, child) in joints.items():
            if self.contents.joints[name].kind != "fixed":
                self.urdf_frame[child] = placements.between(child, name)
        if WORLD in {parent for parent, _ in joints.values()}:
            etree.SubElement(robot, "link", name=WORLD)
        for name, link in self.contents.links.items():
            self._link(robot, name, link)
        for name, (parent, child) in joints.items():
            self._joint(robot, name, parent, child)
        for name, frame in self.frames.frames.items():
            if frame.kind is SdfKind.FRAME:
                self._frame(robot, name)
        return etree.tostring(robot, encoding="unicode", pretty_print=True)

    def _ends(self, joint: SdfJoint) -> tuple[str, str]:
        """Return the parent and the child link of a joint."""
        parent = self.frames.link_of(self.frames.find(joint.parent, world=True))
        return parent, self.frames.link_of(self.frames.find(joint.child))

    def _check_tree(self, joints: dict[str, tuple[str, str]]) -> None:
        """Refuse links with several parents, and several links without one.

        Raises:
            FileError: The links do not form a tree.
        """
        parents: dict[str, str] = {}
        for name, (parent, child) in joints.items():
            if child in parents:
                text = f"has two joints that move link {self._name(child)}; loops are not supported"
                raise self.contents.joints[name].child.error(text)
            parents[child] = parent
        roots = [link for link in self.contents.links if link not in parents]
        if WORLD in parents.values():
            roots.append(WORLD)
        if len(roots) != 1:
            names = [self._name(link) for link in roots]
            text = f"has {len(roots)} links that no joint moves ({', '.join(names[:5])}), expected one root of a robot"
            raise self.file.xml.error(self.root, text, *names[:5])

    def _name(self, full: str) -> str:
        """Return a name without the name of the model."""
        return full.removeprefix(self.model + SEPARATOR)

    def _inside(self, link: str) -> Pose:
        """Return the pose of SDFormat's frame of a link in URDF's."""
        return self.urdf_frame.get(link, IDENTITY).inverse()

    def _link(self, robot: Element, name: str, link: SdfLink) -> None:
        element = etree.SubElement(robot, "link", name=self._name(name))
        xml, inside = link.file.xml, self._inside(name)
        inertial = xml.child(link.element, "inertial")
        if inertial is not None and xml.child(inertial, "mass") is not None:
            pose, _ = read_pose(link.file, inertial)
            found = read_inertial(xml, inertial, inside @ pose)
            target = etree.SubElement(element, "inertial")
            add_origin(target, found.pose)
            etree.SubElement(target, "mass", value=repr(found.mass))
            names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            values = {key: repr(value) for key, value in zip(names, found.inertia, strict=True)}
            etree.SubElement(target, "inertia", values)
        for kind in ("visual", "collision"):
            for shape in link.element.iterchildren(kind):
                self._shape(element, name, link, shape, inside)

    def _shape(self, target: Element, name: str, link: SdfLink, shape: Element, inside: Pose) -> None:
        pose, relative_to = read_pose(link.file, shape)
        if relative_to:
            frame = self.frames.find(Reference(link.scope, relative_to, link.file.xml, shape))
            pose = self.frames.placements.between(name, frame) @ pose
        forms = list(link.file.xml.required_child(shape, "geometry").iterchildren())
        if len(forms) == 1 and forms[0].tag == "empty":
            return
        if len(forms) != 1 or forms[0].tag not in (*SIZES, "mesh"):
            error = not_supported(link.file, shape, f"of a robot is no {', '.join(SIZES)} or mesh, which URDF needs")
            if shape.tag == "collision":
                raise error
            link.file.xml.defects.note(error, "it is not shown")
            return
        element = etree.SubElement(target, str(shape.tag), name=str(shape.get("name", "")))
        add_origin(element, inside @ pose)
        self._form(etree.SubElement(element, "geometry"), link.file, forms[0])
        colour = read_colour(link.file.xml, shape) if shape.tag == "visual" else None
        if colour is not None:
            material = etree.SubElement(element, "material", name="")
            etree.SubElement(material, "color", rgba=number_list(colour))

    @staticmethod
    def _form(target: Element, file: SdfFile, form: Element) -> None:
        xml = file.xml
        if form.tag != "mesh":
            sizes = {name: xml.text(xml.required_child(form, name)) for name in SIZES[str(form.tag)]}
            etree.SubElement(target, str(form.tag), sizes)
            return
        if xml.child(form, "submesh") is not None:
            raise not_supported(file, form, "is a part of a mesh, which is not read")
        uri = xml.text(xml.required_child(form, "uri"))
        local = "://" not in uri and file.folder
        mesh = etree.SubElement(target, "mesh", filename=f"{file.folder}/{uri}" if local else uri)
        scale = xml.child(form, "scale")
        if scale is not None:
            mesh.set("scale", xml.text(scale))

    def _joint(self, robot: Element, name: str, parent: str, child: str) -> None:
        joint = self.contents.joints[name]
        source = joint.child.element.getparent()
        assert source is not None
        between = self.frames.placements.between
        outer = self._inside(parent) if parent != WORLD else IDENTITY
        base = self.model if parent == WORLD else parent  # the model's frame is where its robot is placed
        if joint.kind == "fixed":
            target = self._new_joint(robot, name, "fixed", parent, child)
            add_origin(target, outer @ between(base, child))
            return
        file = self._file_of(joint)
        axis = file.xml.required_child(source, "axis") if joint.kind in MOVING else None
        if axis is None:
            text = f"has type {joint.kind!r}, expected fixed, revolute, continuous or prismatic in a robot"
            raise not_supported(file, source, text)
        limits = self._limits(file, axis)
        kind = self._bounded_kind(name, joint, file, axis, limits)
        target = self._new_joint(robot, name, kind, parent, child)
        add_origin(target, outer @ between(base, name))
        etree.SubElement(target, "axis", xyz=number_list(self._axis(name, joint, file, axis)))
        if kind == "continuous":
            limits = {key: value for key, value in limits.items() if key not in ("lower", "upper")}
        if limits:
            etree.SubElement(target, "limit", limits)
        self._dynamics(target, file, axis)
        self._mimic(target, joint, file, axis)

    def _bounded_kind(self, name: str, joint: SdfJoint, file: SdfFile, axis: Element, limits: dict[str, str]) -> str:
        """Return the type of a joint in URDF, where a joint has both position limits or is continuous."""
        given = [bound for bound in ("lower", "upper") if bound in limits]
        if len(given) == 2 or joint.kind == "continuous":
            return joint.kind
        if joint.kind == "revolute" and not given:
            return "continuous"
        found = f"only the limit {given[0]} {limits[given[0]]}" if given else "no lower and upper limit"
        text = f"of {joint.kind} joint {self._name(name)} has {found}, expected both limits"
        raise not_supported(file, axis, text)

    def _new_joint(self, robot: Element, name: str, kind: str, parent: str, child: str) -> Element:
        joint = etree.SubElement(robot, "joint", name=self._name(name), type=kind)
        etree.SubElement(joint, "parent", link=self._name(parent))
        etree.SubElement(joint, "child", link=self._name(child))
        return joint

    def _file_of(self, joint: SdfJoint) -> SdfFile:
        """Return the file of a joint: that of its model, which has the reader of its references."""
        files = {id(link.file.xml): link.file for link in self.contents.links.values()}
        return files.get(id(joint.child.xml), self.file)

    def _limits(self, file: SdfFile, axis: Element) -> dict[str, str]:
        limit = file.xml.child(axis, "limit")
        found: dict[str, str] = {}
        for name, attribute in {**LIMITS, **DRAKE_LIMITS}.items() if limit is not None else ():
            element = None if limit is None else file.xml.child(limit, name)
            if element is None or (element.text or "").strip().lower().lstrip("+-") in ("inf", "infinity"):
                continue
            value = file.xml.text_numbers(element, 1)[0]
            if value < 0.0 and name in DRAKE_LIMITS:
                raise file.xml.error(element, f"is {value:g}, expected a number of at least 0")
            if abs(value) < UNBOUNDED and (value >= 0.0 or name in ("lower", "upper")):  # -1 means no limit
                found[attribute] = repr(value)
        return found

    def _axis(self, name: str, joint: SdfJoint, file: SdfFile, axis: Element) -> Sequence[float]:
        """Return the axis in the frame of the joint, of length 1."""
        element = file.xml.child(axis, "xyz")
        if element is None:
            return (0.0, 0.0, 1.0)
        x, y, z = file.xml.text_numbers(element, 3)
        length = math.sqrt(x * x + y * y + z * z)
        if length < 1e-9:
            raise file.xml.error(element, "has no direction")
        frame = file.xml.attribute(element, "expressed_in", "")
        old = file.version < AXIS_IN_JOINT_SINCE
        if file.xml.text_of_child(axis, "use_parent_model_frame", "true" if old else "false") in ("true", "1"):
            frame = "__model__"
        direction = (x / length, y / length, z / length)
        if not frame:
            return direction
        scope: Scope = joint.child.scope
        given = self.frames.find(Reference(scope, frame, file.xml, element))
        return rotate(self.frames.placements.between(name, given).quaternion, direction)

    def _dynamics(self, target: Element, file: SdfFile, axis: Element) -> None:
        dynamics = file.xml.child(axis, "dynamics")
        for name in ("damping", "friction") if dynamics is not None else ():
            value = None if dynamics is None else file.xml.child(dynamics, name)
            if value is not None:
                element = target.find("dynamics")
                element = etree.SubElement(target, "dynamics") if element is None else element
                element.set(name, repr(file.xml.text_numbers(value, 1)[0]))

    def _mimic(self, target: Element, joint: SdfJoint, file: SdfFile, axis: Element) -> None:
        mimic = file.xml.child(axis, "mimic")
        if mimic is None:
            return
        leader = self.frames.find(Reference(joint.child.scope, file.xml.attribute(mimic, "joint"), file.xml, mimic))
        numbers = {"multiplier": 1.0, "offset": 0.0, "reference": 0.0}
        for name in numbers:
            element = file.xml.child(mimic, name)
            if element is not None:
                numbers[name] = file.xml.text_numbers(element, 1)[0]
        multiplier, offset, reference = numbers.values()
        values = {"multiplier": repr(multiplier), "offset": repr(offset - multiplier * reference)}
        etree.SubElement(target, "mimic", {"joint": self._name(leader), **values})

    def _frame(self, robot: Element, name: str) -> None:
        """Add a link for a frame, fixed to the link that it moves with."""
        link = self.frames.link_of(name)
        own = self._name(name)
        etree.SubElement(robot, "link", name=own)
        parent = self.model if link == WORLD else link
        target = self._new_joint(robot, f"{name}_frame", "fixed", link, name)
        add_origin(target, self._inside(link) @ self.frames.placements.between(parent, name))
