"""Measures one description, in a process of its own: prints a line of JSON."""

from __future__ import annotations

import json
import resource
import sys
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
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.random_configurations import random_configurations

from .pairs import needed_pairs

STATES = 20
MAX_DRAWN = 5_000
LINE = 0.05  # [m]
MAX_STATES = 100_000


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

    Angles are within half a turn of the state: beyond, joints of two turns have the same poses once more.
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


def measure(description, arguments, pair_states=0):
    """The figures of one description; `pair_states`: only the draft, and its disabled pairs at so many states."""
    found = {"description": description}
    with tempfile.TemporaryDirectory(prefix="description-") as folder:
        with timed(found, "new"):
            made = new_cell(description, folder, NewCellOptions(xacro_arguments=arguments))
        cell, state = made.cell, made.state
        found["robot"] = cell.robot.mechanism.name
        levels = Counter(finding.level for finding in made.findings)
        found["errors"], found["warnings"], found["drafts"] = levels["error"], levels["warning"], levels["draft"]
        found["error texts"] = [finding.text for finding in made.findings if finding.level == "error"]
        found["home free"] = not made.draft.home.colliding
        found["groups"] = {g.group.name: len(g.group.variables) for g in made.draft.groups}
        found["default pairs"] = sum(pair.reason == "Default" for pair in made.draft.pairs)
        if pair_states:
            return found | needed_pairs(made.draft, pair_states)
        arms = [g.group.name for g in made.draft.groups if g.kind == "arm"]
        found["arm"] = bool(arms)
        with timed(found, "check"):
            loaded, start = load_cell(made.folder / "cell.yaml")
            again = check_cell(loaded, start)
        found["same when loaded"] = (loaded, start) == (cell, state)
        found["check errors"] = sum(finding.level == "error" for finding in again)
        if arms:
            found |= motions(cell, state, cell.robot.main_group)
    return found


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
        goal = Goals(joint_goals=(dict(zip(names, q.tolist(), strict=True)),))
        figures = {}
        with timed(figures, "plan"):
            try:
                options = PlanningOptions(seed=seed, state_limit=MAX_STATES)
                plans.append(plan_motion(cell, state, MotionRequest(goal, group=group, options=options)))
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


def executed(cell, state, plan, found):
    """Whether the simulated robot ends within 0.05 rad or m of the end of a plan. Writes a replay of the motion."""
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
        with timed(found, "replay"):
            found["replay bytes"] = offline.write_replay(Path(folder) / "replay.html").stat().st_size
    return found["execution error"] < 0.05 and "execution failure" not in found


def main():
    """Measure the description that the command line names."""
    pair_states, description, *words = sys.argv[1:]
    arguments = dict(word.split(":=", 1) for word in words)
    try:
        found = measure(description, arguments, int(pair_states))
    except RobotCellError as error:
        found = {"description": description, "failed": f"{type(error).__name__}: {error}"[:400]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
