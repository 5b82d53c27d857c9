"""Planning problems: those of a file, and families made here for an arm of six and one of seven joints.

A file is JSON: `joints`, and `problems` with `scene` (the family), `index`, `start`, `goals` (configurations),
`obstacles` (`type` box, cylinder or sphere, `position`, `quat_xyzw`, `size` or `length` and `radius`; in metres), and
optionally `fixed` (values of other joints by name) and `valid`. `robot` is "panda" for that of example-robot-data with
its meshes, or has `urdf`, `srdf` (files beside it), `group` and `mesh_use`. The base is at the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import InverseKinematicsError, RobotCellError
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Cylinder, MeshUse, Shape, Sphere
from robot_cell_planner.model.name_suggestions import unknown_name
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, RobotCellState

from .arms import GROUP
from .motion_cells import robot as public_robot

Array = NDArray[np.float64]
Form = Box | Cylinder | Sphere
MODELS = "package://example-robot-data/robots"
TRIES = 400


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot, the group to plan for, a configuration in the open, and how far the hand reaches beyond the tip [m]."""

    robot: Robot
    group: str
    home: tuple[float, ...]
    hand: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to plan, from the state's configuration to any of some goals (n, dof) of `joints`."""

    family: str
    name: str
    group: str
    joints: tuple[str, ...]
    cell: RobotCell
    state: RobotCellState
    goals: tuple[tuple[float, ...], ...]

    @property
    def start(self) -> tuple[float, ...]:
        return tuple(self.state.configuration[joint] for joint in self.joints)


def by_robot(problems: Sequence[Problem]) -> dict[str, list[Problem]]:
    """Return problems by the name of their robot."""
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(next(iter(problem.cell.robots)), []).append(problem)
    return found


@lru_cache(maxsize=8)
def arm(name: str) -> Arm:
    """The Panda (seven joints), the UR5 (six), or another one of `motion_cells.ROBOTS`."""
    if name == "panda":
        folder = f"{MODELS}/panda_description"
        robot = load_robot(name, f"{folder}/urdf/panda.urdf", f"{folder}/srdf/panda.srdf")
        return Arm(robot, "arm", (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785), 0.21)
    if name != "ur5":
        robot = public_robot(name)
        of = {variable.name: variable.limits for variable in robot.mechanism.variables}
        ends = [(of[joint].lower, of[joint].upper) for joint in robot.groups[GROUP].variables]
        middle = tuple(0.5 * (low + high) if np.isfinite(high - low) else 0.0 for low, high in ends)
        return Arm(robot, GROUP, middle, 0.05)
    robot = load_robot(name, f"{MODELS}/ur_description/urdf/ur5_robot.urdf")
    chain = robot.mechanism.chain("base_link", "tool0")
    joints = tuple(variable for joint in chain for variable in joint.variables)
    group = PlanningGroup("manipulator", joints, base_link="base_link", tip_link="tool0")
    robot = msgspec.structs.replace(robot, groups=frozendict({"manipulator": group}))
    return Arm(robot, "manipulator", (0.0, -1.57, 1.57, -1.57, -1.57, 0.0), 0.05)


class _Robot(msgspec.Struct):
    urdf: str
    group: str
    srdf: str = ""
    mesh_use: MeshUse = MeshUse.HULL


class _Obstacle(msgspec.Struct):
    type: Literal["box", "cylinder", "sphere"]
    position: tuple[float, float, float]
    quat_xyzw: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    length: float = 0.0

    def placed(self) -> tuple[Form, Pose]:
        """Raises ValueError if a size is missing."""
        pose = Pose(self.position, self.quat_xyzw)
        if self.type == "box":
            return Box(self.size), pose
        return (Sphere(self.radius) if self.type == "sphere" else Cylinder(self.radius, self.length)), pose


class _Entry(msgspec.Struct):
    scene: str
    index: int | str
    start: tuple[float, ...]
    goals: tuple[tuple[float, ...], ...]
    obstacles: tuple[_Obstacle, ...]
    fixed: dict[str, float] = {}
    valid: bool = True


class _File(msgspec.Struct):
    joints: tuple[str, ...]
    problems: tuple[_Entry, ...]
    robot: str | _Robot = "panda"


def _robot_of(entry: str | _Robot, folder: Path) -> Arm:
    if isinstance(entry, str):
        return arm(entry)
    urdf = folder / entry.urdf
    srdf = str(folder / entry.srdf) if entry.srdf else ""
    roots = ResourceRoots(folders=(str(urdf.parent),))
    robot = load_robot(urdf.stem, urdf, srdf, roots=roots, mesh_use=entry.mesh_use)
    robot.group(entry.group)
    return Arm(robot, entry.group, (), 0.0)


