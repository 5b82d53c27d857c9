"""Overhead of move_action of the MoveIt adapter over planning/plan_motion, for the same request.

The client and all nodes are processes of their own; both actions take turns. All run from the installed package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import Constraints, JointConstraint, MotionPlanRequest
from rclpy.action import ActionClient

from robot_cell_planner import action
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.msg import MotionRequest, TimingOptions
from robot_cell_planner.nodes.client.client import CellClient, make_goal, state_with_joints
from robot_cell_planner.nodes.moveit.motion_requests import SAMPLE_PERIOD

from .kinematics_node import CELL_FILE, node
from .results import Results
from .scene_node import own_domain, processor_time, running

CALLS = 100
WARM_UP = 5
START = (-0.6, -1.2, 1.9, -2.2708, -1.5708, 0.0)
GOAL = (0.9, -1.2, 1.9, -2.2708, -1.5708, 0.0)


def requests() -> tuple[MoveGroup.Goal, action.PlanMotion.Goal]:
    """The same motion for both actions."""
    cell, _ = load_cell(CELL_FILE)
    joints = cell.group().variables
    message = MotionPlanRequest(group_name="manipulator")
    message.start_state.joint_state.name, message.start_state.joint_state.position = list(joints), list(START)
    message.goal_constraints = [
        Constraints(
            joint_constraints=[
                JointConstraint(joint_name=name, position=value) for name, value in zip(joints, GOAL, strict=True)
            ]
        )
    ]
    moveit = MoveGroup.Goal(request=message)
    moveit.planning_options.plan_only = True
    own = MotionRequest(
        group="manipulator",
        start=state_with_joints(dict(zip(joints, START, strict=True))),
        goal=make_goal(dict(zip(joints, GOAL, strict=True))),
        timing=TimingOptions(method=TimingOptions.SMOOTH, sample_period=SAMPLE_PERIOD),
    )
    return moveit, action.PlanMotion.Goal(request=own)


def sender(client: CellClient, kind: Any, name: str, goal: Any) -> Callable[[], float]:
    """Return a function that sends a goal and returns the time until its result [ms].

    The thread of the client's executor sends the goals: rclpy can lose the response to a goal of another thread.
    """
    actions = client._made(lambda: client_of(client, kind, name))
    assert actions.wait_for_server(300.0), name

    def send() -> float:
        done = threading.Event()

        def on_result(future: Any) -> None:
            done.set()

        def on_response(future: Any) -> None:
            future.result().get_result_async().add_done_callback(on_result)

        begun = perf_counter()
        client._send_goal_async(actions, goal).add_done_callback(on_response)
        assert done.wait(120.0), name
        return 1e3 * (perf_counter() - begun)

    return send


def client_of(client: CellClient, kind: Any, name: str) -> Any:
    return ActionClient(client.node, kind, name, callback_group=client._group)


def measure(results: Results) -> None:
    """Wall time of both actions, and processor time of the adapter."""
    moveit, own = requests()
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        stack.enter_context(running(node("scene_node", f"cell_file:={CELL_FILE}")))
        stack.enter_context(running(node("planning_node")))
        adapter = stack.enter_context(running(node("moveit_adapter_node")))
        client = stack.enter_context(CellClient("bench", discovery_timeout=60.0))
        by_adapter = sender(client, MoveGroup, "move_action", moveit)
        by_planner = sender(client, action.PlanMotion, "planning/plan_motion", own)
        for _ in range(WARM_UP):
            by_adapter()
            by_planner()
        spent = processor_time(adapter)
        times = np.array([(by_adapter(), by_planner()) for _ in range(CALLS)])
        spent = processor_time(adapter) - spent
    results.add("moveit/move_action_ms", float(np.median(times[:, 0])))
    results.add("moveit/plan_motion_ms", float(np.median(times[:, 1])))
    results.add("moveit/above_plan_motion_ms", float(np.median(times[:, 0]) - np.median(times[:, 1])))
    results.add("moveit/above_plan_motion_paired_ms", float(np.median(times[:, 0] - times[:, 1])))
    results.add("moveit/adapter_processor_ms", 1e3 * spent / CALLS)


def main() -> None:
    results = Results("moveit", 0)
    measure(results)
    results.finish()


if __name__ == "__main__":
    main()
