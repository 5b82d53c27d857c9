"""Bodies that are added to a simulation and removed from it while it runs."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from ..collision.pairs.allowed_pairs import AllowedPairs
from ..errors import DuplicateNameError, UnknownNameError
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.placement import placements
from ..model.state import BodyState, RobotCellState
from .collision_filter import disable_allowed_collisions, disable_between_anchored
from .engines.base import Address, Engine
from .multibody.multibodies import Multibodies

STAGE = "simulation"


def with_body(
    cell: RobotCell, state: RobotCellState, body: RigidBody, at: BodyState
) -> tuple[RobotCell, RobotCellState]:
    """Return a cell and its state with another body, also in place of a hidden one.

    Raises:
        DuplicateNameError: The cell has a frame of this name.
        UnknownNameError, StateError: There is no frame to which it is attached.
    """
    name = body.name
    if name in placements(cell, state) and not (name in cell.bodies and state.bodies[name].hidden):
        raise DuplicateNameError(f"the simulation has {name} already", stage=STAGE, subjects=(name,))
    cell = msgspec.structs.replace(cell, bodies=frozendict({**cell.bodies, name: body}))
    state = msgspec.structs.replace(state, bodies=frozendict({**state.bodies, name: at}))
    cell.check_state(state)
    return cell, state


def without_body(cell: RobotCell, state: RobotCellState, name: str) -> tuple[RobotCell, RobotCellState]:
    """Return a cell and its state without a body; one that something is attached to is hidden.

    Raises:
        UnknownNameError: There is no such body.
    """
    if name not in cell.bodies:
        text = unknown_name(f"body {name!r}", name, cell.bodies)
        raise UnknownNameError(text, stage=STAGE, subjects=(name,))
    if any(parent == name for parent, _ in placements(cell, state).values()):
        return cell, state.with_body(name, msgspec.structs.replace(state.bodies[name], hidden=True))
    cell = msgspec.structs.replace(cell, bodies=frozendict({k: v for k, v in cell.bodies.items() if k != name}))
    state = msgspec.structs.replace(state, bodies=frozendict({k: v for k, v in state.bodies.items() if k != name}))
    return cell, state


def spawn(engine: Engine, multibodies: Multibodies, cell: RobotCell, state: RobotCellState, name: str) -> None:
    """Add a body of a cell to an engine that has the rest of it.

    Raises:
        SimulationError: It is attached to something that can move.
        GeometryError: A mesh cannot be read or used.
    """
    numbers = multibodies.add_body(cell, state, name)
    links: set[Address] = set()
    added: list[int] = []
    try:
        for number in numbers:
            links.update(engine.add(number, multibodies.numbered[number]))
            added.append(number)
    except BaseException:
        multibodies.remove_body(name)
        for number in added:
            disable_between_anchored(engine, engine.remove(number))
        raise
    disable_allowed_collisions(engine, AllowedPairs(cell, state), links)
