"""Forces that joints and mounts of a simulation transmit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pybullet
from numpy.typing import NDArray

from ..model.pose import Pose
from .engine import Engine, JointHandle
from .multibody import PartFrame

REACTION, MOTOR_EFFORT = 2, 3  # in a joint state of the engine

Array = NDArray[np.float64]


class Wrench(NamedTuple):
    """Force (3,) [N] and torque (3,) [Nm] at the origin of a frame, in its axes."""

    force: Array
    torque: Array


class ForceSensing:
    """Wrenches at the joints and mounts of an engine, as of its latest step.

    The engine reports what a joint transmits to its link from the link's equation of motion, which contains contacts
    and external forces, but not the effort of a motor about the joint's own axis; that is added. End stops are not in
    the equation and are missing.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._axes = {joint.address: joint.model for joint in engine.joints}

    def watch(self, frame: PartFrame) -> None:
        """Let the engine measure at the joint or mount of a part from the next step on."""
        pybullet.enableJointForceTorqueSensor(
            *self._engine.address(frame), enableSensor=1, physicsClientId=self._engine.client
        )

    def load(self, frame: PartFrame) -> Wrench:
        """Return the wrench that a part exerts on its parent, at the origin and in the axes of the frame."""
        world_T_frame = self._engine.pose(frame)
        force, torque = self._transmitted(frame, world_T_frame)
        to_frame = world_T_frame.matrix[:3, :3].T
        return Wrench(-to_frame @ force, -to_frame @ torque)

    def joint_effort(self, joint: JointHandle, frame: PartFrame) -> float:
        """Return the effort that a joint transmits to its link [Nm or N]; `frame` is that of the link."""
        link = PartFrame(frame.multibody, frame.part)
        pose = self._engine.pose(link)
        axis = pose.matrix[:3, :3] @ np.array(joint.model.axis)
        force, torque = self._transmitted(link, pose)
        return float(axis @ (torque if joint.model.revolute else force))

    def _transmitted(self, frame: PartFrame, at: Pose) -> Wrench:
        """Return the wrench that the parent of a part exerts on it at the origin of a pose, in world axes."""
        address = self._engine.address(frame)
        state = pybullet.getJointState(*address, physicsClientId=self._engine.client)
        centre = self._engine.mass_frame(frame)  # at which, and in whose axes, the engine reports
        rotation = centre.matrix[:3, :3]
        force, torque = rotation @ np.array(state[REACTION][:3]), rotation @ np.array(state[REACTION][3:])
        model = self._axes.get(address)
        if model is not None and address not in self._engine.idle:
            link = self._engine.pose(PartFrame(frame.multibody, frame.part))
            axis, effort = link.matrix[:3, :3] @ np.array(model.axis), state[MOTOR_EFFORT]
            if model.revolute:
                torque = torque + effort * axis
            else:
                force = force + effort * axis
        arm = np.array(centre.position) - np.array(at.position)
        return Wrench(force, torque + np.cross(arm, force))
