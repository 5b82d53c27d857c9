"""Mechanisms: kinematic trees of links and joints as in URDF, used for robots and for tools with joints."""

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
from .assumed_limits import rates_of_linear_part
from .geometry import Shape
from .joint_count import check_joint_count
from .joint_extras import JointExtras
from .mimic_limits import MimicLimits, NarrowedLimits, narrowed
from .name_suggestions import listed, unknown_name
from .pose import IDENTITY, Pose
from .units import joint_unit
from .value import Vector3, check_keys, check_name, finite, vector3


class JointKind(str, Enum):
    """Joint types of URDF."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    PLANAR = "planar"
    FLOATING = "floating"


# A joint with several degrees of freedom is modelled as a sequence of elementary joints, with one variable
# "joint/suffix" each.
COMPOUND_SUFFIXES: Mapping[JointKind, tuple[str, ...]] = frozendict(
    {JointKind.PLANAR: ("x", "y", "theta"), JointKind.FLOATING: ("x", "y", "z", "yaw", "pitch", "roll")}
)


NO_LOWER, NO_UPPER = -math.inf, math.inf


class JointLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits of one variable.

    None means unknown; an infinite position limit means that there is no limit.

    Attributes:
        lower: Lower position limit [rad or m].
        upper: Upper position limit [rad or m].
        velocity: Velocity limit [rad/s or m/s].
        acceleration: Acceleration limit [rad/s2 or m/s2].
        jerk: Jerk limit [rad/s3 or m/s3].
        effort: Effort limit [Nm or N].
        defaulted: Names of the limits that no file specifies.
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
            raise InvalidValueError(f"limits are {self.lower} to {self.upper}, expected the lower one first")
        # JSON has no infinite numbers. Infinite limits are the defaults and are omitted; msgspec compares by identity.
        if self.lower == NO_LOWER:
            msgspec.structs.force_setattr(self, "lower", NO_LOWER)
        if self.upper == NO_UPPER:
            msgspec.structs.force_setattr(self, "upper", NO_UPPER)
        for name in ("velocity", "acceleration", "jerk", "effort"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                raise InvalidValueError(f"{name} limit is {value}, expected a finite number of at least 0")

    def of_linear_part(self) -> JointLimits:
        """Return the limits of the linear variables of a planar or floating joint that has these limits."""
        rates = (self.velocity, self.acceleration, self.jerk)
        velocity, acceleration, jerk = rates_of_linear_part(rates, self.defaulted)
        return msgspec.structs.replace(self, velocity=velocity, acceleration=acceleration, jerk=jerk)


class Mimic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mimic coupling: value = multiplier * value of `joint` + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        finite((self.multiplier, self.offset), "mimic")


class Joint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Joint between two links.

    Attributes:
        name: Name of the joint.
        kind: Joint type.
        parent: Parent link.
        child: Child link.
        origin: Pose of the joint frame in the parent link.
        axis: Unit vector in the joint frame.
        limits: Limits of its variable.
        mimic: Mimic coupling, or None.
        extras: Elements that do not affect kinematics.
    """

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
        """Names of the variables: none for a fixed or mimic joint, otherwise the joint name, or one name for each
        elementary joint."""
        if self.kind is JointKind.FIXED or self.mimic is not None:
            return ()
        if self.kind in COMPOUND_SUFFIXES:
            return tuple(f"{self.name}/{suffix}" for suffix in COMPOUND_SUFFIXES[self.kind])
        return (self.name,)


# [kg m2, and relative] Rounded inertias of light parts in published robot descriptions deviate by less.
INERTIA_TOLERANCE = 1e-6


class Inertial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mass properties of a link.

    Attributes:
        mass: Mass [kg].
        pose: Centre of mass and inertia axes in the link frame.
        inertia: Ixx, ixy, ixz, iyy, iyz, izz about the centre of mass [kg m2].
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
                found = ", ".join(f"{moment:.4g}" for moment in moments)
                raise InvalidValueError(f"inertia has the principal moments {found}, expected none below 0")


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rigid link with visual geometry, collision geometry and, if known, mass properties.

    blocks: Elements of the link that are not interpreted (sensor, contact, ...), as XML text.
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
    """One degree of freedom.

    Attributes:
        name: Name of the variable.
        joint: Joint that it belongs to.
        kind: Type of the joint.
        limits: Limits of the variable.
        angular: Whether the value is an angle [rad].
    """

    name: str
    joint: str
    kind: JointKind
    limits: JointLimits
    angular: bool

    @property
    def unit(self) -> str:
        """Unit of the value."""
        return joint_unit(self.angular)


