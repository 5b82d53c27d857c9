"""Cells and helpers that the tests of kinematics share."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np
from frozendict import frozendict
from loaded_cells import loaded

from benchmarks.arms import GROUP, arm
from robot_cell_planner.model.bodies import NamedFrame, RigidBody, rigid_tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Inertial, Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState

CUBE = Shape(Box((0.05, 0.05, 0.05)))


@lru_cache(maxsize=1)
def demo():
    """The demonstration's cell and state."""
    return loaded()


def random_pose(rng, reach=1.0):
    x, y, z, w = (float(value) for value in rng.normal(size=4))
    norm = float(np.linalg.norm((x, y, z, w)))
    return Pose(tuple(float(v) for v in rng.uniform(-reach, reach, 3)), (x / norm, y / norm, z / norm, w / norm))


def unit(rng):
    axis = rng.normal(size=3)
    return tuple(float(v) for v in axis / np.linalg.norm(axis))


def odd_mechanism(seed=0):
    """One of every joint, in a tree with two branches, with skew axes, mimicking joints and masses."""
    rng = np.random.default_rng(seed)
    limits = JointLimits(lower=-2.0, upper=2.5)

    def joint(name, kind, parent, child, axis=None, mimic=None):
        axis = axis or unit(rng)
        return Joint(name, kind, parent, child, random_pose(rng, 0.4), axis, limits, mimic)

    joints = (
        joint("float", JointKind.FLOATING, "root", "a"),
        joint("turn", JointKind.REVOLUTE, "a", "b"),
        joint("bolt", JointKind.FIXED, "b", "c"),
        joint("spin", JointKind.CONTINUOUS, "c", "d", (0.0, 0.0, -1.0)),
        joint("plane", JointKind.PLANAR, "c", "e"),
        joint("slide", JointKind.PRISMATIC, "e", "f"),
        joint("follow", JointKind.REVOLUTE, "f", "g", mimic=Mimic("turn", -0.5, 0.2)),
        joint("follow_on", JointKind.PRISMATIC, "g", "h", mimic=Mimic("follow", 0.3, -0.1)),
        joint("last", JointKind.REVOLUTE, "h", "i", (0.0, 1.0, 0.0)),
    )

    def inertial():
        return Inertial(float(rng.uniform(0.5, 2.0)), random_pose(rng, 0.1), (0.02, 0.001, -0.002, 0.03, 0.0005, 0.025))

    links = frozendict({name: Link(name, inertial=inertial()) for name in ("root", *"abcdefghi")})
    return Mechanism("odd", links, frozendict({joint.name: joint for joint in joints}))


def odd_cell(seed=0):
    """A cell of two odd robots, a tool with a moving part, and bodies on bodies on frames; and a state of it."""
    rng = np.random.default_rng(seed)
    robots = {}
    for name in ("one", "two"):
        mechanism = prefixed(odd_mechanism(seed), f"{name}_")
        names = tuple(variable.name for variable in mechanism.variables)
        group = PlanningGroup(f"{name}_all", names, base_link=mechanism.root, tip_link=f"{name}_i")
        robots[name] = Robot(name, mechanism, frozendict({group.name: group}), prefix=f"{name}_")
    heavy = Inertial(0.7, Pose((0.01, 0.02, 0.03)), (0.001, 0.0, 0.0, 0.002, 0.0, 0.0015))
    tool = rigid_tool("tool", (CUBE,), inertial=heavy, tcp=random_pose(rng, 0.2))
    bodies = {name: RigidBody(name, (CUBE,), inertial=heavy) for name in ("held", "on_held", "free")}
    frames = {
        "grip": NamedFrame("grip", "tool/tcp", random_pose(rng, 0.1)),
        "mark": NamedFrame("mark", "free", random_pose(rng, 0.1)),
    }
    cell = RobotCell(
        "odd", frozendict(robots), frozendict({"tool": tool}), frozendict(bodies), frames=frozendict(frames)
    )
    state = cell.default_state()
    state = msgspec.structs.replace(state, base_poses=frozendict({name: random_pose(rng) for name in robots}))
    state = state.with_tool(
        "tool", msgspec.structs.replace(state.tools["tool"], attached_to="two_all", pose=random_pose(rng, 0.1))
    )
    state = state.with_body("held", BodyState(random_pose(rng, 0.1), "grip"))
    state = state.with_body("on_held", BodyState(random_pose(rng, 0.1), "held"))
    state = state.with_body("free", BodyState(random_pose(rng), ""))
    return cell, state.with_configuration({name: float(rng.uniform(-1.5, 1.5)) for name in cell.variables})


