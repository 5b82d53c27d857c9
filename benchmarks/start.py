"""From the start of the supervisor to the first plan: the cell of the demonstration, and a robot never seen before.

    make bench AREA=start                            [--runs 3] [--no-fork]

A running client requests a plan from the present state as soon as `robot_cell` is started, and again until it has one.
The caches are warm; for the new robot, the UR10 of the public descriptions with its meshes, those of meshes and sphere
models are empty. Processor times are those of all processes of the cell until then.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.mesh.cache import ENVIRONMENT
from robot_cell_planner.nodes.client import CellClient

from .request_node import SEED
from .results import Results
from .scene_node import own_domain, processor_time
from .suite import family, supervisor

CONFIG = Path(__file__).resolve().parents[1] / "config"
CELLS = {"first_plan": CONFIG / "demo" / "cell.yaml", "new_robot_first_plan": CONFIG / "ur10" / "cell.yaml"}
STEP = 0.3  # [rad]
RETRY = 0.02  # [s]
GIVE_UP = 600.0  # [s]


def first_plan(cell_file: Path, options: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Time until the first plan, and the processor time of the cell until then [s]."""
    cell, state = load_cell(cell_file)
    joint = cell.group().variables[0]
    goal = {joint: state.configuration[joint] + STEP}
    with own_domain(), CellClient(discovery_timeout=GIVE_UP) as client:
        began = perf_counter()
        with supervisor(cell_file, options, environment) as pid:
            while True:
                try:
                    client.plan_motion(goal)
                except RobotCellError as error:  # nodes that have started need the cell, or joint states
                    if perf_counter() - began > GIVE_UP:
                        raise
                    sleep(RETRY)
                    print(f"  {perf_counter() - began:.2f} s: {error}"[:150], flush=True)
                else:
                    return perf_counter() - began, sum(map(processor_time, family(pid)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-fork", action="store_true", help="start each node from its file")
    options = parser.parse_args()
    results = Results("start", SEED)
    name = "start.separate" if options.no_fork else "start"
    for what, cell in CELLS.items():
        taken = []
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                environment = {ENVIRONMENT: folder} if what.startswith("new_robot") else {}
                taken.append(first_plan(cell, ["--no-fork"] if options.no_fork else [], environment))
        seconds, processor = np.median(taken, axis=0)
        results.add(f"{name}.{what}_s", float(seconds))
        results.add(f"{name}.{what}_processor_s", float(processor))
    results.finish(update=True)


if __name__ == "__main__":
    main()
