"""Environments by name: `gymnasium.make("RobotCell/Reach-v0", cell_file=...)`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
from frozendict import frozendict

from ..errors import InvalidRequestError, UnknownNameError
from ..io.cell_file.cell_file import load_cell
from ..kinematics.differential import moved_frame
from ..kinematics.transforms import world_pose
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.geometry import Box, Shape
from ..model.mechanism import Inertial
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose
from ..model.state import BodyState, RobotCellState
from ..simulation.options import SimulationOptions
from .cart_pole_cell import GROUP, cart_pole
from .environment import AT_REST, CellEnvironment
from .options import STAGE, ActionKind, EnvironmentOptions
from .tasks import Balance, MoveBody, Reach, Region

PLAY = 1e-3  # [m] of the peg in its hole, on both sides together
PEG, DEPTH, WALL = 0.03, 0.05, 0.02  # [m] width of the peg, depth of the hole, thickness of its walls
TASKS = ("reach", "push", "pick_and_place", "insert", "balance")
NAMESPACE = "RobotCell"


def make_environment(
    task: str,
    cell_file: str | Path = "",
    *,
    region: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None,
    start_region: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None,
    body: str = "workpiece",
    tolerance: float | None = None,
    render_mode: str | None = None,
    simulation: SimulationOptions = AT_REST,
    **options: Any,
) -> CellEnvironment:
    """Make an environment of a task in the cell of a file.

    Args:
        task: "reach", "push", "pick_and_place", "insert", or "balance", which has its own cell, the cart-pole.
        cell_file: Cell file.
        region: Opposite corners of the box in the world where goals are drawn from [m]; None for one near the start.
        start_region: As `region`, for the start of the body; None for its place in the cell.
        body: Body of "push" and "pick_and_place".
        tolerance: Distance that counts as success [m]; None for that of the task.
        render_mode: None, "rgb_array" or "human".
        simulation: Options of the simulation, such as its engine and its time step.
        **options: Fields of `EnvironmentOptions`.

    Raises:
        UnknownNameError: The task, body, group or tool does not exist.
        InvalidRequestError: An option is out of range, or the cell file is missing.
        RobotCellError: As `load_cell`.
    """
    if task not in TASKS:
        raise UnknownNameError(unknown_name(f"task {task!r}", task, TASKS), stage=STAGE, subjects=(task,))
    if task == "balance":
        return _balance(render_mode, simulation, options)
    if not cell_file:
        raise InvalidRequestError(f"task {task} needs a cell_file", stage=STAGE, subjects=("cell_file",))
    cell, state = load_cell(cell_file)
    if "action" in options:
        options["action"] = ActionKind(options["action"])
    chosen = EnvironmentOptions(**options)
    frame = moved_frame(cell, state, chosen.group)
    if task == "insert":
        made: Reach | MoveBody
        cell, state, made = _insertion(cell, state, frame)
    else:
        if task != "reach" and body not in cell.bodies:
            raise UnknownNameError(unknown_name(f"body {body!r}", body, cell.bodies), stage=STAGE, subjects=(body,))
        made = _task(task, cell, state, frame, body, region, start_region)
    if tolerance is not None:
        made = replace(made, tolerance=tolerance)
    return CellEnvironment(cell, state, made, chosen, render_mode=render_mode, simulation=simulation)


def _task(
    task: str,
    cell: RobotCell,
    state: RobotCellState,
    frame: str,
    body: str,
    region: tuple[tuple[float, float, float], tuple[float, float, float]] | None,
    start_region: tuple[tuple[float, float, float], tuple[float, float, float]] | None,
) -> Reach | MoveBody:
    centre = world_pose(cell, state, frame if task == "reach" else body).position
    if task == "reach":
        return Reach(frame, Region(*region) if region else _box(centre, 0.2, 0.2))
    goals = Region(*region) if region else _box(centre, 0.1, 0.0 if task == "push" else 0.1, above=True)
    return MoveBody(body, goals, Region(*start_region) if start_region else None)


def _box(centre: tuple[float, float, float], side: float, height: float, above: bool = False) -> Region:
    x, y, z = centre
    low = z if above else z - height
    return Region((x - side, y - side, low), (x + side, y + side, z + height))


def _balance(render_mode: str | None, simulation: SimulationOptions, options: dict[str, Any]) -> CellEnvironment:
    cell, state = cart_pole()
    given = {"action": ActionKind.EFFORT, "group": GROUP, "period": 0.02, "episode_steps": 500, "success_reward": 0.0}
    chosen = EnvironmentOptions(**{**given, **options})
    return CellEnvironment(cell, state, Balance(), chosen, render_mode=render_mode, simulation=simulation)


def _insertion(cell: RobotCell, state: RobotCellState, frame: str) -> tuple[RobotCell, RobotCellState, MoveBody]:
    """Return the cell with a peg at a frame, and a square hole with 1 mm of play below it."""
    mass = 0.1
    moment = mass * (PEG**2 + (2.0 * DEPTH) ** 2) / 12.0
    inertial = Inertial(mass, inertia=(moment, 0.0, 0.0, moment, 0.0, mass * PEG**2 / 6.0))
    peg = RigidBody("peg", (Shape(Box((PEG, PEG, 2.0 * DEPTH))),), inertial=inertial)
    inner = 0.5 * (PEG + PLAY)
    middle, length = inner + 0.5 * WALL, 2.0 * (inner + WALL)
    walls = [Shape(Box((WALL, length, DEPTH)), Pose((side * middle, 0.0, -0.5 * DEPTH))) for side in (-1.0, 1.0)] + [
        Shape(Box((length, WALL, DEPTH)), Pose((0.0, side * middle, -0.5 * DEPTH))) for side in (-1.0, 1.0)
    ]
    world_T_tcp = world_pose(cell, state, frame)
    world_T_peg = world_T_tcp @ Pose((0.0, 0.0, DEPTH))
    tip = Pose((0.0, 0.0, DEPTH))
    hole_pose = world_T_peg @ tip @ Pose((0.01, 0.01, 0.03)) @ Pose.from_rpy((0.0, 0.0, 0.0), (math.pi, 0.0, 0.0))
    hole = RigidBody("hole", tuple(walls))
    links = tuple(name for name in cell.mechanism_frames if name.split("/")[0] == frame.split("/")[0]) or (frame,)
    new = msgspec.structs.replace(cell, bodies=frozendict({**cell.bodies, "peg": peg, "hole": hole}))
    bodies = {
        **state.bodies,
        "peg": BodyState(Pose((0.0, 0.0, DEPTH)), frame, touch_links=links, touch_bodies=("hole",)),
        "hole": BodyState(hole_pose),
    }
    bottom = (hole_pose @ Pose((0.0, 0.0, -0.8 * DEPTH))).position
    task = MoveBody("peg", Region(bottom, bottom), tolerance=0.005, tip=tip.position)
    return new, msgspec.structs.replace(state, bodies=frozendict(bodies)), task


def register_environments() -> None:
    """Register the environments with Gymnasium: RobotCell/Reach-v0, Push-v0, PickAndPlace-v0, Insert-v0, Balance-v0."""
    for task in TASKS:
        name = "".join(part.capitalize() if part != "and" else "And" for part in task.split("_"))
        identity = f"{NAMESPACE}/{name}-v0"
        if identity not in gymnasium.registry:
            gymnasium.register(identity, entry_point=f"{__name__}:make_environment", kwargs={"task": task})
