"""Check of the objects of a cell: names that they may touch, and positions in another unit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..model.cell import RobotCell
from ..model.mechanism import Mechanism
from ..model.name_suggestions import listed, unknown_name
from ..model.state import BodyState, RobotCellState, ToolState
from ..model.value import WORLD
from .finding import UNITS, WARNING, Finding

MAX_DISTANCE = 50.0  # [m] of an object from its parent; more indicates other units


def touch_findings(cell: RobotCell, state: RobotCellState) -> Iterator[Finding]:
    """Find names in touch lists that no link, body, tool or robot has: they allow nothing."""
    # Tools and robots stand for all of their links; both lists of an object are treated alike.
    names = {*cell.mechanism_frames, *cell.bodies, *cell.tools, *cell.robots}
    placed: dict[str, ToolState | BodyState] = {f"tool {name}": item for name, item in state.tools.items()}
    placed |= {f"body {name}": item for name, item in state.bodies.items()}
    for place, item in placed.items():
        for key, entries in (("touch_links", item.touch_links), ("touch_bodies", item.touch_bodies)):
            for unknown in (entry for entry in entries if entry not in names):
                text = f"{key} of {place}: {unknown_name(repr(unknown), unknown, names)}"
                remedy = "Correct the name, or delete it; it allows no contact."
                yield Finding(WARNING, "state", text, remedy)


def distance_findings(cell: RobotCell, state: RobotCellState) -> Iterator[Finding]:
    """Find bodies, frames and links that are so far from their parent that their position is probably not in metres."""
    poses = {f"body {name}": (body.pose, body.attached_to) for name, body in state.bodies.items()}
    poses |= {f"frame {name}": (frame.pose, frame.attached_to) for name, frame in cell.frames.items()}
    for name, (pose, parent) in poses.items():
        distance = math.hypot(*pose.position)
        if distance > MAX_DISTANCE:
            text = f"{name} is {distance:.6g} m from the origin of {parent or WORLD}; is its position in mm?"
            remedy = "Write lengths in m, or say the unit of the file by `native_scale: 0.001`."
            yield Finding(WARNING, UNITS, text, remedy)
    for name, robot in cell.robots.items():
        yield from _far_links(f"robot {name}", robot.mechanism)
    for name, tool in cell.tools.items():
        yield from _far_links(f"tool {name}", tool.mechanism)


def _far_links(name: str, mechanism: Mechanism) -> Iterator[Finding]:
    """Find links whose joint is that far from the parent link: lengths in a URDF are always in metres."""
    distances = {joint.child: math.hypot(*joint.origin.position) for joint in mechanism.joints.values()}
    if far := [f"{link} {distance:.6g} m" for link, distance in distances.items() if distance > MAX_DISTANCE]:
        text = f"{name}: links are so far from their parent links that origins may be in mm: {listed(far)}"
        yield Finding(WARNING, UNITS, text, "Write the origins of joints in m.")
