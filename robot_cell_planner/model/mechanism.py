"""Mechanisms: links joined in a tree, as URDF describes them. A robot is one, and so is a tool with moving parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from functools import cached_property

import msgspec
import numpy as np
from frozendict import frozendict

from ..errors import InvalidRequestError, InvalidValueError, ModelError, UnknownNameError, Value
from .arguments import check_fields
from .geometry import Shape
from .name_suggestions import unknown_name
from .pose import IDENTITY, Pose
from .value import Vector3, check_keys, check_name, finite, vector3


class JointKind(str, Enum):
    """The joint types of URDF."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    PLANAR = "planar"
    FLOATING = "floating"


# A joint with several degrees of freedom counts as elementary joints in a row, each one variable "joint/suffix".
COMPOUND_SUFFIXES: Mapping[JointKind, tuple[str, ...]] = frozendict(
    {JointKind.PLANAR: ("x", "y", "theta"), JointKind.FLOATING: ("x", "y", "z", "yaw", "pitch", "roll")}
)


NO_LOWER, NO_UPPER = -math.inf, math.inf


class JointLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits of one variable: position [rad or m], velocity, acceleration, jerk (per s, s2, s3), effort [Nm or N].

    None: not known; infinite position limits: none. `defaulted` names those that no file gave.
    """

    lower: float = NO_LOWER
    upper: float = NO_UPPER
    velocity: float | None = None
    acceleration: float | None = None
    jerk: float | None = None
    effort: float | None = None
    defaulted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        if not (self.lower <= self.upper and self.lower < math.inf and self.upper > -math.inf):
            raise InvalidValueError(
                f"limits are {self.lower} to {self.upper}, expected a lower one and then an upper one"
            )
        # JSON has no infinite numbers: they are the defaults and left out, which msgspec decides by identity.
        if self.lower == NO_LOWER:
            msgspec.structs.force_setattr(self, "lower", NO_LOWER)
        if self.upper == NO_UPPER:
            msgspec.structs.force_setattr(self, "upper", NO_UPPER)
        for name in ("velocity", "acceleration", "jerk", "effort"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                raise InvalidValueError(f"{name} limit is {value}, expected a finite number of at least 0")


class Mimic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The joint follows another: value = multiplier * value of `joint` + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        finite((self.multiplier, self.offset), "mimic")


class JointExtras(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What URDF says of a joint beyond kinematics.

    damping [N s/m or Nm s/rad], friction [N or Nm]; calibration, safety_controller: their attributes. blocks: any other
    element inside the joint, as XML text.
    """

    damping: float = 0.0
    friction: float = 0.0
    calibration: frozendict[str, float] = frozendict()
    safety_controller: frozendict[str, float] = frozendict()
    blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)


class Joint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A joint; origin: pose of the joint frame in the parent link, axis: unit vector in the joint frame."""

    name: str
    kind: JointKind
    parent: str
    child: str
    origin: Pose = IDENTITY
    axis: Vector3 = (1.0, 0.0, 0.0)
    limits: JointLimits = JointLimits()
    mimic: Mimic | None = None
    extras: JointExtras = JointExtras()

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "joint")
        length = math.sqrt(sum(value * value for value in vector3(self.axis, "axis")))
        if self.kind is not JointKind.FIXED and abs(length - 1.0) > 1e-6:
            raise InvalidValueError(f"axis {list(self.axis)} of joint {self.name} has length {length:.6g}, expected 1")
        if self.mimic is not None and self.kind in (*COMPOUND_SUFFIXES, JointKind.FIXED):
            raise InvalidValueError(f"joint {self.name} is {self.kind.value} and cannot mimic another")

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables: none if fixed or mimicking, its own name, or one for each elementary joint."""
        if self.kind is JointKind.FIXED or self.mimic is not None:
            return ()
        if self.kind in COMPOUND_SUFFIXES:
            return tuple(f"{self.name}/{suffix}" for suffix in COMPOUND_SUFFIXES[self.kind])
        return (self.name,)


# Rounded numbers of light parts in real files are off by less [kg m2, and as a share].
INERTIA_TOLERANCE = 1e-6


class Inertial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mass [kg] and how it is spread.

    pose: centre of mass and axes of inertia in the link. inertia: ixx, ixy, ixz, iyy, iyz, izz about it [kg m2].
    """

    mass: float
    pose: Pose = IDENTITY
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_fields(self)
        finite((self.mass, *self.inertia), "inertial")
        if self.mass < 0.0:
            raise InvalidValueError(f"mass is {self.mass}, expected at least 0")
        if any(self.inertia):
            xx, xy, xz, yy, yz, zz = self.inertia
            moments = np.linalg.eigvalsh(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            if moments[0] < -INERTIA_TOLERANCE * (1.0 + moments[2]):
                listed = ", ".join(f"{moment:.4g}" for moment in moments)
                raise InvalidValueError(f"inertia has the principal moments {listed}, expected none below 0")


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rigid part with what it looks like, what it collides with, and its mass if known.

    blocks: elements inside the link that mean nothing here (sensor, contact, ...), as XML text.
    """

    name: str
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    inertial: Inertial | None = None
    blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "link")


class Variable(msgspec.Struct, frozen=True):
    """One degree of freedom: its name, the joint it belongs to, and its limits; angular: it is an angle [rad]."""

    name: str
    joint: str
    kind: JointKind
    limits: JointLimits
    angular: bool


