"""Cells with many bodies: certified motions, building a checker, changing one body, and the simulated robot.

    make bench AREA=scale

Cell: a UR10 with a gripper and a held body, ten bodies within reach, and the others further out. Times are of the
processor (`process_time`, `thread_time`), the shortest of several turns; for the certified motions, which the four
cells do in turns, the median over all of them that are free.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time, thread_time
from typing import Any

import msgspec
import numpy as np

from robot_cell_planner.collision.certification._kernels.schedule import FREE, certify_straight
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier, certifier_of
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

from .collision import COUNTS, SEED, cell_with_obstacles
from .results import Results

NEAR = 10
MOTIONS, TURNS, CHANGES, REPEATED = 1500, 9, 12, 20
PERIOD, PERIODS, STEP = 0.004, 50, 0.002  # [s], and [rad] of a joint in each


def spent(call: Callable[[], Any]) -> float:
    """Processor time of a call [ms]."""
    began = process_time()
    call()
    return 1e3 * (process_time() - began)


def edges(results: Results, checkers: dict[int, CollisionChecker]) -> None:
    """Certified motions of one radian of the fastest joint, the same ones in all cells."""
    packed = {count: MotionCertifier(checker).packed() for count, checker in checkers.items()}
    rng = np.random.default_rng(SEED)
    times: dict[int, list[float]] = {count: [] for count in checkers}
    for _ in range(MOTIONS):
        start = rng.uniform(-2.5, 2.5, 6)
        step = rng.normal(size=6)
        end = start + step / np.abs(step).max()
        counters = np.zeros(3)
        if any(
            certify_straight(scene.address, work.address, start, end, COARSE, counters) != FREE
            for scene, work in packed.values()
        ):
            continue
        shortest = dict.fromkeys(packed, np.inf)
        for _ in range(TURNS):
            for count, (scene, work) in packed.items():
                began = thread_time()
                for _ in range(REPEATED):
                    certify_straight(scene.address, work.address, start, end, COARSE, counters)
                shortest[count] = min(shortest[count], (thread_time() - began) / REPEATED)
        for count, time in shortest.items():
            times[count].append(1e6 * time)
    medians = {count: float(np.median(found)) for count, found in times.items()}
    for count, value in medians.items():
        results.add(f"scale.edge_{count}_us", value)
    results.add("scale.edge_10000_over_10", medians[10_000] / medians[10])


def checked(cell: RobotCell, state: RobotCellState) -> CollisionChecker:
    """A checker after its first check, which builds what checks of all pairs need."""
    checker = CollisionChecker(cell, state, group="")
    checker.in_collision(checker.default)
    return checker


def changes(results: Results, cell: RobotCell, state: RobotCellState) -> None:
    """One body of a cell is moved: the checker with its first check, and the certifier."""
    count = len(state.bodies) - 1
    rng = np.random.default_rng(SEED)
    checking: list[float] = []
    certifying: list[float] = []
    for _ in range(CHANGES):
        name = f"obstacle{int(rng.integers(count))}"
        pose = Pose((*rng.uniform(-2.0, 2.0, 2).tolist(), 1.0))
        state = state.with_body(name, msgspec.structs.replace(state.bodies[name], pose=pose))
        made: list[CollisionChecker] = []

        checking.append(spent(lambda state=state, made=made: made.append(checked(cell, state))))  # type: ignore[misc]
        certifying.append(spent(lambda made=made: certifier_of(made[0]).packed()))  # type: ignore[misc]
    results.add(f"scale.change_one_of_{count}_ms", float(np.median(checking)))
    results.add(f"scale.change_one_of_{count}_certifier_ms", float(np.median(certifying)))


def simulated(results: Results, cell: RobotCell, state: RobotCellState) -> None:
    """The physics without its time to settle, and one period of commands while a joint moves, with a report."""
    count, made, periods = len(state.bodies) - 1, list[SimulatedCell](), list[float]()
    options = SimulationOptions(settle_time=0.0)
    results.add(f"scale.build_simulation_{count}_ms", spent(lambda: made.append(SimulatedCell(cell, state, options))))
    with made[0] as simulation:
        joint = simulation.driven_joints[0]
        start = simulation.joint_states().positions[simulation.joint_names.index(joint)]

        def step(target: float) -> None:
            simulation.set_targets({joint: target})
            simulation.step(PERIOD)
            simulation.body_poses()

        for index in range(PERIODS):
            periods.append(spent(partial(step, start + STEP * index)))
    results.add(f"scale.simulated_period_{count}_ms", float(np.median(periods)))


def main() -> None:
    results = Results("scale", SEED)
    certifier_of(checked(*cell_with_obstacles(NEAR, near=NEAR))).packed()  # kernels and sphere models are loaded
    checkers: dict[int, CollisionChecker] = {}
    for count in COUNTS:
        cell, state = cell_with_obstacles(count, near=NEAR)
        built: list[CollisionChecker] = []
        time = spent(lambda: built.append(checked(cell, state)))  # noqa: B023
        checkers[count] = built[0]
        results.add(f"scale.build_checker_{count}_ms", time)
        results.add(f"scale.build_certifier_{count}_ms", spent(lambda: certifier_of(built[0]).packed()))  # noqa: B023
        changes(results, cell, state)
        simulated(results, cell, state)
    edges(results, checkers)
    results.finish()


if __name__ == "__main__":
    main()
