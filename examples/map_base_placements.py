"""Maps the base placements of a robot from which all poses of a task are reached and motions are planned.

    tools/with_environment python examples/map_base_placements.py                    every processor of this computer
    tools/with_environment python examples/map_base_placements.py --scheduler tcp://10.0.0.1:8786      a dask cluster

The base and its pedestal are shifted over a grid around their place in the demonstration's cell; at each place a motion
is planned to the pose above the workpiece, among all objects. Only the requests of a process that is killed are planned
again. A cluster needs the extra `cluster`: pip install robot_cell_planner[cluster].
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import msgspec
import numpy as np
from frozendict import frozendict

from robot_cell_planner import (
    FrameTarget,
    Goals,
    MotionRequest,
    PlanningJob,
    PlanningOptions,
    PlanningOutcome,
    Pose,
    TargetMode,
    load_cell,
    plan_many,
    world_pose,
)
from robot_cell_planner.errors import GoalInCollisionError, MPNoIKSolutionError, MPStartStateInCollisionError

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
TARGET = "above_pick"  # frame of the cell
PEDESTAL = "pedestal"  # body under the robot, which is shifted with it
SYMBOLS = {"planned": "#", "unreachable": ".", "blocked": "x", "undecided": "?"}
BLOCKED = (GoalInCollisionError, MPStartStateInCollisionError)


def placements(count: int, half: float) -> list[tuple[float, float]]:
    """Shifts of the base [m]: a square grid of about `count` places."""
    side = max(round(count**0.5), 1)
    steps = np.linspace(-half, half, side).tolist()
    return [(x, y) for y in reversed(steps) for x in steps]


def jobs(places: list[tuple[float, float]], seed: int) -> Iterator[PlanningJob]:
    """One motion for each place of the base, from the state of the cell to above the workpiece."""
    cell, state = load_cell(CELL)
    robot, before = next(iter(state.base_poses.items()))
    target = FrameTarget(pose=world_pose(cell, state, TARGET), mode=TargetMode.TOOL)
    request = MotionRequest(Goals(targets=(target,)), options=PlanningOptions(seed=seed), timing=None)
    pedestal = state.bodies[PEDESTAL]
    for x, y in places:
        placed = msgspec.structs.replace(state, base_poses=frozendict({robot: shifted(before, x, y)}))
        moved = msgspec.structs.replace(pedestal, pose=shifted(pedestal.pose, x, y))
        yield PlanningJob(cell, placed.with_body(PEDESTAL, moved), request)


def shifted(pose: Pose, x: float, y: float) -> Pose:
    """A pose shifted in the world."""
    return Pose((pose.position[0] + x, pose.position[1] + y, pose.position[2]), pose.quaternion)


def verdict(outcome: PlanningOutcome) -> str:
    """State of a base placement: planned, unreachable, blocked by objects, or undecided: at a limit, or without its
    process."""
    if outcome.error is None:
        return "planned"
    if isinstance(outcome.error, MPNoIKSolutionError):
        return "unreachable"
    return "blocked" if isinstance(outcome.error, BLOCKED) else "undecided"


def main() -> int:
    """Map the places, print the map and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="number of placements")
    parser.add_argument("--half", type=float, default=0.6, help="half the side of the square of placements [m]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", default="", help="address of a dask scheduler; none: this computer")
    parser.add_argument("--output", type=Path, default=Path("base_placements.csv"))
    arguments = parser.parse_args()
    places = placements(arguments.count, arguments.half)
    began, reported = time.monotonic(), 0.0

    def progress(done: int) -> None:
        nonlocal reported
        if time.monotonic() - reported > 1.0 or done == len(places):
            reported = time.monotonic()
            print(f"\r{done} of {len(places)} places, {reported - began:.0f} s", end="", file=sys.stderr, flush=True)

    if arguments.scheduler:
        from distributed import Client

        client = Client(arguments.scheduler)
        executor = client.get_executor()
    else:
        client, executor = nullcontext(), None
    with client:
        found = plan_many(jobs(places, arguments.seed), executor, chunk=16, on_progress=progress)
        verdicts = [verdict(outcome) for outcome in found]
    print(file=sys.stderr)
    side = round(len(places) ** 0.5)
    for row in range(side):
        print("".join(SYMBOLS[each] for each in verdicts[row * side : (row + 1) * side]))
    print(", ".join(f"{name} {number}" for name, number in sorted(Counter(verdicts).items())))
    with arguments.output.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("x [m]", "y [m]", "result"))
        rows.writerows((f"{x:.4f}", f"{y:.4f}", each) for (x, y), each in zip(places, verdicts, strict=True))
    print(f"written: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
