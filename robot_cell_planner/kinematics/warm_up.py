"""Compiles the numeric kernels before anyone waits for them: once a machine, after that they are read from disk."""

from __future__ import annotations

from frozendict import frozendict

from ..cell.cell import RobotCell
from ..cell.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from ..cell.pose import Pose
from ..cell.robot import PlanningGroup, Robot
from ..errors import InverseKinematicsError
from . import kernels
from .differential import jacobians
from .forward import forward_batch, forward_kinematics
from .ik_options import IkOptions, IkSolver
from .inverse import inverse_kinematics
from .model import cell_model
from .targets import FrameTarget, PointAxisTarget

# An arm with a spherical wrist: axis and offset [m] of each joint from the one before.
ARM = (
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.3)),
    ((0.0, 1.0, 0.0), (0.1, 0.0, 0.1)),
    ((0.0, 1.0, 0.0), (0.0, 0.0, 0.5)),
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.2)),
    ((0.0, 1.0, 0.0), (0.0, 0.0, 0.2)),
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.1)),
)


def warm_up() -> None:
    """Use every kernel once: forward and inverse kinematics of an arm with a closed form and of one without."""
    for axes in (ARM, (*ARM, ((1.0, 0.0, 0.0), (0.05, 0.02, 0.1)))):
        cell = _cell(axes)
        state = cell.default_state().with_configuration({f"j{index}": 0.3 for index in range(len(axes))})
        pose = forward_kinematics(cell, state)
        variables = cell.robot.group().variables
        rows = cell_model(cell, state).configuration(state)[None, :]
        kernels.positions_and_quaternions(forward_batch(cell, state, cell.tip_link(), variables, rows))
        point = PointAxisTarget(point=pose.position, axis=(0.0, 0.0, 1.0))
        for target in (FrameTarget(pose=pose), point, FrameTarget(pose=Pose((0.4, 0.0, 3.0)))):
            for solver in (IkSolver.AUTO, IkSolver.NUMERIC):
                try:
                    found = inverse_kinematics(cell, state, target, options=IkOptions(solver=solver, max_restarts=2))
                    found.manipulabilities()
                except InverseKinematicsError:
                    continue  # the last target is out of reach, on purpose
        jacobians(cell, state)


def _cell(axes: tuple[tuple[tuple[float, float, float], tuple[float, float, float]], ...]) -> RobotCell:
    links = {f"l{index}": Link(f"l{index}") for index in range(len(axes) + 1)}
    joints = {
        f"j{index}": Joint(
            f"j{index}",
            JointKind.REVOLUTE,
            f"l{index}",
            f"l{index + 1}",
            Pose(offset),
            axis,
            JointLimits(-3.0, 3.0, 1.0, 10.0, 100.0, 100.0),
        )
        for index, (axis, offset) in enumerate(axes)
    }
    mechanism = Mechanism("warm_up", frozendict(links), frozendict(joints))
    group = PlanningGroup("arm", tuple(joints), tuple(links), "l0", f"l{len(axes)}")
    return RobotCell(robots=frozendict({"arm": Robot("arm", mechanism, frozendict({"arm": group}))}))


if __name__ == "__main__":
    warm_up()
