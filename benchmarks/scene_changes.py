"""Plans over ROS after changes of the scene: a body is moved, gripped, released, added or removed, and the next plan
needs the new revision, with the demo cell and with a thousand further bodies.

    make bench AREA=scene_changes                     [--turns 20]

A time begins with the change and ends when the plan has arrived; `plan` is that of a plan without a change.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import perf_counter

import numpy as np
from frozendict import frozendict

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState
from robot_cell_planner.msg import SceneChange, StateRef
from robot_cell_planner.nodes.client import CellClient
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.nodes.conversions.model_messages import body_to_message
from robot_cell_planner.nodes.conversions.states import state_to_message

from .kinematics_node import CELL_FILE
from .request_node import SEED, goals
from .results import Results
from .scene_node import own_domain
from .suite import supervisor

COUNTS = (0, 1000)  # bodies besides those of the demo cell
WARM_UP = 4
SIZE = Shape(Box((0.02, 0.02, 0.02)))
PART, TOOL, FREE = "workpiece", "gripper", Pose((0.45, 0.2, 0.3))
NEW, PLACE = "new", Pose((-0.6, 0.5, 0.5))


def added(bodies: dict[str, Pose]) -> SceneChange:
    """The change that adds small boxes at poses."""
    change = SceneChange(operation=SceneChange.ADD)
    change.models.bodies = [body_to_message(RigidBody(name, (SIZE,))) for name in bodies]
    states = frozendict({name: BodyState(pose) for name, pose in bodies.items()})
    change.states = state_to_message(RobotCellState(bodies=states))
    return change


def wall(count: int) -> dict[str, Pose]:
    """Poses of boxes behind the robot, 3 cm from each other."""
    rows = max(int(np.ceil(np.sqrt(count))), 1)
    return {f"box{i}": Pose((-1.2, 0.03 * (i // rows - rows / 2), 0.03 * (i % rows))) for i in range(count)}


def moved(turn: int) -> SceneChange:
    pose = Pose((FREE.position[0], FREE.position[1] + 1e-3 * (turn + 1), FREE.position[2]))
    return SceneChange(operation=SceneChange.MOVE, name=PART, pose=pose_to_message(pose))


def gripped(turn: int) -> SceneChange:
    pose = pose_to_message(Pose((0.0, 0.0, 0.15 + 1e-4 * turn)))
    return SceneChange(operation=SceneChange.ATTACH, name=PART, attach_to=TOOL, pose=pose)


Changes = Callable[[int], Sequence[SceneChange]]  # of a turn
STEPS: tuple[tuple[str, Changes], ...] = (
    ("moved", lambda turn: (moved(turn),)),
    ("gripped", lambda turn: (gripped(turn),)),
    ("released", lambda turn: (SceneChange(operation=SceneChange.DETACH, name=PART), moved(-1))),
    ("added", lambda turn: (added({NEW: PLACE}),)),
    ("removed", lambda turn: (SceneChange(operation=SceneChange.REMOVE, name=NEW),)),
)


def measure(results: Results, count: int, turns: int) -> None:
    """Each step in turn, in a cell with `count` further bodies."""
    cell, state = load_cell(CELL_FILE)
    targets = goals(cell, state, WARM_UP + turns)
    times: dict[str, list[float]] = {name: [] for name in ("plan", *(name for name, _ in STEPS))}
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        stack.enter_context(supervisor(CELL_FILE))
        client = stack.enter_context(CellClient())
        client.wait_until_ready()
        client.apply(moved(-1), *([added(wall(count))] if count else []))
        client.plan_motion(targets[0])
        for turn, target in enumerate(targets):
            for name, changes in (("plan", None), *STEPS):
                began = perf_counter()
                revision = 0 if changes is None else client.apply(*changes(turn))
                client.plan_motion(target, start=StateRef(min_revision=revision))
                times[name].append(1e3 * (perf_counter() - began))
    for name, taken in times.items():
        results.add(f"scene_changes.{count}_more_bodies.{name}_median_ms", float(np.median(taken[WARM_UP:])))
        results.add(f"scene_changes.{count}_more_bodies.{name}_p95_ms", float(np.percentile(taken[WARM_UP:], 95)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=20)
    options = parser.parse_args()
    results = Results("scene_changes", SEED)
    for count in COUNTS:
        measure(results, count, options.turns)
    results.finish()


if __name__ == "__main__":
    main()
