"""Control loop: which law each joint has, and the change from one to another without a jump of the effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import ControllerError
from ...kinematics.differential import moved_frame
from ...model.cell import RobotCell
from ...model.simulated_robot import (
    CartesianImpedance,
    ComputedTorque,
    ControllerSettings,
    GravityCompensation,
    JointImpedance,
    MotorControl,
    PidControl,
    TorqueControl,
    VelocityControl,
)
from ...model.state import RobotCellState
from .cartesian import CartesianImpedanceLaw
from .laws import (
    ComputedTorqueLaw,
    ControlInput,
    ControlLaw,
    GravityLaw,
    JointImpedanceLaw,
    PidLaw,
    VelocityLaw,
)
from .plant import Plant

STAGE = "simulation"
BLEND_TIME = 0.05  # [s] in which the difference between the efforts of two laws decays after a change

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(eq=False)
class _Assignment:
    """A law and the joints that it serves at present (n,)."""

    law: ControlLaw
    joints: Mask
    begins: bool = True


class ControlLoop:
    """Laws of the joints of a plant. Joints without a law have the motor of the engine."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        n = len(plant.variables)
        self._assignments: list[_Assignment] = []
        self.settings: dict[str, ControllerSettings] = dict.fromkeys(plant.variables, MotorControl())
        self._difference = np.zeros(n)
        self._fresh = np.zeros(n, dtype=bool)
        self.effort_control = np.zeros(n, dtype=bool)
        self.follows = np.ones(n, dtype=bool)
        self.compliant = np.zeros(n, dtype=bool)
        self.compensates = np.zeros(n, dtype=bool)

    def assign(self, joints: Sequence[str], settings: ControllerSettings) -> None:
        """Give joints a controller from the next period on. A controller with the same settings continues unchanged.

        Raises:
            ControllerError: The controller cannot serve these joints.
        """
        changed = [name for name in joints if self.settings[name] != settings]
        if not changed:
            return
        names = self._plant.variables
        chosen = np.isin(names, changed)
        laws = _laws(settings, self._plant, chosen)  # first, as it may refuse
        for assignment in self._assignments:
            assignment.joints &= ~chosen
        self._assignments = [each for each in self._assignments if each.joints.any()]
        self._assignments += [_Assignment(law, mask) for law, mask in laws]
        self.settings.update(dict.fromkeys(changed, settings))
        self.effort_control[chosen] = not isinstance(settings, MotorControl | TorqueControl)
        self._fresh |= chosen
        for mask, value in ((self.follows, True), (self.compliant, False), (self.compensates, False)):
            mask[chosen] = value
        for law, mask in laws:
            self.follows[mask], self.compliant[mask] = law.follows, law.compliant
            self.compensates[mask] = law.compensates

    def efforts(self, given: ControlInput, effort_mode: Mask, previous: Array) -> Array:
        """Return the efforts (n,) of the joints; those of joints without a law are the commanded ones.

        Args:
            given: Measured and desired motion.
            effort_mode: Whether each joint has a valid effort command (n,).
            previous: Efforts (n,) of the period before, or the ones that hold the joints.
        """
        result = given.efforts.copy()
        for each in self._assignments:
            if each.begins:
                each.law.start(given, self._plant, previous)
                each.begins = False
            computed = each.law.efforts(given, self._plant)
            result[each.joints] = computed[each.joints]
        if (effort_mode & self.effort_control).any():
            added = np.where(self.compensates, self._plant.gravity, 0.0)
            added = np.where(self.follows, added, result)  # of gravity compensation, with its damping
            result = np.where(effort_mode, given.efforts + added, result)
        if self._fresh.any():
            self._difference = np.where(self._fresh, previous - result, self._difference)
            self._fresh[:] = False
        result = result + np.where(self.effort_control & ~effort_mode, self._difference, 0.0)
        self._difference = self._difference * np.exp(-given.period / BLEND_TIME)
        return np.clip(result, -given.limits, given.limits)


def _laws(settings: ControllerSettings, plant: Plant, joints: Mask) -> list[tuple[ControlLaw, Mask]]:
    n = len(plant.variables)
    if isinstance(settings, PidControl):
        return [(PidLaw(settings, n), joints)]
    if isinstance(settings, VelocityControl):
        return [(VelocityLaw(settings, n), joints)]
    if isinstance(settings, GravityCompensation):
        return [(GravityLaw(settings, n), joints)]
    if isinstance(settings, ComputedTorque):
        return [(ComputedTorqueLaw(settings, n), joints)]
    if isinstance(settings, JointImpedance):
        return [(JointImpedanceLaw(settings, n), joints)]
    if isinstance(settings, CartesianImpedance):
        return list(_cartesian_laws(settings, plant, joints))
    return []


def _cartesian_laws(settings: CartesianImpedance, plant: Plant, joints: Mask) -> list[tuple[ControlLaw, Mask]]:
    """Return one law for each robot of the joints."""
    laws: list[tuple[ControlLaw, Mask]] = []
    names = plant.variables
    for robot in plant.cell.robots.values():
        own = joints & np.isin(names, list(robot.variables))
        if own.any():
            chosen = [name for name, mine in zip(names, own, strict=True) if mine]
            frame = settings.frame or _frame_of(plant.cell, plant.state, chosen)
            laws.append((CartesianImpedanceLaw(settings, plant, frame, np.flatnonzero(own).astype(np.intp)), own))
    if not laws or (settings.frame and len(laws) > 1):
        text = f"cartesian_impedance of frame {settings.frame!r} needs the joints of one robot"
        raise ControllerError(text, stage=STAGE, subjects=(settings.frame,))
    return laws


def _frame_of(cell: RobotCell, state: RobotCellState, joints: list[str]) -> str:
    """Return the frame that the largest planning group of these joints moves."""
    groups = [
        (len(group.variables), name)
        for robot in cell.robots.values()
        for name, group in robot.groups.items()
        if group.tip_link and group.variables and set(group.variables) <= set(joints)
    ]
    if groups:
        return moved_frame(cell, state, max(groups)[1])
    text = f"cartesian_impedance needs a frame, because {', '.join(joints[:8])} are not a planning group"
    raise ControllerError(text, stage=STAGE, subjects=tuple(joints))
