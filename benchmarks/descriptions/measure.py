"""Measures one description, in a process of its own: prints a line of JSON."""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robot_cell_planner import (
    CartesianRequest,
    CollisionChecker,
    FrameTarget,
    FrameWaypoints,
    Goals,
    IkOptions,
    MotionRequest,
    NewCellOptions,
    OfflineCell,
    PlanningOptions,
    check_cell,
    forward_kinematics,
    inverse_kinematics,
    load_cell,
    new_cell,
    plan_cartesian,
    plan_motion,
)
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.random_configurations import random_configurations

from .pairs import needed_pairs

STATES = 20
MAX_DRAWN = 5_000
LINE = 0.05  # [m]
MAX_STATES = 100_000
MAX_ERROR = 0.05  # [rad or m] at the end of a motion
CELL_FILE = "cell.yaml"


def processor_seconds():
    """Processor time of this process and of those that it has waited for [s]."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(entry.ru_utime + entry.ru_stime for entry in used)


@contextmanager
def timed(found, what):
    """Add the wall time and the processor time of a block."""
    begin, used = time.perf_counter(), processor_seconds()
    yield
    found[f"{what} s"] = time.perf_counter() - begin
    found[f"{what} cpu s"] = processor_seconds() - used


def free_states(cell, state, group, count):
    """Random configurations (n, dof) of a group that do not collide, at most `count`.

    Angles are within half a turn of the state: beyond, joints of two turns repeat the same poses.
    """
    checker = CollisionChecker(cell, state, group=group)
    variables = [cell.variables[name] for name in checker.variables]
    drawn = random_configurations(variables, MAX_DRAWN, 7)
    for column, (variable, value) in enumerate(zip(variables, checker.default, strict=True)):
        if variable.angular:
            low, high = max(variable.limits.lower, value - np.pi), min(variable.limits.upper, value + np.pi)
            drawn[:, column] = np.random.default_rng(column).uniform(low, high, MAX_DRAWN)
    found = []
    for q in drawn:
        if len(found) < count and not checker.in_collision(q):
            found.append(q)
    return np.array(found)


def measure(given, roots):
    """The figures of one description; `given`: the command line."""
    found = {"description": given.description, "start-up s": time.monotonic() - given.begin}
    found["start-up cpu s"] = processor_seconds()
    arguments = dict(word.split(":=", 1) for word in given.arguments)
    with timed(found, "new"):
        made = new_cell(given.description, given.folder, NewCellOptions(xacro_arguments=arguments, roots=roots))
    cell, state = made.cell, made.state
    found["robot"] = cell.robot.mechanism.name
    levels = Counter(finding.level for finding in made.findings)
    found["errors"], found["warnings"], found["drafts"] = levels["error"], levels["warning"], levels["draft"]
    found["error texts"] = [finding.text for finding in made.findings if finding.level == "error"]
    found["warning texts"] = [finding.text for finding in made.findings if finding.level == "warning"]
    found["home free"] = not made.draft.home.colliding
    found["groups"] = {g.group.name: len(g.group.variables) for g in made.draft.groups}
    found["default pairs"] = sum(pair.reason == "Default" for pair in made.draft.pairs)
    arms = [g.group.name for g in made.draft.groups if g.kind == "arm"]
    found["arm"] = bool(arms)
    if not given.only_pairs:
        with timed(found, "check"):
            loaded, start = load_cell(made.folder / CELL_FILE, roots)
            again = check_cell(loaded, start)
        found["same when loaded"] = (loaded, start) == (cell, state)
        found["check errors"] = sum(finding.level == "error" for finding in again)
        if arms:
            found |= motions(cell, state, cell.robot.main_group)
    return found | (needed_pairs(made.draft, given.pairs) if given.pairs else {})


def moved_again(given, roots):
    """The times of one motion of a cell that was made before, and whether it was executed."""
    found = {}
    with timed(found, "plan"):
        cell, state = load_cell(Path(given.folder, CELL_FILE), roots)
        group = cell.robot.main_group
        (goal,) = free_states(cell, state, group, 1)
        plan = planned(cell, state, group, goal)
    moved = executed(cell, state, plan, found, replay=False)
    return {"again": moved, "again s": time.monotonic() - given.begin, "again cpu s": processor_seconds()}


def motions(cell, state, group):
    """The figures of kinematics, plans, a line and an execution of a group."""
    found = {"group": group}
    chain = bool(cell.group(group).tip_link)
    goals = free_states(cell, state, group, STATES)
    names = cell.group(group).variables
    found["free states"] = len(goals)
    solved = 0
    for q in goals if chain else ():
        pose = forward_kinematics(cell, state.with_configuration(dict(zip(names, q.tolist(), strict=True))), group)
        try:
            inverse_kinematics(cell, state, FrameTarget(pose=pose), group, IkOptions(max_solutions=1))
            solved += 1
        except RobotCellError as error:
            found["ik error"] = str(error)[:200]
    found["ik"] = solved
    plans = []
    for seed, q in enumerate(goals):
        figures = {}
        with timed(figures, "plan"):
            try:
                plans.append(planned(cell, state, group, q, seed))
            except RobotCellError as error:
                found["plan error"] = str(error)[:200]
        kind = "plans" if seed else "first plan"
        for key, value in figures.items():
            name = key.replace("plan", kind)
            found[name] = found.get(name, 0.0) + value
    found["plans"] = len(plans)
    found["line"] = chain and line(cell, state, group, found)
    found["executed"] = bool(plans) and executed(cell, state, plans[0], found)
    return found


def planned(cell, state, group, q, seed=0):
    """A plan to joint values."""
    goal = Goals(joint_goals=(dict(zip(cell.group(group).variables, q.tolist(), strict=True)),))
    options = PlanningOptions(seed=seed, state_limit=MAX_STATES)
    return plan_motion(cell, state, MotionRequest(goal, group=group, options=options))


def line(cell, state, group, found):
    """Whether a straight line along one of the axes is planned from the home configuration."""
    start = forward_kinematics(cell, state, group)
    for axis in np.vstack([np.eye(3), -np.eye(3)]):
        position = tuple(float(v) for v in np.array(start.position) + LINE * axis)
        waypoints = FrameWaypoints((Pose(position, start.quaternion),))
        try:
            plan_cartesian(cell, state, CartesianRequest(waypoints, group=group))
            return True
        except RobotCellError as error:
            found["line error"] = str(error)[:200]
    return False


def executed(cell, state, plan, found, replay=True):
    """Whether the simulated robot ends within 0.05 rad or m of the end of a plan. Can write a replay of the motion."""
    with OfflineCell(cell, state) as offline, tempfile.TemporaryDirectory(prefix="replay-") as folder:
        try:
            with timed(found, "execution"):
                offline.follow("plan", plan)
        except RobotCellError as error:
            found["execution failure"] = str(error)[:300]
        end = plan.end_configuration()
        offline.command("settle", end, 0.5)
        configuration = offline.simulation.state().configuration
        found["execution error"] = max(abs(configuration[name] - value) for name, value in end.items())
        if replay:
            with timed(found, "replay"):
                found["replay bytes"] = offline.write_replay(Path(folder) / "replay.html").stat().st_size
    return found["execution error"] < MAX_ERROR and "execution failure" not in found


def main():
    """Measure the description that the command line names."""
    parser = argparse.ArgumentParser(prog="benchmarks.descriptions.measure")
    parser.add_argument("folder", help="folder for the cell")
    parser.add_argument("description", nargs="?", help="URDF, xacro or SDF file; none: move the cell of the folder")
    parser.add_argument("arguments", nargs="*", metavar="name:=value", help="xacro arguments")
    parser.add_argument("--root", action="append", default=[], help="folder with packages that the description needs")
    parser.add_argument("--pairs", type=int, default=0, metavar="STATES", help="random states for disabled pairs")
    parser.add_argument(
        "--begin", type=float, default=time.monotonic(), help="when the process began [s], as monotonic"
    )
    parser.add_argument("--only-pairs", action="store_true", help="no motions")
    given = parser.parse_args()
    roots = NO_ROOTS
    for folder in given.root:
        roots = roots.with_folder(Path(folder).resolve())
    try:
        found = measure(given, roots) if given.description else moved_again(given, roots)
    except RobotCellError as error:
        found = {"description": given.description, "failed": f"{type(error).__name__}: {error}"[:400]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
