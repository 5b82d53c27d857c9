"""Markers of plans for RViz: the path of the tool, with the waypoints."""

from __future__ import annotations

import math
import time

from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ...kinematics.forward import forward_batch
from ...model.value import WORLD
from ...planning.path.simplification import densify
from ...planning.problem.plan import Plan
from ...scene.scene import Scene
from ...viewer.tool_paths import tool_frame
from ..common.node import LATCHED, CellNode
from ..common.timed_calls import TimedCall
from ..common.waiting import call_later
from ..conversions.basic import point_to_message

PERIOD = 0.2  # [s] between messages at least
MAX_POINTS = 2000  # of a line
STEP = 0.02  # [rad or m] between the points of a line, up to that number
LINE_WIDTH, WAYPOINT_SIZE = 0.004, 0.012  # [m]
LINE_COLOUR = ColorRGBA(r=0.1, g=0.5, b=0.9, a=0.9)
WAYPOINT_COLOUR = ColorRGBA(r=0.95, g=0.6, b=0.1, a=1.0)


class PlanMarkers:
    """Publishes the path of the latest plan: of the tool centre point of its group, or of the tip without a tool."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._publisher = node.create_publisher(MarkerArray, "planning/markers", LATCHED)
        self._latest: tuple[Scene, Plan] | None = None
        self._call: TimedCall | None = None
        self._free_from = -math.inf  # time of the next message at the earliest [s]
        node.on_release(self._cancel)

    def show(self, scene: Scene, plan: Plan) -> None:
        """Show a plan instead of the previous one, when the running callback has ended, and PERIOD after the last
        message; nothing for a group without a tip."""
        self._latest = scene, plan
        if self._call is None:
            self._call = call_later(self._node, max(self._free_from - time.monotonic(), 0.0), self._publish)

    def _publish(self) -> None:
        assert self._latest is not None
        (scene, plan), self._latest, self._call = self._latest, None, None
        self._free_from = time.monotonic() + PERIOD
        markers = [Marker(action=Marker.DELETEALL)]
        if scene.cell.group(plan.group).tip_link:
            markers += plan_markers(scene, plan)
        self._publisher.publish(MarkerArray(markers=markers))

    def _cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()


def plan_markers(scene: Scene, plan: Plan) -> list[Marker]:
    """A line and the waypoints of a plan, in the world."""
    length = max(plan.path_length, STEP)
    line, _ = densify(plan.path, max(STEP, length / MAX_POINTS))
    stride = -(-len(plan.path) // MAX_POINTS)
    path = Marker(ns="path", type=Marker.LINE_STRIP, scale=Vector3(x=LINE_WIDTH), color=LINE_COLOUR)
    size = Vector3(x=WAYPOINT_SIZE, y=WAYPOINT_SIZE, z=WAYPOINT_SIZE)
    waypoints = Marker(ns="waypoints", type=Marker.SPHERE_LIST, scale=size, color=WAYPOINT_COLOUR)
    for marker, rows in ((path, line), (waypoints, plan.path[::stride])):
        places = forward_batch(
            scene.cell, scene.state, tool_frame(scene.cell, scene.state, plan.group), plan.variables, rows
        )
        marker.header.frame_id = WORLD
        marker.pose.orientation.w = 1.0
        marker.points = [point_to_message(place) for place in places[:, :3, 3]]
    return [path, waypoints]