class Mechanism(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """A tree of links and joints, in the order of the file.

    blocks: elements of the description that mean nothing here (transmission, ros2_control, gazebo, sensor, ...), as XML
    text, with the names that the file gives.

    Raises:
        ModelError: double or missing names, several roots, a loop, or a chain of mimicking joints that never ends.
    """

    name: str
    links: frozendict[str, Link]
    joints: frozendict[str, Joint]
    blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        check_keys(self.links, "link")
        check_keys(self.joints, "joint")
        children: dict[str, str] = {}
        for joint in self.joints.values():
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in self.links:
                    text = f"link {link!r}, the {role} link of joint {joint.name},"
                    raise ModelError(unknown_name(text, link, self.links), subjects=(joint.name, link))
            if joint.child in children:
                text = f"link {joint.child} is the child of two joints, {children[joint.child]} and {joint.name}"
                raise ModelError(text, subjects=(joint.child, children[joint.child], joint.name))
            children[joint.child] = joint.name
        roots = [name for name in self.links if name not in children]
        if len(roots) != 1:
            listed = ", ".join(roots[:5]) or "none (the joints form a loop)"
            raise ModelError(f"mechanism {self.name} needs one root link, found {listed}", subjects=tuple(roots[:5]))
        if len(self.tree_order) != len(self.joints):
            reached = {joint.name for joint in self.tree_order}
            loop = tuple(name for name in self.joints if name not in reached)
            raise ModelError(f"joints {', '.join(loop[:5])} form a loop", subjects=loop)
        for joint in self.joints.values():
            self.mimic_source(joint.name)

    @cached_property
    def root(self) -> str:
        """The link that no joint moves."""
        children = {joint.child for joint in self.joints.values()}
        return next(name for name in self.links if name not in children)

    @cached_property
    def tree_order(self) -> tuple[Joint, ...]:
        """Joints from the root outwards, depth first, siblings in the order of the file."""
        by_parent: dict[str, list[Joint]] = {}
        for joint in self.joints.values():
            by_parent.setdefault(joint.parent, []).append(joint)
        order: list[Joint] = []
        pending = list(reversed(by_parent.get(self.root, [])))
        while pending:
            joint = pending.pop()
            order.append(joint)
            pending.extend(reversed(by_parent.get(joint.child, [])))
        return tuple(order)

    @cached_property
    def parent_joints(self) -> frozendict[str, Joint]:
        """The joint above each link; the root has none."""
        return frozendict({joint.child: joint for joint in self.joints.values()})

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The independent degrees of freedom in tree order; mimicking joints have none of their own."""
        result: list[Variable] = []
        for joint in self.tree_order:
            for name in joint.variables:
                suffix = name.rpartition("/")[2]
                angular = joint.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS)
                if joint.kind in COMPOUND_SUFFIXES:
                    angular = suffix in ("theta", "yaw", "pitch", "roll")
                result.append(Variable(name, joint.name, joint.kind, joint.limits, angular))
        return tuple(result)

    def mimic_source(self, name: str) -> tuple[str, float, float]:
        """The independent joint behind a joint, and the multiplier and offset of the whole chain of mimicking.

        Raises:
            ModelError: the chain names an unknown joint, one without a single value, or never ends.
        """
        multiplier, offset, seen = 1.0, 0.0, [name]
        joint = self.joints[name]
        while joint.mimic is not None:
            if joint.mimic.joint not in self.joints:
                text = f"joint {joint.mimic.joint!r}, which {joint.name} mimics,"
                raise ModelError(unknown_name(text, joint.mimic.joint, self.joints), subjects=(joint.name,))
            offset += multiplier * joint.mimic.offset
            multiplier *= joint.mimic.multiplier
            joint = self.joints[joint.mimic.joint]
            if joint.name in seen:
                raise ModelError(f"joints {' -> '.join([*seen, joint.name])} mimic in a loop", subjects=tuple(seen))
            if joint.kind is JointKind.FIXED or joint.kind in COMPOUND_SUFFIXES:
                raise ModelError(f"joint {name} mimics {joint.name}, which is {joint.kind.value}", subjects=(name,))
            seen.append(joint.name)
        return joint.name, multiplier, offset

    def chain(self, base: str, tip: str) -> tuple[Joint, ...]:
        """The joints from link `base` down to link `tip`.

        Raises:
            UnknownNameError: no such link.
            ModelError: `tip` does not hang below `base`.
        """
        for link in (base, tip):
            if link not in self.links:
                raise UnknownNameError(unknown_name(f"link {link!r}", link, self.links), subjects=(link,))
        result: list[Joint] = []
        link = tip
        while link != base:
            if link not in self.parent_joints:
                raise ModelError(f"link {tip} does not hang below link {base}", subjects=(base, tip))
            result.append(self.parent_joints[link])
            link = result[-1].parent
        return tuple(reversed(result))

    def neutral(self) -> frozendict[str, float]:
        """Zero for every variable, or the value nearest to zero that its limits allow."""
        return frozendict({v.name: min(max(0.0, v.limits.lower), v.limits.upper) for v in self.variables})

    def check_configuration(self, configuration: Mapping[str, float], what: str) -> None:
        """Refuse names that are not variables, and values that are not finite.

        Raises:
            UnknownNameError: a name that is no variable.
            InvalidRequestError: a value that is not finite.
        """
        names = {variable.name for variable in self.variables}
        for name, value in configuration.items():
            if name not in names:
                raise UnknownNameError(unknown_name(f"joint {name!r} in {what}", name, names), subjects=(name,))
            if not math.isfinite(value):
                raise InvalidRequestError(
                    f"joint {name} in {what} is not a finite number", subjects=(name,), values=(Value(name, value),)
                )
