"""Learn to reach positions among the obstacles of the demonstration's cell, with PPO and the safety layer.

Needs `pip install stable-baselines3 matplotlib` besides the extra `learning`. Run it as

    python examples/learn_reach.py --steps 60000 --curve curve.png
"""

import argparse
import csv
from pathlib import Path

import matplotlib as mpl
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

from robot_cell_planner.environments import CellEnvironment, make_environment

CELL = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
WINDOW = 100  # episodes that a point of the curve averages


def environment() -> CellEnvironment:
    """Return the environment: goals in a box of 0.4 m over the table's side where the workpiece lies."""
    region = ((0.4, -0.6, 0.8), (0.8, -0.2, 1.1))
    return make_environment(
        "reach", CELL, region=region, tolerance=0.05, safety_layer=True, period=0.2, episode_steps=50
    )


def draw(rows: list[dict[str, str]], path: Path) -> None:
    """Draw the success rate over the steps of training."""
    mpl.use("Agg")
    from matplotlib import pyplot

    steps, rates, total = [], [], 0
    for index, row in enumerate(rows):
        total += int(row["l"])
        latest = rows[max(0, index - WINDOW + 1) : index + 1]
        steps.append(total)
        rates.append(sum(r["is_success"] == "True" for r in latest) / len(latest))
    figure, axes = pyplot.subplots(figsize=(6.4, 3.2))
    axes.plot(steps, rates)
    axes.set(xlabel="steps", ylabel=f"success rate ({WINDOW} episodes)", ylim=(0.0, 1.0))
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Train, and draw the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--curve", type=Path, default=Path("learn_reach.png"))
    parser.add_argument("--log", type=Path, default=Path("learn_reach.monitor.csv"))
    given = parser.parse_args()
    monitor = str(given.log).removesuffix(".monitor.csv")
    vector = make_vec_env(
        environment,
        n_envs=2,
        seed=1,
        monitor_dir=monitor,
        vec_env_cls=SubprocVecEnv,
        monitor_kwargs={"info_keywords": ("is_success",)},
    )
    model = PPO("MlpPolicy", vector, seed=1, n_steps=512, batch_size=128, n_epochs=10, gamma=0.95, verbose=1)
    model.learn(given.steps)
    vector.close()
    rows = []
    for path in sorted(Path(monitor).glob("*.monitor.csv")):
        with path.open() as file:
            file.readline()
            rows += list(csv.DictReader(file))
    draw(sorted(rows, key=lambda row: float(row["t"])), given.curve)


if __name__ == "__main__":
    main()
