"""Export of a cell and its state as compas_fab's RobotCell and RobotCellState."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...collision.pairs.link_pairs import unchecked_link_pairs
from ...errors import NotSupportedError
from ...io.common.resources import write_text
from ...kinematics.transforms import WorldTransforms
from ...model.arguments import checked_fields, public
from ...model.bodies import CollisionSettings
from ...model.cell import RobotCell
from ...model.frames import FrameKind, FrameTree
from ...model.mechanism import COMPOUND_SUFFIXES, Inertial, Joint, JointKind, Link, Mechanism
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.state import BodyState, RobotCellState, ToolState
from ...model.value import WORLD
from . import data
from .losses import exported_kind, group_losses, mechanism_losses, passive_joints, reason_losses
from .shapes import Item, body_meshes, link_items

STAGE = "write compas_fab"
JOINT_TYPES = {JointKind.REVOLUTE: 0, JointKind.CONTINUOUS: 1, JointKind.PRISMATIC: 2, JointKind.FIXED: 3}
FRAME = "compas.geometry/Frame"
Fields = dict[str, Any]


@checked_fields
@dataclass(frozen=True)
class CompasFiles:
    """Texts of a cell and its state for compas_fab.

    Attributes:
        cell: JSON text of the RobotCell.
        state: JSON text of the RobotCellState.
        left_out: What compas_fab's types cannot have, or have in another form, one line each.
    """

    cell: str
    state: str
    left_out: tuple[str, ...]


@public
def export_compas(
    cell: RobotCell,
    state: RobotCellState,
    cell_file: str | Path = "",
    state_file: str | Path = "",
    *,
    overwrite: bool = True,
) -> CompasFiles:
    """Convert a cell of one robot to the JSON files that compas_fab 2 reads, without COMPAS.

    compas_fab checks the convex hull of each mesh, and a tool or body against the link that carries it, which is
    therefore listed in its touch links. It also checks links that are fixed to each other, and neighbours at a joint of
    a robot without an SRDF; these pairs are therefore disabled.

    Args:
        cell: Cell with one robot.
        state: State of it.
        cell_file: File of the RobotCell; "" to write none.
        state_file: File of the RobotCellState; "" to write none.
        overwrite: Allow replacing files.

    Raises:
        NotSupportedError: The cell does not have exactly one robot, or a joint is planar or floating, which the
            planners of compas_fab do not move.
        FileError: A file cannot be written.
    """
    cell.check_state(state)
    files = _Writer(cell, state).files()
    for file, text in ((cell_file, files.cell), (state_file, files.state)):
        if str(file):
            write_text(Path(file).absolute(), text, STAGE, overwrite)
    return files


class _Writer:
    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self.cell = cell
        self.state = state
        self.robot = cell.robot
        self.tree = FrameTree(cell, state)
        self.transforms = WorldTransforms(cell, state)
        self.left_out: list[str] = []
        # Touch lists are on the side of bodies in compas_fab; those of tools go there.
        self.touched_by_tools = {
            body: tuple(tool for tool, placed in state.tools.items() if body in placed.touch_bodies)
            for body in cell.bodies
        }

    def files(self) -> CompasFiles:
        cell = data.encode(self._cell(), data.CELL_TYPE).decode()
        state = data.encode(self._state(), data.STATE_TYPE).decode()
        if self.cell.collision != CollisionSettings():
            self.left_out.append("safety margins and ignore groups; compas_fab has none")
        if self.cell.frames:
            self.left_out.append(f"named frames: {', '.join(self.cell.frames)[:300]}")
        if self.cell.groups:
            self.left_out.append(f"composite groups: {', '.join(self.cell.groups)[:300]}")
        if self.robot.attached_to:
            self.left_out.append(f"the robot is attached to {self.robot.attached_to}; in compas_fab to the world")
        self.left_out += group_losses(self.robot)
        self.left_out += reason_losses(self.robot)
        return CompasFiles(cell, state, tuple(dict.fromkeys(self.left_out)))

    def _cell(self) -> Fields:
        tools: Fields = {}
        for name, tool in self.cell.tools.items():
            tcp = self.transforms.between(tool.frame_of(tool.mechanism.root), tool.tcp_frame)
            if tool.tcp_link in ("", tool.mechanism.root):
                tcp = tool.tcp
            elif self.tree.is_moving(tool.tcp_frame) and self._moves_within(tool.mechanism, tool.tcp_link):
                self.left_out.append(f"the TCF of {name} moves with its joints; it is that of the state")
            tools[name] = {**self._model(tool.mechanism, name), "frame": _frame(tcp), "connected_to": None}
        return {
            "robot_model": self._model(self.robot.mechanism, self.robot.mechanism.name),
            "robot_semantics": self._semantics(self.robot),
            "tool_models": tools,
            "rigid_body_models": {
                name: {**body_meshes(body, self.left_out), "native_scale": 1.0}
                for name, body in self.cell.bodies.items()
            },
        }

    @staticmethod
    def _moves_within(mechanism: Mechanism, link: str) -> bool:
        return any(joint.kind is not JointKind.FIXED for joint in mechanism.chain(mechanism.root, link))

    def _model(self, mechanism: Mechanism, name: str) -> Fields:
        self.left_out += mechanism_losses(mechanism, name)
        joints = {joint.name: self._joint(joint) for joint in mechanism.joints.values()}
        links = [self._link(link, mechanism, joints) for link in mechanism.links.values()]
        return {
            "name": name,
            "joints": list(joints.values()),
            "links": links,
            "materials": [],
            "attr": {},
            "_scale_factor": 1.0,
        }

    def _link(self, link: Link, mechanism: Mechanism, joints: dict[str, Fields]) -> Fields:
        return {
            "name": link.name,
            "type": None,
            "visual": [self._item(item) for item in link_items(link.name, link.visuals, self.left_out)],
            "collision": [
                self._item(item) for item in link_items(link.name, link.collisions, self.left_out, checked=True)
            ],
            "inertial": _inertial(link.inertial),
            "attr": {},
            "joints": [joints[joint.name] for joint in mechanism.joints.values() if joint.parent == link.name],
        }

    @staticmethod
    def _item(item: Item) -> Fields:
        colour = None
        if item.rgba is not None:
            colour = dict(zip(("red", "green", "blue", "alpha"), item.rgba, strict=True))
        return {
            "geometry": {"shape": item.shape, "attr": {}},
            "origin": _frame(item.pose),
            "name": item.name or None,
            "material": {"name": item.material or "colour", "color": colour, "texture": None} if colour else None,
            "attr": {},
            "init_transformation": None,
            "current_transformation": None,
        }

    def _joint(self, joint: Joint) -> Fields:
        if joint.kind in COMPOUND_SUFFIXES:
            text = f"joint {joint.name} is {joint.kind.value}, which compas_fab does not plan for"
            raise NotSupportedError(text, stage=STAGE, subjects=(joint.name,))
        limits = joint.limits
        limit: Fields | None = None
        if joint.kind is not JointKind.FIXED:
            bounded = math.isfinite(limits.lower) and math.isfinite(limits.upper)
            limit = {
                "effort": limits.effort or 0.0,
                "velocity": 0.0 if "velocity" in limits.defaulted else limits.velocity or 0.0,
                "lower": limits.lower if bounded else 0.0,
                "upper": limits.upper if bounded else 0.0,
                "attr": {},
            }
        mimic = joint.mimic
        x, y, z = joint.axis
        return {
            "name": joint.name,
            "type": exported_kind(joint).value,
            "parent": {"link": joint.parent},
            "child": {"link": joint.child},
            "origin": _frame(joint.origin),
            "axis": {"x": x, "y": y, "z": z, "attr": {}},
            "calibration": None,
            "dynamics": {"damping": joint.extras.damping, "friction": joint.extras.friction, "attr": {}},
            "limit": limit,
            "safety_controller": None,
            "mimic": None
            if mimic is None
            else {"joint": mimic.joint, "multiplier": mimic.multiplier, "offset": mimic.offset},
            "attr": {},
            "position": 0,
        }

    def _semantics(self, robot: Robot) -> Fields:
        groups: Fields = {}
        mechanism = robot.mechanism
        for name, group in robot.groups.items():
            if group.tip_link:
                joints = mechanism.chain(group.base_link, group.tip_link)
                groups[name] = {
                    "links": [group.base_link, *(joint.child for joint in joints)],
                    "joints": [joint.name for joint in joints],
                }
            else:
                variables = set(group.variables)
                names = [joint.name for joint in mechanism.tree_order if variables.intersection(joint.variables)]
                groups[name] = {"links": list(group.links), "joints": names}
        states: Fields = {}
        for key, values in robot.named_states.items():
            owner, _, state = key.rpartition("/")
            states.setdefault(owner, {})[state] = dict(values)
        return {
            "groups": groups,
            "main_group_name": robot.main_group if robot.groups else None,
            "passive_joints": list(passive_joints(robot)),
            "end_effectors": [],
            "disabled_collisions": sorted(_pairs_without_check(robot)),
            "group_states": states,
        }

    def _state(self) -> Fields:
        base = self.state.base_poses[self.robot.name]
        if self.robot.attached_to:
            base = WorldTransforms(self.cell, self.state).pose(self.robot.mechanism.root)
        return {
            "robot_base_frame": _object(base),
            "robot_configuration": _configuration(self.robot.mechanism, self.state.configuration),
            "tool_states": {name: self._tool_state(name, placed) for name, placed in self.state.tools.items()},
            "rigid_body_states": {name: self._body_state(name, placed) for name, placed in self.state.bodies.items()},
        }

    def _tool_state(self, name: str, placed: ToolState) -> Fields:
        mechanism = self.cell.tools[name].mechanism
        touch = [link for link in placed.touch_links if link in self.robot.mechanism.links]
        if placed.attached_to:
            touch += self._nearest_link(name)
        return {
            "dtype": "compas_fab.robots/ToolState",
            "frame": None if placed.attached_to else _object(placed.pose),
            "attached_to_group": placed.attached_to or None,
            "touch_links": list(dict.fromkeys(touch)),
            "attachment_frame": _object(placed.pose) if placed.attached_to else None,
            "configuration": _configuration(mechanism, placed.configuration) if mechanism.variables else None,
            "is_hidden": placed.hidden,
        }

    def _body_state(self, name: str, placed: BodyState) -> Fields:
        link, tool, pose = self._parent(name, placed)
        touch = [each for each in placed.touch_links if each in self.robot.mechanism.links]
        tools = [each for each in self.cell.tools for link_of_tool in self.cell.tools[each].mechanism.links
                 if self.cell.tools[each].frame_of(link_of_tool) in placed.touch_links]  # fmt: skip
        if tools:
            self.left_out.append(f"body {name} may touch some links of {', '.join(dict.fromkeys(tools))}; now all")
        if link or tool:
            touch += self._nearest_link(name)
        bodies = (*placed.touch_bodies, *tools, *self.touched_by_tools[name])
        return {
            "dtype": "compas_fab.robots/RigidBodyState",
            "frame": None if link or tool else _object(pose),
            "attached_to_link": link or None,
            "attached_to_tool": tool or None,
            "touch_links": list(dict.fromkeys(touch)),
            "touch_bodies": list(dict.fromkeys(bodies)),
            "attachment_frame": _object(pose) if link or tool else None,
            "is_hidden": placed.hidden,
        }

    def _nearest_link(self, name: str) -> list[str]:
        """Return the nearest robot link with collision shapes that an object hangs at; compas_fab checks it."""
        links = self.robot.mechanism.links
        for frame in self.tree.ancestors(name):
            if frame in links and links[frame].collisions:
                return [frame]
            if self.tree.kind(frame) is FrameKind.TOOL_LINK and self.cell.tools:
                return []
        return []

    def _parent(self, name: str, placed: BodyState) -> tuple[str, str, Pose]:
        """Return the link or tool that a body is attached to in compas_fab, and its pose there or in the world."""
        frame = placed.attached_to
        tools = {tool.tcp_frame: tool.name for tool in self.cell.tools.values()}
        if not frame or frame in self.robot.mechanism.links:
            return frame, "", placed.pose
        if frame in tools:
            return "", tools[frame], placed.pose
        for ancestor in self.tree.ancestors(name):
            kind = self.tree.kind(ancestor)
            if kind is FrameKind.LINK:
                return ancestor, "", self.transforms.between(ancestor, name)
            if kind in (FrameKind.TOOL, FrameKind.TOOL_LINK, FrameKind.TOOL_CENTRE_POINT):
                tool = ancestor if kind is FrameKind.TOOL else ancestor.partition("/")[0]
                tool = next(each for each in self.cell.tools if ancestor == each or ancestor.startswith(f"{each}/"))
                if self._moves_within(self.cell.tools[tool].mechanism, self._tool_link(tool, ancestor)):
                    self.left_out.append(f"body {name} moves with a link of {tool}; in compas_fab with its TCF")
                return "", tool, self.transforms.between(self.cell.tools[tool].tcp_frame, name)
        return "", "", self.transforms.between(WORLD, name)

    def _tool_link(self, name: str, frame: str) -> str:
        """Return the link of a tool that a frame of it belongs to."""
        tool = self.cell.tools[name]
        links = {tool.frame_of(link): link for link in tool.mechanism.links}
        return links.get(frame) or (tool.tcp_link if frame == tool.tcp_frame else "") or tool.mechanism.root


def _configuration(mechanism: Mechanism, values: Any) -> Fields:
    joints = [joint for joint in mechanism.tree_order if joint.variables]
    return {
        "dtype": "compas_robots/Configuration",
        "joint_values": [values[joint.name] for joint in joints],
        "joint_types": [JOINT_TYPES[exported_kind(joint)] for joint in joints],
        "joint_names": [joint.name for joint in joints],
    }


def _frame(pose: Pose) -> Fields:
    frame = data.Frame.of(pose)
    return {"point": list(frame.point), "xaxis": list(frame.xaxis), "yaxis": list(frame.yaxis)}


def _object(pose: Pose) -> Fields:
    """Return a frame with its type, as states need it."""
    return {"dtype": FRAME, **_frame(pose)}


def _inertial(inertial: Inertial | None) -> Fields | None:
    if inertial is None:
        return None
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    return {
        "origin": _frame(inertial.pose if inertial.pose is not None else IDENTITY),
        "mass": {"value": inertial.mass},
        "inertia": dict(zip(names, inertial.inertia, strict=True)),
    }


def _pairs_without_check(robot: Robot) -> set[tuple[str, str]]:
    """Return the pairs of links of a robot that are not checked: those of its SRDF, and those that it need not have."""
    named = [(pair.first, pair.second) for pair in robot.disabled_pairs]
    return {(min(pair), max(pair)) for pair in (*named, *unchecked_link_pairs(robot))}
