"""Digests of Cartesian plans; as a program it prints those of the demonstration's cell, from a process of its own."""

import hashlib
import json
from pathlib import Path

from cartesian_paths import axes, follow, frames, moved, tool_pose

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.planning.cartesian.planner import CartesianStrategy
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.trajectory.timing import TimingOptions


def digests(cell, state):
    """By strategy and kind of waypoints."""
    pose = tool_pose(cell, state)
    corner, end = moved(pose, x=-0.05), moved(pose, x=-0.05, y=0.08)
    found = {}
    for strategy in CartesianStrategy:
        for kind in (frames, axes):
            plan = follow(cell, state, kind(corner, end), strategy=strategy, timing=TimingOptions(path_speed=0.1))
            found[f"{strategy.value} {kind.__name__}"] = hashlib.sha256(plan_to_json(plan, repeatable=True)).hexdigest()
    return found


if __name__ == "__main__":
    print(json.dumps(digests(*load_cell(Path(__file__).parents[2] / "config/demo/cell.yaml"))))
