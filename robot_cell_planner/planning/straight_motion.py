"""Straight steps of a sequence: a frame of the group moves on a line to one of several targets."""

from __future__ import annotations

from ..kinematics.targets import FrameTarget
from ..scene.scene import Scene
from ..trajectory.timing import TimingOptions
from .cartesian.path.options import CartesianOptions
from .cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints, Waypoints, common_fields
from .cartesian.planner import CartesianRequest, cartesian_plan
from .problem.plan import Plan
from .problem.progress import ProgressMonitor
from .problem.request import PlanningOptions, Target


def plan_straight(
    scene: Scene,
    target: Target,
    group: str,
    joints: tuple[str, ...],
    options: PlanningOptions,
    timing: TimingOptions | None,
    monitor: ProgressMonitor,
) -> Plan:
    """Plan the line from the pose of the frame in a scene to a target, the orientation turning at a constant rate.

    Raises:
        RobotCellError: As from `plan_cartesian`.
    """
    request = CartesianRequest(
        _waypoints(target),
        group,
        joints,
        CartesianOptions(
            seed=options.seed,
            state_limit=options.state_limit,
            extra_margin=options.extra_margin,
            search_step=options.search_step,
            resolution=options.resolution,
            engine=options.engine,
            start_limit_tolerance=options.start_limit_tolerance,
            certify=options.certify,
        ),
        timing,
    )
    return cartesian_plan(scene.cell, scene.state, request, monitor)


def _waypoints(target: Target) -> Waypoints:
    fields = common_fields(target)
    if isinstance(target, FrameTarget):
        return FrameWaypoints(poses=(target.pose,), **fields)
    return PointAxisWaypoints(points_and_axes=((target.point, target.axis),), **fields)
