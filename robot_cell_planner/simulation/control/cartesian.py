"""Cartesian impedance: a spring and damper between a frame and its commanded pose.

Source: A. Albu-Schäffer, C. Ott, U. Frese and G. Hirzinger, Cartesian impedance control of redundant robots: recent
results with the DLR light-weight arms, ICRA 2003.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ...kinematics._kernels import chain_kernels
from ...kinematics.forward import chain_to
from ...model.simulated_robot import CartesianImpedance
from .laws import ControlInput
from .plant import Plant

Array = NDArray[np.float64]
REGULARIZATION = 1e-4  # of the inertia at the frame near singularities, relative to its largest mobility


class CartesianImpedanceLaw:
    """Impedance of one frame that the given joints move.

    Args:
        settings: Settings of the controller.
        plant: The plant.
        frame: Frame that is held.
        joints: Indices of the joints among the variables of the plant.
    """

    compensates, follows, compliant = True, True, True

    def __init__(self, settings: CartesianImpedance, plant: Plant, frame: str, joints: NDArray[np.intp]) -> None:
        self._settings = settings
        self._joints = joints
        self._chain = chain_to(plant.cell, plant.state, frame, plant.variables)
        self._stiffness = np.repeat((settings.stiffness, settings.rotational_stiffness), 3)

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        pass  # it has no memory

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        rows, rates = np.vstack((given.q, given.desired_q)), np.vstack((given.v, given.desired_v))
        jacobians, _, poses = chain_kernels.jacobians_and_rates(self._chain.table, rows, rates)
        error = np.empty(6)
        error[:3] = poses[1, :3, 3] - poses[0, :3, 3]
        error[3:] = pin.log3(poses[1, :3, :3] @ poses[0, :3, :3].T)
        twist = jacobians[1] @ given.desired_v - jacobians[0] @ given.v
        jacobian, own = jacobians[0][:, self._joints], np.ix_(self._joints, self._joints)
        inverse = np.asarray(np.linalg.inv(plant.mass_matrix[own]), dtype=np.float64)
        inertia = _inertia_at_frame(jacobian, inverse)
        wrench = self._stiffness * error + self._damping(inertia) @ twist
        result = np.zeros_like(given.q)
        result[self._joints] = jacobian.T @ wrench + self._nullspace(given, plant, jacobian, inertia, inverse)
        return result + plant.gravity

    def _damping(self, inertia: Array) -> Array:
        """Return the damping matrix (6, 6) for the ratio: 2 r sqrt(M) sqrt(K), made symmetric."""
        values, vectors = np.linalg.eigh(inertia)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        product = root * np.sqrt(self._stiffness)
        return np.asarray(self._settings.damping_ratio * (product + product.T))

    def _nullspace(self, given: ControlInput, plant: Plant, jacobian: Array, inertia: Array, inverse: Array) -> Array:
        """Return efforts of the joints that do not accelerate the frame."""
        k = self._settings.nullspace_stiffness
        if k == 0.0:
            return np.zeros(len(self._joints))
        damping = 2.0 * self._settings.damping_ratio * np.sqrt(k * plant.inertias[self._joints])
        error, rate = (given.desired_q - given.q)[self._joints], (given.desired_v - given.v)[self._joints]
        efforts = k * error + damping * rate
        return np.asarray(efforts - jacobian.T @ (inertia @ (jacobian @ (inverse @ efforts))))


def _inertia_at_frame(jacobian: Array, inverse: Array) -> Array:
    mobility = jacobian @ inverse @ jacobian.T
    return np.asarray(np.linalg.inv(mobility + REGULARIZATION * np.abs(mobility).max() * np.eye(6)))
