"""The scene node between two processes: one change with its reply, by numbers of bodies in the cell.

The client calls apply_changes as fast as the replies arrive, with one change in each request, in a cell with the demo's
robot. Each time is from the call to the reply, which the node sends only after the change is in its journal. These
calls take turns with calls of a bare service in a third process, with the same types, that does nothing: a busy
computer slows both. Figures named "processor" are the time that the node's process spent on processors a change, with
all that it publishes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np
from frozendict import frozendict
from geometry_msgs.msg import Point, Pose

from robot_cell_planner import srv
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose as CellPose
from robot_cell_planner.model.state import BodyState, RobotCellState
from robot_cell_planner.msg import BodyModel, Configuration, Geometry, SceneChange
from robot_cell_planner.msg import Shape as ShapeMessage

from .results import Results
from .scene_node import BARE, Caller, bare_service, own_domain, processor_time, running, scene_node

ROOT = Path(__file__).resolve().parents[1]
SEED = 1
COUNTS = (10, 100, 1_000, 10_000)
CALLS = 200


def cell_with_bodies(count: int) -> tuple[RobotCell, RobotCellState]:
    """The demo's cell with `count` more boxes around it."""
    cell, state = load_cell(ROOT / "config" / "demo" / "cell.yaml")
    places = np.random.default_rng(SEED).uniform(-20.0, 20.0, (count, 3)).tolist()
    boxes = {f"box{i}": RigidBody(f"box{i}", (Shape(Box((0.1, 0.2, 0.3))),)) for i in range(count)}
    placed = {f"box{i}": BodyState(CellPose(tuple(place))) for i, place in enumerate(places)}
    cell = msgspec.structs.replace(cell, bodies=frozendict({**cell.bodies, **boxes}))
    return cell, msgspec.structs.replace(state, bodies=frozendict({**state.bodies, **placed}))


def move(step: int) -> SceneChange:
    """A body is moved."""
    return SceneChange(operation=SceneChange.MOVE, name="box3", pose=Pose(position=Point(x=0.001 * step, z=3.0)))


def grip(step: int) -> SceneChange:
    """The workpiece is attached and detached in turns."""
    if step % 2:
        return SceneChange(operation=SceneChange.DETACH, name="workpiece")
    return SceneChange(operation=SceneChange.ATTACH_IN_PLACE, name="workpiece", attach_to="gripper")


def joints(step: int) -> SceneChange:
    """A joint gets another value."""
    values = Configuration(joint_names=["elbow_joint"], positions=[0.001 * step])
    return SceneChange(operation=SceneChange.SET_JOINTS, configuration=values)


def add(step: int) -> SceneChange:
    """A body is added."""
    return _new_body(f"new{step}")


def _new_body(name: str) -> SceneChange:
    change = SceneChange(operation=SceneChange.ADD)
    geometry = Geometry(type=Geometry.BOX, dimensions=[0.1, 0.1, 0.1])
    change.models.bodies = [BodyModel(name=name, collision=[ShapeMessage(geometry=geometry)])]
    return change


CHANGES: dict[str, Callable[[int], SceneChange]] = {"move": move, "grip": grip, "joints": joints, "add": add}


def round_trips(caller: Caller, change: Callable[[int], SceneChange], count: int) -> dict[str, list[float]]:
    """Times of requests with one change [ms], and of bare ones; both in turns, so that a busy moment affects both."""
    times: dict[str, list[float]] = {"scene": [], "bare": []}
    for step in range(count):
        request = srv.ApplyChanges.Request(changes=[change(step)])
        times["scene"].append(caller.timed(srv.ApplyChanges, "scene/apply_changes", request))
        times["bare"].append(caller.timed(srv.ApplyChanges, BARE, request))
    return times


def measure(results: Results, caller: Caller, count: int, folder: Path) -> None:
    """All figures of a cell with `count` bodies."""
    cell, state = cell_with_bodies(count)
    file = folder / f"cell_{count}.yaml"
    save_cell(file, cell, state)
    start = perf_counter()
    load_cell(file)
    results.add(f"load_cell_file_{count}_bodies_s", perf_counter() - start)
    start = perf_counter()
    with running(scene_node(file, folder / f"journal_{count}")) as pid:
        caller.wait_for(srv.GetState, "scene/get_state", srv.GetState.Request())
        caller.wait_for(srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request(changes=[move(0)]))
        caller.wait_for(srv.ApplyChanges, BARE, srv.ApplyChanges.Request())
        results.add(f"start_of_node_{count}_bodies_s", perf_counter() - start)
        for name, change in CHANGES.items():
            before = processor_time(pid)
            times = round_trips(caller, change, CALLS)
            results.add(f"{name}_processor_{count}_bodies_ms", 1e3 * (processor_time(pid) - before) / CALLS)
            for kind, found in times.items():
                results.add(f"{name}_{kind}_{count}_bodies_ms", float(np.median(found)))
                results.add(f"{name}_{kind}_{count}_bodies_p95_ms", float(np.quantile(found, 0.95)))
        whole = [caller.timed(srv.GetCell, "scene/get_cell", srv.GetCell.Request()) for _ in range(5)]
        results.add(f"get_cell_{count}_bodies_ms", float(np.median(whole)))


def main() -> None:
    """Measure and write."""
    results = Results("scene", SEED)
    with tempfile.TemporaryDirectory() as folder, own_domain(), running(bare_service()):
        for count in COUNTS:
            caller = Caller()
            measure(results, caller, count, Path(folder))
            caller.close()
    results.finish()


if __name__ == "__main__":
    main()
