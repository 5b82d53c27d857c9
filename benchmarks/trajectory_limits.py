"""Validation compared with streaming: random trajectories with limits near the extremes of their streamed samples.

Each trajectory is sampled as it would be streamed, at 10 kHz. Its highest positions, velocities, accelerations and
jerks are those of polynomials fitted to the commands between points, which share no code with the validation. For each
of these, a slightly lower limit must be refused, and a limit at the value or slightly above must be accepted.

    python -m benchmarks.trajectory_limits [trajectories of each kind]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from robot_cell_planner.trajectory.limits import RATES, MotionLimits
from robot_cell_planner.trajectory.sampler import TrajectorySampler
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.trajectory.validation import validate

from .results import Results

Array = NDArray[np.float64]
SEED = 16
RATE = 10_000.0  # [1/s]
KINDS = ("positions", "velocities", "accelerations")
DEGREE = 5
FINE = 4001  # places between two points at which a fitted polynomial is evaluated
NEAR = 1e-4  # relative distance of "just below" and "just above" from the value
JOINTS = ("a", "b")


@dataclass(frozen=True, eq=False)
class Extremes:
    """The lowest and highest positions and the largest velocities, accelerations and jerks of a stream (dof,).

    difference: the largest jerk by differences of the accelerations of two commands, as a fraction of `jerk`."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    difference: float


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    results = Results("trajectory_limits", SEED)
    for kind, name in enumerate(KINDS, start=1):
        rng = np.random.default_rng([SEED, kind])
        wrong, cases, steps = 0, 0, 0.0
        for _ in range(count):
            trajectory = random_trajectory(rng, kind)
            extremes = extremes_of(trajectory)
            steps = max(steps, extremes.difference)
            for limits, accepted in cases_of(extremes):
                wrong += validate(trajectory, limits).valid != accepted
                cases += 1
        results.add(f"{name}_trajectories", count)
        results.add(f"{name}_cases", cases)
        results.add(f"{name}_wrong", wrong)
        results.add(f"{name}_largest_jerk_by_differences_to_that_of_the_pieces", steps)
    results.finish()


def random_trajectory(rng: np.random.Generator, kind: int) -> Trajectory:
    """From rest to rest through 2 to 5 points with positions (kind 1), velocities (2) and accelerations (3)."""
    count = int(rng.integers(2, 6))
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.03, 0.2, count - 1))))
    rows = [rng.uniform(-1.0, 1.0, (count, len(JOINTS))) * scale for scale in (1.0, 5.0, 50.0)[:kind]]
    for row in rows[1:]:
        row[[0, -1]] = 0.0
    return Trajectory(JOINTS, times, *rows)


def extremes_of(trajectory: Trajectory) -> Extremes:
    """The extremes of a stream at 10 kHz, between points by polynomials through its commands."""
    sampler = TrajectorySampler(trajectory, 0.0)
    times = np.arange(0.0, trajectory.duration, 1.0 / RATE)
    samples = [sampler.sample(time) for time in times.tolist()]
    positions, accelerations = (
        np.array([getattr(s, name) for s in samples]) for name in ("positions", "accelerations")
    )
    found: list[list[list[float]]] = []
    for first, last in zip(trajectory.times[:-1], trajectory.times[1:], strict=True):
        chosen = (times >= first) & (times <= last)
        places = np.linspace(first, last, FINE)
        rows = []
        for q, a in zip(positions[chosen].T, accelerations[chosen].T, strict=True):
            way = Polynomial.fit(times[chosen], q, DEGREE, domain=[first, last])
            bend = Polynomial.fit(times[chosen], a, DEGREE - 2, domain=[first, last])
            kinds = way(places), way.deriv()(places), bend(places), bend.deriv()(places)
            rows.append([kinds[0].min(), kinds[0].max(), *(np.abs(values).max() for values in kinds[1:])])
        found.append(rows)
    table = np.array(found)
    jerk = table[:, :, 4].max(axis=0)
    differences = np.abs(np.diff(accelerations, axis=0)).max(axis=0) * RATE
    return Extremes(
        table[:, :, 0].min(axis=0),
        *(table[:, :, column].max(axis=0) for column in (1, 2, 3)),
        jerk,
        float((differences / jerk).max()),
    )


def cases_of(extremes: Extremes) -> list[tuple[MotionLimits, bool]]:
    """Limits at, just below and just above the extremes, one quantity and joint at a time; and whether they hold."""
    wide = MotionLimits(
        JOINTS, extremes.lower - 1.0, extremes.upper + 1.0, *(2.0 * getattr(extremes, name) for name in RATES)
    )
    cases: list[tuple[MotionLimits, bool]] = []
    for column in range(len(JOINTS)):
        for name in ("lower", "upper", *RATES):
            needed = getattr(extremes, name)[column]
            near = NEAR * (abs(needed) if name in RATES else extremes.upper[column] - extremes.lower[column])
            for less, accepted in ((near, False), (0.0, True), (-near, True)):
                limit = np.array(getattr(wide, name))
                # The slack is for the rounding of the extremes: a tenth of the distance between the cases.
                limit[column] = needed + (less - 0.1 * near if name == "lower" else 0.1 * near - less)
                cases.append((replace(wide, **{name: limit}), accepted))
    return cases


if __name__ == "__main__":
    main()
