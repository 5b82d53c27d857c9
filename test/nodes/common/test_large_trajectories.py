"""Long trajectories are read as arrays from the messages that rclpy takes, with the contents of its own conversion."""

import copy
import gc
import math

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, srv
from robot_cell_planner.errors import InvalidRequestError, LimitExceededError
from robot_cell_planner.nodes.common import large_trajectories
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.large_trajectories import MIN_POINTS, in_memory, service_in_memory, taken
from robot_cell_planner.nodes.common.node import CellNode
from robot_cell_planner.nodes.conversions.point_blocks import PointBlocks
from robot_cell_planner.nodes.conversions.trajectories import rows_from_points, trajectory_from_message

JOINTS = ["shoulder", "elbow", "wrist"]
GOALS = FollowJointTrajectory, action.ExecuteTrajectory
SERVICES = (
    srv.ValidateTrajectory,
    srv.LookAhead,
    srv.CheckTrajectory,
    srv.CertifyMotion,
    srv.VerifyPlan,
)
KINDS = [kind.Request for kind in SERVICES] + [kind.Impl.SendGoalService.Request for kind in GOALS]


def trajectory(count, seed=1, **rows):
    """A trajectory with other numbers at each point. rows: number of values of each kind."""
    rng = np.random.default_rng(seed)
    sizes = {"positions": 3, "velocities": 3, "accelerations": 3} | rows
    points = [
        JointTrajectoryPoint(
            **{kind: rng.normal(size=size).tolist() for kind, size in sizes.items()},
            time_from_start=Duration(sec=index, nanosec=int(rng.integers(10**9))),
        )
        for index in range(count)
    ]
    message = JointTrajectory(joint_names=JOINTS, points=points)
    message.header.frame_id = "world"
    return message


def receive(kind, message):
    """Return a message as it is taken by a node."""
    used = in_memory(kind)
    type(used)._TYPE_SUPPORT = type(kind)._TYPE_SUPPORT
    return taken(kind, rclpy_implementation.rclpy_deserialize(serialize_message(message), used))


def request_with(kind, found):
    """Return a request, or the request of a goal, with a trajectory and other fields before and after it."""
    request = kind()
    if hasattr(request, "goal"):
        request.goal_id.uuid = list(range(16))
        request.goal.trajectory = found
    elif hasattr(request, "plan"):
        request.plan.trajectory, request.uri = found, "package://plan"
    else:
        request.state.min_revision, request.trajectory = 7, found
    return request


def trajectory_of(request):
    return getattr(request, "goal", getattr(request, "plan", request)).trajectory


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [0, 1, MIN_POINTS - 1, MIN_POINTS, MIN_POINTS + 1])
def test_a_request_contains_what_was_sent(kind, count):
    sent = request_with(kind, trajectory(count))
    found = receive(kind, sent)
    points = trajectory_of(found).points
    assert isinstance(points, PointBlocks) == (count >= MIN_POINTS)
    assert list(points) == list(trajectory_of(sent).points)
    trajectory_of(found).points = list(points)
    assert found == sent


@pytest.mark.parametrize(
    "rows", [{"accelerations": 0}, {"velocities": 0, "accelerations": 0}, {"effort": 3}, {"positions": 0}], ids=str
)
def test_kinds_of_numbers_may_be_missing(rows):
    sent = trajectory(MIN_POINTS, **rows)
    found = receive(JointTrajectory, sent)
    assert list(found.points) == sent.points
    for kind in ("positions", "velocities", "accelerations", "effort"):
        expected, read = (rows_from_points(message, kind, "trajectory") for message in (sent, found))
        assert (expected is None) == (read is None) == (not rows.get(kind, 0 if kind == "effort" else 3))
        np.testing.assert_array_equal(read, expected)


def test_points_are_a_sequence():
    sent = trajectory(MIN_POINTS)
    points = receive(JointTrajectory, sent).points
    assert len(points) == MIN_POINTS
    for index in (0, 5, MIN_POINTS - 1, -1, -MIN_POINTS):
        assert points[index] == sent.points[index]
    assert points[3:9:2] == sent.points[3:9:2]
    for index in (MIN_POINTS, -MIN_POINTS - 1):
        with pytest.raises(IndexError):
            points[index]
    assert points == sent.points
    assert points == receive(JointTrajectory, sent).points
    assert points != receive(JointTrajectory, trajectory(MIN_POINTS, seed=2)).points
    assert points != receive(JointTrajectory, trajectory(MIN_POINTS + 1)).points


