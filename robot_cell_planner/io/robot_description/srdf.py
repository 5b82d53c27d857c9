"""SRDF reader: planning groups, named states, end effectors and disabled collision pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

import msgspec
from frozendict import frozendict

from ...errors import FileError, ModelError, UnknownNameError
from ...model.mechanism import Joint, JointKind, Mechanism
from ...model.name_suggestions import listed, unknown_name
from ...model.robot import DisabledPair, PlanningGroup
from ..common.defects import Defects
from ..common.xml_reader import Element, XmlReader, tag
from .urdf_names import link_name

STAGE = "read srdf"
DEFAULT_COLLISIONS = "disable_default_collisions"
E = TypeVar("E")
T = TypeVar("T")


class EndEffector(msgspec.Struct, frozen=True):
    """Group mounted on a link of another (or of no) group."""

    name: str
    group: str
    parent_link: str
    parent_group: str = ""


class VirtualJoint(msgspec.Struct, frozen=True):
    """Virtual joint of an SRDF between robot and world. In a cell the base pose of the robot is used instead."""

    name: str
    kind: str
    parent_frame: str
    child_link: str


class SemanticDescription(msgspec.Struct, frozen=True):
    """Content of an SRDF. `named_states`: values by variable, for each "group/state"."""

    groups: frozendict[str, PlanningGroup] = frozendict()
    named_states: frozendict[str, frozendict[str, float]] = frozendict()
    disabled_pairs: tuple[DisabledPair, ...] = ()
    end_effectors: tuple[EndEffector, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()


def read_srdf(
    text: str,
    mechanism: Mechanism,
    source: str = "semantic description",
    prefix: str = "",
    defects: Defects | None = None,
) -> SemanticDescription:
    """Read an SRDF for a mechanism. `prefix` is prepended to all names of joints, links and groups.

    defects: Takes note of groups, states, pairs and virtual joints with names that the mechanism does not have, or
        without a name that they need, which are left out. None: they are errors.

    The variables of a group are in tree order of the mechanism, regardless of the order in the file. Fixed, mimic,
    passive and virtual joints have no variables. A group of consecutive joints without a branch has a base link and a
    tip link; so has one of an arm and the rail below it, whose fixed joints between them may be missing.

    Raises:
        FileError: The text is malformed or contains a name that the mechanism does not have; the message gives file,
            line and the most similar names.
    """
    return _Reader(XmlReader(source, STAGE, defects), mechanism, prefix).description(text)


class _UnknownName(Exception):
    """A part of an SRDF refers to something that the robot does not have."""

    def __init__(self, error: FileError, name: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.name = name


class _Incomplete(Exception):
    """A part of an SRDF lacks an attribute that it needs."""

    def __init__(self, error: FileError) -> None:
        super().__init__(error.message)
        self.error = error


class _Reader:
    def __init__(self, xml: XmlReader, mechanism: Mechanism, prefix: str) -> None:
        self.xml = xml
        self.mechanism = mechanism
        self.prefix = prefix
        self.elements: dict[str, Element] = {}
        self.passive: frozenset[str] = frozenset()
        self.virtual: frozenset[str] = frozenset()

    def description(self, text: str) -> SemanticDescription:
        robot = self.xml.parse(text)
        if tag(robot) != "robot":
            raise self.xml.error(robot, "is the root element, expected <robot>")
        for link in robot.iterchildren("link"):
            raise self.xml.error(link, "is an element of URDF, expected an SRDF with <group> and <disable_collisions>")
        virtual_joints = tuple(self._readable(robot.iterchildren("virtual_joint"), self._virtual_joint))
        self.virtual = frozenset(joint.name for joint in virtual_joints)
        own = [element for element in robot.iterchildren("passive_joint") if not self._is_virtual(element)]
        passive = self._readable(own, lambda element: self._joint_name(element, "name"))
        self.passive = frozenset(passive)
        for element in robot.iterchildren("group"):
            name = self.prefix + self.xml.attribute(element, "name")
            if name in self.elements:
                raise self.xml.error(element, f"has the name {name!r}, which another group has already", name)
            self.elements[name] = element
        found = self._readable(self.elements.items(), lambda item: (item[0], self._group(*item)), required=True)
        groups = dict(found)
        return SemanticDescription(
            frozendict(groups),
            self._states(robot, groups),
            self._disabled_pairs(robot),
            tuple(self._readable(robot.iterchildren("end_effector"), self._end_effector)),
            virtual_joints,
            tuple(passive),
        )

    def _readable(self, elements: Iterable[E], read: Callable[[E], T], required: bool = False) -> list[T]:
        """Return what can be read of elements; those with unknown names are left out, and are one defect, and so are
        incomplete ones.

        Raises:
            FileError: Nothing can be read and it is required: the file is probably that of another robot.
        """
        result: list[T] = []
        errors: list[_UnknownName] = []
        incomplete: list[_Incomplete] = []
        for element in elements:
            try:
                result.append(read(element))
            except _UnknownName as error:
                errors.append(error)
            except _Incomplete as error:
                incomplete.append(error)
        refused = [*(each.error for each in errors), *(each.error for each in incomplete)]
        if refused and required and not result:
            raise refused[0]
        for each in incomplete:
            self.xml.defects.note(each.error, "this element is left out")
        if errors:
            names = ", ".join(dict.fromkeys(error.name for error in errors))
            count = "this element is" if len(errors) == 1 else f"{len(errors)} such elements are"
            self.xml.defects.note(errors[0].error, f"{count} left out ({names})")
        return result

    def _unknown(self, element: Element, text: str, name: str) -> _UnknownName:
        return _UnknownName(self.xml.error(element, text, name), name)

    def _attribute(self, element: Element, name: str) -> str:
        """Return an attribute that a part of an SRDF needs.

        Raises:
            _Incomplete: It is missing.
        """
        try:
            return self.xml.attribute(element, name)
        except FileError as error:
            raise _Incomplete(error) from error

    def _virtual_joint(self, element: Element) -> VirtualJoint:
        return VirtualJoint(
            self.prefix + self._attribute(element, "name"),
            self._attribute(element, "type"),
            self._attribute(element, "parent_frame"),
            self._link(element, "child_link"),
        )

    def _is_virtual(self, element: Element) -> bool:
        return self.prefix + self.xml.attribute(element, "name", "") in self.virtual

    def _joint_name(self, element: Element, attribute: str) -> str:
        name = self.prefix + self._attribute(element, attribute)
        if name not in self.mechanism.joints:
            text = unknown_name(f"joint {name!r}", name, self.mechanism.joints)
            raise self._unknown(element, f"names a joint: {text}", name)
        return name

    def _link(self, element: Element, attribute: str) -> str:
        name = link_name(self._attribute(element, attribute), self.prefix, self.mechanism.name)
        if name not in self.mechanism.links:
            text = unknown_name(f"link {name!r}", name, self.mechanism.links)
            raise self._unknown(element, f"names a link: {text}", name)
        return name

    def _group(self, name: str, element: Element) -> PlanningGroup:
        joints = {joint.name: joint for joint in self._joints(element, (name,))}
        ordered = self._connected([joint for joint in self.mechanism.tree_order if joint.name in joints])
        variables = tuple(v for joint in ordered if joint.name not in self.passive for v in joint.variables)
        base, tip = _ends(ordered)
        links = tuple(dict.fromkeys([*(joint.child for joint in ordered), *self._links_of(element)]))
        try:
            return PlanningGroup(name, variables, links, base, tip)
        except ValueError as error:
            raise self.xml.error(element, f"is refused: {error}", name) from error

    def _connected(self, joints: list[Joint]) -> list[Joint]:
        """Return joints in tree order with the fixed joints between them, if they are one chain with these whose last
        part has the most: an arm on the carriage of a rail, but not an arm with a finger."""
        found, sizes = joints[:1], [1]
        for above, below in pairwise(joints):
            between: list[Joint] = []
            link = below.parent
            while link != above.child:
                joint = self.mechanism.parent_joints.get(link)
                if joint is None or joint.kind is not JointKind.FIXED:
                    return joints
                between.append(joint)
                link = joint.parent
            found += [*reversed(between), below]
            sizes = [*sizes, 1] if between else [*sizes[:-1], sizes[-1] + 1]
        return found if sizes[-1] == max(sizes) and sizes.count(sizes[-1]) == 1 else joints

    def _joints(self, group: Element, trail: tuple[str, ...]) -> Iterator[Joint]:
        for member in group.iterchildren():
            if member.tag == "chain":
                yield from self._chain(member)
            elif member.tag == "joint":
                if not self._is_virtual(member):
                    yield self.mechanism.joints[self._joint_name(member, "name")]
            elif member.tag == "link":
                joint = self.mechanism.parent_joints.get(self._link(member, "name"))
                if joint is not None:
                    yield joint
            elif member.tag == "group":
                yield from self._subgroup(member, trail)
            elif member.tag == "passive_joint":  # in the Panda's of MoveIt, which ignores it
                self.xml.defects.note(self.xml.error(member, "is no member of a group"), "this element is left out")
            else:
                raise self.xml.error(member, "is no member of a group, expected chain, joint, link or group")

    def _chain(self, element: Element) -> tuple[Joint, ...]:
        base, tip = self._link(element, "base_link"), self._link(element, "tip_link")
        try:
            return self.mechanism.chain(base, tip)
        except (ModelError, UnknownNameError) as error:
            raise self.xml.error(element, f"is no chain: {error.message}", *error.subjects) from error

    def _subgroup(self, element: Element, trail: tuple[str, ...]) -> Iterator[Joint]:
        name = self.prefix + self._attribute(element, "name")
        if name in trail:
            raise self.xml.error(element, f"closes a loop of groups: {' -> '.join((*trail, name))}", name)
        if name not in self.elements:
            raise self._unknown(element, f"names a group: {unknown_name(repr(name), name, self.elements)}", name)
        return self._joints(self.elements[name], (*trail, name))

    def _links_of(self, group: Element) -> Iterator[str]:
        return (self._link(element, "name") for element in group.iterchildren("link"))

    def _states(self, robot: Element, groups: dict[str, PlanningGroup]) -> frozendict[str, frozendict[str, float]]:
        states: dict[str, frozendict[str, float]] = {}

        def state(element: Element) -> None:
            group = self._group_name(element, "group", groups)
            key = f"{group}/{self._attribute(element, 'name')}"
            if key in states:
                raise self.xml.error(element, f"has the name {key!r}, which another state has already", key)
            states[key] = frozendict(
                {name: value for joint in element.iterchildren("joint") for name, value in self._values(joint)}
            )

        self._readable(robot.iterchildren("group_state"), state)
        return frozendict(states)

    def _values(self, element: Element) -> Iterator[tuple[str, float]]:
        """Return the joint values of a named state, without virtual, fixed and mimic joints."""
        if self._is_virtual(element):
            return
        joint = self.mechanism.joints[self._joint_name(element, "name")]
        if joint.kind is JointKind.FIXED or joint.mimic is not None:
            return
        values = self.xml.parse_numbers(element, "value", self._attribute(element, "value"), len(joint.variables))
        yield from zip(joint.variables, values, strict=True)

    def _group_name(self, element: Element, attribute: str, groups: dict[str, PlanningGroup]) -> str:
        name = self.prefix + self._attribute(element, attribute)
        if name not in groups:
            raise self._unknown(element, f"names a group: {unknown_name(repr(name), name, groups)}", name)
        return name

    def _disabled_pairs(self, robot: Element) -> tuple[DisabledPair, ...]:
        """Return the disabled pairs, with those of links without default collisions in the order that MoveIt uses."""
        disabled = self._readable(robot.iterchildren("disable_collisions"), self._pair)
        without = self._readable(robot.iterchildren(DEFAULT_COLLISIONS), lambda element: self._link(element, "link"))
        if not without:
            return tuple(disabled)
        enabled = self._readable(robot.iterchildren("enable_collisions"), self._pair)
        listed_pairs = {frozenset((pair.first, pair.second)) for pair in (*disabled, *enabled)}
        for first in dict.fromkeys(without):
            for second in self.mechanism.links:
                pair = frozenset((first, second))
                if first != second and pair not in listed_pairs:
                    listed_pairs.add(pair)
                    disabled.append(DisabledPair(first, second, DEFAULT_COLLISIONS))
        text = f"{DEFAULT_COLLISIONS} of {listed(without)} applies to links of the robot; other objects are checked"
        self.xml.defects.remark(f"{self.xml.source}: {text}")
        return tuple(disabled)

    def _pair(self, element: Element) -> DisabledPair:
        first, second = self._link(element, "link1"), self._link(element, "link2")
        return DisabledPair(first, second, self.xml.attribute(element, "reason", ""))

    def _end_effector(self, element: Element) -> EndEffector:
        return EndEffector(
            self._attribute(element, "name"),
            self.prefix + self._attribute(element, "group"),
            self._link(element, "parent_link"),
            self.prefix + self._attribute(element, "parent_group") if element.get("parent_group") else "",
        )


def _ends(joints: list[Joint]) -> tuple[str, str]:
    """Return base and tip link of consecutive joints in tree order; two empty strings if they branch."""
    if not joints:
        return "", ""
    for above, below in pairwise(joints):
        if below.parent != above.child:
            return "", ""
    return joints[0].parent, joints[-1].child
