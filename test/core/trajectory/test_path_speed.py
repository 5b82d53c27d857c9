"""With every method, the path speed limits the rate of the path length: in joint space, or of the frame of a
Cartesian motion."""

import numpy as np
import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import NotSupportedError, TrajectoryError
from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints, Segment
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Coordination, Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory import blended, parameterization
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

CELL, STATE = loaded()
NAMES = CELL.group().variables
LIMITS = MotionLimits.of([CELL.variables[name] for name in NAMES])
HERE = np.array([STATE.configuration[name] for name in NAMES])
STEPS = np.array([[0.4, 0.1, 0.0, 0.0, -0.2, 0.0], [0.2, 0.3, -0.1, 0.1, 0.0, 0.3], [0.0, 0.0, 0.4, 0.2, 0.1, 0.0]])
PATH = np.vstack((HERE, HERE + np.cumsum(STEPS, axis=0)))
MOMENTS = 20_001  # at which speeds are measured
ROUNDING = 1e-5  # of measured speeds, relative


def speed_along(curve):
    """Return the largest speed in joint space, from distances between close states of a curve."""
    times = np.linspace(0.0, curve.duration, MOMENTS)
    return float(np.linalg.norm(np.diff(curve.evaluate(times), axis=0), axis=1).max() / times[1])


def frame_motion(plan):
    """Return the largest speed [m/s] and angular speed [rad/s] of the tool, from distances between close states."""
    times = np.linspace(0.0, plan.trajectory.curve.duration, MOMENTS)
    poses = forward_batch(CELL, STATE, CELL.group().tip_link, NAMES, plan.trajectory.curve.evaluate(times))
    distances = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    cosines = 0.5 * (np.einsum("nij,nij->n", poses[:-1, :3, :3], poses[1:, :3, :3]) - 1.0)
    chords = np.linalg.norm(np.diff(poses[:, :3, :3], axis=0), axis=(1, 2)) / np.sqrt(2.0)
    assert cosines.min() > 0.99  # so that chords are angles
    return float(distances.max() / times[1]), float(chords.max() / times[1])


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("path_speed", [0.02, 0.1, 0.5])
def test_no_joint_motion_is_faster_in_joint_space_than_the_path_speed(method, path_speed):
    motion = time_path(PATH, LIMITS, TimingOptions(method=method, path_speed=path_speed))
    speeds = np.linalg.norm(motion.trajectory.velocities, axis=1)
    assert speeds.max() <= path_speed * (1.0 + 1e-3)
    assert speeds.max() >= 0.9 * path_speed
    length = np.linalg.norm(STEPS, axis=1).sum()
    assert motion.trajectory.duration >= 0.9 * length / path_speed


def test_a_streamed_motion_with_start_velocity_above_the_path_speed_is_refused(monkeypatch):
    """The streamed curve is checked, also where its path speed cannot be lowered afterwards."""

    def without_path_speed(*arguments, speeds, **keywords):
        return blended.smooth(*arguments, speeds=None, **keywords)

    direction = STEPS[0] / np.linalg.norm(STEPS[0])
    velocity = dict(zip(NAMES, (0.05 * direction).tolist(), strict=True))
    options = TimingOptions(method=TimingMethod.SMOOTH, path_speed=0.1, start_velocity=velocity)
    motion = time_path(PATH, LIMITS, options)
    assert speed_along(motion.trajectory.curve) <= 0.1 * (1.0 + ROUNDING)
    monkeypatch.setattr(parameterization, "smooth", without_path_speed)
    with pytest.raises(NotSupportedError, match="cannot be slowed down for path speed"):
        time_path(PATH, LIMITS, options)


@pytest.mark.parametrize("method", TimingMethod)
def test_a_path_speed_above_that_of_the_joints_changes_nothing(method):
    plain, fast = (
        time_path(PATH, LIMITS, TimingOptions(method=method, path_speed=path_speed)) for path_speed in (0.0, 1e3)
    )
    np.testing.assert_allclose(fast.trajectory.positions, plain.trajectory.positions, atol=1e-9)


@pytest.mark.parametrize("method", [TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.SMOOTH])
def test_plans_obey_the_path_speed(method):
    goals = Goals(joint_goals=({NAMES[0]: STATE.configuration[NAMES[0]] + 0.5},))
    timing = TimingOptions(method=method, path_speed=0.05)
    found = plan_motion(CELL, STATE, MotionRequest(goals, timing=timing)).trajectory
    assert found.duration >= 0.5 / 0.05


@pytest.mark.parametrize("prioritised", [False, True])
def test_motions_among_moving_robots_obey_the_path_speed(prioritised):
    cell, state = loaded("two_arms")
    right, left = "right/manipulator", cell.group("left/manipulator").variables
    rest = Trajectory(left, np.zeros(1), np.array([[state.configuration[name] for name in left]]))
    request = MotionRequest(Goals(named_states=("up",)), right, timing=TimingOptions(path_speed=0.2), moving=(rest,))
    if prioritised:
        planning = PlanningOptions(coordination=Coordination.PRIORITISED)
        request = MotionRequest(request.goals, "both", timing=request.timing, options=planning)
    found = plan_motion(cell, state, request).trajectory
    columns = [found.variables.index(name) for name in cell.group(right).variables]
    speeds = np.linalg.norm(found.velocities[:, columns], axis=1)
    assert 0.18 <= speeds.max() <= 0.2 * (1.0 + 1e-3)


