"""Compilation of the numeric kernels before their first use. Compiled kernels are cached on disk."""

from __future__ import annotations

from frozendict import frozendict

from ...errors import InverseKinematicsError
from ...model.cell import RobotCell
from ...model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from ...model.pose import Pose
from ...model.robot import PlanningGroup, Robot
from ...model.state import RobotCellState
from .._kernels import chain_kernels
from ..differential import jacobians
from ..forward import forward_batch, forward_kinematics
from ..model import cell_model
from ..targets import FrameTarget, PointAxisTarget
from .failure import Traces
from .options import IkOptions, IkSolver
from .problem import ik_problem
from .solver import inverse_kinematics

# Arm with a spherical wrist: axis and offset [m] of each joint relative to the preceding one.
ARM = (
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.3)),
    ((0.0, 1.0, 0.0), (0.1, 0.0, 0.1)),
    ((0.0, 1.0, 0.0), (0.0, 0.0, 0.5)),
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.2)),
    ((0.0, 1.0, 0.0), (0.0, 0.0, 0.2)),
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.1)),
)
# Arm with three parallel axes before two that meet.
PARALLEL = (
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.2)),
    ((0.0, 1.0, 0.0), (0.0, 0.1, 0.0)),
    ((0.0, 1.0, 0.0), (0.5, 0.0, 0.0)),
    ((0.0, 1.0, 0.0), (0.4, 0.0, 0.0)),
    ((0.0, 0.0, 1.0), (0.0, 0.1, 0.0)),
    ((0.0, 1.0, 0.0), (0.0, 0.0, 0.1)),
)
# Axes in general directions, without an analytic solution.
SKEW = (
    ((1.0, 0.0, 0.0), (0.1, 0.0, 0.2)),
    ((0.6, 0.8, 0.0), (0.1, 0.05, 0.2)),
    ((0.0, 0.6, 0.8), (0.1, 0.1, 0.2)),
    ((0.8, 0.0, 0.6), (0.1, 0.15, 0.2)),
    ((0.0, 1.0, 0.0), (0.1, 0.2, 0.2)),
    ((0.48, 0.6, 0.64), (0.1, 0.25, 0.2)),
)


def warm_up() -> None:
    """Call every kernel once: forward and inverse kinematics of arms with and without an analytic solution."""
    for cell, state in practice_arms():
        pose = forward_kinematics(cell, state)
        variables = cell.robot.group().variables
        rows = cell_model(cell, state).configuration(state)[None, :]
        chain_kernels.positions_and_quaternions(forward_batch(cell, state, cell.tip_link(), variables, rows))
        point = PointAxisTarget(point=pose.position, axis=(0.0, 0.0, 1.0))
        for target in (FrameTarget(pose=pose), point, FrameTarget(pose=Pose((0.4, 0.0, 3.0)))):
            for solver in (IkSolver.AUTO, IkSolver.NUMERIC):
                try:
                    found = inverse_kinematics(cell, state, target, options=IkOptions(solver=solver, max_restarts=2))
                    found.manipulabilities()
                except InverseKinematicsError:
                    continue  # the last target is out of reach intentionally
        problem = ik_problem(cell, state, point, cell.robot.group().name, variables)
        Traces().note_beyond(rows, problem)
        jacobians(cell, state)


def practice_arms() -> tuple[tuple[RobotCell, RobotCellState], ...]:
    """Return an arm with six joints, one without analytic inverse kinematics, one with seven joints, and one with three
    parallel axes, in bent configurations."""
    cells = [_cell(axes) for axes in (ARM, SKEW, (*ARM, ((1.0, 0.0, 0.0), (0.05, 0.02, 0.1))), PARALLEL)]
    return tuple((cell, cell.default_state().with_configuration(dict.fromkeys(cell.variables, 0.3))) for cell in cells)


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
