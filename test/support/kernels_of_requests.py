"""Prints which kernels requests need that the warm-up did not compile; a program of its own for test_preload."""

import json
import sys

from numba.core.dispatcher import Dispatcher

import robot_cell_planner.planning.workers.preload  # noqa: F401
from robot_cell_planner.collision.geometry import geometry_model
from robot_cell_planner.errors import PlanningError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints
from robot_cell_planner.planning.cartesian.planner import (
    CartesianOptions,
    CartesianRequest,
    CartesianStrategy,
    plan_cartesian,
)
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.trajectory.timing import TimingOptions


def signatures():
    found = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("robot_cell_planner"):
            for key, value in vars(module).items():
                if isinstance(value, Dispatcher):
                    found |= {f"{value.py_func.__module__}.{key}{s}" for s in map(str, value.signatures)}
    return found


before = signatures()
cell, state = load_cell(sys.argv[1])
pose = forward_kinematics(cell, state, mode=TargetMode.TOOL)
x, y, z = pose.position
axis = tuple(pose.matrix[:3, 2].tolist())
done = 0
for low in (0.03, 3.0):
    there = (x, y, z - low)
    for waypoints in (
        FrameWaypoints((type(pose)(there, pose.quaternion),), mode=TargetMode.TOOL),
        PointAxisWaypoints(((there, axis),), mode=TargetMode.TOOL),
    ):
        for strategy in CartesianStrategy:
            for sampled in (False, True):
                options = CartesianOptions(strategy=strategy, sample_start_configuration=sampled, max_deviation=1e-4)
                timing = TimingOptions(path_speed=0.1)
                try:
                    plan_cartesian(cell, state, CartesianRequest(waypoints, options=options, timing=timing))
                    done += 1
                except PlanningError:
                    pass
here = MotionRequest(Goals(targets=(FrameTarget(pose=pose, mode=TargetMode.TOOL),)))
plan_motion(cell, state, here)
geometry_model.LARGE = 0  # as if there were very many bodies
name, body = next(iter(state.bodies.items()))
plan_motion(cell, state.with_body(name, body), here)  # bodies that are not known yet
print(json.dumps({"before": len(before), "done": done, "new": sorted(signatures() - before)}))