class Mechanism(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """Kinematic tree of links and joints, in file order.

    Attributes:
        name: Name of the mechanism.
        links: Links by name.
        joints: Joints by name.
        blocks: Elements of the description that are not interpreted (transmission, ros2_control, gazebo, sensor, ...),
            as XML text with the names of the file.

    Raises:
        ModelError: Names are duplicate or missing, there are several roots, or joints or mimic couplings form a cycle.
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
            found = f"{listed(roots, 5)}, which no joint connects" if roots else "none (the joints form a loop)"
            raise ModelError(f"mechanism {self.name} needs one root link, found {found}", subjects=tuple(roots[:5]))
        if len(self.tree_order) != len(self.joints):
            reached = {joint.name for joint in self.tree_order}
            loop = tuple(name for name in self.joints if name not in reached)
            raise ModelError(f"joints {', '.join(loop[:5])} form a loop", subjects=loop)
        for joint in self.joints.values():
            self.mimic_source(joint.name)
        check_joint_count(f"mechanism {self.name}", self.moving_joints)

    @cached_property
    def moving_joints(self) -> int:
        """Number of joints that are not fixed, those that mimic others included."""
        return sum(joint.kind is not JointKind.FIXED for joint in self.joints.values())

    @cached_property
    def root(self) -> str:
        """Root link: the link that is not the child of any joint."""
        children = {joint.child for joint in self.joints.values()}
        return next(name for name in self.links if name not in children)

    @cached_property
    def tree_order(self) -> tuple[Joint, ...]:
        """Joints in depth-first order from the root; siblings in file order."""
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
        """Parent joint of each link except the root, by link name."""
        return frozendict({joint.child: joint for joint in self.joints.values()})

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Independent degrees of freedom in tree order. Mimic joints have no variable; their limits narrow those of the
        variable that they follow (`mimic_limits.narrowed`)."""
        result: list[Variable] = []
        for joint in self.tree_order:
            for name in joint.variables:
                suffix = name.rpartition("/")[2]
                angular = joint.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS)
                if joint.kind in COMPOUND_SUFFIXES:
                    angular = suffix in ("theta", "yaw", "pitch", "roll")
                linear_part = joint.kind in COMPOUND_SUFFIXES and not angular
                limits = joint.limits.of_linear_part() if linear_part else self.limits_of(joint)
                result.append(Variable(name, joint.name, joint.kind, limits, angular))
        return tuple(result)

    @cached_property
    def narrowed_limits(self) -> frozendict[str, NarrowedLimits]:
        """Limits of each joint that others mimic, within the limits of these, by joint name."""
        followers: dict[str, list[MimicLimits]] = {}
        for joint in self.tree_order:
            if joint.mimic is not None:
                limits, bounded = joint.limits, joint.kind is not JointKind.CONTINUOUS
                ends = (limits.lower, limits.upper) if bounded else (NO_LOWER, NO_UPPER)
                source, multiplier, offset = self.mimic_source(joint.name)
                own = MimicLimits(joint.name, multiplier, offset, *ends, _rates(limits, given=True))
                followers.setdefault(source, []).append(own)
        found = {name: self.joints[name].limits for name in followers}
        return frozendict(
            {name: narrowed(each.lower, each.upper, _rates(each), followers[name]) for name, each in found.items()}
        )

    def limits_of(self, joint: Joint) -> JointLimits:
        """Return the limits of a joint within those of the joints that mimic it."""
        found = self.narrowed_limits.get(joint.name)
        if found is None or not found.by:
            return joint.limits
        return msgspec.structs.replace(joint.limits, lower=found.lower, upper=found.upper, **found.rates)

    def mimic_source(self, name: str) -> tuple[str, float, float]:
        """Return the independent joint that a joint follows, with the multiplier and offset of all mimic couplings
        combined.

        Raises:
            ModelError: A mimic coupling refers to an unknown joint or to a joint without a single value, or forms a
                cycle.
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
        """Return the joints from link `base` to its descendant link `tip`.

        Raises:
            UnknownNameError: A link does not exist.
            ModelError: `tip` is not a descendant of `base`.
        """
        for link in (base, tip):
            if link not in self.links:
                raise UnknownNameError(unknown_name(f"link {link!r}", link, self.links), subjects=(link,))
        result: list[Joint] = []
        link = tip
        while link != base:
            if link not in self.parent_joints:
                raise ModelError(f"link {tip} is not a descendant of link {base}", subjects=(base, tip))
            result.append(self.parent_joints[link])
            link = result[-1].parent
        return tuple(reversed(result))

    def neutral(self) -> frozendict[str, float]:
        """Return zero for each variable, or the limit nearest to zero."""
        return frozendict({v.name: min(max(0.0, v.limits.lower), v.limits.upper) for v in self.variables})

    def check_configuration(self, configuration: Mapping[str, float], what: str) -> None:
        """Check that all names are variables and all values are finite.

        Raises:
            UnknownNameError: A name is not a variable.
            InvalidRequestError: A value is not finite.
        """
        names = {variable.name for variable in self.variables}
        for name, value in configuration.items():
            if name not in names:
                raise UnknownNameError(unknown_name(f"joint {name!r} in {what}", name, names), subjects=(name,))
            if not math.isfinite(value):
                raise InvalidRequestError(
                    f"joint {name} in {what} is not a finite number", subjects=(name,), values=(Value(name, value),)
                )


def _rates(limits: JointLimits, given: bool = False) -> dict[str, float | None]:
    """Return the limits of velocity, acceleration and jerk. `given`: Only those that a file specifies."""
    found = {name: getattr(limits, name) for name in ("velocity", "acceleration", "jerk")}
    return {name: None if given and name in limits.defaulted else value for name, value in found.items()}
