"""The plan_cartesian action of the planning node: requests are planned as by the library, failures report the waypoint,
and a running goal reports progress and can be cancelled."""

import threading

import numpy as np
import pytest
from action_goals import action_client
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point, Vector3
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import action
from robot_cell_planner.errors import (
    CancelledError,
    InvalidRequestError,
    MPInterpolationInCollisionError,
    MPNoIKSolutionError,
)
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import CartesianOptions, CartesianWaypoint, Target, TimingOptions
from robot_cell_planner.nodes.client.client import state_with_joints
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianOptions as Options
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, CartesianStrategy, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest

CELL, STATE = loaded()
ACTION = "planning/plan_cartesian"


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    start_node("planning_node")
    client.scene()


@pytest.fixture(scope="module")
def above():
    """The state with the tool centre point above the workpiece, and its pose there."""
    goal = world_pose(CELL, STATE, "above_pick")
    plan = plan_motion(CELL, STATE, MotionRequest(Goals(targets=(FrameTarget(pose=goal, mode=TargetMode.TOOL),))))
    return STATE.with_configuration(plan.end_configuration()), goal


def waypoint(pose, x=0.0, y=0.0, z=0.0, **fields):
    message = CartesianWaypoint(**fields)
    message.target.mode, message.target.pose = Target.TOOL, pose_to_message(pose)
    here = message.target.pose.position
    here.x, here.y, here.z = here.x + x, here.y + y, here.z + z
    return message


def line_of(state, waypoints, timing=TimingOptions.NONE, **options):
    goal = action.PlanCartesian.Goal(start=state_with_joints(dict(state.configuration)), waypoints=waypoints)
    goal.timing.method = timing
    for name, value in options.items():
        setattr(goal.options, name, value)
    return goal


def rows_of(path):
    return np.array(path.positions).reshape(-1, len(path.joint_names))


@pytest.mark.parametrize("strategy", [CartesianOptions.GRAPH, CartesianOptions.GREEDY])
def test_it_is_the_plan_of_the_library(client, above, strategy):
    state, pose = above
    result = client.send_goal(action.PlanCartesian, ACTION, line_of(state, [waypoint(pose, z=0.1)], strategy=strategy))
    end = waypoint(pose, z=0.1).target.pose.position
    target = FrameWaypoints((type(pose)((end.x, end.y, end.z), pose.quaternion),), mode=TargetMode.TOOL)
    names = {CartesianOptions.GRAPH: CartesianStrategy.GRAPH, CartesianOptions.GREEDY: CartesianStrategy.GREEDY}
    plan = plan_cartesian(CELL, state, CartesianRequest(target, options=Options(strategy=names[strategy]), timing=None))
    # The start is reported separately and is not repeated as the first point.
    assert np.array_equal(rows_of(result.plan.path), plan.path[1:])
    assert result.start_configuration.positions.tolist() == plan.path[0].tolist()
    report = result.report
    assert report.fraction == 1.0
    assert len(report.waypoint_of_point) == len(report.parameter_of_point) == len(plan.path) - 1
    assert report.min_manipulability == plan.cartesian.min_manipulability
    assert report.max_deviation == plan.cartesian.max_deviation
    assert result.plan.record.planner == names[strategy].value


def test_arcs_blends_and_speeds(client, above):
    state, pose = above
    via = Point(x=pose.position[0], y=pose.position[1] + 0.05, z=pose.position[2] + 0.05)
    waypoints = [
        waypoint(pose, y=0.1, motion=CartesianWaypoint.ARC, via=via, speed=0.05),
        waypoint(pose, y=0.1, z=0.08, blend_radius=0.02, speed=0.05),
        waypoint(pose, y=0.0, z=0.08, speed=0.05),
    ]
    result = client.send_goal(action.PlanCartesian, ACTION, line_of(state, waypoints, TimingOptions.FOLLOW_SAMPLES))
    trajectory = result.plan.trajectory
    rows = np.array([list(point.positions) for point in trajectory.points])
    times = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in trajectory.points])
    places = forward_batch(CELL, state, "gripper/tcp", tuple(trajectory.joint_names), rows)[:, :3, 3]
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / np.diff(times)
    assert speeds.max() <= 0.05 * 1.01
    assert np.median(speeds) == pytest.approx(0.05, rel=0.01)
    centre = np.array((pose.position[0], pose.position[1] + 0.05, pose.position[2]))
    on_arc = np.array(result.report.waypoint_of_point) == 0
    path = forward_batch(CELL, state, "gripper/tcp", tuple(result.plan.path.joint_names), rows_of(result.plan.path))
    assert np.allclose(np.linalg.norm(path[on_arc, :3, 3] - centre, axis=1), 0.05, atol=1e-5)


