"""Arms alone: free states that sphere models and distance maps prove, and searches between two such states."""

from __future__ import annotations

from time import thread_time

import numpy as np

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.planning.problem.space import joint_space

from .motion_plans import SEED, Search
from .planning_problems import arm, cell_around
from .results import Results

STATES, SEARCHES = 2_000, 100
WIDEST = 3.1  # [rad] of joint values


def free_states(results: Results, name: str) -> None:
    """Unproven shares of random free states of an arm without obstacles, and times of searches between them."""
    robot = arm(name)
    cell, state = cell_around(robot, ())
    joints = cell.group(robot.group).variables
    checker, space = CollisionChecker(cell, state, joints), joint_space(cell, state, robot.group)
    rng = np.random.default_rng(SEED)
    lower, upper = np.maximum(space.lower, -WIDEST), np.minimum(space.upper, WIDEST)
    drawn = rng.uniform(lower, upper, (4 * STATES, len(joints)))
    free = drawn[~checker.in_collision_batch(drawn)][:STATES]
    search = Search(checker, space, free[0], [free[1]])
    for spheres, certifier in zip(("coarse", "fine"), search.certifiers, strict=True):
        unproven = certifier.check_boxes(free, np.zeros_like(free)) != 0
        results.add(f"free_states.{name}.unproven_share_{spheres}", float(unproven.mean()))
    search.run(SEED)
    times, solved = [], 0
    for start, goal in free[: 2 * SEARCHES].reshape(SEARCHES, 2, -1):
        search = Search(checker, space, start, [goal])
        _ = search.certifiers  # made before the time begins
        began = thread_time()
        solved += search.run(SEED).path is not None
        times.append(1e3 * (thread_time() - began))
    results.add(f"free_states.{name}.solved_share", solved / SEARCHES)
    results.add(f"free_states.{name}.search_median_ms", float(np.median(times)))
    results.add(f"free_states.{name}.search_mean_ms", float(np.mean(times)))
    results.add(f"free_states.{name}.search_p95_ms", float(np.percentile(times, 95)))