def read_problems(path: Path) -> list[Problem]:
    """The problems of a file, those that it calls invalid left out.

    Raises:
        SystemExit: The file cannot be used; the text says where, and what was expected.
    """
    try:
        data = msgspec.json.decode(path.read_bytes(), type=_File)
        robot = _robot_of(data.robot, path.parent)
        for joint in data.joints:
            if joint not in (names := [variable.name for variable in robot.robot.mechanism.variables]):
                raise ValueError(unknown_name(f"joint {joint!r}", joint, names))
    except (OSError, ValueError, RobotCellError) as error:
        raise SystemExit(f"{path}: {error}") from error
    found = []
    for number, entry in enumerate(data.problems):
        if entry.valid:
            try:
                found.append(_problem(entry, robot, data.joints))
            except (ValueError, RobotCellError) as error:
                raise SystemExit(f"{path}: problem {number} ({entry.scene} {entry.index}): {error}") from error
    return found


def _problem(entry: _Entry, robot: Arm, joints: tuple[str, ...]) -> Problem:
    for what, values in (("the start", entry.start), *((f"goal {i}", goal) for i, goal in enumerate(entry.goals))):
        if len(values) != len(joints):
            raise ValueError(f"{what} has {len(values)} values, expected {len(joints)}, one for each of `joints`")
    cell, state = cell_around(robot, [obstacle.placed() for obstacle in entry.obstacles])
    fixed = {joint: value for joint, value in entry.fixed.items() if joint in cell.variables}
    state = state.with_configuration({**fixed, **dict(zip(joints, entry.start, strict=True))})
    # Paths of the planners have the joints in the order of the group.
    of_group = [*cell.group(robot.group).variables, *joints]
    ordered = tuple(sorted(joints, key=of_group.index))
    goals = tuple(tuple(goal[joints.index(joint)] for joint in ordered) for goal in entry.goals)
    return Problem(entry.scene, f"{entry.scene} {entry.index}", robot.group, ordered, cell, state, goals)


def cell_around(robot: Arm, obstacles: Sequence[tuple[Form, Pose]]) -> tuple[RobotCell, RobotCellState]:
    """The robot at the origin with obstacles around it."""
    bodies = {f"obstacle{i}": RigidBody(f"obstacle{i}", (Shape(shape),)) for i, (shape, _) in enumerate(obstacles)}
    name = robot.robot.name
    cell = RobotCell(name, frozendict({name: robot.robot}), bodies=frozendict(bodies))
    state = cell.default_state()
    for index, (_, pose) in enumerate(obstacles):
        state = state.with_body(f"obstacle{index}", BodyState(pose))
    return cell, state


# Families of our own ------------------------------------------------------------------------------------------------

Boxes = list[tuple[Box | Cylinder, Pose]]
# A goal of the end of the hand: a position, and the direction in which it approaches.
Place = tuple[tuple[float, float, float], tuple[float, float, float]]
FORWARD, DOWN = (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)


def _box(size: tuple[float, float, float], at: tuple[float, float, float]) -> tuple[Box | Cylinder, Pose]:
    return Box(tuple(map(float, size))), Pose(tuple(map(float, at)))


def shelf(rng: np.random.Generator) -> tuple[Boxes, list[Place]]:
    """Three boards between two sides and a back; from one compartment into the other."""
    x, low, gap = rng.uniform(0.5, 0.6), rng.uniform(0.1, 0.2), rng.uniform(0.28, 0.34)
    boards = [_box((0.3, 0.8, 0.02), (x + 0.15, 0.0, low + level * gap)) for level in range(3)]
    sides = [_box((0.3, 0.02, 2 * gap), (x + 0.15, side * 0.4, low + gap)) for side in (-1, 1)]
    back = _box((0.02, 0.8, 2 * gap), (x + 0.31, 0.0, low + gap))
    depth = x + rng.uniform(0.08, 0.14)
    places = [((depth, rng.uniform(-0.2, 0.2), low + (level + 0.5) * gap), FORWARD) for level in (0, 1)]
    return [*boards, *sides, back], places


def bin_(rng: np.random.Generator) -> tuple[Boxes, list[Place]]:
    """An open bin on a floor; from one corner of it into a second bin beside it."""
    boxes = [_box((2.0, 2.0, 0.02), (0.0, 0.0, -0.06))]
    places: list[Place] = []
    height = rng.uniform(0.16, 0.24)
    for side in (-1.0, 1.0):
        x, y = rng.uniform(0.42, 0.48), side * rng.uniform(0.26, 0.32)
        for dx, dy, size in (
            (0.17, 0.0, (0.02, 0.36, height)),
            (-0.17, 0.0, (0.02, 0.36, height)),
            (0.0, 0.18, (0.36, 0.02, height)),
            (0.0, -0.18, (0.36, 0.02, height)),
        ):
            boxes.append(_box(size, (x + dx, y + dy, 0.5 * height - 0.05)))
        places.append(((x + rng.uniform(-0.04, 0.04), y + rng.uniform(-0.04, 0.04), rng.uniform(0.04, 0.1)), DOWN))
    return boxes, places


