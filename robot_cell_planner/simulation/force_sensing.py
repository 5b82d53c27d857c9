"""Forces that joints and mounts of a simulation transmit."""

from __future__ import annotations

import numpy as np

from .engines.base import Engine, JointHandle, Wrench
from .multibody.multibodies import PartFrame


class ForceSensing:
    """Wrenches at the joints and mounts of an engine, as of its latest step."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def watch(self, frame: PartFrame) -> None:
        """Let the engine measure at the joint or mount of a part from the next step on."""
        self._engine.watch(frame)

    def load(self, frame: PartFrame) -> Wrench:
        """Return the wrench that a part exerts on its parent, at the origin and in the axes of the frame."""
        world_T_frame = self._engine.pose(frame)
        force, torque = self._engine.transmitted(frame, world_T_frame)
        to_frame = world_T_frame.matrix[:3, :3].T
        return Wrench(-to_frame @ force, -to_frame @ torque)

    def joint_effort(self, joint: JointHandle, frame: PartFrame) -> float:
        """Return the effort that a joint transmits to its link [Nm or N]; `frame` is that of the link."""
        link = PartFrame(frame.multibody, frame.part)
        pose = self._engine.pose(link)
        axis = pose.matrix[:3, :3] @ np.array(joint.model.axis)
        force, torque = self._engine.transmitted(link, pose)
        return float(axis @ (torque if joint.model.revolute else force))
