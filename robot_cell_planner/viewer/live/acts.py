"""Actions of users on the page. The viewer node implements them by ordinary calls of services and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...model.geometry import Geometry
from ...model.pose import Pose
from ...trajectory.trajectory import Trajectory


class Acts(Protocol):
    """Acts on the running cell. Each blocks until it is done, may be called from any thread, returns a line for people
    and raises the RobotCellError of the node that refuses it."""

    def solve(self, group: str, target: Pose) -> tuple[Mapping[str, float], ...]:
        """Return configurations of a group whose tool is at a pose in the world, without collisions."""

    def plan_to_pose(self, group: str, target: Pose) -> str:
        """Plan a motion of a group whose tool ends at a pose in the world."""

    def plan_to_joints(self, group: str, values: Mapping[str, float]) -> str:
        """Plan a motion of a group to joint values [rad or m]."""

    def plan_to_named_state(self, group: str, name: str) -> str:
        """Plan a motion of a group to one of its named states."""

    def execute(self, trajectory: Trajectory) -> str:
        """Execute a trajectory, to its end."""

    def stop(self) -> str:
        """Stop the running motion on its path."""

    def move(self, name: str, pose: Pose) -> str:
        """Put a body at a pose in the world."""

    def add(self, name: str, geometry: Geometry, pose: Pose) -> str:
        """Add a body of one shape at a pose in the world."""

    def attach(self, name: str, to: str) -> str:
        """Attach a body where it is to a link, tool or body."""

    def detach(self, name: str) -> str:
        """Detach a body where it is."""

    def set_hidden(self, name: str, hidden: bool) -> str:
        """Hide a tool or body, which is then neither checked nor shown, or show it again."""

    def remove(self, name: str) -> str:
        """Remove a body."""
