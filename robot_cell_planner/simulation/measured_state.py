"""The state of a cell as a simulation has it, and how far bodies moved before its start."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import msgspec

from ..model.pose import Pose
from ..model.state import RobotCellState

# Larger motions before the start are reported.
SETTLED_DISTANCE = 1e-3  # [m]
SETTLED_ANGLE = 0.01  # [rad]

Configuration = tuple[dict[str, float], dict[str, dict[str, float]]]


def measured_state(
    start: RobotCellState, configuration: Configuration, bodies: Iterable[str], pose: Callable[[str], Pose]
) -> RobotCellState:
    """Return a state with the joint values of robots and of tools, and the poses of bodies that move freely.

    pose: Returns world_T_frame of a frame.
    """
    robots, tools = configuration
    state = start.with_configuration(robots)
    for name, values in tools.items():
        state = state.with_tool(name, state.tools[name].with_configuration(values))
    for name in bodies:
        body, place = state.bodies[name], pose(name)
        if body.attached_to:
            place = pose(body.attached_to).inverse() @ place
        state = state.with_body(name, msgspec.structs.replace(body, pose=place))
    return state


def moved_bodies(poses: Mapping[str, tuple[Pose, Pose]]) -> list[str]:
    """Return sentences about bodies that moved far, from their poses before and after."""
    found: list[str] = []
    for name, (before, after) in poses.items():
        distance, angle = before.distance_to(after)
        if distance > SETTLED_DISTANCE or angle > SETTLED_ANGLE:
            way = f"{1000.0 * distance:.1f} mm and {math.degrees(angle):.1f} degrees"
            found.append(f"body {name} moved by {way} before it came to rest")
    return found
