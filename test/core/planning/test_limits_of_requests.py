"""Limits of a request hold for its start, goals, path and the whole trajectory, with every timing method."""

import numpy as np
import pytest
from loaded_cells import loaded
from planning_cells import gantry

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import (
    ConstraintMismatchError,
    InvalidRequestError,
    JointLimitError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    StartBeyondLimitsError,
    TrajectoryInCollisionError,
)
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions, CartesianStrategy
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.timing import PathTiming, time_joint_path
from robot_cell_planner.planning.problem.constraints import FrameConstraint, FrameRule
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

# From y = -0.7 to 0.2: the cube passes above y = 0.25, or, on a longer path, below -0.75.
POST = ("post", (0.0, -0.25), (0.1, 0.9))
START, GOAL = {"x": -0.8, "y": 0.0}, {"x": 0.8, "y": 0.0}


def planned(scene, goal=GOAL, constraints=(), hints=(), planning=None, **timing):
    cell, state = scene
    request = MotionRequest(
        Goals(joint_goals=(goal,)),
        constraints=constraints,
        options=PlanningOptions(seed=1, **(planning or {})),
        timing=TimingOptions(**timing),
        waypoint_suggestions=hints,
    )
    return plan_motion(cell, state.with_configuration(START), request)


def dense(plan):
    return plan.trajectory.at(np.linspace(0.0, plan.trajectory.duration, 2001))


@pytest.mark.parametrize("method", [TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.SMOOTH])
def test_a_plan_keeps_the_position_limits_of_its_request(method):
    scene = gantry((POST,))
    assert planned(scene, method=method).path[:, 1].max() >= 0.25
    found = planned(scene, method=method, limits={"y": JointLimits(-0.8, 0.1)})
    for points in (found.path, dense(found)):
        assert -0.8 - 1e-9 <= points[:, 1].min() <= -0.75 + 1e-6
        assert points[:, 1].max() <= 0.1 + 1e-9


def test_starts_and_goals_beyond_the_limits_of_a_request_are_refused():
    with pytest.raises(StartBeyondLimitsError, match="joint x"):
        planned(gantry(), limits={"x": JointLimits(-0.5, 1.0)})
    with pytest.raises(JointLimitError, match="joint goal 0 is beyond limits of joint x"):
        planned(gantry(), limits={"x": JointLimits(-1.0, 0.5)})
    with pytest.raises(InvalidRequestError, match="leave no position of joint y"):
        planned(gantry(), limits={"y": JointLimits(1.5, 2.0)})


def test_solutions_of_inverse_kinematics_beyond_the_limits_of_a_request_are_excluded():
    cell, state = loaded()
    name, here = cell.group().variables[0], state.configuration[cell.group().variables[0]]
    target = FrameTarget(pose=forward_kinematics(cell, state, mode=TargetMode.ROBOT), mode=TargetMode.ROBOT)

    def end(start, *bounds):
        timing = TimingOptions(limits={name: JointLimits(*bounds)})
        request = MotionRequest(Goals(targets=(target,)), timing=timing)
        return plan_motion(cell, state.with_configuration({name: start}), request).path[-1, 0]

    assert abs(end(here, here - 0.1, here + 0.1) - here) <= 0.1
    with pytest.raises(JointLimitError, match=f"every solution for goal 0 is beyond limits of joint {name}"):
        end(here + 1.0, here + 0.9, here + 1.1)


@pytest.mark.parametrize("method", TimingMethod)
def test_a_path_beyond_the_limits_of_a_request_is_not_timed(method):
    cell, state = gantry()
    path = np.array([[-0.8, 0.0], [-0.5, 0.3], [-0.2, 0.5]])
    options = TimingOptions(method=method, limits={"y": JointLimits(-0.1, 0.4)})
    with pytest.raises(JointLimitError, match="point 2 of the path is beyond the limit of joint y"):
        time_path(path, MotionLimits.of([cell.variables[name] for name in ("x", "y")]), options)
    with pytest.raises(JointLimitError, match="point 2 of the path is beyond the limit of joint y"):
        time_joint_path(cell, state, PathTiming(("x", "y"), path, options, PlanningOptions()))


def along_a_line(cell, state, group="", *, limits, **options):
    """Move the tool of a group, or that of the left arm, by 0.15 m sideways."""
    start = forward_kinematics(cell, state, cell.target_groups(group)[0], mode=TargetMode.TOOL)
    waypoints = FrameWaypoints((start @ Pose((0.0, 0.15, 0.0)),), mode=TargetMode.TOOL)
    timing = TimingOptions(limits=limits)
    return plan_cartesian(
        cell, state, CartesianRequest(waypoints, group, timing=timing, options=CartesianOptions(**options))
    )


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_a_cartesian_motion_takes_a_branch_within_the_limits_of_its_request(strategy):
    cell, state = loaded()
    name = cell.group().variables[0]
    options = {"sample_start_configuration": True, "strategy": strategy}
    found = along_a_line(cell, state, limits={name: JointLimits(-7.0, 1.0)}, **options)
    assert found.cartesian.fraction == 1.0
    assert dense(found)[:, 0].max() <= 1.0 + 1e-9


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize("joint", [0, 1, 2, 3, 5])  # joint 4 does not move
def test_a_cartesian_motion_beyond_the_limits_of_its_request_returns_its_part(strategy, joint):
    cell, state = loaded()
    free = along_a_line(cell, state, limits={}, strategy=strategy)
    first, last = free.path[[0, -1], joint]
    half = sorted((first, 0.5 * (first + last)))
    limits = {free.variables[joint]: JointLimits(half[0] - 0.01, half[1] + 1e-3)}
    if last < first:
        limits = {free.variables[joint]: JointLimits(half[0] - 1e-3, half[1] + 0.01)}
    with pytest.raises((MPNoIKSolutionError, MPMaxJumpError)) as caught:
        along_a_line(cell, state, limits=limits, strategy=strategy)
    part = caught.value.partial
    assert part.cartesian.fraction < 1.0
    assert limits[free.variables[joint]].lower <= part.path[:, joint].min()
    assert part.path[:, joint].max() <= limits[free.variables[joint]].upper


