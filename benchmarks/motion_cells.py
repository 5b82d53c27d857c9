"""Cells in which motions are certified: public arms and the demonstration's, with and without a tool and a held part,
among random obstacles and with margins. No part of them is specific to an arm."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np
from frozendict import frozendict

from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.bodies import CollisionSettings, RigidBody, rigid_tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Capsule, Cylinder, Shape, Sphere
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, RobotCellState, ToolState
from robot_cell_planner.setup_assistant.draft import draft_robot

from .arms import FILES, GROUP, ROOT

ROBOTS = ("ur5", "ur10", "panda", "xarm7", "j2s6s200", "demo")
KINDS = ("bare", "tool", "held", "margins")
OBSTACLES = 8


@lru_cache(maxsize=8)
def robot(name: str) -> Robot:
    """An arm with its collision shapes; pairs of links that need no check are those of a draft."""
    if name in FILES:
        uri, base, tip = FILES[name]
        found = load_robot(name, uri)
    else:
        path, base, tip = ROOT / "urdf" / "arm.urdf.xacro", "base_link", "tool0"
        found = load_robot(name, path, roots=ResourceRoots(folders=(str(ROOT / "urdf"),)))
    pairs = draft_robot(found).robot.disabled_pairs
    variables = tuple(v for joint in found.mechanism.chain(base, tip) for v in joint.variables)
    group = PlanningGroup(GROUP, variables, base_link=base, tip_link=tip)
    return msgspec.structs.replace(found, disabled_pairs=pairs, groups=frozendict({GROUP: group}))


def cell_with(name: str, kind: str, seed: int) -> tuple[RobotCell, RobotCellState]:
    """The cell of an arm, of one of the KINDS, with random obstacles within its reach."""
    rng = np.random.default_rng(seed)
    arm = robot(name)
    bodies, placed = {}, {}
    for index in range(OBSTACLES):
        angle, reach, height = rng.uniform(-np.pi, np.pi), rng.uniform(0.3, 0.9), rng.uniform(0.0, 1.0)
        size = rng.uniform(0.05, 0.2, 3).tolist()
        a, b, _ = size
        shapes = (Box(tuple(size)), Sphere(0.5 * a), Cylinder(0.5 * a, b), Capsule(0.3 * a, b))
        body = f"obstacle{index}"
        bodies[body] = RigidBody(body, (Shape(shapes[index % 4]),))
        position = (float(reach * np.cos(angle)), float(reach * np.sin(angle)), float(height))
        placed[body] = BodyState(Pose.from_rpy(position, rng.uniform(-3.0, 3.0, 3).tolist()))
    tools, tool_states = {}, {}
    touching = tuple(arm.mechanism.links)[-4:]
    if kind != "bare":
        shape = Shape(Cylinder(0.03, 0.12), Pose((0.0, 0.0, 0.08)))
        tools["spindle"] = rigid_tool("spindle", (shape,))
        tool_states["spindle"] = ToolState(Pose(), attached_to=GROUP, touch_links=touching)
    if kind in ("held", "margins"):
        bodies["part"] = RigidBody("part", (Shape(Box((0.06, 0.1, 0.15))),))
        placed["part"] = BodyState(Pose((0.0, 0.0, 0.22)), attached_to="spindle", touch_links=touching)
    margins = {"part": 0.005, "obstacle0": 0.01, name: 0.002} if kind == "margins" else {}
    cell = RobotCell(
        name,
        frozendict({name: arm}),
        frozendict(tools),
        frozendict(bodies),
        collision=CollisionSettings(margins=frozendict(margins)),
    )
    state = msgspec.structs.replace(cell.default_state(), bodies=frozendict(placed))
    # Fingers half open, so that they touch nothing.
    others = {v: cell.variables[v].limits for v in cell.variables if v not in arm.groups[GROUP].variables}
    state = state.with_configuration({v: 0.5 * (limits.lower + limits.upper) for v, limits in others.items()})
    for tool, value in tool_states.items():
        state = state.with_tool(tool, value)
    return cell, state
