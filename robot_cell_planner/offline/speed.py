"""Speed of the library for a cell on this computer: kinematics, collision checks and planning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..errors import InvalidValueError, InverseKinematicsError, PlanningError
from ..kinematics.forward import forward_kinematics_to_frame
from ..kinematics.ik.options import IkOptions
from ..kinematics.ik.solver import inverse_kinematics
from ..kinematics.targets import FrameTarget, target_frame
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.random_configurations import random_configurations
from ..model.state import RobotCellState
from ..planning.joint_space.planner import plan_motion
from ..planning.problem.request import Goals, MotionRequest, PlanningOptions
from ..planning.workers.warm_up import warm_up

STATES = 1_000  # checked one by one
POSES = 100  # of forward and inverse kinematics
DRAWN = 50  # random configurations for each motion, at most
MAX_MOTIONS = 10_000
OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class Speed:
    """Times of one operation.

    Attributes:
        operation: What was measured.
        median: Median time [s].
        p95: Time that 95 % of the calls do not exceed [s].
        calls: Number of calls.
        succeeded: Number of calls with a result: a solution, a plan.
    """

    operation: str
    median: float
    p95: float
    calls: int
    succeeded: int


def _silent(_: str, __: float) -> None:
    """Discard the progress."""


@public
def measure_speed(
    cell: RobotCell,
    state: RobotCellState,
    group: str = "",
    *,
    motions: int = 20,
    seed: int = 0,
    on_progress: OnProgress = _silent,
) -> tuple[Speed, ...]:
    """Measure forward and inverse kinematics, collision checks and planning of a group.

    Configurations are random, within joint limits; motions are planned between those that are free of collisions.
    Kernels and sphere models are made before. Other programs that run meanwhile make the times longer.

    Args:
        cell: Models of the cell.
        state: State of everything but the joints of the group.
        group: Planning group; "" for the main group.
        motions: Number of motions to plan, 1 to 10,000.
        seed: Seed of the configurations and of the planner.
        on_progress: Called with what is measured next, and the fraction that is done [0 to 1].

    Raises:
        InvalidValueError: `motions` is out of range, or too few random configurations are free of collisions.
        UnknownNameError: There is no such group.
        ModelError: The group is not a chain.
    """
    if not 1 <= motions <= MAX_MOTIONS:
        raise InvalidValueError(f"motions is {motions}, expected 1 to {MAX_MOTIONS:,}")
    variables = cell.group(group).variables
    on_progress("kernels and sphere models", 0.0)
    warm_up(cell, state)
    count = max(STATES, DRAWN * motions)
    drawn = random_configurations((cell.variables[name] for name in variables), count, seed)
    states = [state.with_configuration(dict(zip(variables, row, strict=True))) for row in drawn[:POSES].tolist()]
    kinematics = _measure_kinematics(cell, state, group, states, seed, on_progress)

    on_progress("collision checks", 0.3)
    checker = CollisionChecker(cell, state, variables)
    checks = _timed("collision check", checker.in_collision, drawn[:STATES])
    free = _free(checker, drawn, motions + 1)
    planning = _measure_planning(cell, state, group, free, seed, on_progress)
    on_progress("done", 1.0)
    return (*kinematics, checks, planning)


def _measure_kinematics(
    cell: RobotCell,
    state: RobotCellState,
    group: str,
    states: Sequence[RobotCellState],
    seed: int,
    on_progress: OnProgress,
) -> tuple[Speed, Speed]:
    """Measure forward kinematics of states, and inverse kinematics of their poses."""
    frame = target_frame(cell, state, group)
    on_progress("forward kinematics", 0.2)
    targets = [FrameTarget(pose=forward_kinematics_to_frame(cell, each, frame)) for each in states]
    forward = _timed("forward kinematics", lambda each: forward_kinematics_to_frame(cell, each, frame), states)
    on_progress("inverse kinematics", 0.25)
    options = IkOptions(max_solutions=1, seed=seed)
    inverse = _timed("inverse kinematics", lambda each: inverse_kinematics(cell, state, each, group, options), targets)
    return forward, inverse


def _measure_planning(
    cell: RobotCell,
    state: RobotCellState,
    group: str,
    configurations: NDArray[np.float64],
    seed: int,
    on_progress: OnProgress,
) -> Speed:
    """Measure the planning of motions between consecutive configurations (n, dof) of a group [rad or m]."""
    variables, requests = cell.group(group).variables, []
    for start, goal in pairwise(configurations):
        values = [dict(zip(variables, row, strict=True)) for row in (start.tolist(), goal.tolist())]
        request = MotionRequest(Goals((values[1],)), group, options=PlanningOptions(seed=seed))
        requests.append((state.with_configuration(values[0]), request))
    count = len(requests)

    def planned(index: int) -> None:
        on_progress(f"motion {index + 1} of {count}", 0.4 + 0.6 * index / count)
        plan_motion(cell, *requests[index])

    return _timed("planned motion", planned, range(count))


def _free(checker: CollisionChecker, drawn: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the first `count` configurations that are free of collisions.

    Raises:
        InvalidValueError: There are fewer.
    """
    free = drawn[~checker.in_collision_batch(drawn)][:count]
    if len(free) < count:
        text = f"of {len(drawn)} random configurations {len(free)} are free of collisions, {count} are needed"
        raise InvalidValueError(f"{text}: examine the cell by `robot_cell check`, or measure fewer motions")
    return free


def _timed(operation: str, call: Callable[..., object], arguments: Iterable[object]) -> Speed:
    """Return the times of calls, after a first call that fills caches."""
    listed = list(arguments)
    results = [_once(call, argument) for argument in (listed[0], *listed)][1:]
    times = [seconds for seconds, _ in results]
    succeeded = sum(has_result for _, has_result in results)
    return Speed(operation, float(np.median(times)), float(np.percentile(times, 95)), len(times), succeeded)


def _once(call: Callable[..., object], argument: object) -> tuple[float, bool]:
    """Return the time of a call [s], and whether it had a result."""
    began, has_result = perf_counter(), True
    try:
        call(argument)
    except (InverseKinematicsError, PlanningError):
        has_result = False
    return perf_counter() - began, has_result