def test_a_message_with_such_points_can_be_sent_and_copied():
    sent = trajectory(MIN_POINTS)
    found = receive(JointTrajectory, sent)
    assert deserialize_message(serialize_message(found), JointTrajectory) == sent
    assert copy.deepcopy(found) == found


def test_the_trajectory_is_the_same():
    sent = trajectory(MIN_POINTS)
    found, expected = (trajectory_from_message(each, "trajectory") for each in (receive(JointTrajectory, sent), sent))
    assert found.variables == expected.variables
    for name in ("times", "positions", "velocities", "accelerations"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def _short(points):
    points[7].velocities = [0.0]


def _infinite(points):
    points[9].positions = [0.0, math.inf, 0.0]


def _some(points):
    points[3].accelerations = []


def _backwards(points):
    points[5].time_from_start = Duration()


@pytest.mark.parametrize("spoil", [_short, _infinite, _some, _backwards, list.clear])
def test_errors_are_the_same(spoil):
    sent = trajectory(MIN_POINTS)
    spoil(sent.points)
    errors = []
    for message in (sent, receive(JointTrajectory, sent)):
        with pytest.raises(InvalidRequestError) as caught:
            trajectory_from_message(message, "trajectory")
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_numbers_of_more_points_than_any_request_has_are_not_read(monkeypatch):
    monkeypatch.setattr(large_trajectories, "MAX_READ", MIN_POINTS)
    found = receive(JointTrajectory, trajectory(MIN_POINTS + 1))
    assert len(found.points) == MIN_POINTS + 1
    with pytest.raises(LimitExceededError, match="501 points"):
        trajectory_from_message(found, "trajectory", MIN_POINTS)
    with pytest.raises(LimitExceededError, match="501 points"):
        rows_from_points(found, "positions", "trajectory")


def test_no_object_is_made_of_a_point():
    """They would have to be gone through by every garbage collection, and made by one call that nothing interrupts."""
    sent = request_with(srv.ValidateTrajectory.Request, trajectory(2 * MIN_POINTS))
    before = _points_in_existence()
    found = receive(srv.ValidateTrajectory.Request, sent)
    trajectory_from_message(found.trajectory, "trajectory")
    assert _points_in_existence() == before


def _points_in_existence():
    return sum(isinstance(found, JointTrajectoryPoint) for found in gc.get_objects())


def test_messages_without_a_trajectory_are_taken_by_rclpy():
    assert in_memory(srv.CheckStates.Request) is srv.CheckStates.Request
    assert service_in_memory(srv.CheckStates) is srv.CheckStates
    assert taken(srv.CheckStates.Request, "message") == "message"


def test_messages_of_another_layout_are_taken_by_rclpy(monkeypatch):
    """Such as that of another middleware or version of ROS."""
    kind = srv.ValidateTrajectory.Request
    layout = large_trajectories._layout(kind)
    shifted = large_trajectories._Layout(layout.size, layout.alignment, ((("trajectory",), layout.points[0][1] - 8),))
    monkeypatch.setattr(large_trajectories, "_layout", lambda kind: shifted)
    assert in_memory(kind) is kind


@pytest.fixture
def node(domain):
    rclpy.init()
    node = CellNode("large_trajectories", sole=False)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    yield node
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()


def spin_until_done(node, future):
    while not future.done():
        node.executor.spin_once(timeout_sec=60.0)
    return future.result()


@pytest.mark.parametrize("count", [3, MIN_POINTS])
def test_a_service_gets_long_trajectories_as_arrays(node, count):
    sent, received = trajectory(count), []

    async def serve(request, response):
        received.append(request.trajectory)
        response.state.revision = 5

    node.serve(srv.ValidateTrajectory, "planning/validate_trajectory", serve)
    client = node.service_client(srv.ValidateTrajectory, "planning/validate_trajectory")
    while not client.service_is_ready():
        node.executor.spin_once(timeout_sec=0.01)
    reply = spin_until_done(node, client.call_async(srv.ValidateTrajectory.Request(trajectory=sent)))
    assert reply.state.revision == 5
    (found,) = received
    assert isinstance(found.points, PointBlocks) == (count >= MIN_POINTS)
    assert list(found.points) == sent.points
