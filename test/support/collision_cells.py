"""Small cells to check collisions in, made of numbers alone."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from frozendict import frozendict
from scipy.spatial import ConvexHull

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.bodies import CollisionSettings, RigidBody, Tool, rigid_tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Capsule, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, ToolState

AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
NO_SETTINGS = CollisionSettings()


def at(x, y=0.0, z=0.0, rpy=(0.0, 0.0, 0.0)):
    return Pose.from_rpy((x, y, z), rpy)


def box(x, y, z, pose=IDENTITY):
    return Shape(Box((x, y, z)), pose)


def sphere(radius, pose=IDENTITY):
    return Shape(Sphere(radius), pose)


def body(name, *shapes):
    return RigidBody(name, tuple(shapes))


def mechanism(name, links, joints):
    """links: name to shapes. joints: (name, kind, parent, child, origin, axis[, mimicked joint])."""
    made = {}
    for joint, kind, parent, child, origin, axis, *mimicked in joints:
        mimic = Mimic(mimicked[0]) if mimicked else None
        made[joint] = Joint(joint, kind, parent, child, origin, axis, JointLimits(-math.pi, math.pi), mimic)
    return Mechanism(
        name,
        frozendict({link: Link(link, collisions=tuple(shapes)) for link, shapes in links.items()}),
        frozendict(made),
    )


def arm(name="arm", prefix="", disabled=True, length=0.3, shape=None):
    """Six revolute joints; links "base", "link1" ... "link6", and "flange" without shapes, which is the
    tip."""
    links = {f"{prefix}base": [Shape(Cylinder(0.08, 0.1), at(0.0, 0.0, 0.05))]}
    joints = []
    parent = f"{prefix}base"
    for index, axis in enumerate(AXES, start=1):
        link = f"{prefix}link{index}"
        reach = length if index in (2, 3) else 0.1
        links[link] = [shape or Shape(Capsule(0.04, reach), at(0.0, 0.0, 0.5 * reach))]
        origin = at(0.0, 0.0, 0.15 if index == 1 else (length if index in (3, 4) else 0.1))
        joints.append((f"{prefix}joint{index}", JointKind.REVOLUTE, parent, link, origin, axis))
        parent = link
    links[f"{prefix}flange"] = []
    joints.append((f"{prefix}flange_joint", JointKind.FIXED, parent, f"{prefix}flange", at(0.0, 0.0, 0.14), AXES[0]))
    group = PlanningGroup(
        f"{prefix}manipulator",
        tuple(f"{prefix}joint{index}" for index in range(1, 7)),
        base_link=f"{prefix}base",
        tip_link=f"{prefix}flange",
    )
    names = [f"{prefix}base", *(f"{prefix}link{index}" for index in range(1, 7))]
    pairs = [DisabledPair(names[i], names[j], "Adjacent") for i in range(7) for j in range(i + 1, min(i + 3, 7))]
    return Robot(
        name,
        mechanism(name, links, joints),
        frozendict({group.name: group}),
        disabled_pairs=tuple(pairs) if disabled else (),
        prefix=prefix,
    )


def gripper(name="gripper"):
    """A palm and two fingers; joint "open" moves both by that much apart [m]."""
    links = {
        "palm": [box(0.08, 0.1, 0.05, at(0.0, 0.0, 0.025))],
        "left": [box(0.02, 0.01, 0.06, at(0.0, 0.005, 0.03))],
        "right": [box(0.02, 0.01, 0.06, at(0.0, -0.005, 0.03))],
    }
    joints = [
        ("open", JointKind.PRISMATIC, "palm", "left", at(0.0, 0.0, 0.06), (0.0, 1.0, 0.0)),
        ("follow", JointKind.PRISMATIC, "palm", "right", at(0.0, 0.0, 0.06), (0.0, -1.0, 0.0), "open"),
    ]
    return Tool(name, mechanism(name, links, joints), tcp=at(0.0, 0.0, 0.1))


def spindle(name="spindle"):
    return rigid_tool(name, (Shape(Cylinder(0.03, 0.2), at(0.0, 0.0, 0.1)),))


def make_cell(robots=(), tools=(), bodies=(), collision=NO_SETTINGS, frames=()):
    return RobotCell(
        "cell",
        frozendict({robot.name: robot for robot in robots}),
        frozendict({tool.name: tool for tool in tools}),
        frozendict({item.name: item for item in bodies}),
        frozendict({frame.name: frame for frame in frames}),
        collision,
    )


def place(state, name, pose=IDENTITY, **what):
    """The state with a body or tool elsewhere, attached, touching or hidden."""
    if name in state.bodies:
        return state.with_body(name, BodyState(pose, **what))
    old = state.tools[name]
    return state.with_tool(name, ToolState(pose, configuration=what.pop("configuration", old.configuration), **what))


def settings(groups=None, margins=None, pairs=()):
    return CollisionSettings(frozendict(groups or {}), frozendict(margins or {}), tuple(pairs))


def working_cell(bodies=(), collision=NO_SETTINGS, arm_shape=None):
    """An arm with a gripper that holds a part, and whatever else is given, at the origin of the world."""
    part = body("part", box(0.03, 0.05, 0.08))
    cell = make_cell((arm(shape=arm_shape),), (gripper(),), (part, *bodies), collision)
    state = cell.default_state()
    state = place(state, "gripper", attached_to="manipulator", configuration=frozendict({"open": 0.025}))
    return cell, place(state, "part", at(0.0, 0.0, 0.11), attached_to="gripper")


def obstacles(count, rng, spread=0.9, size=(0.05, 0.2), keep_out=0.25):
    """Boxes, spheres and cylinders around the origin, with their poses, none in the middle."""
    made, poses = [], []
    while len(made) < count:
        position = rng.uniform(-spread, spread, 3)
        if np.hypot(position[0], position[1]) < keep_out:
            continue
        a, b, c = rng.uniform(*size, 3).tolist()
        geometry = (Box((a, b, c)), Sphere(0.5 * a), Cylinder(0.5 * a, b))[len(made) % 3]
        made.append(body(f"obstacle{len(made)}", Shape(geometry)))
        poses.append(Pose.from_rpy(position.tolist(), rng.uniform(-3.0, 3.0, 3).tolist()))
    return made, poses


def with_obstacles(cell_and_state, poses, prefix="obstacle"):
    cell, state = cell_and_state
    placed = {f"{prefix}{index}": BodyState(pose) for index, pose in enumerate(poses)}
    return cell, msgspec.structs.replace(state, bodies=frozendict({**state.bodies, **placed}))


def busy_cell():
    """An arm with a gripper that holds a part, among obstacles, with margins."""
    bodies, poses = obstacles(8, np.random.default_rng(5))
    collision = settings(margins={"gripper": 0.004, "obstacle0": 0.006})
    return with_obstacles(working_cell(bodies, collision), poses)


def bracket(size=0.3, use=MeshUse.EXACT):
    """A concave mesh: two plates at a right angle, each a closed box."""
    vertices, faces = [], []
    for (lx, ly, lz), (cx, cy, cz) in (
        ((size, size, 0.04), (0.0, 0.0, 0.0)),
        ((0.04, size, size), (-0.5 * size, 0.0, 0.5 * size)),
    ):
        start = len(vertices)
        vertices += [
            (cx + 0.5 * lx * i, cy + 0.5 * ly * j, cz + 0.5 * lz * k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)
        ]
        quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        for a, b, c, d in quads:
            faces += [(start + a, start + b, start + c), (start + a, start + c, start + d)]
    return Triangles(tuple(vertices), tuple(faces), use)


def free_body(name, *shapes, pose=IDENTITY):
    """A cell of one robot that is a single prismatic joint along x carrying the shapes, for exact cases."""
    links = {"rail": [], "slider": list(shapes)}
    joints = [("slide", JointKind.PRISMATIC, "rail", "slider", Pose(), (1.0, 0.0, 0.0))]
    group = PlanningGroup("slide_group", ("slide",), base_link="rail", tip_link="slider")
    return Robot(name, mechanism(name, links, joints), frozendict({"slide_group": group}))


def pebble():
    """A convex mesh with more planes than are checked first."""
    points = np.random.default_rng(7).normal(size=(150, 3))
    points *= np.array((0.35, 0.25, 0.15)) / np.linalg.norm(points, axis=1)[:, None]
    faces = ConvexHull(points).simplices
    return Triangles(tuple(map(tuple, points.tolist())), tuple(map(tuple, faces.tolist())), MeshUse.HULL)


def small_sphere_beside(shape, radius=0.001):
    """A sphere that slides along x, y and z, and a body of one shape, which is turned."""
    slider = mechanism("m", {"base": [], "x": [], "y": [], "z": [sphere(radius)]}, [
        ("x", JointKind.PRISMATIC, "base", "x", at(0.0), (1.0, 0.0, 0.0)),
        ("y", JointKind.PRISMATIC, "x", "y", at(0.0), (0.0, 1.0, 0.0)),
        ("z", JointKind.PRISMATIC, "y", "z", at(0.0), (0.0, 0.0, 1.0)),
    ])  # fmt: skip
    group = PlanningGroup("g", ("x", "y", "z"), base_link="base", tip_link="z")
    cell = make_cell((Robot("r", slider, frozendict({"g": group})),), (), (body("thing", Shape(shape)),))
    return cell, place(cell.default_state(), "thing", Pose.from_rpy((0.1, -0.2, 0.05), (0.4, -1.1, 2.0)))


def checker_of_arm(links, chain, margin=0.0):
    """A checker of one robot, in which neighbours are checked.

    links, chain: as for `mechanism`. margin [m]: of pairs.
    """
    moving = tuple(name for name, kind, *_ in chain if kind is not JointKind.FIXED)
    group = PlanningGroup("group", moving, base_link="base", tip_link=list(links)[-1])
    # Of a robot with disabled pairs, neighbours are checked.
    disabled = (DisabledPair("base", "base", "Never"),)
    robot = Robot("arm", mechanism("arm", links, chain), frozendict({group.name: group}), disabled_pairs=disabled)
    margins = CollisionSettings(margins=frozendict({"*": 0.5 * margin}))  # of each object
    cell = make_cell(robots=(robot,), collision=margins)
    return CollisionChecker(cell, cell.default_state())
