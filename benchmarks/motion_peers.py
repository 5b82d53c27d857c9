"""VAMP on the problems of certified RRT-Connect, where it is installed: `vamp-planner` on the package index, built
from source. Its robots consist of spheres; it treats cylinders as capsules."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_cell_planner.model.geometry import Box, Cylinder

from .planning_problems import Problem

Floats = NDArray[np.float64]
Planner = Callable[[int], Floats | None]
# Its default of a million makes it get and clear 2 ms worth of memory for each call.
MOST_SAMPLES = 100_000
SKIPPED = 1_000  # samples of its sequence between two seeds
# Its arms that have a gripper in their model, with a link of that gripper.
ARMS = {
    "panda": "panda_hand",
    "ur5": "robotiq_85_base_link",
    "fetch": "gripper_link",
    "baxter": "left_gripper_base",
}


def vamp_planner(problem: Problem) -> Planner | None:
    """Seed -> path (n, dof) of VAMP's RRT-Connect with its simplification, or None; None where VAMP is not installed,
    or has no such arm."""
    links = {link for robot in problem.cell.robots.values() for link in robot.mechanism.links}
    arm = next((name for name, link in ARMS.items() if link in links), "")
    if find_spec("vamp") is None or not arm:
        return None
    import vamp

    names = list(getattr(vamp, arm).joint_names())
    if {*names} != {*problem.joints}:
        return None
    order, back = [problem.joints.index(name) for name in names], [names.index(joint) for joint in problem.joints]
    environment = _environment(vamp, problem)
    robot, search, settings, simplification = vamp.configure_robot_and_planner_with_kwargs(arm, "rrtc")
    settings.max_samples = settings.max_iterations = MOST_SAMPLES
    start, *goals = [[values[index] for index in order] for values in (problem.start, *problem.goals)]

    def plan(seed: int) -> Floats | None:
        sampler = robot.halton()
        sampler.skip(SKIPPED * seed)
        found = search(start, goals, environment, settings, sampler)
        if not found.solved:
            return None
        path = robot.simplify(found.path, environment, simplification, sampler).path
        return np.array(path.numpy(), dtype=np.float64)[:, back]

    return plan


def _environment(vamp: Any, problem: Problem) -> Any:
    environment = vamp.Environment()
    for name, body in problem.cell.bodies.items():
        for shape in body.collisions:
            matrix = problem.state.bodies[name].pose.matrix @ shape.pose.matrix
            position, angles = matrix[:3, 3].tolist(), Rotation.from_matrix(matrix[:3, :3]).as_euler("xyz").tolist()
            solid = shape.geometry
            if isinstance(solid, Box):
                environment.add_cuboid(vamp.Cuboid(position, angles, [0.5 * size for size in solid.size]))
            elif isinstance(solid, Cylinder):
                environment.add_capsule(vamp.Cylinder(position, angles, solid.radius, solid.length))
    return environment
