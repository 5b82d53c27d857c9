"""Overhead of a plan over ROS compared with the library, with a client and the nodes of the demo cell as processes.

    make bench AREA=request_node                     [--calls 200] [--moving]

Every request is planned by the node and by the library in this process, in turn, from the same state to the same goal
with timing. The time over ROS ends when the result has arrived as a message. An action of rclpy alone with the same
result is called in turn with both (`bare_action`). --moving: the robot moves meanwhile.
"""

from __future__ import annotations

import argparse
import threading
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.msg import ExecutionOptions
from robot_cell_planner.nodes.client import CellClient
from robot_cell_planner.nodes.client.messages import state_with_joints
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.trajectory.timing import TimingOptions

from .bare_action import bare_action
from .kinematics_node import CELL_FILE
from .results import Results
from .scene_node import own_domain
from .suite import idle, supervisor

SEED = 1
STEP = 0.3  # [rad] to goals close by
WARM_UP = 20


def goals(cell: RobotCell, state: RobotCellState, count: int) -> list[dict[str, float]]:
    """Joint values near those of the state, within limits."""
    rng = np.random.default_rng(SEED)
    joints = cell.group().variables
    here = np.array([state.configuration[joint] for joint in joints])
    return [dict(zip(joints, (here + rng.uniform(-STEP, STEP, len(here))).tolist(), strict=True)) for _ in range(count)]


class MovingRobot:
    """Moves the robot to and fro until it is stopped."""

    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self._goals = goals(cell, state, 2)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with CellClient(name="mover") as client:
            number = 0
            while not self._stopped.is_set():
                plan = client.plan_motion(self._goals[number % 2])
                client.execute(plan.trajectory, ExecutionOptions(speed_scale=0.2))
                number += 1

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


def measure(results: Results, calls: int, moving: bool) -> None:
    """Plans over ROS and in this process, in turn."""
    cell, state = load_cell(CELL_FILE)
    taken: list[tuple[float, float, float]] = []
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        pid = stack.enter_context(supervisor(CELL_FILE))
        client = stack.enter_context(CellClient())
        client.wait_until_ready()
        if moving:
            stack.callback(MovingRobot(cell, state).stop)
        else:
            idle(results, pid)
        folder = Path(stack.enter_context(TemporaryDirectory()))
        first = client.plan_motion(goals(cell, state, 1)[0], start=state_with_joints(dict(state.configuration)))
        bare = stack.enter_context(bare_action(client, PlanMotion.Result(plan=first), folder))
        for goal in goals(cell, state, WARM_UP + calls):
            began = perf_counter()
            client.plan_motion(goal, start=state_with_joints(dict(state.configuration)))
            middle = perf_counter()
            plan_motion(cell, state, MotionRequest(Goals(joint_goals=(goal,)), timing=TimingOptions()))
            end = perf_counter()
            taken.append((1e3 * (middle - began), 1e3 * (end - middle), bare()))
    rows = np.array(taken[WARM_UP:])
    name = "ros_moving" if moving else "ros"
    for column, where in enumerate(("plan", "plan_core", "bare_action")):
        results.add(f"{name}.{where}_median_ms", float(np.median(rows[:, column])))
        results.add(f"{name}.{where}_p95_ms", float(np.percentile(rows[:, column], 95)))
    results.add(f"{name}.plan_above_core_ms", float(np.median(rows[:, 0] - rows[:, 1])))
    results.add(f"{name}.plan_above_core_p95_ms", float(np.percentile(rows[:, 0] - rows[:, 1], 95)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--moving", action="store_true", help="move the robot meanwhile")
    options = parser.parse_args()
    results = Results("request_node", SEED)
    measure(results, options.calls, options.moving)
    results.finish(update=True)


if __name__ == "__main__":
    main()
