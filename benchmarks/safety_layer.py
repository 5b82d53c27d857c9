"""Random actions among obstacles with the safety layer of the environments: contacts that the cell does not allow.

python -m benchmarks.safety_layer [--actions 1000000]

Continues from the results of an earlier run, so that it can be interrupted. Directions last for some actions, which
drives the arm against the obstacles: uniform actions would stay near the start. The same episodes without the layer
show how often they touch.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from robot_cell_planner.environments import CellEnvironment, make_environment
from robot_cell_planner.simulation.options import SimulationOptions

from .results import FOLDER, Results

AREA = "safety_layer"
CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
ACTIONS = 1000  # of an episode
LASTING = 8  # actions for which a direction lasts
SAVE_EVERY = 10  # episodes
BARE = 5  # episodes without the layer


def environment(layer: bool) -> CellEnvironment:
    """Return the demonstration's arm with actions of 0.1 s."""
    simulation = SimulationOptions(time_step=0.01, settle_time=0.0, command_timeout=1.0)
    return make_environment(
        "reach",
        CELL,
        safety_layer=layer,
        period=0.1,
        episode_steps=ACTIONS,
        tolerance=0.0,  # no goal ends an episode
        simulation=simulation,
    )


def episode(env: CellEnvironment, seed: int) -> tuple[int, int, int]:
    """Return how many actions of an episode had a contact, were scaled back, and were stopped."""
    env.reset(seed=seed)
    random = np.random.default_rng(seed)
    touched = scaled = stopped = 0
    direction = np.zeros(env.action_space.shape or ())
    for index in range(ACTIONS):
        if index % LASTING == 0:
            direction = random.uniform(-1.0, 1.0, direction.shape)
            direction /= np.abs(direction).max()
        info = env.step(direction.astype(np.float32))[4]
        touched += bool(info["contacts"])
        scaled += info["action_scale"] < 1.0
        stopped += info["action_scale"] == 0.0
    return touched, scaled, stopped


def earlier() -> list[float]:
    """Return the counts of earlier runs: actions, and those with contact, scaled back and stopped."""
    path = FOLDER / f"{AREA}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return [found.get(name, 0) for name in ("actions", "actions_with_contact", "actions_scaled", "actions_stopped")]


def save(counts: list[float]) -> None:
    """Write the counts."""
    results = Results(AREA, 0)
    for name, value in zip(
        ("actions", "actions_with_contact", "actions_scaled", "actions_stopped"), counts, strict=True
    ):
        results.add(name, value)
    results.finish(update=True)


def main() -> None:
    """Continue up to a number of actions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=1_000_000)
    given = parser.parse_args()
    counts = earlier()
    if not counts[0]:
        bare = environment(False)
        touched = [episode(bare, seed)[0] for seed in range(BARE)]
        bare.close()
        results = Results(AREA, 0)
        results.add("without_layer_actions", BARE * ACTIONS)
        results.add("without_layer_actions_with_contact", sum(touched))
        results.finish(update=True)
    env = environment(True)
    while counts[0] < given.actions:
        found = episode(env, int(counts[0]) // ACTIONS)
        counts = [counts[0] + ACTIONS, *(count + more for count, more in zip(counts[1:], found, strict=True))]
        if int(counts[0]) // ACTIONS % SAVE_EVERY == 0 or counts[0] >= given.actions:
            save(counts)
    env.close()


if __name__ == "__main__":
    main()
