"""Times for a path through the planning node's service, and smooth plans through its action."""

import numpy as np
import pytest
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.errors import InvalidRequestError, NotSupportedError, UnknownNameError
from robot_cell_planner.msg import JointLimits, TimingOptions
from robot_cell_planner.nodes.client.client import make_goal, state_with_joints
from robot_cell_planner.nodes.conversions.basic import configuration_to_message, path_to_message
from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[joint] for joint in JOINTS])
PATH = HOME + np.array([[0.0] * 6, [0.3, 0.0, 0.1, 0.0, 0.2, 0.0], [0.3, -0.2, 0.3, 0.1, 0.2, 0.5]])
TIME = "planning/time_parameterize"


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    start_node("planning_node")
    client.scene()


def timed(client, **options):
    request = srv.TimeParameterize.Request(path=path_to_message(JOINTS, PATH), options=TimingOptions(**options))
    reply = client.call_service(srv.TimeParameterize, TIME, request)
    return trajectory_from_message(reply.trajectory, "trajectory"), reply


def test_smooth_is_faster_than_stopping_and_both_are_valid(client):
    smooth, reply = timed(client, method=TimingOptions.SMOOTH, sample_period=0.004)
    stopping, other = timed(client, method=TimingOptions.STOP_AT_WAYPOINTS, sample_period=0.004)
    assert reply.report.valid
    assert other.report.valid
    assert smooth.duration < stopping.duration
    for trajectory in (smooth, stopping):
        np.testing.assert_allclose(trajectory.positions[[0, -1]], PATH[[0, -1]], atol=1e-9)
        # Multiples of the period, but for the samples at which the jerk steps, and what lies within 0.2 ms of those.
        assert np.diff(trajectory.times).max() <= 0.0042 + 1e-9
        whole = np.abs(trajectory.times / 0.004 - np.rint(trajectory.times / 0.004)) < 1e-6
        assert whole.mean() > 0.9
        assert not trajectory.velocities[-1].any()


def test_samples_that_turn_back_rest_there_with_a_warning_or_as_requested(client):
    share = np.sin(np.linspace(0.0, 2.0 * np.pi, 301))[:, None]
    path = path_to_message(JOINTS, HOME + 0.1 * share * np.eye(6)[0])
    request = srv.TimeParameterize.Request(path=path, options=TimingOptions(method=TimingOptions.FOLLOW_SAMPLES))
    reply = client.call_service(srv.TimeParameterize, TIME, request)
    assert any("first at sample 75" in text for text in reply.report.warnings)
    request.stops = [75, 225]
    again = client.call_service(srv.TimeParameterize, TIME, request)
    assert not any("turns sharply" in text for text in again.report.warnings)
    assert trajectory_from_message(again.trajectory, "trajectory").duration < 5.0


def test_noise_of_samples_is_reported_to_clients(client):
    path = HOME + np.linspace(0.0, 0.4, 300)[:, None] * np.linspace(1.0, 0.2, 6)
    path += np.random.default_rng(0).normal(0.0, 2e-5, path.shape)
    options = TimingOptions(method=TimingOptions.FOLLOW_SAMPLES)
    request = srv.TimeParameterize.Request(path=path_to_message(JOINTS, path), options=options)
    reply = client.call_service(srv.TimeParameterize, TIME, request)
    (warning,) = [text for text in reply.report.warnings if "noise" in text]
    assert "times as long as along a curve that is fitted" in warning


@pytest.mark.parametrize("method", [0, 1, 2, 3])
def test_one_point_stays_where_it_is(client, method):
    request = srv.TimeParameterize.Request(path=path_to_message(JOINTS, HOME[None]))
    request.options.method = method
    reply = client.call_service(srv.TimeParameterize, TIME, request)
    assert reply.report.valid
    assert [list(point.positions) for point in reply.trajectory.points] == [HOME.tolist()]
    request.options.method, request.options.start_velocity = 2, configuration_to_message({JOINTS[0]: 0.1})
    reply = client.call_service(srv.TimeParameterize, TIME, request)
    assert reply.report.valid
    assert reply.trajectory.points[0].velocities[0] == pytest.approx(0.1)


def test_limits_of_the_request_hold(client):
    limit = JointLimits(joint=JOINTS[0], velocity=0.1)
    slow, reply = timed(client, method=TimingOptions.SMOOTH, limits=[limit])
    assert reply.report.valid
    assert np.abs(slow.velocities[:, 0]).max() <= 0.1 * (1.0 + 1e-6)
    calm, _ = timed(client, method=TimingOptions.SMOOTH, tool_speed=0.05)
    assert calm.duration > slow.duration


def test_a_start_velocity_is_met(client):
    start = configuration_to_message({JOINTS[0]: 0.2})
    trajectory, _ = timed(client, method=TimingOptions.SMOOTH, start_velocity=start)
    assert trajectory.velocities[0] == pytest.approx([0.2, 0, 0, 0, 0, 0], abs=1e-9)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"method": 9}, InvalidRequestError),
        ({"method": TimingOptions.SMOOTH, "blend_tolerance": -1.0}, InvalidRequestError),
        ({"method": TimingOptions.SMOOTH, "tool_speed": float("nan")}, InvalidRequestError),
        ({"method": TimingOptions.SMOOTH, "limits": [JointLimits(joint="elbwo", velocity=1.0)]}, UnknownNameError),
        (
            {
                "method": TimingOptions.STOP_AT_WAYPOINTS,
                "start_velocity": configuration_to_message({JOINTS[0]: 0.2}),
            },
            NotSupportedError,
        ),
    ],
)
def test_bad_requests_get_their_named_error(client, options, error):
    with pytest.raises(error):
        timed(client, **options)


def test_a_plan_is_smooth_if_requested(client):
    plan = client.plan_motion(
        make_goal([dict(zip(JOINTS, PATH[-1].tolist(), strict=True))]),
        start=state_with_joints(dict(zip(JOINTS, HOME.tolist(), strict=True))),
        timing=TimingOptions(method=TimingOptions.SMOOTH),
    )
    trajectory = trajectory_from_message(plan.trajectory, "trajectory")
    np.testing.assert_allclose(trajectory.positions[[0, -1]], PATH[[0, -1]], atol=1e-9)
