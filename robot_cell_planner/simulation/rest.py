"""Rest of a simulation: while nothing moves and nothing changes, its steps need not be computed.

An engine at rest is no fixed point to the last bit. Rounding errors of its solver keep joints and bodies moving at
1e-18 to 1e-9 rad/s or m/s, so rest is a matter of bounds: for a while everything was slower than a given speed, and
setpoints, efforts and contact forces at the end are those of the begin. The engine then keeps its state until something
changes. That depends on simulated motion and on commands only: the same commands give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .engines.base import Engine, ObjectContact
from .motors import Motors

DURATION = 0.2  # [s] for which everything is slow before it is at rest
# Max change of a force or effort in that time [N or Nm], far above the 1e-8 of rounding errors. An integral in a
# controller that grows faster may overcome static friction later.
STEADY = 1e-6

Array = NDArray[np.float64]


class _Moment(NamedTuple):
    """What is the same at the begin and the end of a time at rest: positions [rad or m], efforts and forces [Nm or N],
    contacts and held bodies by name."""

    positions: Array
    forces: Array
    names: tuple[tuple[str, ...], ...]


class Rest:
    """Decides whether steps can be skipped.

    Args:
        engine: The engine.
        motors: Motors of all joints.
        speed: Speed below which joints and bodies are at rest [rad/s or m/s]; 0: never.
        time_step: Time step [s].
    """

    def __init__(self, engine: Engine, motors: Motors, speed: float, time_step: float) -> None:
        self._engine, self._motors, self._speed = engine, motors, speed
        self._needed = max(round(DURATION / time_step), 1)
        self._bound = speed * DURATION
        self._slow_steps = 0
        self._begin: _Moment | None = None
        self._lasts = False

    @property
    def lasts(self) -> bool:
        """Whether everything is at rest, so that a step would change nothing; not after a command that moves a joint,
        even if no step was computed since."""
        return self._lasts and not self._motors.are_changed

    def begin(self) -> None:
        """Skip the next steps, because everything is at rest."""
        self._lasts = True

    def end(self) -> None:
        """Compute the next steps, because something changes."""
        self._lasts, self._slow_steps = False, 0

    def goes_on(self) -> bool:
        """Return whether the next step can be skipped."""
        if self._lasts and self._motors.take_changes():
            self.end()
        return self._lasts

    def is_reached(self, time: float, contacts: Sequence[ObjectContact], held: Sequence[str]) -> bool:
        """Return whether everything is at rest after a step that ended at a time [s], with its contacts and the bodies
        that grippers hold."""
        slow = self._motors.speed < self._speed and self._engine.bodies_are_slower(self._speed)
        if self._motors.take_changes() or not slow:
            self._slow_steps = 0
            return False
        self._slow_steps += 1
        if self._slow_steps == 1:
            self._begin = self._moment(contacts, held)
        if self._slow_steps <= self._needed:
            return False
        self._slow_steps = 0
        return self._motors.is_steady(time) and self._is_unchanged(self._moment(contacts, held))

    def _moment(self, contacts: Sequence[ObjectContact], held: Sequence[str]) -> _Moment:
        states, bodies = self._motors.states(), self._engine.placement.bodies
        values = [*self._motors.setpoint_values(), *(value for body in bodies for value in body)]
        forces = np.array([*states.efforts.tolist(), *(each.force for each in contacts)])
        names = tuple(held), *(each.pair for each in contacts)
        return _Moment(np.array([*states.positions.tolist(), *values]), forces, names)

    def _is_unchanged(self, now: _Moment) -> bool:
        before = self._begin
        return (
            before is not None
            and now.names == before.names
            and bool((np.abs(now.positions - before.positions) <= self._bound).all())
            and bool((np.abs(now.forces - before.forces) <= STEADY).all())
        )
