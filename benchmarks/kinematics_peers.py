"""The same poses for other solvers, where they are installed: pybullet, roboplan, compas_fab, bare EAIK and Pinocchio.

Each solver is a call (start, pose) -> configuration or None, for a configuration (n,) to start from and world_T_tip
(4, 4). The caller verifies its result.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
from lxml import etree

from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose

from .arms import FILES, GROUP, urdf_of

RESTARTS = 20
Solve = Callable[[Any, Any], Any]


class PeerArm:
    """A public arm as files without shapes, for solvers that read files."""

    def __init__(self, name: str, cell: RobotCell) -> None:
        folder = Path(tempfile.mkdtemp(prefix="peers-"))
        self.base, self.tip = FILES[name][1:]
        self.joints = cell.group().variables
        self.base_T_world = np.linalg.inv(world_pose(cell, cell.default_state(), self.base).matrix)
        limits = [cell.variables[joint].limits for joint in self.joints]
        self.lower = np.array([max(limit.lower, -2.0 * np.pi) for limit in limits])
        self.upper = np.array([min(limit.upper, 2.0 * np.pi) for limit in limits])
        root = etree.parse(str(urdf_of(name))).getroot()
        for element in list(root.iter("visual", "collision", "inertial", "transmission", "gazebo")):
            element.getparent().remove(element)
        for link in root.iter("link"):  # Bullet's frames of links are their centres of mass
            inertial = etree.SubElement(link, "inertial")
            etree.SubElement(inertial, "mass", value="1")
            etree.SubElement(inertial, "inertia", ixx="1", ixy="0", ixz="0", iyy="1", iyz="0", izz="1")
        self.urdf = folder / f"{name}.urdf"
        self.urdf.write_bytes(etree.tostring(root))
        semantics = etree.Element("robot", name=root.get("name"))
        group = etree.SubElement(semantics, "group", name=GROUP)
        etree.SubElement(group, "chain", base_link=self.base, tip_link=self.tip)
        self.srdf = folder / f"{name}.srdf"
        self.srdf.write_bytes(etree.tostring(semantics))

    def random(self, rng: np.random.Generator) -> Any:
        return rng.uniform(self.lower, self.upper)


def solvers(arm: PeerArm) -> dict[str, Solve]:
    """Those that are installed, by name."""
    found = {"pybullet": pybullet_solver(arm)}
    if find_spec("roboplan") is not None:
        found["roboplan"] = roboplan_solver(arm)
    if find_spec("compas_fab") is not None:
        found["compas_fab"] = compas_fab_solver(arm)
    return found


def pybullet_solver(arm: PeerArm) -> Solve:
    """calculateInverseKinematics from the start, then from random configurations, until 1 mm and 1 mrad are left."""
    client = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF(str(arm.urdf), useFixedBase=True, physicsClientId=client)
    count = pybullet.getNumJoints(body, physicsClientId=client)
    infos = [pybullet.getJointInfo(body, index, physicsClientId=client) for index in range(count)]
    movable = [info for info in infos if info[2] != pybullet.JOINT_FIXED]
    columns = [next(i for i, info in enumerate(movable) if info[1].decode() == name) for name in arm.joints]
    indices = [movable[column][0] for column in columns]
    tip = next(info[0] for info in infos if info[12].decode() == arm.tip)
    rng = np.random.default_rng(0)

    def solve(start: Any, pose: Any) -> Any:
        position, quaternion = pose[:3, 3].tolist(), _quaternion(pose)
        for attempt in range(RESTARTS):
            q = start if attempt == 0 else arm.random(rng)
            for index, value in zip(indices, q, strict=True):
                pybullet.resetJointState(body, index, value, physicsClientId=client)
            answer = pybullet.calculateInverseKinematics(
                body, tip, position, quaternion, maxNumIterations=100, residualThreshold=1e-4, physicsClientId=client
            )
            found = np.array([answer[column] for column in columns])
            for index, value in zip(indices, found, strict=True):
                pybullet.resetJointState(body, index, value, physicsClientId=client)
            state = pybullet.getLinkState(body, tip, computeForwardKinematics=True, physicsClientId=client)
            gap = np.linalg.norm(np.array(state[4]) - position)
            within = (found >= arm.lower).all() and (found <= arm.upper).all()
            if within and gap < 1e-3 and abs(np.dot(state[5], quaternion)) > np.cos(0.5e-3):
                return found
        return None

    return solve


def roboplan_solver(arm: PeerArm) -> Solve:
    """simple_ik with 50 restarts."""
    from roboplan.core import (
        CartesianConfiguration,
        JointConfiguration,
        Scene,
        collapseContinuousJointPositions,
        expandContinuousJointPositions,
        loadUrdfSceneDescription,
    )
    from roboplan.simple_ik import SimpleIk, SimpleIkOptions

    scene = Scene("arm", loadUrdfSceneDescription(str(arm.urdf)))
    scene.addGroupFromChain(GROUP, arm.base, arm.tip)
    options = SimpleIkOptions(
        group_name=GROUP,
        max_restarts=50,
        max_time=1.0,
        step_size=1.0,
        max_linear_error_norm=1e-4,
        max_angular_error_norm=1e-4,
        check_collisions=False,
    )
    solver = SimpleIk(scene, options)
    names = list(arm.joints)

    def solve(start: Any, pose: Any) -> Any:
        goal = CartesianConfiguration(arm.base, arm.tip, np.asfortranarray(arm.base_T_world @ pose))
        first = expandContinuousJointPositions(scene, GROUP, start)
        solution = JointConfiguration(names, first)
        if not solver.solveIk(goal, JointConfiguration(names, first), solution):
            return None
        return np.array(collapseContinuousJointPositions(scene, GROUP, solution.positions))

    return solve


def compas_fab_solver(arm: PeerArm) -> Solve:
    """inverse_kinematics of the PyBullet planner, without collision checks, its other options at their defaults."""
    from compas.geometry import Frame
    from compas_fab.backends import InverseKinematicsError, PyBulletClient, PyBulletPlanner
    from compas_fab.robots import FrameTarget, RobotCell, RobotCellState, RobotSemantics, TargetMode
    from compas_robots import RobotModel

    model = RobotModel.from_urdf_file(str(arm.urdf))
    cell = RobotCell(model, RobotSemantics.from_srdf_file(str(arm.srdf), model))
    client = PyBulletClient("direct")
    client.__enter__()
    planner = PyBulletPlanner(client)
    planner.set_robot_cell(cell)
    state = RobotCellState.from_robot_cell(cell)
    options = {"check_collision": False, "max_results": RESTARTS}

    def solve(start: Any, pose: Any) -> Any:
        for name, value in zip(arm.joints, start, strict=True):
            state.robot_configuration[name] = float(value)
        frame = Frame(pose[:3, 3].tolist(), pose[:3, 0].tolist(), pose[:3, 1].tolist())
        target = FrameTarget(frame, TargetMode.ROBOT)
        try:
            found = next(planner.iter_inverse_kinematics(target, state, GROUP, options))
        except (InverseKinematicsError, StopIteration):
            return None
        return np.array([found[name] for name in arm.joints])

    return solve


def _quaternion(pose: Any) -> list[float]:
    return list(Pose.from_matrix(pose).quaternion)
