"""URDF and SRDF texts of the robots and tools in COMPAS data."""

from __future__ import annotations

from lxml import etree

from ...errors import FileError
from ...io.common.urdf_elements import Element, add_origin, number_list
from ...model.name_suggestions import listed
from ...model.value import MAX_RATE
from . import data
from .meshes import MeshFiles, joined

UNBOUNDED = ("continuous", "fixed", "floating", "planar")  # joints without position limits


class UrdfWriter:
    """Writes descriptions of models; meshes go to files.

    Attributes:
        left_out: What the descriptions do not have, one line each.
    """

    def __init__(self, files: MeshFiles) -> None:
        self.files = files
        self.left_out: list[str] = []

    def urdf(self, model: data.Model, name: str) -> str:
        """Return the URDF of a model; `name` is that in messages and names of mesh files.

        Raises:
            FileError: The model is scaled, a mesh or frame is malformed, or a mesh cannot be written.
        """
        if model.scale_factor != 1.0:
            text = f"{name} is scaled by {model.scale_factor:g}, expected a model in metres"
            raise FileError(text, stage=data.STAGE, subjects=(name,))
        if model.attr:
            self.left_out.append(f"{name}: elements {', '.join(sorted(model.attr))[:300]} of the description")
        robot = etree.Element("robot", name=model.name or name)
        for material in model.materials:
            if material.name and material.color is not None:
                self._material(robot, material)
        for link in model.links:
            self._link(robot, link, name)
        for joint in model.joints:
            self._joint(robot, joint, name)
        movable = [each for each in model.joints if each.type != "fixed"]
        if unknown := [each.name for each in movable if each.limit is not None and not each.limit.effort]:
            self.left_out.append(f"effort limits of {name} that are 0, which are unknown here: {listed(unknown)}")
        text = etree.tostring(robot, encoding="unicode", pretty_print=True)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'

    def _link(self, robot: Element, link: data.Link, owner: str) -> None:
        element = etree.SubElement(robot, "link", name=link.name)
        for kind, items in (("visual", link.visual), ("collision", link.collision)):
            for item in items:
                self._item(element, kind, item, f"{owner} {link.name}")
        inertial = link.inertial
        if inertial is not None and inertial.mass is not None and inertial.mass.value > 0.0:
            target = etree.SubElement(element, "inertial")
            _origin(target, inertial.origin, f"the inertia of {link.name}")
            etree.SubElement(target, "mass", value=repr(inertial.mass.value))
            values = inertial.inertia or data.Inertia()
            names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            etree.SubElement(target, "inertia", {key: repr(float(getattr(values, key))) for key in names})

    def _item(self, link: Element, kind: str, item: data.Item, what: str) -> None:
        shape = item.geometry.shape
        if isinstance(shape, data.MeshDescriptor) and not shape.meshes and not shape.filename:
            self.left_out.append(f"{what}: a {kind} without a mesh")
            return
        element = etree.SubElement(link, kind, {"name": item.name} if item.name else {})
        frame = item.origin
        if not isinstance(shape, data.MeshDescriptor) and shape.frame is not None:
            own = shape.frame.pose()
            frame = data.Frame.of(frame.pose() @ own if frame is not None else own)
        _origin(element, frame, what)
        self._geometry(etree.SubElement(element, "geometry"), shape, f"{what} {kind}")
        if kind == "visual" and item.material is not None:
            self._material(element, item.material)

    def _geometry(self, target: Element, shape: data.ShapeData, what: str) -> None:
        if isinstance(shape, data.Box):
            etree.SubElement(target, "box", size=number_list((shape.xsize, shape.ysize, shape.zsize)))
        elif isinstance(shape, data.Sphere):
            etree.SubElement(target, "sphere", radius=repr(shape.radius))
        elif isinstance(shape, data.MeshDescriptor):
            name = self.files.file(joined(shape.meshes, what), what) if shape.meshes else shape.filename
            etree.SubElement(target, "mesh", filename=name, scale=number_list(shape.scale))
        else:
            kind = "cylinder" if isinstance(shape, data.Cylinder) else "capsule"
            etree.SubElement(target, kind, radius=repr(shape.radius), length=repr(shape.height))

    @staticmethod
    def _material(target: Element, material: data.Material) -> None:
        element = etree.SubElement(target, "material", name=material.name or "")
        if material.color is not None:
            colour = material.color
            etree.SubElement(element, "color", rgba=number_list((colour.red, colour.green, colour.blue, colour.alpha)))

    def _joint(self, robot: Element, joint: data.Joint, owner: str) -> None:
        element = etree.SubElement(robot, "joint", name=joint.name, type=joint.type)
        etree.SubElement(element, "parent", link=joint.parent.link)
        etree.SubElement(element, "child", link=joint.child.link)
        _origin(element, joint.origin, f"joint {joint.name} of {owner}")
        if joint.axis is not None and joint.type not in ("fixed", "floating"):
            etree.SubElement(element, "axis", xyz=number_list((joint.axis.x, joint.axis.y, joint.axis.z)))
        if joint.limit is not None and joint.type != "fixed":
            self._limits(element, joint, joint.limit)
        if joint.mimic is not None:
            mimic = joint.mimic
            values = {"multiplier": repr(mimic.multiplier), "offset": repr(mimic.offset)}
            etree.SubElement(element, "mimic", {"joint": mimic.joint, **values})
        if joint.dynamics is not None and (joint.dynamics.damping or joint.dynamics.friction):
            dynamics = {"damping": repr(joint.dynamics.damping), "friction": repr(joint.dynamics.friction)}
            etree.SubElement(element, "dynamics", dynamics)
        soft = joint.safety_controller
        if soft is not None and (soft.soft_lower_limit or soft.soft_upper_limit):
            bounds = {name: repr(getattr(soft, name)) for name in ("soft_lower_limit", "soft_upper_limit")}
            etree.SubElement(element, "safety_controller", bounds)

    @staticmethod
    def _limits(element: Element, joint: data.Joint, limit: data.Limit) -> None:
        values = {"effort": limit.effort, "velocity": limit.velocity}
        if joint.type not in UNBOUNDED:
            values |= {"lower": limit.lower, "upper": limit.upper}
        if not limit.effort:
            del values["effort"]
        known = {name: repr(value) for name, value in values.items() if abs(value) < MAX_RATE}
        etree.SubElement(element, "limit", known)


