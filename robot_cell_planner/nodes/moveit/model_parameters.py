"""Parameters that RViz and MoveIt's clients read: descriptions, pipelines, kinematics and joint limits."""

from __future__ import annotations

from collections.abc import Iterator

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.parameter import Parameter

from ...model.cell import RobotCell
from ..common.node import CellNode
from .planners import DEFAULT_PIPELINE, PIPELINES

Value = str | float | bool | list[str]
IK_TIMEOUT = 0.05  # [s]


def model_parameters(cell: RobotCell) -> Iterator[tuple[str, Value]]:
    """Yield the parameters of a cell with their values.

    Source: the parameters of MoveIt's move_group node.
    """
    yield "planning_pipelines", list(PIPELINES)
    yield "default_planning_pipeline", DEFAULT_PIPELINE
    robots = list(cell.robots.values())
    yield "robot_description", robots[0].sources.urdf if robots else ""
    yield "robot_description_semantic", robots[0].sources.srdf if robots else ""
    for robot in robots:
        for group in robot.groups.values():
            prefix = f"robot_description_kinematics.{group.name}"
            yield f"{prefix}.kinematics_solver", "robot_cell_planner"
            yield f"{prefix}.kinematics_solver_timeout", IK_TIMEOUT
        for name, variable in robot.variables.items():
            prefix = f"robot_description_planning.joint_limits.{name}"
            for kind in ("velocity", "acceleration", "jerk"):
                limit = getattr(variable.limits, kind)
                yield f"{prefix}.has_{kind}_limits", limit is not None
                yield f"{prefix}.max_{kind}", float(limit or 0.0)


class ModelParameters:
    """Declares these parameters and keeps them up to date; clients cannot set them."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._names: set[str] = set()
        self._updating = False
        node.add_on_set_parameters_callback(self._check)
        node.on_release(self._remove)

    def update(self, cell: RobotCell) -> None:
        """Set the parameters to those of a cell."""
        values = dict(model_parameters(cell))
        self._updating = True
        try:
            for name in self._names - values.keys():
                self._node.undeclare_parameter(name)
            for name in values.keys() - self._names:
                self._node.declare_parameter(name, values[name], ParameterDescriptor(description="of the cell"))
            self._node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
        finally:
            self._updating = False
        self._names = set(values)

    def _check(self, changes: list[Parameter]) -> SetParametersResult:  # type: ignore[type-arg]
        """Refuse changes by clients."""
        refused = sorted(change.name for change in changes if change.name in self._names)
        if refused and not self._updating:
            return SetParametersResult(successful=False, reason=f"{refused[0]} follows the cell of the scene node")
        return SetParametersResult(successful=True)

    def _remove(self) -> None:
        self._node.remove_on_set_parameters_callback(self._check)
        for name in self._names:
            self._node.undeclare_parameter(name)
        self._names = set()
