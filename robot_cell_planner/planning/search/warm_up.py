"""Compiles the kernels of motion certificates, of certified RRT-Connect and of paths ahead of their first use."""

from __future__ import annotations

import numpy as np

from ...collision.certification._kernels.distance_map_kernels import bound_in_cell, turned
from ...collision.certification._kernels.gradients import separation_gradient
from ...collision.certification._kernels.mesh_tree_kernels import triangle_tree
from ...collision.certification.certifier import MotionCertifier
from ...collision.certification.curves import PolynomialMotion
from ...collision.checker import CollisionChecker
from ...collision.geometry.broad_phase import BoxSearch, StaticBlock
from ...collision.geometry.collision_geometry import CollisionGeometry
from ...collision.sphere_model.approximation import compute_spheres
from ...collision.sphere_model.polytopes import polytope_around
from ...collision.sphere_model.support import FEW_POINTS, offsets_of
from ...collision.warm_up import practice_cell
from ...kinematics.targets import TargetMode
from ...model.cell import RobotCell
from ...model.geometry import Box, Sphere
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ...trajectory.timing import stop_at_waypoints
from ..path.motion_samples import grouped, on_proven_motions
from ..path.path_kernels import place_around
from ..problem.collision_checks import CountedChecks
from ..problem.constraints import FrameConstraint, FrameRule
from ..problem.frame_constraints import FrameConstraints
from ..problem.progress import ProgressMonitor
from ..problem.space import joint_space
from ..problem.subspace import subspace_of
from .certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions
from .sampling_regions import sampling_regions

STATES = 1000  # at most
COARSE = 0.05  # [m] protrusion of spheres, for few of them


def warm_up() -> None:
    """Call every kernel once: plan for a sphere on two prismatic joints around a post."""
    around = polytope_around(Box((0.1, 0.1, 0.1)))
    compute_spheres(around, COARSE)
    triangle_tree(np.ascontiguousarray(around.simplices[:, :3]))
    offsets_of(np.eye(3), np.zeros((FEW_POINTS + 1, 3)))
    _bound_distances()
    cell, state = practice_cell()
    checker = CollisionChecker(cell, state)
    certifier = MotionCertifier(checker)
    start, end = np.array((-0.5, 0.01)), np.array((0.5, 0.0))
    checker.closest_of(np.stack((start, end)))
    at = np.zeros(3)
    separation_gradient(certifier.packed()[0].address, start, (0, -1), at, at, at, np.empty(len(start)))
    certifier.certify(start, end)
    certifier.certify_curve(PolynomialMotion(np.array((0.0, 1.0)), np.array(((start, end),))))
    space = joint_space(cell, state)
    subspace = subspace_of(space, ())
    planner = CertifiedRrtConnect(certifier, subspace)
    sampling_regions(subspace, np.stack((start, end)))
    found = planner.solve(start, [end], CertifiedSearchOptions())
    assert found.path is not None
    planner.tightened(planner.shortened(found.path, 0))
    grouped(found.path, np.arange(2), 0.1)
    place_around(found.path, np.zeros(1), np.zeros(1), 1.0, np.empty(1), np.empty((1, len(start))))
    on_proven_motions(CountedChecks(checker, ProgressMonitor(), STATES), found.path, found.path)
    stop_at_waypoints(found.path, space.limits)
    _follow_frame(cell, state, start, end)
    _search_block()


def _bound_distances() -> None:
    """Bound the distance of two points within a cell of two joint values."""
    corners, reach, joints, values = np.zeros((1, 4)), np.zeros((1, 2)), np.zeros((2, 4, 4)), np.zeros(2)
    bound_in_cell(corners, reach, corners, joints, values, values, np.zeros(3))
    turned(joints[0], 0.0)


def _follow_frame(cell: RobotCell, state: RobotCellState, start: Array, end: Array) -> None:
    """Follow a plane with the frame of the sphere."""
    plane = FrameConstraint(FrameRule.POSITION_ON_PLANE, TargetMode.ROBOT, axis=(1.0, 1.0, 0.0), tolerance=2.0)
    constraints = FrameConstraints(cell, state, joint_space(cell, state), (plane,))
    basis = np.eye(len(start))
    constraints.deviations(start)
    constraints.project(start, basis)
    constraints.step_towards(start, end, 0.5, basis)
    path = constraints.trace(start, end, 0.5, basis)
    assert path is not None
    constraints.excess(path)


def _search_block() -> None:
    """Run the pair search of cells with very many pairs, which are not listed individually."""
    first, second = (np.array((index,), dtype=np.intp) for index in (0, 1))
    poses, none = np.eye(4)[None], np.zeros((0, 2), dtype=np.intp)
    block = StaticBlock(second, first, np.zeros(1))
    geometries: list[CollisionGeometry] = [Sphere(0.05), Sphere(0.05)]
    placed, rows, owners = np.repeat(poses, 2, axis=0), np.zeros(1, dtype=np.intp), np.arange(2)
    BoxSearch(geometries, placed, rows, owners, none, np.zeros(0), [block]).candidates(poses, 1.0)


if __name__ == "__main__":
    warm_up()
