"""Whether a draft disables pairs of links that can collide: checks of many random states."""

from __future__ import annotations

import time
from collections import Counter

from robot_cell_planner.model.random_configurations import random_configurations
from robot_cell_planner.setup_assistant.pair_search import bare_checker
from robot_cell_planner.setup_assistant.pairs import NEVER

CHUNK = 2_000
SEED = 1_000_003  # not that of drafts


def needed_pairs(draft, count):
    """Pairs that a draft disables as never colliding, but that collide at some of `count` random states.

    Each pair has its number of collisions and a state where it collides.
    """
    begin = time.perf_counter()
    never = {(pair.first, pair.second) for pair in draft.pairs if pair.reason == NEVER}
    bare = bare_checker(draft.robot).allowed_pairs
    every = {(pair.first, pair.second) for pair in (*bare.checked(), *bare.skipped())}
    checker = bare_checker(draft.robot, every - never)
    closest = checker.closest_search()
    counts, examples = Counter(), {}
    variables = draft.robot.variables.values()
    for first in range(0, count if never else 0, CHUNK):
        configurations = random_configurations(variables, min(CHUNK, count - first), SEED + first)
        if closest.closest_of(configurations, 0.0) is None:
            continue  # no two shapes touch
        for q in configurations[checker.in_collision_batch(configurations)]:
            for pair in checker.report(q).pairs:
                counts[f"{pair.first}, {pair.second}"] += 1
                examples.setdefault(f"{pair.first}, {pair.second}", q.tolist())
    return {
        "never pairs": len(never),
        "checked pairs": checker.allowed_pairs.pair_count,
        "needed pairs": {pair: [number, examples[pair]] for pair, number in counts.most_common()},
        "pairs s": time.perf_counter() - begin,
    }
