"""Learn to reach positions among the obstacles of the demonstration's cell, with SAC and the safety layer.

Needs `pip install stable-baselines3 matplotlib` besides the extra `learning`. Run it as

    python examples/learn_reach.py --steps 16000 --curve curve.svg

The curve shows the success of the episodes of training. Afterwards the policy is evaluated, without noise, in episodes
with other seeds.
"""

import argparse
import csv
import os
import sys
import time
from pathlib import Path

try:
    import matplotlib as mpl
    import torch
    from stable_baselines3 import SAC
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv
except ImportError as error:
    sys.exit(f"{error.name} is not installed: pip install stable-baselines3 matplotlib")

from robot_cell_planner.environments import CellEnvironment, make_environment
from robot_cell_planner.simulation import SimulationOptions

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
REGION = ((0.4, -0.6, 0.8), (0.8, -0.2, 1.1))  # over the side of the table where the workpiece lies
WINDOW = 100  # episodes that a point of the curve averages


def environment() -> CellEnvironment:
    """Return the environment, in which an action is a motion of 0.2 s from rest to rest."""
    return make_environment(
        "reach",
        CELL,
        region=REGION,
        tolerance=0.05,
        safety_layer=True,
        period=0.2,
        speed=0.5,
        episode_steps=25,
        simulation=SimulationOptions(time_step=0.01, settle_time=0.0, command_timeout=1.0),
    )


def train(steps: int, folder: str, seed: int) -> SAC:
    """Return a policy after a number of actions in two environments, each in a process of its own."""
    torch.set_num_threads(1)  # of small networks; two cores are shared with the environments
    vector = make_vec_env(
        environment,
        n_envs=2,
        seed=seed,
        monitor_dir=folder,
        vec_env_cls=SubprocVecEnv,
        monitor_kwargs={"info_keywords": ("is_success",)},
    )
    model = SAC(
        "MlpPolicy",
        vector,
        learning_rate=1e-3,
        learning_starts=500,
        gamma=0.95,
        gradient_steps=2,  # one for each action of the two environments
        tau=0.01,
        ent_coef="auto_0.1",
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
        device="cpu",
        verbose=1,
    )
    model.learn(steps, log_interval=50)
    vector.close()
    return model


def episodes(folder: str) -> list[dict[str, str]]:
    """Return the records of the episodes of training in the order in which they ended."""
    rows = []
    for path in sorted(Path(folder).glob("*.monitor.csv")):
        with path.open() as file:
            file.readline()
            rows += list(csv.DictReader(file))
    return sorted(rows, key=lambda row: float(row["t"]))


def curve(rows: list[dict[str, str]]) -> tuple[list[int], list[float]]:
    """Return numbers of actions, and the fraction of successful episodes among the latest."""
    steps, rates, total = [], [], 0
    for index, row in enumerate(rows):
        total += int(row["l"])
        latest = rows[max(0, index - WINDOW + 1) : index + 1]
        steps.append(total)
        rates.append(sum(r["is_success"] == "True" for r in latest) / len(latest))
    return steps, rates


def draw(rows: list[dict[str, str]], path: Path) -> None:
    """Draw the curve of training."""
    mpl.use("Agg")
    from matplotlib import pyplot

    steps, rates = curve(rows)
    figure, axes = pyplot.subplots(figsize=(6.4, 3.2))
    axes.plot(steps, rates)
    axes.set(xlabel="actions", ylabel=f"success rate ({WINDOW} episodes)", ylim=(0.0, 1.02))
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)


def evaluate(model: SAC, count: int) -> None:
    """Evaluate the policy without noise in episodes with seeds that were not used in training."""
    env = environment()
    reached, actions, contacts = 0, 0, 0
    for seed in range(10_000, 10_000 + count):
        observation, _ = env.reset(seed=seed)
        done = False
        while not done:
            observation, _, terminated, truncated, info = env.step(model.predict(observation, deterministic=True)[0])
            actions += 1
            contacts += len(info["contacts"])
            done = terminated or truncated
        reached += info["is_success"]
    env.close()
    print(f"without noise: {reached} of {count} episodes, {actions / count:.1f} actions each, {contacts} contacts")


def main() -> None:
    """Train, draw the curve, and evaluate the policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", type=Path, default=Path("learn_reach.svg"))
    parser.add_argument("--log", default="learn_reach", help="folder for the records of the episodes")
    parser.add_argument("--episodes", type=int, default=200, help="episodes in which the policy is tried")
    given = parser.parse_args()
    begin = time.perf_counter()
    model = train(given.steps, given.log, given.seed)
    rows = episodes(given.log)
    processor = sum(os.times()[:4])  # with the processes of the environments
    elapsed = time.perf_counter() - begin
    print(f"{given.steps} actions, {len(rows)} episodes, {elapsed:.0f} s, {processor:.0f} s of processor time")
    draw(rows, given.curve)
    evaluate(model, given.episodes)


if __name__ == "__main__":
    main()