def stacked_cell(seed=0):
    """A cell of three odd robots: "one" on a body on a link of "two", which is on a link of "three", which has a tool
    with a held body at its tip; and a state of it. The robots that carry others are listed after those."""
    rng = np.random.default_rng(seed)
    parents = {"one": "desk", "two": "three_d", "three": ""}
    robots = {}
    for name, parent in parents.items():
        mechanism = prefixed(odd_mechanism(seed), f"{name}_")
        names = tuple(variable.name for variable in mechanism.variables)
        group = PlanningGroup(f"{name}_all", names, base_link=mechanism.root, tip_link=f"{name}_i")
        robots[name] = Robot(name, mechanism, frozendict({group.name: group}), prefix=f"{name}_", attached_to=parent)
    heavy = Inertial(0.7, Pose((0.01, 0.02, 0.03)), (0.001, 0.0, 0.0, 0.002, 0.0, 0.0015))
    tool = rigid_tool("tool", (CUBE,), inertial=heavy, tcp=random_pose(rng, 0.2))
    bodies = {name: RigidBody(name, (CUBE,), inertial=heavy) for name in ("desk", "held")}
    frames = {"spot": NamedFrame("spot", "two_g", random_pose(rng, 0.2))}
    cell = RobotCell(
        "stack", frozendict(robots), frozendict({"tool": tool}), frozendict(bodies), frames=frozendict(frames)
    )
    state = cell.default_state()
    state = msgspec.structs.replace(state, base_poses=frozendict({name: random_pose(rng) for name in robots}))
    state = state.with_tool(
        "tool", msgspec.structs.replace(state.tools["tool"], attached_to="three_all", pose=random_pose(rng, 0.1))
    )
    state = state.with_body("desk", BodyState(random_pose(rng, 0.1), "spot"))
    state = state.with_body("held", BodyState(random_pose(rng, 0.1), "tool"))
    return cell, state.with_configuration({name: float(rng.uniform(-1.5, 1.5)) for name in cell.variables})


def prefixed(mechanism, prefix):
    def renamed(joint):
        mimic = joint.mimic and msgspec.structs.replace(joint.mimic, joint=prefix + joint.mimic.joint)
        return msgspec.structs.replace(
            joint, name=prefix + joint.name, parent=prefix + joint.parent, child=prefix + joint.child, mimic=mimic
        )

    links = {prefix + name: msgspec.structs.replace(link, name=prefix + name) for name, link in mechanism.links.items()}
    joints = {prefix + name: renamed(joint) for name, joint in mechanism.joints.items()}
    return msgspec.structs.replace(mechanism, links=frozendict(links), joints=frozendict(joints))


def ranges(cell, group=""):
    """Lower and upper ends (n,) that random configurations are drawn from."""
    limits = [cell.variables[name].limits for name in cell.group(group).variables]
    lower = [limit.lower if np.isfinite(limit.lower) else -np.pi for limit in limits]
    upper = [limit.upper if np.isfinite(limit.upper) else np.pi for limit in limits]
    return np.array(lower), np.array(upper)


def put(cell, state, q, group=""):
    """The state with a configuration (n,) of a group."""
    return state.with_configuration(dict(zip(cell.group(group).variables, map(float, q), strict=True)))


def without_closed_form():
    """A cell of a six-axis arm with skew axes, which no closed form is known for."""
    rng = np.random.default_rng(3)
    limits = JointLimits(lower=-2.8, upper=2.8)
    joints = {}
    for index in range(6):
        origin = Pose.from_rpy(tuple(rng.uniform(0.05, 0.3, 3)), tuple(rng.uniform(-1.5, 1.5, 3)))
        name = f"joint_{index}"
        axis = (0.0, 0.0, 1.0)
        joints[name] = Joint(name, JointKind.REVOLUTE, f"link_{index}", f"link_{index + 1}", origin, axis, limits)
    links = {f"link_{index}": Link(f"link_{index}") for index in range(7)}
    group = PlanningGroup(GROUP, tuple(joints), base_link="link_0", tip_link="link_6")
    robot = Robot("skew", Mechanism("skew", frozendict(links), frozendict(joints)), frozendict({GROUP: group}))
    return RobotCell("skew", frozendict({"skew": robot}))


__all__ = ["GROUP", "arm"]
