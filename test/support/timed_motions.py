"""Random motions of robots of six joints that keep their limits."""

from dataclasses import replace

import numpy as np

from robot_cell_planner import MotionLimits, TimingOptions, time_path, validate
from robot_cell_planner.trajectory.timing import TimingMethod

DOF = 6


def limits_of(robots):
    """Limits of several robots of six joints."""
    names = tuple(f"robot{robot}/joint{joint}" for robot in robots for joint in range(DOF))
    rows = {"velocity": 2.0, "acceleration": 8.0, "jerk": 60.0}
    rates = {name: np.tile(value * np.linspace(0.8, 1.4, DOF), len(robots)) for name, value in rows.items()}
    return MotionLimits(names, np.full(len(names), -3.0), np.full(len(names), 3.0), **rates)


def motion(generator, robot):
    """A valid motion among random waypoints, which may begin later than at time 0."""
    limits = limits_of([robot])
    method = list(TimingMethod)[generator.integers(len(TimingMethod))]
    path = generator.uniform(-2.5, 2.5, (generator.integers(2, 6), DOF))
    found = time_path(path, limits, TimingOptions(method=method)).trajectory
    validate(found, limits).check()
    late = round(generator.uniform(0.0, 1.0), 9) if generator.random() < 0.2 else 0.0
    return replace(found, times=found.times + late)


def motions(seed, robots):
    generator = np.random.default_rng(seed)
    return [motion(generator, robot) for robot in range(robots)]