@pytest.mark.parametrize("digits", [16, 9, 7, 5])
def test_rotations_in_place_take_as_long_from_rounded_joint_values(digits):
    """Rounding displaces the frame by a few micrometres, which must not count as a translation."""
    values = {name: STATE.configuration[name] + 1e-3 / 3.0 for name in NAMES}
    exact = STATE.with_configuration(values)
    rounded = STATE.with_configuration({name: round(value, digits) for name, value in values.items()})
    nominal = forward_kinematics(CELL, exact, mode=TargetMode.TOOL)
    waypoints = FrameWaypoints((nominal @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.5)),), mode=TargetMode.TOOL)
    plan = plan_cartesian(CELL, rounded, CartesianRequest(waypoints, timing=TimingOptions(path_speed=0.05)))
    assert plan.duration == pytest.approx(0.5 / 0.05, rel=0.02)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("period", [0.004, 0.02, 0.5])
def test_the_curve_through_distant_samples_is_not_faster_than_the_path_speed(seed, period):
    """A spline through unevenly spaced samples is up to 50 % faster than its parameter between them."""
    random = np.random.default_rng(seed)
    steps = np.cumsum(0.04 * random.normal(size=(8, 6)), axis=0) * random.uniform(0.2, 1.5, (8, 1))
    path = HERE + np.cumsum(steps, axis=0)
    options = TimingOptions(method=TimingMethod.FOLLOW_SAMPLES, path_speed=0.1, period=period)
    fastest = speed_along(time_path(path, LIMITS, options).trajectory.curve)
    assert 0.08 <= fastest <= 0.1 * (1.0 + ROUNDING)


@pytest.mark.parametrize("seed", range(6))
def test_a_segment_that_brakes_from_a_velocity_is_not_faster_than_the_path_speed(seed):
    random = np.random.default_rng(seed)
    directions = random.normal(size=(2, 6))
    first, last = (0.06 * directions / np.linalg.norm(directions, axis=1, keepdims=True)).tolist()
    velocities = {
        "start_velocity": dict(zip(NAMES, first, strict=True)),
        "end_velocity": dict(zip(NAMES, last, strict=True)),
    }
    options = TimingOptions(method=TimingMethod.SMOOTH, path_speed=0.06, **velocities)
    assert speed_along(time_path(PATH, LIMITS, options).trajectory.curve) <= 0.06 * (1.0 + ROUNDING)


@pytest.mark.parametrize("end", ["start", "end"])
def test_a_velocity_above_the_path_speed_is_refused(end):
    given = {f"{end}_velocity": {NAMES[0]: 0.03, NAMES[1]: -0.04}}
    time_path(PATH, LIMITS, TimingOptions(method=TimingMethod.SMOOTH, path_speed=0.05, **given))
    with pytest.raises(TrajectoryError, match=f"the {end} velocity is above the path speed") as caught:
        time_path(PATH, LIMITS, TimingOptions(method=TimingMethod.SMOOTH, path_speed=0.04, **given))
    assert caught.value.values[0].value == pytest.approx(0.05)
    assert caught.value.values[0].limit == 0.04


@pytest.mark.parametrize("step", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("speeds", [(0.0, 0.0, 0.0), (0.1, 0.1, 0.1), (0.1, 0.05, 0.08)])
def test_the_frame_is_not_faster_than_its_speed_within_blends_and_between_distant_points(step, speeds):
    start = forward_kinematics(CELL, STATE, mode=TargetMode.TOOL)
    poses = tuple(start @ Pose(offset) for offset in ((0.15, 0.0, 0.0), (0.15, 0.15, 0.0), (0.0, 0.15, 0.1)))
    segments = tuple(
        Segment(blend_radius=radius, speed=speed) for radius, speed in zip((0.03, 0.03, 0.0), speeds, strict=True)
    )
    waypoints = FrameWaypoints(poses, mode=TargetMode.TOOL, segments=segments)
    options = CartesianOptions(check_collision=False, max_step_distance=step, max_step_angle=1.0)
    timing = TimingOptions(path_speed=0.1)
    plan = plan_cartesian(CELL, STATE, CartesianRequest(waypoints, options=options, timing=timing))
    fastest, _ = frame_motion(plan)
    assert 0.095 <= fastest <= 0.1 * (1.0 + ROUNDING)


@pytest.mark.parametrize("step", [0.1, 1.0])
def test_a_rotation_in_place_is_not_faster_than_the_path_speed(step):
    start = forward_kinematics(CELL, STATE, mode=TargetMode.TOOL)
    poses = tuple(start @ Pose.from_rpy((0.0, 0.0, 0.0), angles) for angles in ((0.3, 0.5, 0.2), (-0.4, 0.3, 0.9)))
    waypoints = FrameWaypoints(poses, mode=TargetMode.TOOL)
    options = CartesianOptions(check_collision=False, max_step_angle=step)
    timing = TimingOptions(path_speed=0.1)
    plan = plan_cartesian(CELL, STATE, CartesianRequest(waypoints, options=options, timing=timing))
    _, fastest = frame_motion(plan)
    assert 0.09 <= fastest <= 0.1 * (1.0 + ROUNDING)
