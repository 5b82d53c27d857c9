"""Starts and goals of planning problems that are known to be free: how many collide, by the use of meshes.

    python -m benchmarks.descriptions.problem_states PROBLEMS.json

The file is as in `benchmarks.planning_problems`, with a robot of its own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec
from frozendict import frozendict

from benchmarks.planning_problems import read_problems
from robot_cell_planner import CollisionChecker
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.loading import load_robot, robot_from_sources
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import MeshUse
from robot_cell_planner.setup_assistant.mesh_uses import draft_mesh_uses


def robots(path):
    """The robot of a file of problems with all meshes as hulls, all decomposed, and as a draft chooses."""
    entry = json.loads(path.read_text())["robot"]
    urdf, srdf = path.parent / entry["urdf"], path.parent / entry["srdf"]
    roots = ResourceRoots(folders=(str(urdf.parent),))
    hulls, pieces = (load_robot(urdf.stem, urdf, srdf, roots=roots, mesh_use=use)
                     for use in (MeshUse.HULL, MeshUse.DECOMPOSITION))  # fmt: skip
    drafts = draft_mesh_uses(hulls.mechanism)
    uses = frozendict({draft.uri: draft.use for draft in drafts if draft.use is not MeshUse.HULL})
    sources = msgspec.structs.replace(hulls.sources, mesh_uses=uses)
    chosen = robot_from_sources(urdf.stem, sources, roots=roots)
    return {"hulls": hulls, "all decomposed": pieces, f"{len(uses)} of {len(drafts)} decomposed": chosen}


def colliding(robot, problems, obstacles):
    """The number of starts and goals that collide, and of all."""
    hits = count = 0
    for problem in problems:
        bodies = problem.cell.bodies if obstacles else frozendict()
        cell = RobotCell(problem.cell.name, frozendict({robot.name: robot}), bodies=bodies)
        state = msgspec.structs.replace(cell.default_state(), configuration=problem.state.configuration)
        state = msgspec.structs.replace(state, bodies=problem.state.bodies) if obstacles else state
        checker = CollisionChecker(cell, state, variables=problem.joints)
        states = (problem.start, *problem.goals)
        hits += sum(checker.in_collision(q) for q in states)
        count += len(states)
    return hits, count


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.descriptions.problem_states", description=__doc__)
    parser.add_argument("problems", type=Path)
    path = parser.parse_args().problems.resolve()
    problems = read_problems(path)
    print("| meshes | states | collide with the robot itself | or with obstacles |\n|---|---|---|---|", flush=True)
    for name, robot in robots(path).items():
        (alone, count), (among, _) = (colliding(robot, problems, obstacles) for obstacles in (False, True))
        print(f"| {name} | {count} | {alone} | {among} |", flush=True)


if __name__ == "__main__":
    main()