def narrow_slot(rng: np.random.Generator) -> tuple[Boxes, list[Place]]:
    """A wall with a slot that the hand just fits through; from in front of it to behind it."""
    x, middle, half = rng.uniform(0.42, 0.46), rng.uniform(0.4, 0.5), rng.uniform(0.14, 0.16)
    below, above = middle - half, middle + half
    wall = [
        _box((0.03, 1.6, below + 0.1), (x, 0.0, 0.5 * below - 0.05)),
        _box((0.03, 1.6, 1.2 - above), (x, 0.0, 0.5 * (above + 1.2))),
    ]
    y = rng.uniform(-0.15, 0.15)
    return wall, [((x - 0.03, -y, middle), FORWARD), ((x + 0.08, y, middle), FORWARD)]


def cage(rng: np.random.Generator) -> tuple[Boxes, list[Place]]:
    """Posts and beams around a place; from beside it into it."""
    x, size, height = rng.uniform(0.46, 0.5), 0.2, rng.uniform(0.45, 0.5)
    angle = rng.uniform(0.0, np.pi / 4)
    bars: Boxes = []
    for turn in range(6):
        a = angle + turn * np.pi / 3
        at = (float(x + size * np.cos(a)), float(size * np.sin(a)), float(0.5 * height))
        bars.append((Cylinder(0.012, float(height)), Pose(at)))
    bars.append(_box((0.5, 0.02, 0.02), (x, 0.24, height)))
    bars.append(_box((0.5, 0.02, 0.02), (x, -0.24, height)))
    return bars, [((0.3, 0.45, 0.3), DOWN), ((x, 0.0, rng.uniform(0.06, 0.14)), DOWN)]


def two_level_table(rng: np.random.Generator) -> tuple[Boxes, list[Place]]:
    """A table with a second board below its top; from above it to between the boards."""
    x, top = rng.uniform(0.48, 0.54), rng.uniform(0.5, 0.56)
    low = top - rng.uniform(0.36, 0.4)
    boxes = [_box((0.5, 1.0, 0.02), (x + 0.25, 0.0, z)) for z in (top, low)]
    boxes += [_box((0.04, 0.04, top), (x + 0.45, side * 0.45, 0.5 * top)) for side in (-1, 1)]
    y = rng.uniform(-0.25, 0.25)
    middle = 0.5 * (top + low)
    return boxes, [((x + 0.04, y, top + 0.06), DOWN), ((x + 0.14, -y, middle), FORWARD)]


FAMILIES: dict[str, Callable[[np.random.Generator], tuple[Boxes, list[Place]]]] = {
    "shelf": shelf,
    "bin": bin_,
    "narrow slot": narrow_slot,
    "cage": cage,
    "two-level table": two_level_table,
}


def own_problems(arm_name: str, family: str, count: int, seed: int) -> Iterator[Problem]:
    """Problems of a family; those drawn for which no free configuration reaches a place are drawn again."""
    robot = arm(arm_name)
    rng = np.random.default_rng([seed, list(FAMILIES).index(family), len(arm_name)])
    made = 0
    for _ in range(TRIES * count):
        boxes, places = FAMILIES[family](rng)
        cell, state = cell_around(robot, boxes)
        joints = cell.group(robot.group).variables
        state = state.with_configuration(dict(zip(joints, robot.home, strict=True)))
        ends = [_reached(cell, state, robot, place, rng) for place in places]
        if any(end is None for end in ends):
            continue
        start, goal = (tuple(end) for end in ends if end is not None)
        state = state.with_configuration(dict(zip(joints, start, strict=True)))
        yield Problem(f"{arm_name} {family}", f"{arm_name} {family} {made}", robot.group, joints, cell, state, (goal,))
        made += 1
        if made == count:
            return
    raise ValueError(f"no {count} problems of family {family} were found for {arm_name}")


def _reached(
    cell: RobotCell, state: RobotCellState, robot: Arm, place: Place, rng: np.random.Generator
) -> Sequence[float] | None:
    position, direction = (np.array(part) for part in place)
    tip = _pointing(position - robot.hand * direction, direction, rng.uniform(-np.pi, np.pi))
    target = FrameTarget(pose=Pose.from_matrix(tip))
    checker = CollisionChecker(cell, state, group=robot.group)
    try:
        found = inverse_kinematics(
            cell,
            state,
            target,
            robot.group,
            IkOptions(max_solutions=1, seed=int(rng.integers(1 << 30)), max_restarts=20),
            lambda q: not checker.in_collision(q),
        )
    except InverseKinematicsError:
        return None
    return [float(value) for value in found.best]


def _pointing(position: Array, z: Array, turn: float) -> Array:
    """A transform (4, 4) whose z axis has a direction."""
    x = np.cross((0.0, 1.0, 0.0), z)
    y = np.cross(z, x)
    matrix = np.eye(4)
    matrix[:3, :3] = np.column_stack((np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x, z))
    matrix[:3, 3] = position
    return matrix
