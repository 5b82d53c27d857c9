"""How many actions the goals of `examples/learn_reach.py` need at least, whatever the policy.

    python -m benchmarks.reach_goals [--goals 100]

An action changes each joint by at most a step, so that n actions are needed at least where some joint has to move by
more than n - 1 steps. The largest number of steps of a joint is minimised over the configurations within the tolerance
of the goal, without obstacles, from several initial guesses. The episodes are those in which the example tries its
policy.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from robot_cell_planner.environments import CellEnvironment, make_environment
from robot_cell_planner.kinematics._kernels import chain_kernels
from robot_cell_planner.kinematics.differential import moved_frame
from robot_cell_planner.kinematics.forward import chain_to
from robot_cell_planner.simulation.options import SimulationOptions

from .results import Results
from .safety_layer import CELL

REGION = ((0.4, -0.6, 0.8), (0.8, -0.2, 1.1))
TOLERANCE = 0.05  # [m]
ACTIONS = 25  # of an episode
FIRST_SEED = 10_000
GUESSES = 8
SPREAD = 20.0  # [steps] of initial guesses
APPROACHES = 60  # Gauss-Newton steps of an initial guess towards the goal

Array = NDArray[np.float64]


class Reaching:
    """The arm of the example, with configurations in steps of an action from a start (n,)."""

    def __init__(self, env: CellEnvironment) -> None:
        cell, state, group = env.cell, env._state, env.options.group
        self.n = len(cell.group(group).variables)
        self._chain = chain_to(cell, state, moved_frame(cell, state, group), cell.group(group).variables)
        actuation = env._actuation
        # The largest change of an action is that of the target of one.
        start = actuation.commanded.copy()
        middle = 0.5 * (actuation.lower + actuation.upper)
        actuation.start(middle)
        self.step = actuation.target(np.ones(self.n), env.simulated) - middle
        actuation.start(start)
        self.lower, self.upper = actuation.lower, actuation.upper

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return the position (3,) at a configuration (n,), and its derivative by steps (3, n)."""
        jacobian, _, pose = chain_kernels.jacobians_and_rates(self._chain.table, q[None], np.zeros((1, self.n)))
        return pose[0, :3, 3], jacobian[0][:3] * self.step

    def fewest(self, start: Array, goal: Array, guess: Array) -> float:
        """Return the local minimum, near a guess (n,), of the largest number of steps of a joint."""
        d = guess
        for _ in range(APPROACHES):
            position, derivative = self.at(np.clip(start + d * self.step, self.lower, self.upper))
            if np.linalg.norm(goal - position) < 0.8 * TOLERANCE:
                break
            d = d + 0.7 * derivative.T @ np.linalg.solve(derivative @ derivative.T + 1e-6 * np.eye(3), goal - position)

        def inside(z: Array) -> float:
            return float(TOLERANCE**2 - np.sum((self.at(start + z[:-1] * self.step)[0] - goal) ** 2))

        each = np.block([[-np.eye(self.n), np.ones((self.n, 1))], [np.eye(self.n), np.ones((self.n, 1))]])
        bounds = list(zip((self.lower - start) / self.step, (self.upper - start) / self.step, strict=True))
        found = minimize(
            lambda z: z[-1],
            np.append(d, np.abs(d).max()),
            bounds=[*bounds, (0.0, None)],
            constraints=[{"type": "ineq", "fun": inside}, {"type": "ineq", "fun": lambda z: each @ z}],
            method="SLSQP",
        ).x
        return float(np.abs(found[:-1]).max()) if inside(found) > -0.1 * TOLERANCE**2 else float("inf")


def fewest_actions(env: CellEnvironment, goals: int) -> Iterator[float]:
    """Yield the fewest steps to the goals of episodes."""
    reaching, random = Reaching(env), np.random.default_rng(0)
    for seed in range(FIRST_SEED, FIRST_SEED + goals):
        env.reset(seed=seed)
        start, goal = env._actuation.commanded.copy(), env._goal
        guesses = [np.zeros(reaching.n), *random.uniform(-SPREAD, SPREAD, (GUESSES - 1, reaching.n))]
        yield min(reaching.fewest(start, goal, guess) for guess in guesses)


def main() -> None:
    """Count the goals that are out of reach in an episode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--goals", type=int, default=100)
    given = parser.parse_args()
    env = make_environment(
        "reach",
        CELL,
        region=REGION,
        tolerance=TOLERANCE,
        period=0.2,
        speed=0.5,
        episode_steps=ACTIONS,
        simulation=SimulationOptions(time_step=0.01, settle_time=0.0, command_timeout=1.0),
    )
    found = np.array(list(fewest_actions(env, given.goals)))
    env.close()
    results = Results("reach_goals", FIRST_SEED)
    results.add("goals", len(found))
    results.add("goals_beyond_25_actions", int((found > ACTIONS).sum()))
    results.add("goals_beyond_20_actions", int((found > 20).sum()))
    results.add("fewest_actions_median", float(np.median(found)))
    results.add("fewest_actions_max", float(found.max()))
    results.finish()


if __name__ == "__main__":
    main()
