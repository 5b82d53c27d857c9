"""Worker processes: delay until cancellations and time limits end a request, and the cost of a killed worker.

tools/with_environment python -m benchmarks.planning_workers
"""

from __future__ import annotations

import ctypes
import os
import queue
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from robot_cell_planner.errors import CancelledError, RobotCellError, TimedOutError, WorkerCrashedError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.search.registry import PLANNERS
from robot_cell_planner.planning.workers import tasks
from robot_cell_planner.planning.workers.pool import WorkerPool
from robot_cell_planner.planning.workers.preparation import PREPARE
from robot_cell_planner.planning.workers.process import TaskControl
from robot_cell_planner.scene.scene import Scene

from .planning_problems import Problem, own_problems
from .results import Results

ROOT = Path(__file__).resolve().parents[1]
SEED = 1
ROUNDS = 20
ROUNDS_OF_PLANNER = 10
KILLS = 100
LIMIT = 0.3  # [s]
BETWEEN_KILLS = (0.0, 1.0)  # [s]
MOST_SECONDS_OF_KILLS = 90.0
MOST_SECONDS_OF_WAITING = 60.0  # for a reply


def hang(scene: Scene, request: Any, control: TaskControl) -> None:
    """As a native library that never returns, with the interpreter lock held."""
    control.progress("hanging")
    ctypes.PyDLL(None).sleep(600)


class Ended:
    """A running request. soon: set at its first progress."""

    def __init__(self, pool: WorkerPool, scene: Scene, task: str, request: Any, limit: float = 0.0) -> None:
        self.soon = threading.Event()
        self.ends: queue.Queue[tuple[float, Any, RobotCellError | None]] = queue.Queue()
        self.began = monotonic()
        self.job = pool.submit(
            task,
            scene,
            request,
            time_limit=limit,
            on_done=lambda result, error: self.ends.put((monotonic(), result, error)),
            on_progress=lambda progress: self.soon.set(),
        )

    def wait(self) -> tuple[float, Any, RobotCellError | None]:
        return self.ends.get(timeout=MOST_SECONDS_OF_WAITING)


def endless(problem: Problem, planner: str) -> MotionRequest:
    """A request that uses all its time: the straight path is obstructed, so that no path is known to be optimal."""
    options = PlanningOptions(planner=planner, seed=SEED, state_limit=10**9, improvement_states=-1)
    goals = Goals(joint_goals=tuple(dict(zip(problem.joints, goal, strict=True)) for goal in problem.goals))
    return MotionRequest(goals, group=problem.group, joints=problem.joints, options=options, timing=None)


def first_of_a_worker(pool: WorkerPool, scene: Scene, hanging: str, after: Callable[..., float], request: Any) -> float:
    """The same of the first request in a worker that took the place of a killed one."""
    after_limit(pool, scene, hanging, None)
    return after(pool, scene, tasks.PLAN_MOTION, request)


def after_cancel(pool: WorkerPool, scene: Scene, task: str, request: Any) -> float:
    """Seconds from a cancellation to the reply; NaN if the request was completed before."""
    ended = Ended(pool, scene, task, request)
    ended.soon.wait(60)
    sleep(0.1)
    cancelled = monotonic()
    ended.job.cancel()
    at, _, error = ended.wait()
    return at - cancelled if isinstance(error, CancelledError) else float("nan")


def after_limit(pool: WorkerPool, scene: Scene, task: str, request: Any) -> float:
    """Seconds from the time limit to the reply; NaN if the request was completed before."""
    ended = Ended(pool, scene, task, request, LIMIT)
    at, _, error = ended.wait()
    return at - ended.began - LIMIT if isinstance(error, TimedOutError) else float("nan")


def add(results: Results, name: str, measure: Callable[[], float], rounds: int) -> list[float]:
    """Measure some times; the figures [ms] of requests that were not completed before."""
    values = np.array([measure() for _ in range(rounds)]) * 1e3
    results.add(f"{name}.requests_met_before", float(np.isnan(values).sum()))
    values = values[np.isfinite(values)]
    if len(values):
        results.add(f"{name}_ms_median", float(np.median(values)))
        results.add(f"{name}_ms_worst", float(values.max()))
    return [float(value) for value in values]


