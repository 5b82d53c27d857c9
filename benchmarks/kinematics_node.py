"""Overhead of the services of the kinematics node over the core: a scene node, a kinematics node, a bare service.

The client, the nodes and the bare service are processes of their own. Each figure is a median over calls that take
turns, so that a busy moment affects all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from geometry_msgs.msg import Pose as PoseMessage
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from robot_cell_planner import srv
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics
from robot_cell_planner.kinematics.ik.options import IkOptions as CoreOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import IkOptions, Target
from robot_cell_planner.nodes.conversions.basic import path_to_message, pose_to_message

from .results import Results
from .scene_node import Caller, own_domain, running

CELL_FILE = Path(__file__).resolve().parents[1] / "config" / "demo" / "cell.yaml"
PACKAGE = "robot_cell_planner"
BARE = "bare/forward_kinematics"
CALLS = 300
BATCH = 1000
LARGE = f"fk_of_{BATCH}"
Core = Callable[[], Any]


def node(name: str, *parameters: str) -> list[str]:
    """Command line of a node of the package."""
    program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, name)
    arguments = [part for parameter in parameters for part in ("-p", parameter)]
    return [str(program), "--ros-args", *arguments, "--log-level", "warn"]


def bare() -> list[str]:
    """Command line of a service of the same type that does nothing: the minimum of a round trip."""
    return [sys.executable, "-m", "benchmarks.kinematics_node"]


def cases() -> dict[str, tuple[type, str, Any, Core]]:
    """Type, name and request of each service that is measured, and the same call to the core."""
    cell, state = load_cell(CELL_FILE)
    names = cell.group().variables
    pose = world_pose(cell, state, "above_pick")
    target = FrameTarget(pose=pose, mode=TargetMode.TOOL)
    wanted = [Target(mode=Target.TOOL, pose=pose_to_message(pose))]
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, (BATCH, len(names)))
    dynamics = Dynamics(cell, state)
    return {
        "fk": (
            srv.ForwardKinematics,
            "kinematics/forward_kinematics",
            srv.ForwardKinematics.Request(mode=Target.TOOL),
            lambda: forward_kinematics(cell, state, mode=TargetMode.TOOL),
        ),
        LARGE: (
            srv.ForwardKinematics,
            "kinematics/forward_kinematics",
            srv.ForwardKinematics.Request(mode=Target.TOOL, configurations=path_to_message(names, rows)),
            lambda: forward_batch(cell, state, "gripper/tcp", names, rows),
        ),
        "ik_first": (
            srv.InverseKinematics,
            "kinematics/inverse_kinematics",
            srv.InverseKinematics.Request(targets=wanted),
            lambda: inverse_kinematics(cell, state, target, options=CoreOptions(max_solutions=1)),
        ),
        "ik_all": (
            srv.InverseKinematics,
            "kinematics/inverse_kinematics",
            srv.InverseKinematics.Request(targets=wanted, options=IkOptions(return_all=True)),
            lambda: inverse_kinematics(cell, state, target),
        ),
        "jacobian": (
            srv.ComputeJacobian,
            "kinematics/compute_jacobian",
            srv.ComputeJacobian.Request(),
            lambda: jacobians(cell, state),
        ),
        "inverse_dynamics": (
            srv.InverseDynamics,
            "kinematics/inverse_dynamics",
            srv.InverseDynamics.Request(),
            lambda: dynamics.inverse(),
        ),
    }


def timed(call: Core) -> float:
    """Time of a call [ms]."""
    start = perf_counter()
    call()
    return 1e3 * (perf_counter() - start)


def measure_services(results: Results) -> None:
    """Times of round trips, of the core in them, and of an empty service of that type."""
    chosen = cases()
    programs = (node("scene_node", f"cell_file:={CELL_FILE}"), node("kinematics_node"), bare())
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in (*chosen, "bare")}
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        for program in programs:
            stack.enter_context(running(program))
        caller = Caller()
        empty = srv.ForwardKinematics.Request()
        for _ in range(CALLS):
            for name, (kind, service, request, core) in chosen.items():
                if name != LARGE:
                    taken[name].append((caller.timed(kind, service, request), timed(core)))
            taken["bare"].append((caller.timed(srv.ForwardKinematics, BARE, empty), 0.0))
        # The deallocation of a large message would be counted for the next call.
        kind, service, request, core = chosen[LARGE]
        taken[LARGE] = [(caller.timed(kind, service, request), timed(core)) for _ in range(CALLS // 10)]
        caller.close()
    middle = {name: np.median(np.array(pairs), axis=0).tolist() for name, pairs in taken.items()}
    empty_trip = middle["bare"][0]
    results.add("service/bare_round_trip_ms", empty_trip)
    for name in chosen:
        round_trip, core = middle[name]
        results.add(f"service/{name}_round_trip_ms", round_trip)
        results.add(f"service/{name}_above_core_ms", round_trip - core)
        results.add(f"service/{name}_above_core_and_bare_ms", round_trip - core - empty_trip)


def serve_bare() -> None:
    """Answer every request at once with one pose."""
    rclpy.init()
    server = Node("bare")

    def answer(_: Any, response: Any) -> Any:
        response.frames, response.poses = ["tool0"], [PoseMessage()]
        return response

    server.create_service(srv.ForwardKinematics, BARE, answer)
    try:
        rclpy.spin(server)
    except (KeyboardInterrupt, ExternalShutdownException):
        return


if __name__ == "__main__":
    serve_bare()
