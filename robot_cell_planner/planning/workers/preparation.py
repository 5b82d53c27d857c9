"""Preparation of a worker for a cell: collision geometry, sphere models and kinematic models.

A request that computed them itself could not be cancelled meanwhile.
"""

from __future__ import annotations

from ...collision.certification.certifier import certifier_of
from ...collision.certification.motion_bounds import motion_model
from ...collision.checker import CollisionChecker
from ...collision.sphere_model.approximation import FINE_PROTRUSION, PROTRUSION
from ...errors import RobotCellError
from ...kinematics.forward import forward_kinematics
from ...kinematics.ik.options import IkOptions
from ...kinematics.ik.solver import inverse_kinematics
from ...kinematics.targets import FrameTarget
from ...scene.scene import Scene
from .process import TaskControl

PREPARE = f"{__name__}:prepare"


def prepare(scene: Scene, request: None, control: TaskControl) -> None:
    """Compute the data that requests for a scene's cell share, for each of its groups."""
    for robot in scene.cell.robots.values():
        for name in robot.groups:
            try:
                prepare_group(scene, name)
            except RobotCellError:
                continue  # requests for this group report the error


def prepare_group(scene: Scene, name: str) -> None:
    """Build the collision, sphere and kinematic models of a group.

    Raises:
        RobotCellError: A model cannot be built.
    """
    cell, state = scene.cell, scene.state
    group = cell.group(name)
    checker = CollisionChecker(cell, state, group.variables)
    checker.in_collision(checker.default)
    for protrusion in (PROTRUSION, FINE_PROTRUSION):
        certifier_of(checker, protrusion).certify(checker.default, checker.default)
    _ = motion_model(checker).approach_bounds  # also of the overlap between states of a trajectory
    if group.tip_link:
        target = FrameTarget(pose=forward_kinematics(cell, state, name))
        inverse_kinematics(cell, state, target, name, IkOptions(max_restarts=1))
