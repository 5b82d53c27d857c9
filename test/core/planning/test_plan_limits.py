"""Plans keep the limits and constraints of their request, and report the clearance of the path that they contain."""

import numpy as np
import pytest
from loaded_cells import loaded
from planning_cells import gantry

from robot_cell_planner import (
    CartesianRequest,
    Goals,
    JointCombination,
    MotionRequest,
    Pose,
    plan_cartesian,
    plan_motion,
    smallest_clearance,
    verify_plan,
    world_pose,
)
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import ConstraintMismatchError
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions
from robot_cell_planner.trajectory.validation import validate


def moved(state, values):
    return state.with_configuration(values)


def to(goal, **fields):
    return MotionRequest(Goals(joint_goals=(goal,)), **fields)


@pytest.mark.parametrize("dip", [0.015, 0.022])
def test_the_clearance_is_that_of_a_short_motion_to_an_object_and_back(dip):
    """The gripper moves down to the table and up again, with less than 0.05 rad between waypoints."""
    cell, state = loaded()
    above = world_pose(cell, state, "gripper/tcp")
    x, y, _ = above.position
    down = FrameWaypoints((Pose((x, y, 0.745), above.quaternion),), mode=TargetMode.TOOL)
    low = plan_cartesian(cell, state, CartesianRequest(down))
    state = moved(state, dict(zip(low.variables, low.path[-1].tolist(), strict=True)))
    tool = world_pose(cell, state, "gripper/tcp")
    there_and_back = FrameWaypoints((tool @ Pose((0.0, 0.0, dip)), tool), mode=TargetMode.TOOL)
    plan = plan_cartesian(cell, state, CartesianRequest(there_and_back))
    checker = CollisionChecker(cell, state, plan.variables)
    expected = min(checker.distance(q).distance for q in plan.path)
    assert smallest_clearance(checker, plan.path).clearance.distance == pytest.approx(expected, abs=1e-6)
    assert plan.clearance.closest.distance == pytest.approx(expected, abs=1e-6)
    assert verify_plan(cell, state, plan).valid


@pytest.mark.parametrize(
    ("start", "velocity", "goal", "period"),
    [
        ((0.35680117, -0.42194676), (-0.07000836, -0.20108177), (-0.21598579, -0.87658819), 0.05),
        ((0.32530156, -0.06668666), (-0.14070442, 0.26516375), (-0.69865678, 0.48452848), 0.1),
        ((0.43353343, 0.36035420), (-0.06715168, 0.05991433), (0.87269905, 0.37133789), 0.004),
    ],
)
def test_trajectories_with_a_velocity_at_the_start_keep_the_limits_of_the_request(start, velocity, goal, period):
    """Curves through samples that exceeded the limit of the jerk by up to 12 percent, of 300 random ones."""
    cell, state = gantry()
    limits = MotionLimits.of([cell.variables[name] for name in ("x", "y")])
    requested = JointLimits(-1.0, 1.0, 0.4, 2.0, 12.0)
    timing = TimingOptions(
        method=TimingMethod.SMOOTH,
        limits={"x": requested, "y": requested},
        period=period,
        start_velocity=dict(zip(("x", "y"), velocity, strict=True)),
    )
    request = to(dict(zip(("x", "y"), goal, strict=True)), timing=timing)
    plan = plan_motion(cell, moved(state, dict(zip(("x", "y"), start, strict=True))), request)
    assert validate(plan.trajectory, timing.allowed(limits)).valid


def test_a_motion_can_end_with_a_velocity():
    cell, state = gantry()
    timing = TimingOptions(method=TimingMethod.SMOOTH, end_velocity={"x": 0.3})
    plan = plan_motion(cell, moved(state, {"x": -0.5, "y": 0.0}), to({"x": 0.5, "y": 0.0}, timing=timing))
    np.testing.assert_allclose(plan.trajectory.velocities[-1], (0.3, 0.0), atol=1e-9)


def test_a_velocity_at_the_start_that_leaves_a_constraint_on_joints_is_refused():
    cell, state = gantry()
    constraints = (JointCombination({"x": 1.0, "y": 1.0}),)
    for velocity, valid in (({"x": 0.3, "y": -0.3}, True), ({"x": 0.5, "y": -0.3}, False)):
        timing = TimingOptions(method=TimingMethod.SMOOTH, start_velocity=velocity)
        request = to({"x": 0.5, "y": -0.5}, constraints=constraints, timing=timing)
        if valid:
            positions = plan_motion(cell, state, request).trajectory.positions
            assert np.ptp(positions.sum(axis=1)) < 1e-6
        else:
            with pytest.raises(ConstraintMismatchError, match="validate trajectory: the trajectory disagrees"):
                plan_motion(cell, state, request)
