"""One arm is planned while another follows a known trajectory: `python -m benchmarks.moving_robots [pairs] [seed]`.

Two arms face each other across a table (config/two_arms). In each of 500 random pairs, both arms begin and end with
their tool over the table; the left arm's motion is planned first, with the right arm at rest, and the right arm's among
it. Each plan is sampled every millisecond, with both arms in exact collision checks. The benchmark compares the time
until both arms have arrived with the time of both motions one after the other.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner import (
    CollisionChecker,
    Goals,
    MotionRequest,
    Plan,
    PlanningOptions,
    RobotCell,
    RobotCellState,
    load_cell,
    merge_trajectories,
    plan_motion,
    world_pose,
)
from robot_cell_planner.errors import PlanningError

from .results import FOLDER, Results

Floats = NDArray[np.float64]
CELL_FILE = FOLDER.parents[1] / "config" / "two_arms" / "cell.yaml"
GROUPS = ("left/manipulator", "right/manipulator")
TOOLS = {GROUPS[0]: "left_gripper/tcp", GROUPS[1]: "right_gripper/tcp"}
# Where the tools begin and end, over the table [m].
LOWEST, HIGHEST = np.array((-0.4, -0.6, 0.75)), np.array((0.4, 0.6, 1.3))
SAMPLING = 0.001  # [s]
LIMIT = 300_000  # [states]


@dataclass(frozen=True)
class Pair:
    """A state of both arms, and their goals."""

    state: RobotCellState
    goals: dict[str, dict[str, float]]


def random_configuration(
    cell: RobotCell, state: RobotCellState, group: str, generator: np.random.Generator
) -> dict[str, float]:
    """Return joint values of a group, free in a state, with its tool over the table."""
    variables = [cell.variables[name] for name in cell.group(group).variables]
    checker = CollisionChecker(cell, state, [variable.name for variable in variables])
    lower = np.array([max(variable.limits.lower, -np.pi) for variable in variables])
    upper = np.array([min(variable.limits.upper, np.pi) for variable in variables])
    while True:
        q = generator.uniform(lower, upper)
        values = dict(zip(checker.variables, q.tolist(), strict=True))
        position = np.array(world_pose(cell, state.with_configuration(values), TOOLS[group]).position)
        if (position > LOWEST).all() and (position < HIGHEST).all() and not checker.in_collision(q):
            return values


def random_pair(cell: RobotCell, state: RobotCellState, generator: np.random.Generator) -> Pair:
    """Return a pair whose start and end are free."""
    for group in GROUPS:
        state = state.with_configuration(random_configuration(cell, state, group, generator))
    end, goals = state, {}
    for group in GROUPS:
        goals[group] = random_configuration(cell, end, group, generator)
        end = end.with_configuration(goals[group])
    return Pair(state, goals)


def planned(cell: RobotCell, state: RobotCellState, group: str, goal: dict[str, float], *moving: Plan) -> Plan:
    trajectories = tuple(plan.trajectory for plan in moving if plan.trajectory is not None)
    options = PlanningOptions(state_limit=LIMIT)
    return plan_motion(cell, state, MotionRequest(Goals((goal,)), group, options=options, moving=trajectories))


def collisions(cell: RobotCell, pair: Pair, plan: Plan) -> int:
    """Return the number of colliding states of a plan and the motion that it was planned among."""
    assert plan.trajectory is not None
    both = merge_trajectories((plan.trajectory, *plan.moving))
    checker = CollisionChecker(cell, pair.state, both.variables)
    return int(checker.in_collision_batch(both.at(np.arange(0.0, both.duration + SAMPLING, SAMPLING))).sum())


def longest_wait(plan: Plan) -> float:
    """Return the longest time at rest before the end of a motion [s]."""
    assert plan.trajectory is not None
    times = np.arange(0.0, plan.duration, SAMPLING)
    resting = (np.abs(plan.trajectory.at(times, 1)) < 1e-9).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], resting, [False])).astype(int)))
    return float(np.diff(edges)[::2].max(initial=0) * SAMPLING)


def main(pairs: int = 500, seed: int = 1) -> None:
    cell, home = load_cell(CELL_FILE)
    generator = np.random.default_rng(seed)
    times: list[float] = []
    ratios: list[float] = []
    waits: list[float] = []
    fractions: list[float] = []
    spans: list[float] = []
    in_turns: list[float] = []
    made = solved = colliding = changed = no_sequence = 0
    while made < pairs:
        pair = random_pair(cell, home, generator)
        try:
            left = planned(cell, pair.state, GROUPS[0], pair.goals[GROUPS[0]])
        except PlanningError:
            continue  # the goal of the left arm is behind the right one
        made += 1
        began = time.process_time()
        try:
            right = planned(cell, pair.state, GROUPS[1], pair.goals[GROUPS[1]], left)
        except PlanningError as error:
            print(f"pair {made}: {error}", flush=True)
            continue
        times.append(time.process_time() - began)
        solved += 1
        colliding += collisions(cell, pair, right) > 0
        fractions.append(right.certified_fraction)
        waits.append(longest_wait(right))
        after = pair.state.with_configuration(left.end_configuration())
        try:
            second = planned(cell, after, GROUPS[1], pair.goals[GROUPS[1]])
        except PlanningError:
            no_sequence += 1
            continue
        spans.append(max(left.duration, right.duration))
        in_turns.append(left.duration + second.duration)
        ratios.append(spans[-1] / in_turns[-1])
        changed += abs(right.duration - second.duration) > 0.01
        if made % 25 == 0:
            print(f"{made} pairs, {solved} solved, {colliding} colliding", flush=True)
    results = Results("moving_robots", seed)
    results.add("pairs", pairs)
    results.add("solved", solved)
    results.add("plans colliding at 1 ms", colliding)
    results.add("proven free as a whole", int(np.sum(np.array(fractions) >= 1.0)))
    results.add("plans that wait over 0.05 s", int(np.sum(np.array(waits) > 0.05)))
    results.add("plans that the other arm changes", changed)
    results.add("pairs without a second motion in turn", no_sequence)
    results.add("planning time, median, ms", 1e3 * float(np.median(times)))
    results.add("planning time, p95, ms", 1e3 * float(np.percentile(times, 95)))
    results.add("shorter than in turn, median, percent", 100.0 * (1.0 - float(np.median(ratios))))
    results.add("shorter than in turn, all together, percent", 100.0 * (1.0 - sum(spans) / sum(in_turns)))
    results.finish()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
