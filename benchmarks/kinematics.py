"""Kinematics: forward, inverse, differential and dynamics, compared with peers on the same poses.

1000 random reachable poses an arm, each with another random configuration to start from. Figures are medians and 95th
percentiles of single calls in microseconds unless their names say otherwise; `solved` is the fraction of poses with a
solution that forward kinematics and limits confirm: ours to 1.1e-6 m and rad, peers to 1e-3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from time import perf_counter_ns
from typing import Any

import msgspec
import numpy as np
import pinocchio as pin
from eaik.pybindings.EAIK import Robot as EaikRobot
from frozendict import frozendict

from robot_cell_planner.collision.reach import pose_grid, reachability
from robot_cell_planner.errors import InverseKinematicsError
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.forward import chain_to, forward_batch, forward_kinematics
from robot_cell_planner.kinematics.ik.analytic import _axes_and_offsets
from robot_cell_planner.kinematics.ik.options import IkOptions, IkSolver
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState

from .arms import ARMS, CLOSED_FORM, FILES, REDUNDANT, arm
from .kinematics_peers import PeerArm, solvers
from .results import Results

SEED = 1
POSES = 1000
PEER_POSES = 60  # some peers take a tenth of a second a pose
TURNS = 7
PEER_TURNS = 2
TURN = 2.0 * np.pi
ALL = IkOptions()
FIRST = IkOptions(max_solutions=1)
NUMERIC = IkOptions(max_solutions=1, solver=IkSolver.NUMERIC)


class Problems:
    """Poses of an arm that can be reached, the configurations that made them, and others to start from."""

    def __init__(self, name: str, count: int = POSES) -> None:
        self.cell = arm(name)
        self.state = self.cell.default_state()
        self.names = self.cell.group().variables
        limits = [self.cell.variables[joint].limits for joint in self.names]
        self.lower, self.upper = np.array([(limit.lower, limit.upper) for limit in limits]).T
        self.angular = np.array([self.cell.variables[joint].angular for joint in self.names])
        low = np.where(np.isfinite(self.lower), self.lower, -np.pi)
        high = np.where(np.isfinite(self.upper), self.upper, np.pi)
        rng = np.random.default_rng(SEED)
        self.goals = rng.uniform(low, high, (count, len(low)))
        self.starts = rng.uniform(low, high, (count, len(low)))
        self.poses = forward_batch(self.cell, self.state, self.cell.tip_link(), self.names, self.goals)
        self.targets = [FrameTarget(pose=Pose.from_matrix(pose)) for pose in self.poses]
        self.states = [
            self.state.with_configuration(dict(zip(self.names, start.tolist(), strict=True))) for start in self.starts
        ]
        self.chain = chain_to(self.cell, self.state, self.cell.tip_link(), self.names)

    def reaches(self, q: Any, pose: Any, tolerance: float = 1.1e-6) -> bool:
        """Whether a configuration is within limits and at the pose, to `tolerance` in m and rad."""
        if q is None or (q < self.lower).any() or (q > self.upper).any():
            return False
        reached = self.chain.forward(np.ascontiguousarray(q))
        gap = float(np.linalg.norm(reached[:3, 3] - pose[:3, 3]))
        return gap <= tolerance and float(np.linalg.norm(pin.log3(reached[:3, :3].T @ pose[:3, :3]))) <= tolerance

    def found_again(self, solutions: Any, goal: Any) -> bool:
        """Whether the configuration that made a pose is among the solutions, whole turns aside."""
        gaps = solutions - goal
        gaps = gaps - TURN * np.round(gaps / TURN) * self.angular
        return bool(np.abs(gaps).max(axis=1).min() < 1e-5)


def times(call: Callable[..., Any], rows: list[tuple[Any, ...]], turns: int = TURNS) -> tuple[list[float], list[Any]]:
    """Time [us] and answer of a call on each row of arguments.

    All rows are called in turns, and of each row the shortest time counts, so that other load on the machine is
    excluded as far as possible.
    """
    taken = [float("inf")] * len(rows)
    answers: list[Any] = [None] * len(rows)
    for _ in range(turns):
        for index, row in enumerate(rows):
            start = perf_counter_ns()
            answers[index] = call(*row)
            taken[index] = min(taken[index], (perf_counter_ns() - start) / 1e3)
    return taken, answers


def add_times(results: Results, name: str, taken: list[float]) -> None:
    results.add(f"{name}_us", float(np.median(taken)))
    results.add(f"{name}_p95_us", float(np.percentile(taken, 95)))


def solve(cell: RobotCell, options: IkOptions, state: RobotCellState, target: FrameTarget) -> Any:
    try:
        return inverse_kinematics(cell, state, target, options=options)
    except InverseKinematicsError:
        return None


def inverse(results: Results, name: str) -> None:
    problems = Problems(name)
    rows = list(zip(problems.states, problems.targets, strict=True))
    modes = {"ik_all": ALL, "ik_first": FIRST, "ik_numeric": NUMERIC}
    for mode, options in modes.items():
        taken, answers = times(partial(solve, problems.cell, options), rows)
        add_times(results, f"{name}/{mode}", taken)
        right = [
            answer is not None and all(problems.reaches(q, pose) for q in answer.solutions)
            for answer, pose in zip(answers, problems.poses, strict=True)
        ]
        results.add(f"{name}/{mode}_solved", sum(right) / len(right))
        if mode == "ik_all":
            counts = [0 if answer is None else len(answer) for answer in answers]
            results.add(f"{name}/{mode}_solutions_mean", float(np.mean(counts)))
            if name in CLOSED_FORM:
                again = [problems.found_again(a.solutions, g) for a, g in zip(answers, problems.goals, strict=True)]
                results.add(f"{name}/{mode}_found_again", sum(again) / len(again))


def peers(results: Results, name: str) -> None:
    """Other solvers on the first poses, verified at 1 mm and 1 mrad; bare EAIK to compare with the underlying
    solver."""
    problems = Problems(name, PEER_POSES)
    rows = list(zip(problems.starts, problems.poses, strict=True))
    for peer, call in solvers(PeerArm(name, problems.cell)).items():
        taken, answers = times(call, rows, PEER_TURNS)
        add_times(results, f"{name}/ik_{peer}", taken)
        right = [problems.reaches(q, pose, 1e-3) for q, pose in zip(answers, problems.poses, strict=True)]
        results.add(f"{name}/ik_{peer}_solved", sum(right) / len(right))
    if name in CLOSED_FORM:
        axes, offsets, rotation = _axes_and_offsets(problems.chain.table)
        robot = EaikRobot(axes, offsets, rotation, [], True)
        taken, _ = times(lambda pose: robot.calculate_IK(pose).Q, [(pose,) for pose in problems.poses])
        add_times(results, f"{name}/ik_bare_eaik", taken)


def reach_map(results: Results, name: str) -> None:
    """Poses with the flange downwards in a cube of 2 m: time per pose, and the fraction with each result."""
    cell = arm(name)
    poses = pose_grid(Pose.from_rpy((0.0, 0.0, 0.3), (np.pi, 0.0, 0.0)), (2.0, 2.0, 2.0), 0.25)
    reachability(cell, cell.default_state(), poses[:20], TargetMode.ROBOT)
    start = perf_counter_ns()
    found = reachability(cell, cell.default_state(), poses, TargetMode.ROBOT)
    results.add(f"{name}/reach_map_us", (perf_counter_ns() - start) / 1e3 / len(poses))
    for result, count in found.counts().items():
        results.add(f"{name}/reach_map_{result.value.replace(' ', '_')}", count / len(poses))


def forward(results: Results) -> None:
    problems = Problems("ur5", 10_000)
    rows = [(q,) for q in problems.goals[:POSES].copy()]
    add_times(results, "fk_chain", times(problems.chain.forward, rows)[0])
    states = [(problems.cell, state) for state in problems.states[:POSES]]
    add_times(results, "fk_of_a_state", times(forward_kinematics, states)[0])
    add_times(results, "fk_all_frames", times(lambda c, s: WorldTransforms(c, s).matrix("tool0"), states)[0])
    batch = [(problems.cell, problems.state, "tool0", problems.names, problems.goals)] * 3
    results.add("fk_batch_of_10000_ms", float(np.median(times(forward_batch, batch)[0])) / 1e3)
    model = cell_model(problems.cell, problems.state)
    data = model.data()
    add_times(results, "fk_bare_pinocchio", times(partial(pin.forwardKinematics, model.model, data), rows)[0])


def differential(results: Results) -> None:
    problems = Problems("panda")
    rows = [(problems.cell, state) for state in problems.states]
    add_times(results, "jacobian_chain", times(problems.chain.jacobian, [(q,) for q in problems.goals])[0])
    add_times(results, "jacobian_of_a_state", times(jacobians, rows)[0])
    dynamics = Dynamics(problems.cell, problems.state)
    full = np.zeros(len(dynamics.variables))
    calls = [(full, full, full)] * POSES
    add_times(results, "inverse_dynamics", times(dynamics.inverse, calls)[0])
    add_times(results, "mass_matrix", times(dynamics.mass_matrix, [(full,)] * POSES)[0])


def rearranging(results: Results) -> None:
    """A model for a cell of 100 bodies of which one has moved, with the placements of all frames."""
    cell = arm("ur10")
    rng = np.random.default_rng(SEED)
    shape = (Shape(Box((0.1, 0.1, 0.1))),)
    bodies = {f"body{index}": RigidBody(f"body{index}", shape) for index in range(100)}
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies))
    state = cell.default_state()
    states = [
        (state.with_body("body7", BodyState(Pose(tuple(rng.uniform(-1.0, 1.0, 3).tolist())))),) for _ in range(200)
    ]
    taken, _ = times(lambda moved: cell_model(cell, moved).frames, states)
    add_times(results, "model_of_100_bodies_one_moved", taken)


def table(results: Results) -> None:
    """Table of all solvers: median time [us] and fraction of poses solved."""
    columns = ("ik_all", "ik_first", "ik_numeric", "ik_pybullet", "ik_roboplan", "ik_compas_fab")
    print("\n" + f"{'':<10}" + "".join(f"{column:>18}" for column in columns))
    for name in ARMS:
        cells = [
            f"{results[f'{name}/{column}_us']:,.0f} {results[f'{name}/{column}_solved']:>6.1%}"
            if f"{name}/{column}_us" in results
            else "-"
            for column in columns
        ]
        print(f"{name:<10}" + "".join(f"{cell:>18}" for cell in cells))
    print()


def main() -> None:
    results = Results("kinematics", SEED)
    forward(results)
    differential(results)
    rearranging(results)
    for name in ARMS:
        inverse(results, name)
        reach_map(results, name)
    for name in FILES:
        peers(results, name)
    six = [name for name in ARMS if name not in REDUNDANT]
    results.add("ik_all_of_six_joints_worst_arm_us", max(results[f"{name}/ik_all_us"] for name in six))
    results.add("ik_first_of_seven_joints_worst_arm_us", max(results[f"{name}/ik_first_us"] for name in REDUNDANT))
    results.add("ik_all_of_seven_joints_worst_arm_us", max(results[f"{name}/ik_all_us"] for name in REDUNDANT))
    results.add("ik_numeric_worst_arm_us", max(results[f"{name}/ik_numeric_us"] for name in ARMS))
    if find_spec("rclpy") is not None:
        from .kinematics_node import measure_services

        measure_services(results)
    table(results)
    results.finish()


if __name__ == "__main__":
    main()
