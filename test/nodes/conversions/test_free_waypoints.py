"""Free rotations of Cartesian waypoints in messages."""

import pytest
from geometry_msgs.msg import Vector3

from robot_cell_planner import action
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import CartesianWaypoint, Target
from robot_cell_planner.nodes.client.client import make_pose_target
from robot_cell_planner.nodes.conversions.cartesian import cartesian_request_from_message
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints
from robot_cell_planner.planning.problem.request import PlanningOptions
from robot_cell_planner.trajectory.timing import TimingOptions


def converted(*targets):
    waypoints = [CartesianWaypoint(target=target) for target in targets]
    goal = action.PlanCartesian.Goal(waypoints=waypoints)
    return cartesian_request_from_message(goal, PlanningOptions(), TimingOptions()).waypoints


def target_at(height, **fields):
    target = make_pose_target("world", Pose((0.0, 0.0, height)))
    for name, value in fields.items():
        setattr(target, name, value)
    return target


def test_tolerances_about_axes_are_those_of_all_waypoints():
    free_z = {"axis_tolerances": Vector3(z=3.15), "orientation_tolerance": 1e-3}
    waypoints = converted(target_at(0.1, **free_z), target_at(0.2, **free_z))
    assert isinstance(waypoints, FrameWaypoints)
    assert waypoints.tolerance_angles == (1e-3, 1e-3, 3.15)
    assert waypoints.free_axes == (2,)
    with pytest.raises(InvalidRequestError, match=r"waypoints\[1\] has another type, mode, frame, unit or tolerance"):
        converted(target_at(0.1, **free_z), target_at(0.2))


@pytest.mark.parametrize("kind", [Target.POSE, Target.POINT_AXIS])
def test_an_orientation_tolerance_from_314_on_leaves_only_the_position(kind):
    waypoints = converted(target_at(0.1, type=kind, orientation_tolerance=3.14, axis=Vector3(x=1.0)))
    assert isinstance(waypoints, FrameWaypoints if kind == Target.POSE else PointAxisWaypoints)
    assert waypoints.free_axes == (0, 1, 2)
