"""Steps per second of one environment and of eight in processes, compared with the engine's steps of the same scene.

A step of the task reach in the demonstration's cell is an action of 0.1 s: 50 steps of physics of 2 ms, or 10 of 10 ms.
Figures are per second of processor time, as if nothing else ran on a core; those of eight environments are divided by
the sum of all their processes, and also given by the clock.
"""

from __future__ import annotations

import itertools
import time
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv

from robot_cell_planner.environments import make_environment
from robot_cell_planner.simulation.engines.names import ENGINES
from robot_cell_planner.simulation.options import SimulationOptions

from .results import Results
from .simulation import plain_step, processor_time

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
SEED = 1
PERIOD = 0.1  # [s] of an action
COUNT = 8
STEPS = 200


class Timed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that reports the processor time of its process."""

    def processor_time(self) -> float:
        """Return the processor time of the process [s]."""
        return time.process_time()


def make(engine: str, time_step: float, layer: bool) -> Timed:
    """Return an environment whose episodes do not end."""
    simulation = SimulationOptions(time_step=time_step, settle_time=0.0, command_timeout=1.0, engine=engine)
    env = make_environment(
        "reach",
        CELL,
        period=PERIOD,
        safety_layer=layer,
        episode_steps=1_000_000,
        tolerance=0.0,
        simulation=simulation,
    )
    return Timed(env)


def one(env: Timed) -> float:
    """Return the steps of one environment per second of processor time."""
    env.reset(seed=SEED)
    random = np.random.default_rng(SEED)
    actions = random.uniform(-1.0, 1.0, (STEPS, 6)).astype(np.float32)
    coming = itertools.cycle(actions)
    return 1.0 / processor_time(lambda: env.step(next(coming)), STEPS // 5)


def resets(env: Timed) -> float:
    """Return the processor time of a reset [ms]."""
    return 1e3 * processor_time(partial(env.reset, seed=SEED), 5)


def plain(env: Timed, time_step: float) -> float:
    """Return how many actions the engine alone would simulate in a second of processor time, with motors at rest."""
    step = plain_step(env.unwrapped.simulated)  # type: ignore[attr-defined]
    return time_step / PERIOD / processor_time(step, 200)


def eight(results: Results, name: str, engine: str, time_step: float) -> None:
    """Measure eight environments in processes."""
    vector = AsyncVectorEnv([partial(make, engine, time_step, True)] * COUNT)
    vector.reset(seed=SEED)
    random = np.random.default_rng(SEED)
    actions = random.uniform(-1.0, 1.0, (STEPS // 4 + 5, COUNT, 6)).astype(np.float32)
    for action in actions[:5]:
        vector.step(action)
    used, begin = sum(vector.call("processor_time")) + time.process_time(), time.perf_counter()
    for action in actions[5:]:
        vector.step(action)
    elapsed = time.perf_counter() - begin
    used = sum(vector.call("processor_time")) + time.process_time() - used
    vector.close()
    steps = COUNT * (len(actions) - 5)
    results.add(f"{name}_eight_steps_per_processor_second", steps / used)
    results.add(f"{name}_eight_steps_per_second", steps / elapsed)


def main() -> None:
    """Measure and write all figures."""
    results = Results("environments", SEED)
    for engine in ENGINES:
        for time_step in (0.002, 0.01):
            name = f"{engine}_{1e3 * time_step:g}ms"
            for layer in (False, True):
                env = make(engine, time_step, layer)
                results.add(f"{name}_{'safe' if layer else 'bare'}_steps_per_processor_second", one(env))
                if not layer:
                    results.add(f"{name}_plain_steps_per_processor_second", plain(env, time_step))
                    results.add(f"{name}_reset_ms", resets(env))
                env.close()
            eight(results, name, engine, time_step)
    results.finish(update=True)


if __name__ == "__main__":
    main()
