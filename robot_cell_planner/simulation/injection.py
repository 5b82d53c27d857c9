"""Injection of disturbances into the engine and the motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import DisturbanceError
from .disturbances import OF_FRAMES, OF_JOINTS, ActiveDisturbances, Disturbance, DisturbanceKind
from .engines.base import Engine
from .motors import Motors
from .multibody.multibodies import Multibodies, PartFrame

STAGE = "simulation"


class Injection:
    """Disturbances of a simulated cell.

    Attributes:
        active: Disturbances in force.
    """

    def __init__(self, engine: Engine, multibodies: Multibodies, motors: Motors) -> None:
        self._engine, self._multibodies, self._motors = engine, multibodies, motors
        self.active = ActiveDisturbances()
        self._loaded: set[str] = set()
        self._biases: dict[str, float] = {}

    @property
    def _frames(self) -> dict[str, PartFrame]:
        return self._multibodies.frames

    def end_those_of_frames_that_are_gone(self) -> None:
        """End the disturbances of frames that do not exist any more."""
        gone = {each.name for each in self.active.all if each.kind in OF_FRAMES and each.name not in self._frames}
        self._loaded -= gone
        if gone:
            self.active.end(gone)

    def begin(self, disturbances: Sequence[Disturbance], time: float, clear: bool = False) -> None:
        """Begin disturbances at a time [s], all or none, after ending all others if `clear`."""
        disturbances = [self._with_name_in_cell(each) for each in disturbances]
        for each in disturbances:
            if each.kind in OF_FRAMES and each.name not in self._frames:
                text = f"{each.kind.value}: {each.name} belongs to nothing that is simulated"
                raise DisturbanceError(text, subjects=(each.name,))
        if clear:
            self.active.clear()
        self.active.add(disturbances, time)
        self._apply()

    def step(self, time: float) -> None:
        """Apply the disturbances of the step that begins at a time [s]."""
        if not self.active.all:
            return
        if self.active.expire(time):
            self._apply()
        for each in self.active.of(DisturbanceKind.WRENCH):
            self._engine.push(self._frames[each.name], each.force, each.torque)
        for each in self.active.of(DisturbanceKind.ENCODER_NOISE):
            for name in self._joints_of(each):
                self._motors.errors[name] = self._biases.get(name, 0.0) + self.active.noise(each.value)

    def _apply(self) -> None:
        """Apply the disturbances that last for more than one step."""
        loads = {each.name: each.value for each in self.active.of(DisturbanceKind.PAYLOAD)}
        for name in sorted(self._loaded | loads.keys()):
            self._engine.load(self._frames[name], loads.get(name, 0.0))
        self._loaded = set(loads)
        robots, tools = self._motors.configuration()
        now = robots | {f"{tool}/{name}": value for tool, values in tools.items() for name, value in values.items()}
        stuck = [name for each in self.active.of(DisturbanceKind.STUCK_JOINT) for name in self._joints_of(each)]
        self._motors.stuck = {name: self._motors.stuck.get(name, now[name]) for name in stuck}
        biases = self.active.of(DisturbanceKind.ENCODER_BIAS)
        self._biases = {name: each.value for each in biases for name in self._joints_of(each)}
        self._motors.errors = dict(self._biases)

    def _with_name_in_cell(self, disturbance: Disturbance) -> Disturbance:
        """Return a disturbance with the name of its joint in the cell, by which it replaces earlier ones."""
        if disturbance.kind not in OF_JOINTS or not disturbance.name:
            return disturbance
        return replace(disturbance, name=self._motors.names.full_name(disturbance.name))

    def _joints_of(self, disturbance: Disturbance) -> tuple[str, ...]:
        return (disturbance.name,) if disturbance.name else tuple(self._motors.setpoints)