def add_all(results: Results, name: str, values: list[float]) -> None:
    """Of all planners together."""
    results.add(f"all.{name}_ms_median", float(np.median(values)))
    results.add(f"all.{name}_ms_p99", float(np.percentile(values, 99)))
    results.add(f"all.{name}_ms_worst", float(np.max(values)))


def workers() -> list[int]:
    """Processes that the servers of workers forked."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    servers = {process for process, parent in parents.items() if parent == os.getpid()}
    return [process for process, parent in parents.items() if parent in servers]


def measure_kills(results: Results, pool: WorkerPool, scene: Scene) -> None:
    """Workers killed at random moments while requests run: every request gets a reply, and those that succeed are
    equal."""
    rng = random.Random(SEED)
    kills = 0
    under_way: list[tuple[int, Ended]] = []
    answers: list[tuple[int, Any, RobotCellError | None]] = []

    def collect(keep: int) -> None:
        while len(under_way) > keep:
            seed, job = under_way.pop(0)
            try:
                _, result, error = job.wait()
            except queue.Empty:
                result, error = None, None
            answers.append((seed, result, error))

    # No more than this: a kill costs up to as much as a new worker takes for its first request.
    end = monotonic() + MOST_SECONDS_OF_KILLS
    while kills < KILLS and monotonic() < end:
        while len(under_way) < 4:
            seed = rng.randrange(4)
            under_way.append((seed, Ended(pool, scene, tasks.PLAN_MOTION, short(seed))))
        sleep(rng.uniform(*BETWEEN_KILLS))
        found = workers()
        if found:
            try:
                os.kill(rng.choice(found), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
        collect(2)
    collect(0)
    met: dict[int, set[bytes]] = {}
    for seed, result, _ in answers:
        if result is not None:
            met.setdefault(seed, set()).add(result.path.tobytes())
    results.add("kills", float(kills))
    results.add("kills.requests_met", float(sum(result is not None for _, result, _ in answers)))
    crashed = sum(isinstance(error, WorkerCrashedError) for _, _, error in answers)
    results.add("kills.requests_told_of_a_crash", float(crashed))
    unanswered = sum(result is None and error is None for _, result, error in answers)
    results.add("kills.requests_without_answer", float(unanswered))
    results.add("kills.different_answers_to_a_seed", float(max((len(found) for found in met.values()), default=0)))


def short(seed: int) -> MotionRequest:
    goal = {"shoulder_pan_joint": 0.9}
    return MotionRequest(Goals(joint_goals=(goal,)), options=PlanningOptions(seed=seed), timing=None)


def main() -> None:
    cell, state = load_cell(ROOT / "config" / "demo" / "cell.yaml")
    scene = Scene(cell, state)
    pool = WorkerPool(2, preload=("robot_cell_planner.planning.workers.preload",), preparation=PREPARE)
    pool.run(tasks.PLAN_MOTION, scene, short(0))
    results = Results("planning_workers", SEED)
    task = f"{hang.__module__.replace('__main__', 'benchmarks.planning_workers')}:hang"
    add(results, "hung.cancel", lambda: after_cancel(pool, scene, task, None), ROUNDS)
    add(results, "hung.time_limit", lambda: after_limit(pool, scene, task, None), ROUNDS)
    problem = next(iter(own_problems("ur5", "cage", 1, SEED)))
    around = Scene(problem.cell, problem.state)
    request = endless(problem, "RRTConnect")
    for name, after in (("first.cancel", after_cancel), ("first.time_limit", after_limit)):
        asked = (pool, around, task, after, request)
        add(results, name, lambda asked=asked: first_of_a_worker(*asked), ROUNDS)
    cancels: list[float] = []
    limits: list[float] = []
    for name, planner in PLANNERS.items():
        if planner.info.improves:
            asked = (pool, around, tasks.PLAN_MOTION, endless(problem, name))
            cancels += add(results, f"{name}.cancel", lambda asked=asked: after_cancel(*asked), ROUNDS_OF_PLANNER)
            limits += add(results, f"{name}.time_limit", lambda asked=asked: after_limit(*asked), ROUNDS_OF_PLANNER)
    add_all(results, "cancel", cancels)
    add_all(results, "time_limit", limits)
    measure_kills(results, pool, scene)
    pool.close()
    results.finish()


if __name__ == "__main__":
    main()
