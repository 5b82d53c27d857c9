"""Services about velocities and efforts: Jacobians, velocities for a twist, inverse and forward dynamics, masses."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Vector3
from numpy.typing import NDArray

from robot_cell_planner import srv

from ...errors import InvalidRequestError
from ...kinematics.differential import JacobianAxes, Jacobians, jacobians
from ...kinematics.dynamics import DOWN, Dynamics
from ...kinematics.model import cell_model
from ...kinematics.velocity import DEFAULT_DAMPING, velocities_for_twist
from ...model.pose import Pose
from ...model.value import WORLD
from ..common.monitored_scene import ResolvedState
from ..common.node import CellNode
from ..common.parameters import Parameter
from ..common.scene_monitor import SceneMonitor
from ..conversions.arrays import (
    batches,
    rates_from_message,
    spread_over,
    table_from_message,
    twist_from_message,
    twist_to_message,
    wrenches_from_message,
)
from ..conversions.basic import configuration_to_message, path_from_message, position_from_message

RATE_PARAMETERS = (
    Parameter(
        "velocity_damping",
        DEFAULT_DAMPING,
        "Default damping of solve_velocity near singularities.",
        0.0,
        10.0,
        running=True,
    ),
)
AXES = {
    srv.ComputeJacobian.Request.WORLD: JacobianAxes.WORLD,
    srv.ComputeJacobian.Request.BASE: JacobianAxes.BASE,
    srv.ComputeJacobian.Request.TOOL: JacobianAxes.TOOL,
}

Rows = NDArray[np.float64]
_DynamicsRequest = srv.InverseDynamics.Request | srv.ForwardDynamics.Request | srv.MassMatrix.Request
_DynamicsResponse = srv.InverseDynamics.Response | srv.ForwardDynamics.Response | srv.MassMatrix.Response


class KinematicRates:
    """Registers its services with a node, which declares RATE_PARAMETERS and `max_configurations`."""

    def __init__(self, node: CellNode, scene_monitor: SceneMonitor) -> None:
        self._parameters = node.parameters
        self._scene_monitor = scene_monitor
        node.serve(srv.ComputeJacobian, "kinematics/compute_jacobian", self._jacobian)
        node.serve(srv.SolveVelocity, "kinematics/solve_velocity", self._velocity)
        node.serve(srv.InverseDynamics, "kinematics/inverse_dynamics", self._inverse_dynamics)
        node.serve(srv.ForwardDynamics, "kinematics/forward_dynamics", self._forward_dynamics)
        node.serve(srv.MassMatrix, "kinematics/mass_matrix", self._mass_matrix)

    @property
    def _max_count(self) -> int:
        return int(self._parameters["max_configurations"])

    async def _jacobian(self, request: srv.ComputeJacobian.Request, response: srv.ComputeJacobian.Response) -> None:
        if request.axes not in AXES:
            raise InvalidRequestError(f"unknown axes {request.axes}, expected 0 to 2", subjects=("axes",))
        names, rows = path_from_message(request.configurations, "configurations", self._max_count)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        cell = state.scene.cell
        columns = cell.group(request.group).variables
        velocities = rates_from_message(request.velocities, columns, "velocities")
        point, axes = position_from_message(request.point), AXES[request.axes]
        found = [
            jacobians(cell, values, request.group, request.frame, point, axes, configurations, velocities)
            for values, configurations in batches(cell, state.scene.state, names, rows, columns)
        ]
        response.joint_names = list(columns)
        response.jacobian = _numbers([part.jacobian for part in found])
        response.manipulability = _numbers([part.manipulabilities() for part in found])
        response.singular_values = _numbers([part.singular_values() for part in found])
        if velocities is not None:
            _add_rates(response, found)

    async def _velocity(self, request: srv.SolveVelocity.Request, response: srv.SolveVelocity.Response) -> None:
        twist = twist_from_message(request.twist, "twist")
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        cell = state.scene.cell
        columns = cell.group(request.group).variables
        frames = {"reference_frame": request.reference_frame}
        in_tf = await self._scene_monitor.poses_in_tf(frames, request.stamp, cell)
        if in_tf:
            twist = _turned(twist, in_tf["reference_frame"])
        found = velocities_for_twist(
            cell,
            state.scene.state,
            twist,
            request.group,
            request.frame,
            WORLD if in_tf else request.reference_frame or WORLD,
            rates_from_message(request.preferred_velocities, columns, "preferred_velocities"),
            request.time_step,
            request.damping or self._parameters["velocity_damping"],
        )
        response.velocities = configuration_to_message(dict(zip(columns, found.velocities.tolist(), strict=True)))
        twist = _turned(found.twist, in_tf["reference_frame"].inverse()) if in_tf else found.twist
        response.twist = twist_to_message(twist)
        response.scale = found.scale
        response.smallest_singular_value = found.smallest_singular_value

    async def _inverse_dynamics(
        self, request: srv.InverseDynamics.Request, response: srv.InverseDynamics.Response
    ) -> None:
        state, dynamics, configurations = await self._dynamics(request, response, request.gravity)
        velocities, accelerations = (
            self._table(state, dynamics, request, field) for field in ("velocities", "accelerations")
        )
        wrenches = wrenches_from_message(request.external_wrenches, "external_wrenches")
        response.efforts = _numbers([dynamics.inverse(configurations, velocities, accelerations, wrenches)])
        response.gravity_efforts = _numbers([dynamics.gravity(configurations)])

    async def _forward_dynamics(
        self, request: srv.ForwardDynamics.Request, response: srv.ForwardDynamics.Response
    ) -> None:
        state, dynamics, configurations = await self._dynamics(request, response, request.gravity)
        velocities, efforts = (self._table(state, dynamics, request, field) for field in ("velocities", "efforts"))
        wrenches = wrenches_from_message(request.external_wrenches, "external_wrenches")
        response.accelerations = _numbers([dynamics.forward(configurations, velocities, efforts, wrenches)])

    async def _mass_matrix(self, request: srv.MassMatrix.Request, response: srv.MassMatrix.Response) -> None:
        _, dynamics, configurations = await self._dynamics(request, response)
        response.mass_matrix = _numbers([dynamics.mass_matrix(configurations)])

    async def _dynamics(
        self, request: _DynamicsRequest, response: _DynamicsResponse, gravity: Vector3 | None = None
    ) -> tuple[ResolvedState, Dynamics, Rows | None]:
        """Return the state, its dynamics, and configurations (k, n) of all variables; None for those of the state."""
        names, rows = path_from_message(request.configurations, "configurations", self._max_count)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        pull = DOWN if gravity is None else position_from_message(gravity)
        dynamics = Dynamics(state.scene.cell, state.scene.state, pull if any(pull) else DOWN)
        response.joint_names = list(dynamics.variables)
        if not names:
            return state, dynamics, None
        values = state.scene.state
        default = cell_model(state.scene.cell, values).configuration(values)
        return state, dynamics, spread_over(rows, names, dynamics.variables, default)

    def _table(self, state: ResolvedState, dynamics: Dynamics, request: _DynamicsRequest, field: str) -> Rows | None:
        """Return rows (k, n) of all variables, from a block in the joint order of the request; zero for the others."""
        names = tuple(request.configurations.joint_names) or tuple(state.scene.cell.variables)
        rows = table_from_message(getattr(request, field), names, field, self._max_count)
        if rows is None:
            return None
        return spread_over(rows, names, dynamics.variables, np.zeros(len(dynamics.variables)))


def _turned(twist: Rows, pose: Pose) -> Rows:
    """Return a twist (6,) in other axes."""
    turned: Rows = (twist.reshape(2, 3) @ pose.matrix[:3, :3].T).ravel()
    return turned


def _add_rates(response: srv.ComputeJacobian.Response, found: list[Jacobians]) -> None:
    response.derivative = _numbers([part.derivative for part in found])
    response.twists = [twist_to_message(twist) for part in found for twist in part.twists()]


def _numbers(blocks: list[Rows]) -> list[float]:
    """Return all numbers of arrays, row by row."""
    return [number for block in blocks for number in block.ravel().tolist()]
