"""Small cells whose free space is known analytically."""

import math

from frozendict import frozendict

from robot_cell_planner.io.robot_description.limits import with_default_limits
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState

HALF = 0.05  # half the edge of the gantry's cube, m


def gantry(walls=(), half=HALF):
    """A cube, of 0.1 m by default, that slides along x and y from -1 to 1 m between walls: (name, centre (x, y), size
    (x, y))."""
    limits = JointLimits(-1.0, 1.0, 1.0, 4.0, 40.0)
    links = {"base": Link("base"), "beam": Link("beam")}
    links["cube"] = Link("cube", collisions=(Shape(Box((2 * half, 2 * half, 2 * half))),))
    joints = {
        "x": Joint("x", JointKind.PRISMATIC, "base", "beam", axis=(1.0, 0.0, 0.0), limits=limits),
        "y": Joint("y", JointKind.PRISMATIC, "beam", "cube", axis=(0.0, 1.0, 0.0), limits=limits),
    }
    robot = Robot(
        "gantry",
        Mechanism("gantry", frozendict(links), frozendict(joints)),
        groups=frozendict({"xy": PlanningGroup("xy", ("x", "y"), ("beam", "cube"), "base", "cube")}),
        named_states=frozendict({"xy/far": frozendict({"x": 0.8, "y": 0.0})}),
    )
    bodies = {name: RigidBody(name, (Shape(Box((*size, 0.3))),)) for name, _, size in walls}
    cell = RobotCell(robots=frozendict({"gantry": robot}), bodies=frozendict(bodies))
    state = cell.default_state()
    for name, (x, y), _ in walls:
        state = state.with_body(name, BodyState(Pose((x, y, 0.0))))
    return cell, state


def behind_wall(half, reserve=0.04):
    """A cube that may pass a wall only through a gap at y = 0.6, larger than itself by `reserve` [m]; its spheres are
    coarse if it is large."""
    opening = 0.6 + half + 0.5 * reserve, 0.6 - half - 0.5 * reserve
    walls = (
        ("below", (0.0, 0.5 * (opening[1] - 3.0)), (0.1, opening[1] + 3.0)),
        ("above", (0.0, 0.5 * (opening[0] + 3.0)), (0.1, 3.0 - opening[0])),
    )
    cell, state = gantry(walls, half)
    return cell, state.with_configuration({"x": -0.9, "y": -0.9})


def wall_with_gap(gap=0.3):
    """A gantry with a wall across at x = 0, open between y = 0.5 and 0.5 + gap."""
    below = ("below", (0.0, -0.35), (0.1, 1.7))
    top = 0.5 + gap
    above = ("above", (0.0, 0.5 * (top + 1.2)), (0.1, 1.2 - top))
    cell, state = gantry((below, above))
    return cell, state.with_configuration({"x": -0.8, "y": 0.0})


def is_free(q, gap=0.3):
    """Whether the cube is clear of the wall, analytically."""
    x, y = q
    return abs(x) >= 0.05 + HALF or 0.5 + HALF <= y <= 0.5 + gap - HALF


def spinner():
    """Two joints without shapes: one turns without limits, the other from -2 to 2 turns."""
    rates = {"velocity": 2.0, "acceleration": 8.0, "jerk": 80.0}
    two = 4.0 * math.pi
    joints = {
        "endless": Joint(
            "endless", JointKind.CONTINUOUS, "base", "a", axis=(0.0, 0.0, 1.0), limits=JointLimits(**rates)
        ),
        "wide": Joint(
            "wide", JointKind.REVOLUTE, "a", "b", axis=(0.0, 1.0, 0.0), limits=JointLimits(-two, two, **rates)
        ),
    }
    links = {name: Link(name) for name in ("base", "a", "b")}
    robot = Robot(
        "spinner",
        Mechanism("spinner", frozendict(links), frozendict(joints)),
        groups=frozendict({"both": PlanningGroup("both", ("endless", "wide"), (), "base", "b")}),
    )
    cell = RobotCell(robots=frozendict({"spinner": robot}))
    return cell, cell.default_state()


