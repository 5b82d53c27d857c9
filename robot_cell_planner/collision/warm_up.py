"""Compiles the kernels of checks of single states ahead of their first use."""

from __future__ import annotations

import numpy as np
from frozendict import frozendict

from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.geometry import Box, Shape, Sphere
from ..model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from ..model.robot import PlanningGroup, Robot
from ..model.state import RobotCellState
from .checker import CollisionChecker
from .engines.surface_overlap import triangle_overlaps


def warm_up() -> None:
    """Check a state of a sphere on two prismatic joints beside a post, and the overlap of two triangles."""
    CollisionChecker(*practice_cell()).report()
    triangle_overlaps(np.zeros((1, 3, 3)), np.zeros((1, 3, 3)))


def practice_cell() -> tuple[RobotCell, RobotCellState]:
    """Return a cell with a sphere on two prismatic joints, which is in a post at the values 0, and its state."""
    limits = JointLimits(-1.0, 1.0, 1.0, 4.0, 40.0)
    links = {"base": Link("base"), "beam": Link("beam"), "sphere": Link("sphere", collisions=(Shape(Sphere(0.05)),))}
    joints = {
        "x": Joint("x", JointKind.PRISMATIC, "base", "beam", axis=(1.0, 0.0, 0.0), limits=limits),
        "y": Joint("y", JointKind.PRISMATIC, "beam", "sphere", axis=(0.0, 1.0, 0.0), limits=limits),
    }
    mechanism = Mechanism("warm_up", frozendict(links), frozendict(joints))
    group = PlanningGroup("xy", ("x", "y"), ("beam", "sphere"), "base", "sphere")
    robot = Robot("warm_up", mechanism, frozendict({"xy": group}))
    post = RigidBody("post", (Shape(Box((0.1, 0.1, 0.5))),))
    cell = RobotCell(robots=frozendict({"warm_up": robot}), bodies=frozendict({"post": post}))
    return cell, cell.default_state()


if __name__ == "__main__":
    warm_up()
