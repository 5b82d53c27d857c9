"""The same problem in gestalt_motion_planner, roboplan, and plain OMPL with PyBullet, where they are installed.

Each gets the arm as one URDF with convex hulls and position limits, the same pairs, and the same obstacles. The set-up
of a peer for a problem is not measured; planning with the peer's own simplification is.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
from numpy.typing import NDArray

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.geometry import Box, Cylinder

from .collision_peers import GROUP, PeerCell
from .planning_problems import Problem

Array = NDArray[np.float64]
# Seed -> the path (n, dof), or None.
Planner = Callable[[int], Array | None]
STEP = 0.05  # [rad] between states checked
# gestalt refuses its own paths where they touch a limit.
SLACK = 1e-6  # [rad]


class PeerArm(PeerCell):
    """The cell of a problem as files, with the position limits of the model."""

    def __init__(self, problem: Problem, folder: Path) -> None:
        self._limits = {joint: problem.cell.variables[joint].limits for joint in problem.joints}
        super().__init__(CollisionChecker(problem.cell, problem.state, problem.joints), folder)

    def _add_joint(self, robot: Any, index: int) -> None:
        super()._add_joint(robot, index)
        name = self._model.names[index]
        if name in self._limits:
            limit = robot[-1].find("limit")
            limit.set("lower", repr(self._limits[name].lower - SLACK))
            limit.set("upper", repr(self._limits[name].upper + SLACK))


def ignore_groups(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Groups within which every pair is among those given, and that hold them all; gestalt takes 32 at most."""
    allowed = {frozenset(pair) for pair in pairs}
    names = sorted({name for pair in pairs for name in pair})
    left = dict.fromkeys(allowed)
    groups = []
    for pair in pairs:
        if frozenset(pair) not in left:
            continue
        group = list(pair)
        for name in names:
            if name not in group and all(frozenset((name, member)) in allowed for member in group):
                group.append(name)
        for first, second in combinations(group, 2):
            left.pop(frozenset((first, second)), None)
        groups.append(group)
    return groups


def gestalt_cell(problem: Problem) -> Any:
    """gestalt_motion_planner with the cell of a problem, its robot at the start; None where it is not installed."""
    if find_spec("PyGestaltPlanner") is None:
        return None
    import PyGestaltPlanner as gestalt

    folder = Path(tempfile.mkdtemp(prefix="peers-"))
    peer = PeerArm(problem, folder)
    planner = gestalt.GestaltPlanner(command_log_file=str(folder / "log.cpp"), show_logo=False)
    planner.spawn(object_id=GROUP, description_file=str(peer.urdf))
    planner.select_joints(object_id=GROUP, joints=[name.replace("/", "_") for name in peer.joints])
    for index, names in enumerate(ignore_groups(peer.disabled)):
        planner.create_collision_ignore_group(name=f"group{index}", members=[f"{GROUP}.{name}" for name in names])
    for name, solid, pose in peer.obstacles():
        (x, y, z), (qx, qy, qz, qw) = pose.position, pose.quaternion
        where = gestalt.Pose(x=x, y=y, z=z, qx=qx, qy=qy, qz=qz, qw=qw)
        planner.spawn(object_id=name, description_file=str(peer.obstacle_urdf(name, solid)), pose=where)
    planner.set_joint_positions(object_id=GROUP, joint_positions=list(problem.start))
    return planner


def gestalt_planner(problem: Problem) -> Planner | None:
    """gestalt_motion_planner's RRTConnect with its tightening."""
    planner = gestalt_cell(problem)
    if planner is None:
        return None
    start = list(problem.start)

    def plan(seed: int) -> Array | None:
        try:
            path = planner.plan_path(
                object_id=GROUP,
                start_joint_positions=start,
                target_joint_positions=[list(goal) for goal in problem.goals],
                random_seed=seed + 1,
                maxChecks=1_000_000,
                timeout=30.0,
            )
        except RuntimeError:
            return None
        return np.array(path) if len(path) > 1 else None

    return plan