@pytest.mark.parametrize("joint", ["shoulder_lift_joint", "wrist_1_joint"])
def test_a_follower_at_its_limit_is_named_with_the_joint_of_its_own_that_would_jump(joint):
    cell, state = loaded("two_arms")
    free = along_a_line(cell, state, "both", limits={}, check_collision=False)
    name = f"right/{joint}"
    first, last = free.path[[0, -1], free.variables.index(name)]
    half = 0.5 * (first + last)
    limits = {name: JointLimits(-7.0, half) if last > first else JointLimits(half, 7.0)}
    with pytest.raises(MPMaxJumpError, match=f"joint {name} reaches its (lower|upper) limit") as caught:
        along_a_line(cell, state, "both", limits=limits, check_collision=False)
    (jump,) = (value for value in caught.value.values if value.name.startswith("jump of right/"))
    assert jump.value > jump.limit


@pytest.mark.parametrize("side", ["left", "right"])
def test_all_arms_of_a_coordinated_motion_keep_the_limits_of_its_request(side):
    cell, state = loaded("two_arms")
    free = along_a_line(cell, state, "both", limits={}, check_collision=False)
    columns = [column for column, name in enumerate(free.variables) if name.startswith(side)]
    column = max(columns, key=lambda each: float(np.ptp(free.path[:, each])))
    first, last = free.path[[0, -1], column]
    bounds = sorted((first, 0.5 * (first + last)))
    limits = {free.variables[column]: JointLimits(bounds[0] - 1e-3, bounds[1] + 1e-3)}
    with pytest.raises((MPNoIKSolutionError, MPMaxJumpError)) as caught:
        along_a_line(cell, state, "both", limits=limits, check_collision=False)
    assert 0.0 < caught.value.partial.cartesian.fraction < 1.0


@pytest.mark.parametrize("limit_effort", [False, True])
def test_effort_limits_of_a_request_slow_the_motion_down(limit_effort):
    cell, state = loaded()
    names = tuple(cell.group().variables)
    here = np.array([state.configuration[name] for name in names])
    path = np.stack([here, here + 0.3 * np.eye(len(names))[0]])  # about the vertical axis: no torque at rest

    def duration(**options):
        timing = TimingOptions(limit_effort=limit_effort, **options)
        return time_joint_path(cell, state, PathTiming(names, path, timing, PlanningOptions())).trajectory.duration

    unlimited = duration()
    assert duration(limits={names[0]: JointLimits(effort=1e4)}) == unlimited
    # A motion slower by k requires a torque smaller by k^2.
    slower = [duration(limits={names[0]: JointLimits(effort=effort)}) for effort in (0.4, 0.1)]
    assert slower[0] > 1.2 * unlimited
    assert slower[1] == pytest.approx(2.0 * slower[0], rel=0.05)


@pytest.mark.parametrize("period", [0.01, 0.5, 1.0, 2.0])
def test_a_curve_through_the_path_is_checked_between_its_samples(period):
    """The curve rises above the straight motion to the waypoint, into a lamp between two samples."""
    scene = gantry((POST, ("lamp", (-0.4, 0.32), (0.04, 0.1))))
    options = {"hints": ({"x": 0.0, "y": 0.3},), "planning": {"simplify": False, "tighten": False}, "period": period}
    straight = planned(scene, **options)
    checker = CollisionChecker(*scene, straight.variables)
    assert not checker.in_collision_batch(dense(straight)).any()
    with pytest.raises(TrajectoryInCollisionError, match="cube and lamp"):
        planned(scene, **options, method=TimingMethod.FOLLOW_SAMPLES)


def test_a_curve_through_the_path_keeps_constraints_on_frames():
    """The cube must stay below y = 0.3, and the curve exceeds it after a waypoint at that height."""
    box = FrameConstraint(
        FrameRule.POSITION_IN_BOX, TargetMode.ROBOT, pose=Pose(), extent=(5.0, 0.3, 5.0), tolerance=1e-3
    )
    options = {
        "goal": {"x": 0.8, "y": 0.3},
        "constraints": (box,),
        "hints": ({"x": -0.4, "y": 0.3},),
        "planning": {"simplify": False, "tighten": False},
    }
    scene = gantry((POST,))
    assert dense(planned(scene, **options))[:, 1].max() <= 0.3 + 1e-3
    with pytest.raises(ConstraintMismatchError, match="the trajectory leaves the constraints on frames"):
        planned(scene, **options, method=TimingMethod.FOLLOW_SAMPLES)