def test_points_with_axes(client, above):
    state, pose = above
    tilted = waypoint(pose, z=0.1)
    tilted.target.type, tilted.target.axis = Target.POINT_AXIS, Vector3(x=0.2, y=0.1, z=-1.0)
    result = client.send_goal(action.PlanCartesian, ACTION, line_of(state, [tilted], verbose=True))
    last = dict(zip(result.plan.path.joint_names, rows_of(result.plan.path)[-1].tolist(), strict=True))
    axis = world_pose(CELL, state.with_configuration(last), "gripper/tcp").matrix[:3, 2]
    assert np.allclose(axis, np.array((0.2, 0.1, -1.0)) / np.linalg.norm((0.2, 0.1, -1.0)), atol=1e-5)
    assert result.report.log


def test_a_failure_returns_the_path_that_was_reached(client, above):
    state, pose = above
    goal = line_of(state, [waypoint(pose, z=-0.1), waypoint(pose, z=-0.3)], skip_preplanning_collision_check=True)
    with pytest.raises(MPInterpolationInCollisionError) as caught:
        client.send_goal(action.PlanCartesian, ACTION, goal)
    partial = caught.value.partial
    assert 0.5 < partial.report.fraction < 0.19 / 0.3
    assert partial.report.failed_waypoint == 1
    assert "table" in {partial.report.pairs[0].name_a, partial.report.pairs[0].name_b}
    assert partial.report.failed_frame.position.z < pose.position[2] - 0.17
    assert len(rows_of(partial.plan.path)) == len(partial.report.waypoint_of_point)
    with pytest.raises(MPNoIKSolutionError) as caught:
        client.send_goal(action.PlanCartesian, ACTION, line_of(state, [waypoint(pose, x=3.0)]))
    assert caught.value.partial.report.ik.reason == 1  # out of reach
    assert caught.value.partial.report.ik.excess > 1.0


BAD = {
    "no waypoint": lambda pose: [],
    "two modes": lambda pose: [waypoint(pose), CartesianWaypoint()],
    "no such motion": lambda pose: [waypoint(pose, motion=7)],
    "a negative speed": lambda pose: [waypoint(pose, speed=-1.0)],
    "a blend at the end": lambda pose: [waypoint(pose, z=0.1, blend_radius=0.01)],
    "an arc on a line": lambda pose: [waypoint(pose, z=0.1, motion=1, via=waypoint(pose, z=0.05).target.pose.position)],
    "a blend that is too wide": lambda pose: [waypoint(pose, z=0.1, blend_radius=5.0), waypoint(pose)],
}


@pytest.mark.parametrize("case", BAD)
def test_bad_waypoints_get_their_named_error(client, above, case):
    state, pose = above
    with pytest.raises(InvalidRequestError):
        client.send_goal(action.PlanCartesian, ACTION, line_of(state, BAD[case](pose)))


def test_an_unknown_strategy_is_refused(client, above):
    state, pose = above
    with pytest.raises(InvalidRequestError, match="strategy"):
        client.send_goal(action.PlanCartesian, ACTION, line_of(state, [waypoint(pose)], strategy=9))


def there_and_back(pose, count):
    """Waypoints that keep a planner busy."""
    return [waypoint(pose, z=0.1 * (index % 2)) for index in range(1, count + 1)]


def test_it_reports_its_progress(client, above):
    state, pose = above
    reported = []
    goal = line_of(state, there_and_back(pose, 400), max_step_distance=0.002)
    result = client.send_goal(action.PlanCartesian, ACTION, goal, lambda feedback: reported.append(feedback.progress))
    assert result.report.fraction == 1.0
    fractions = [progress.fraction for progress in reported if not np.isnan(progress.fraction)]
    assert len(fractions) >= 3
    assert fractions == sorted(fractions)
    assert 0.0 <= fractions[0] < fractions[-1] <= 1.0
    assert max(progress.states_checked for progress in reported) > 100


def test_it_can_be_cancelled(client, above):
    state, pose = above
    goal = line_of(state, there_and_back(pose, 5000), max_step_distance=0.001)
    actions = action_client(client, action.PlanCartesian, ACTION)
    assert actions.wait_for_server(60.0)
    running, done, answer = threading.Event(), threading.Event(), []

    def take(future):
        answer.append(future.result())
        done.set()

    def accepted(future):
        handle = future.result()
        handle.get_result_async().add_done_callback(take)
        running.wait(60.0)
        handle.cancel_goal_async()

    def started(future):
        threading.Thread(target=accepted, args=(future,)).start()

    client._send_goal_async(actions, goal, lambda _: running.set()).add_done_callback(started)
    assert done.wait(120.0)
    assert answer[0].status == GoalStatus.STATUS_CANCELED
    assert answer[0].result.error.code == CancelledError.code
    # The node goes on.
    result = client.send_goal(action.PlanCartesian, ACTION, line_of(state, [waypoint(pose, z=0.05)]))
    assert result.report.fraction == 1.0
