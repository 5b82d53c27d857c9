"""Arms among obstacles for the benchmark of Cartesian planning, and known feasible paths between the obstacles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pinocchio as pin
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.kinematics.chain import Chain, chain_of
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import TargetMode, target_frame
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState

from .arms import PUBLIC, ROOT

ARMS = ("ur10", "panda", "demo")
STEP = 0.01  # [m or rad] of the frame, between the configurations of a path
LIMIT_ROOM = 0.02  # [rad] kept from joint limits
LEAST_SINGULAR_VALUE = 0.05
CHECKED_EVERY = 0.02  # [rad]
TRIES = 10  # directions from one configuration


@lru_cache(maxsize=8)
def arm_cell(name: str) -> tuple[RobotCell, RobotCellState]:
    """An arm with its shapes: the UR10 with a gripper among twelve boxes, the Panda among twelve boxes, or the cell of
    the demonstration."""
    if name == "demo":
        return load_cell(ROOT / "config" / "demo" / "cell.yaml")
    if name == "ur10":
        cell, state = load_cell(ROOT / "config" / "ur10" / "cell.yaml")
        reach = (0.6, 1.3)
    else:
        folder = f"{PUBLIC}/panda_description"
        robot = load_robot("panda", f"{folder}/urdf/panda.urdf", srdf=f"{folder}/srdf/panda.srdf")
        cell = RobotCell("panda", frozendict({"panda": robot}))
        state = cell.default_state()
        reach = (0.4, 0.8)
    rng = np.random.default_rng(5)
    bodies, placed = {}, {}
    for index in range(12):
        body, angle, radius = f"box{index}", rng.uniform(-np.pi, np.pi), rng.uniform(*reach)
        size = rng.uniform(0.05, 0.15, 3).tolist()
        bodies[body] = RigidBody(body, (Shape(Box((size[0], size[1], size[2]))),))
        position = (float(radius * np.cos(angle)), float(radius * np.sin(angle)), float(rng.uniform(0.0, 1.0)))
        placed[body] = BodyState(Pose.from_rpy(position, rng.uniform(-3.0, 3.0, 3).tolist()))
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies), frames=frozendict())
    return cell, msgspec.structs.replace(state, bodies=frozendict(placed))


def group_of(cell: RobotCell) -> str:
    """The group that is planned for."""
    return "arm" if "panda" in cell.robots else ""


@dataclass(frozen=True, eq=False)
class KnownPath:
    """A polyline of the frame that is known to be feasible: the configuration that it begins in, its poses (k, 4, 4)
    without that of the start, and configurations (n, dof) every `STEP` of it that are free and within limits."""

    start: Any
    poses: Any
    path: Any


class PathMaker:
    """Makes paths from joint motions: joints move so that the frame moves straight, and a redundant arm also moves in
    its null space. A path ends at a limit, a singular configuration or an obstacle."""

    def __init__(self, cell: RobotCell, state: RobotCellState, seed: int) -> None:
        group = cell.group(group_of(cell))
        self.variables = group.variables
        model = cell_model(cell, state)
        self.mode = TargetMode.TOOL if cell.tool_of_group(state, group.name) else TargetMode.ROBOT
        frame = target_frame(cell, state, group.name, self.mode)
        held = tuple((name, value) for name, value in sorted(state.configuration.items()) if name not in self.variables)
        self.chain: Chain = chain_of(model, frame, self.variables, held)
        self.checker = CollisionChecker(cell, state, self.variables)
        indices = model.indices(self.variables)
        self.lower = np.maximum(model.lower[indices], -np.pi) + LIMIT_ROOM
        self.upper = np.minimum(model.upper[indices], np.pi) - LIMIT_ROOM
        self.rng = np.random.default_rng(seed)

    def ways(self, segments: int, shortest: float, longest: float) -> Iterator[KnownPath]:
        """Paths of some segments, each of `shortest` to `longest` [m]."""
        while True:
            found = self._try(segments, shortest, longest)
            if found is not None:
                yield found

    def _try(self, segments: int, shortest: float, longest: float) -> KnownPath | None:
        q = self.rng.uniform(self.lower, self.upper)
        if self.checker.in_collision(q):
            return None
        start, poses, path = q, [], [q]
        for _ in range(segments):
            found = next(filter(None, (self._segment(path[-1], shortest, longest) for _ in range(TRIES))), None)
            if found is None:
                return None
            poses.append(found[0])
            path.extend(found[1])
        return KnownPath(start, np.array(poses), np.array(path))

    def _segment(self, q: Any, shortest: float, longest: float) -> tuple[Any, list[Any]] | None:
        """A segment from a configuration in a random direction: the pose at its end, and configurations on it."""
        direction = self.rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        length = self.rng.uniform(shortest, longest)
        turn = self.rng.normal(size=3) * self.rng.uniform(0.0, 0.5)
        swing = self.rng.uniform(-1.0, 1.0)
        steps = int(np.ceil(max(length, float(np.linalg.norm(turn))) / STEP))
        first = self.chain.forward(q.copy())
        path: list[Any] = []
        target = first
        for index in range(1, steps + 1):
            target = first.copy()
            target[:3, :3] = first[:3, :3] @ pin.exp3(index / steps * turn)
            target[:3, 3] += index / steps * length * direction
            moved = self._to(q, target, swing * STEP)
            if moved is None:
                return None
            path.append(moved)
            q = moved
        return target, path

    def _to(self, q: Any, target: Any, swing: float) -> Any:
        """The configuration at a pose next to another one; None where that is not allowed."""
        moved = q.copy()
        if len(q) > 6:
            _, _, rows = np.linalg.svd(self.chain.jacobian(q))
            null = rows[-1] * np.sign(rows[-1][np.argmax(np.abs(rows[-1]))])
            moved = moved + swing * null
        for _ in range(6):
            pose = self.chain.forward(moved)
            turn = pose[:3, :3] @ pin.log3(pose[:3, :3].T @ target[:3, :3])
            error = np.concatenate((target[:3, 3] - pose[:3, 3], turn))
            if np.abs(error).max() < 1e-11:
                break
            columns, values, rows = np.linalg.svd(self.chain.jacobian(moved), full_matrices=False)
            if values[-1] < LEAST_SINGULAR_VALUE:
                return None
            moved = moved + rows.T @ ((columns.T @ error) / values)
        inside = (moved >= self.lower).all() and (moved <= self.upper).all()
        near = np.abs(moved - q).max() < 0.2
        free = inside and near and not self.checker.motion_in_collision(q, moved, CHECKED_EVERY)
        return moved if free else None
