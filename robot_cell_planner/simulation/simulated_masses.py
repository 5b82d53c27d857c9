"""The masses of a simulation as a cell, for the dynamic model of its controllers."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from ..model.cell import RobotCell
from ..model.mechanism import Inertial, Link, Mechanism
from ..model.state import RobotCellState
from .multibody.multibodies import Multibodies


def simulated_masses(
    cell: RobotCell, state: RobotCellState, multibodies: Multibodies, unknown: tuple[str, ...] = ()
) -> RobotCell:
    """Return the cell with the masses of its simulation.

    Those that were assumed are added; those of hidden objects and `unknown` bodies are left out.

    Bodies that are not attached keep theirs, which the dynamics of joints do not include.
    """
    assumed = {
        part.object_name: part.assumed for item in multibodies.items for part in item.parts if part.assumed is not None
    }
    robots = {
        name: msgspec.structs.replace(robot, mechanism=_with_masses(robot.mechanism, "", assumed))
        for name, robot in cell.robots.items()
    }
    tools = {}
    for name, tool in cell.tools.items():
        mechanism = _with_masses(tool.mechanism, f"{name}/", assumed, state.tools[name].hidden)
        tools[name] = msgspec.structs.replace(tool, mechanism=mechanism)
    bodies = {
        name: msgspec.structs.replace(body, inertial=None) if state.bodies[name].hidden or name in unknown else body
        for name, body in cell.bodies.items()
    }
    return msgspec.structs.replace(cell, robots=frozendict(robots), tools=frozendict(tools), bodies=frozendict(bodies))


def _with_masses(mechanism: Mechanism, prefix: str, assumed: dict[str, Inertial], hidden: bool = False) -> Mechanism:
    if not hidden and not any(prefix + name in assumed for name in mechanism.links):
        return mechanism

    def link_with_mass(link: Link) -> Link:
        inertial = None if hidden else assumed.get(prefix + link.name, link.inertial)
        return msgspec.structs.replace(link, inertial=inertial)

    links = frozendict({name: link_with_mass(link) for name, link in mechanism.links.items()})
    return msgspec.structs.replace(mechanism, links=links)