def scissors(depth=0.00375, plate=True):
    """A slide that carries two fingers which one variable turns against each other, towards an overlap: a sphere of 10
    mm at the tip of each, 0.2 m from its axis, that meets the other `depth` deep at turn = 0; and a plate below.

    On a motion through turn = 0 both spheres approach at the speed of each, which is twice the bound of either.
    """
    text = f"""<robot name="scissors">
      <link name="base"/>
      <link name="carriage"/>
      <link name="left"><collision><origin xyz="0.2 0 0"/><geometry><sphere radius="0.01"/></geometry></collision>
      </link>
      <link name="right"><collision><origin xyz="0.2 0 0"/><geometry><sphere radius="0.01"/></geometry></collision>
      </link>
      <joint name="lift" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="0 0 1"/>
        <limit lower="0" upper="0.5" velocity="1" effort="1"/></joint>
      <joint name="turn" type="revolute"><parent link="carriage"/><child link="left"/>
        <origin xyz="0 0 {0.02 - depth}"/><axis xyz="0 0 1"/>
        <limit lower="-1.5" upper="1.5" velocity="1" effort="1"/></joint>
      <joint name="follow" type="revolute"><parent link="carriage"/><child link="right"/><axis xyz="0 0 1"/>
        <limit lower="-1.5" upper="1.5" velocity="1" effort="1"/><mimic joint="turn" multiplier="-1"/></joint>
    </robot>"""
    groups = frozendict({"both": PlanningGroup("both", ("lift", "turn"), (), "base", "left")})
    robot = Robot("scissors", read_urdf(text), groups=groups)
    bodies = {"plate": RigidBody("plate", (Shape(Box((1.0, 1.0, 0.02))),))} if plate else {}
    cell = RobotCell(robots=frozendict({"scissors": robot}), bodies=frozendict(bodies))
    state = cell.default_state().with_configuration({"lift": 0.1, "turn": -1.0})
    return cell, state.with_body("plate", BodyState(Pose((0.0, 0.0, -0.02)))) if plate else state


def planar_base(walls=()):
    """A cube of 0.3 m on an unlimited planar joint, from the origin, between walls as those of `gantry`."""
    text = """<robot name="vehicle"><link name="odom"/>
      <link name="base"><collision><geometry><box size="0.3 0.3 0.3"/></geometry></collision></link>
      <joint name="drive" type="planar"><parent link="odom"/><child link="base"/><axis xyz="0 0 1"/></joint>
    </robot>"""
    variables = ("drive/x", "drive/y", "drive/theta")
    groups = frozendict({"base": PlanningGroup("base", variables, (), "odom", "base")})
    robot = Robot("vehicle", with_default_limits(read_urdf(text)), groups=groups)
    bodies = {name: RigidBody(name, (Shape(Box((*size, 1.0))),)) for name, _, size in walls}
    cell = RobotCell(robots=frozendict({"vehicle": robot}), bodies=frozendict(bodies))
    state = cell.default_state()
    for name, (x, y), _ in walls:
        state = state.with_body(name, BodyState(Pose((x, y, 0.0))))
    return cell, state


def two_gantries(walls=()):
    """Two cubes of 0.1 m, each on its own joints "ax", "ay" and "bx", "by" from -1 to 1 m, between walls as those of
    `gantry`; groups "a", "b" and "a+b".
    """
    limits = JointLimits(-1.0, 1.0, 1.0, 4.0, 40.0)
    robots = {}
    for name in ("a", "b"):
        base, beam, cube = (f"{name}_{part}" for part in ("base", "beam", "cube"))
        shape = Shape(Box((2 * HALF, 2 * HALF, 2 * HALF)))
        links = {base: Link(base), beam: Link(beam), cube: Link(cube, collisions=(shape,))}
        x, y = f"{name}x", f"{name}y"
        joints = {
            x: Joint(x, JointKind.PRISMATIC, base, beam, axis=(1.0, 0.0, 0.0), limits=limits),
            y: Joint(y, JointKind.PRISMATIC, beam, cube, axis=(0.0, 1.0, 0.0), limits=limits),
        }
        groups = frozendict({name: PlanningGroup(name, (x, y), (beam, cube), base, cube)})
        robots[name] = Robot(name, Mechanism(name, frozendict(links), frozendict(joints)), groups=groups)
    bodies = {name: RigidBody(name, (Shape(Box((*size, 0.3))),)) for name, _, size in walls}
    cell = RobotCell(robots=frozendict(robots), bodies=frozendict(bodies))
    state = cell.default_state().with_configuration({"ax": -0.8, "ay": 0.8, "bx": 0.8, "by": 0.0})
    for name, (x, y), _ in walls:
        state = state.with_body(name, BodyState(Pose((x, y, 0.0))))
    return cell, state
