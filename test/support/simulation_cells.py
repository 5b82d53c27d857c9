"""Small cells to simulate: a gantry with a gripper, pendulums, and objects on a table."""

from __future__ import annotations

import math

from frozendict import frozendict

from robot_cell_planner.io.mesh.inertia import uniform_inertial
from robot_cell_planner.model.bodies import RigidBody, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Inertial, Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, ToolState

GRAVITY = 9.81
FREE = JointLimits()
FINGERS = ("gripper/left", "gripper/right")
EDGE = 0.05  # [m] of the workpiece
FLANGE_HEIGHT = 0.5  # [m] of the gantry's flange over the world's origin, its joints at zero


def box(x, y, z, pose=IDENTITY):
    return Shape(Box((x, y, z)), pose)


def solid(shapes, mass):
    return uniform_inertial(shapes, mass=mass)


def link(name, shapes=(), mass=None):
    inertial = None if mass is None else solid(shapes or [box(0.1, 0.1, 0.1)], mass)
    return Link(name, collisions=tuple(shapes), inertial=inertial)


def mechanism(name, links, joints):
    return Mechanism(name, by_name(links), by_name(joints))


def by_name(items):
    return frozendict({item.name: item for item in items})


def body(name, shapes, mass=None):
    return RigidBody(name, tuple(shapes), inertial=None if mass is None else solid(shapes, mass))


def joint(name, kind, parent, child, axis, limits=FREE, origin=IDENTITY, mimic=None):
    return Joint(name, kind, parent, child, origin, axis, limits, mimic)


def gantry():
    """Joints x, y, z (up) [m] and turn [rad]; the flange hangs at FLANGE_HEIGHT, its z axis down."""
    linear = JointLimits(-0.6, 0.6, 1.0, 4.0, 40.0, 500.0)
    angular = JointLimits(-3.0, 3.0, 2.0, 8.0, 80.0, 50.0)
    masses = {"beam": 5.0, "carriage": 3.0, "ram": 2.0, "flange": 0.5}
    links = [Link("rail"), *(link(name, mass=mass) for name, mass in masses.items())]
    down = Pose.from_rpy((0.0, 0.0, FLANGE_HEIGHT), (math.pi, 0.0, 0.0))
    joints = [
        joint("x", JointKind.PRISMATIC, "rail", "beam", (1.0, 0.0, 0.0), linear),
        joint("y", JointKind.PRISMATIC, "beam", "carriage", (0.0, 1.0, 0.0), linear),
        joint("z", JointKind.PRISMATIC, "carriage", "ram", (0.0, 0.0, 1.0), linear),
        joint("turn", JointKind.REVOLUTE, "ram", "flange", (0.0, 0.0, 1.0), angular, down),
    ]
    group = PlanningGroup("gantry", ("x", "y", "z", "turn"), base_link="rail", tip_link="flange")
    # The links have no shapes, so that only the gripper can touch anything.
    return Robot("gantry", mechanism("gantry", links, joints), frozendict({"gantry": group}))


def gripper(effort=60.0):
    """Fingers along y, z out of the palm; finger: distance of each from the middle [m]."""
    limits = JointLimits(0.0, 0.045, 0.15, 2.0, 40.0, effort)
    base = Pose((0.0, 0.0, 0.06))
    links = [link("palm", [box(0.06, 0.14, 0.03, Pose((0.0, 0.0, 0.045)))], 0.6)]
    joints = []
    for name, side in (("left", 1.0), ("right", -1.0)):
        links.append(link(name, [box(0.02, 0.01, 0.06, Pose((0.0, 0.005 * side, 0.03)))], 0.1))
        mimic = None if side > 0.0 else Mimic("finger")
        joint_name = "finger" if side > 0.0 else "finger_2"
        joints.append(joint(joint_name, JointKind.PRISMATIC, "palm", name, (0.0, side, 0.0), limits, base, mimic))
    return Tool("gripper", mechanism("gripper", links, joints), Pose((0.0, 0.0, 0.105)))


def workshop(workpiece=None, start=None):
    """A gantry with a gripper over a table, a workpiece below it, a bin to the right and a post between."""
    workpiece = workpiece or body("workpiece", [box(EDGE, EDGE, EDGE)], 0.3)
    bodies = [
        body("table", [box(1.2, 1.2, 0.04, Pose((0.0, 0.0, -0.02)))]),
        workpiece,
        body("bin", [box(0.2, 0.2, 0.01, Pose((0.0, 0.0, 0.005))), box(0.2, 0.01, 0.05, Pose((0.0, 0.1, 0.025)))]),
        body("post", [box(0.05, 0.05, 0.2, Pose((0.0, 0.0, 0.1)))]),
    ]
    robot, tool = gantry(), gripper()
    cell = RobotCell("workshop", by_name([robot]), by_name([tool]), by_name(bodies))
    state = cell.default_state()
    state = state.with_tool("gripper", ToolState(attached_to="gantry", configuration=frozendict({"finger": 0.04})))
    state = state.with_body("workpiece", start or BodyState(Pose((-0.3, 0.0, EDGE / 2))))
    state = state.with_body("bin", BodyState(Pose((0.3, 0.1, 0.0))))
    return cell, state.with_body("post", BodyState(Pose((0.0, 0.0, 0.0))))


def cell_of_bodies(*bodies, **poses):
    """Bodies alone, each at the pose of its name."""
    cell = RobotCell("things", bodies=by_name(bodies))
    state = cell.default_state()
    for name, pose in poses.items():
        state = state.with_body(name, BodyState(pose))
    return cell, state


def pendulums(*joints, links=()):
    """A robot made of joints that start at the link "base"; links that are not given weigh 1 kg, 0.2 m along -z."""
    arm = solid([box(0.02, 0.02, 0.4, Pose((0.0, 0.0, -0.2)))], 1.0)
    given = {item.name: item for item in links}
    names = ["base", *(item.child for item in joints)]
    all_links = [given.get(name, Link(name, inertial=None if name == "base" else arm)) for name in names]
    robot = Robot("pendulum", mechanism("pendulum", all_links, joints))
    cell = RobotCell("pendulums", frozendict({"pendulum": robot}))
    return cell, cell.default_state()


def point_mass(mass, position):
    return Inertial(mass, Pose(position), (1e-6, 0.0, 0.0, 1e-6, 0.0, 1e-6))