def srdf(model: data.Model, semantics: data.Semantics) -> str:
    """Return the SRDF of a robot.

    COMPAS lists all links and joints of a chain; the links are written only where no joint implies them.
    """
    robot = etree.Element("robot", name=model.name)
    ends = {joint.name: (joint.parent.link, joint.child.link) for joint in model.joints}
    for name, group in semantics.groups.items():
        element = etree.SubElement(robot, "group", name=name)
        implied = {link for joint in group.joints if joint in ends for link in ends[joint]}
        for joint in group.joints:
            etree.SubElement(element, "joint", name=joint)
        for link in group.links:
            if link not in implied:
                etree.SubElement(element, "link", name=link)
    for name, states in semantics.group_states.items():
        for state, values in states.items():
            element = etree.SubElement(robot, "group_state", name=state, group=name)
            for joint, value in values.items():
                etree.SubElement(element, "joint", name=joint, value=str(value))
    for joint in semantics.passive_joints:
        etree.SubElement(robot, "passive_joint", name=joint)
    for first, second in semantics.disabled_collisions:
        etree.SubElement(robot, "disable_collisions", link1=first, link2=second, reason="")
    text = etree.tostring(robot, encoding="unicode", pretty_print=True)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _origin(target: Element, frame: data.Frame | None, what: str) -> None:
    if frame is None:
        return
    try:
        pose = frame.pose()
    except ValueError as error:
        raise FileError(f"the frame of {what}: {error}", stage=data.STAGE, subjects=(what,)) from error
    add_origin(target, pose)