def roboplan_planner(problem: Problem) -> Planner | None:
    """roboplan's RRT-Connect with its shortcutting."""
    if find_spec("roboplan") is None:
        return None
    from roboplan import core, rrt

    peer = PeerArm(problem, Path(tempfile.mkdtemp(prefix="peers-")))
    scene = core.Scene(GROUP, core.loadUrdfSceneDescription(str(peer.urdf)))
    scene.importSrdf(peer.srdf.read_text())
    colour = np.array([0.5, 0.5, 0.5, 1.0])
    for name, solid, pose in peer.obstacles():
        matrix = np.asfortranarray(pose.matrix)
        if isinstance(solid, Box):
            scene.addBoxGeometry(name, "universe", core.Box(*solid.size), matrix, colour)
        elif isinstance(solid, Cylinder):
            scene.addCylinderGeometry(name, "universe", core.Cylinder(solid.radius, solid.length), matrix, colour)
    scene.setCollisions(list(combinations([name for name, _, _ in peer.obstacles()], 2)), False)
    names = list(peer.joints)

    def at(values: Any) -> Any:
        return core.JointConfiguration(names, np.array(values, dtype=np.float64))

    def plan(seed: int) -> Array | None:
        options = rrt.RRTOptions(
            group_name=GROUP,
            max_nodes=100_000,
            max_connection_distance=0.5,
            collision_check_step_size=STEP,
            max_planning_time=30.0,
            rrt_connect=True,
        )
        planner = rrt.RRT(scene, options)
        planner.setRngSeed(seed + 1)
        try:
            path = planner.plan(at(problem.start), at(problem.goals[0]))
        except RuntimeError:
            return None
        shortening = core.PathShortcuttingOptions(group_name=GROUP, max_step_size=STEP, seed=seed + 1)
        return np.array(core.PathShortcutter(scene, shortening).shortcut(path).positions)

    return plan


def plain_planner(problem: Problem) -> Planner:
    """OMPL's RRTConnect and path simplifier with a validity check by PyBullet."""
    from ompl import base as ob
    from ompl import geometric as og
    from ompl import util as ou

    peer = PeerArm(problem, Path(tempfile.mkdtemp(prefix="peers-")))
    client = pybullet.connect(pybullet.DIRECT)
    flags = pybullet.URDF_USE_SELF_COLLISION
    robot = pybullet.loadURDF(str(peer.urdf), useFixedBase=True, flags=flags, physicsClientId=client)
    joints, links = _indices(robot, client)
    for first, second in combinations(links, 2):
        off = (first, second) in peer.disabled or (second, first) in peer.disabled
        pybullet.setCollisionFilterPair(robot, robot, links[first], links[second], int(not off), client)
    for name, solid, pose in peer.obstacles():
        file = str(peer.obstacle_urdf(name, solid))
        pybullet.loadURDF(file, pose.position, pose.quaternion, useFixedBase=True, physicsClientId=client)
    columns = [joints[name.replace("/", "_")] for name in peer.joints]
    size = len(columns)
    space = ob.RealVectorStateSpace(size)
    bounds = ob.RealVectorBounds(size)
    for index, joint in enumerate(problem.joints):
        limits = problem.cell.variables[joint].limits
        bounds.setLow(index, limits.lower)
        bounds.setHigh(index, limits.upper)
    space.setBounds(bounds)
    information = ob.SpaceInformation(space)

    class Validity(ob.StateValidityChecker):  # type: ignore[misc]
        def isValid(self, state: Any) -> bool:
            for index, column in enumerate(columns):
                pybullet.resetJointState(robot, column, state[index], physicsClientId=client)
            pybullet.performCollisionDetection(physicsClientId=client)
            return all(point[8] >= 0.0 for point in pybullet.getContactPoints(physicsClientId=client))

    checker = Validity(information)
    information.setStateValidityChecker(checker)
    information.setStateValidityCheckingResolution(STEP / space.getMaximumExtent())
    information.setup()

    def state_at(values: Any) -> Any:
        state = space.allocState()
        for index, value in enumerate(values):
            state[index] = float(value)
        return state

    def plan(seed: int) -> Array | None:
        ou.RNG.setSeed(seed + 1)
        definition = ob.ProblemDefinition(information)
        definition.setStartAndGoalStates(state_at(problem.start), state_at(problem.goals[0]))
        planner = og.RRTConnect(information)
        planner.setRange(0.5)
        planner.setProblemDefinition(definition)
        planner.setup()
        planner.solve(ob.timedPlannerTerminationCondition(30.0))
        if not definition.hasExactSolution():
            return None
        path = definition.getSolutionPath()
        og.PathSimplifier(information).simplifyMax(path)
        return np.array([[state[index] for index in range(size)] for state in path.getStates()])

    return plan


def _indices(robot: int, client: int) -> tuple[dict[str, int], dict[str, int]]:
    """PyBullet's numbers of joints and links by name."""
    joints: dict[str, int] = {}
    links = {pybullet.getBodyInfo(robot, physicsClientId=client)[0].decode(): -1}
    for index in range(pybullet.getNumJoints(robot, physicsClientId=client)):
        info = pybullet.getJointInfo(robot, index, physicsClientId=client)
        joints[info[1].decode()] = index
        links[info[12].decode()] = index
    return joints, links


@contextmanager
def quiet() -> Iterator[None]:
    """Suppresses the output of native libraries."""
    sys.stdout.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


PEERS: dict[str, Callable[[Problem], Planner | None]] = {
    "gestalt": gestalt_planner,
    "roboplan": roboplan_planner,
    "ompl_pybullet": plain_planner,
}
