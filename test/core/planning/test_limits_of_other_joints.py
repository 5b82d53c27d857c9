"""Limits of a request may name any joint of the cell; those of joints that a motion does not move do not count for
it. Their units are those of the joints."""

import numpy as np
import pytest
from loaded_cells import loaded
from planning_cells import gantry

from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.timing import PathTiming, time_joint_path
from robot_cell_planner.planning.problem.request import Coordination, Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.trajectory.timing import TimingOptions

LEFT, RIGHT = "left/manipulator", "right/manipulator"
ELBOWS = {LEFT: "left/elbow_joint", RIGHT: "right/elbow_joint"}
SPEED = 0.2
SLOW_LEFT = TimingOptions(limits={ELBOWS[LEFT]: JointLimits(-3.0, 3.0, SPEED)})
UNKNOWN = TimingOptions(limits={"left/elbow_join": JointLimits(-3.0, 3.0, SPEED)})


@pytest.fixture(scope="module")
def arms():
    return loaded("two_arms")


def bent(state, group, angle=-0.2):
    return {ELBOWS[group]: state.configuration[ELBOWS[group]] + angle}


def fastest(plan, joint):
    column = plan.trajectory.variables.index(joint)
    return float(np.abs(plan.trajectory.velocities[:, column]).max())


def test_each_step_of_a_sequence_keeps_the_limits_of_its_own_joints(arms):
    cell, state = arms
    steps = tuple(MotionStep(Goals((bent(state, group),)), group=group) for group in (LEFT, RIGHT))
    plans = plan_multistep(cell, state, MultistepRequest(steps, timing=SLOW_LEFT))
    assert fastest(plans[0], ELBOWS[LEFT]) <= SPEED < fastest(plans[1], ELBOWS[RIGHT])
    with pytest.raises(UnknownNameError, match=f"nearest: {ELBOWS[LEFT]}"):
        plan_multistep(cell, state, MultistepRequest(steps, timing=UNKNOWN))


def test_a_straight_step_keeps_the_limits_of_its_own_joints(arms):
    cell, state = arms
    start = forward_kinematics(cell, state, LEFT, mode=TargetMode.TOOL)
    target = FrameTarget(start @ Pose((0.0, 0.0, -0.02)), mode=TargetMode.TOOL)
    steps = (MotionStep(Goals(targets=(target,)), group=LEFT, straight=True),)
    others = {ELBOWS[LEFT]: JointLimits(velocity=0.01), ELBOWS[RIGHT]: JointLimits(velocity=0.01)}
    (plan,) = plan_multistep(cell, state, MultistepRequest(steps, timing=TimingOptions(limits=others)))
    assert fastest(plan, ELBOWS[LEFT]) <= 0.01
    with pytest.raises(UnknownNameError, match="left/elbow_join"):
        plan_multistep(cell, state, MultistepRequest(steps, timing=UNKNOWN))


@pytest.mark.parametrize("coordination", Coordination)
def test_robots_planned_together_or_one_by_one_keep_the_limits_of_their_joints(arms, coordination):
    cell, state = arms
    goals = Goals(({**bent(state, LEFT), **bent(state, RIGHT)},))
    options = PlanningOptions(coordination=coordination)
    plan = plan_motion(cell, state, MotionRequest(goals, "both", options=options, timing=SLOW_LEFT))
    assert fastest(plan, ELBOWS[LEFT]) <= SPEED
    if coordination is Coordination.PRIORITISED:
        assert plan.planner == "Prioritised"
        assert fastest(plan, ELBOWS[RIGHT]) > SPEED
    with pytest.raises(UnknownNameError, match="left/elbow_join"):
        plan_motion(cell, state, MotionRequest(goals, "both", options=options, timing=UNKNOWN))


def test_a_motion_of_some_joints_ignores_limits_of_the_others():
    cell, state = gantry()
    timing = TimingOptions(limits={"x": JointLimits(velocity=SPEED), "y": JointLimits(-0.5, 0.5, 0.01)})
    request = MotionRequest(Goals(({"x": 0.5},)), joints=("x",), timing=timing)
    assert fastest(plan_motion(cell, state, request), "x") == pytest.approx(SPEED, rel=1e-2)
    with pytest.raises(UnknownNameError, match="joint 'z' of the limits does not exist"):
        plan_motion(cell, state, MotionRequest(Goals(({"x": 0.5},)), timing=TimingOptions(limits={"z": JointLimits()})))


def test_a_cartesian_motion_ignores_limits_of_other_robots(arms):
    cell, state = arms
    start = forward_kinematics(cell, state, LEFT, mode=TargetMode.TOOL)
    waypoints = FrameWaypoints((start @ Pose((0.0, 0.02, 0.0)),), mode=TargetMode.TOOL)

    def planned(group, timing):
        options = CartesianOptions(check_collision=False)
        return plan_cartesian(cell, state, CartesianRequest(waypoints, group, timing=timing, options=options))

    slow_right = TimingOptions(limits={ELBOWS[RIGHT]: JointLimits(velocity=0.01)})
    alone = planned(LEFT, TimingOptions())
    assert planned(LEFT, slow_right).trajectory.duration == alone.trajectory.duration
    assert planned("both", slow_right).trajectory.duration > alone.trajectory.duration
    for group in (LEFT, "both"):
        with pytest.raises(UnknownNameError, match="left/elbow_join"):
            planned(group, UNKNOWN)


def test_limits_in_the_unit_of_another_type_of_joint_are_refused(arms):
    """By every way of planning, also for a joint that the motion does not move; their own unit is accepted."""
    cell, state = arms
    refused = "limits of joint right/elbow_joint are in m, and it is revolute, in rad"
    limits = {ELBOWS[RIGHT]: JointLimits(velocity=SPEED)}
    wrong = TimingOptions(limits=limits, limit_units={ELBOWS[RIGHT]: "m"})
    goals = Goals((bent(state, LEFT),))
    with pytest.raises(InvalidRequestError, match=refused) as caught:
        plan_motion(cell, state, MotionRequest(goals, LEFT, timing=wrong))
    assert "in rad" in caught.value.remedy
    with pytest.raises(InvalidRequestError, match=refused):
        plan_multistep(cell, state, MultistepRequest((MotionStep(goals, group=LEFT),), timing=wrong))
    start = forward_kinematics(cell, state, LEFT, mode=TargetMode.TOOL)
    waypoints = FrameWaypoints((start @ Pose((0.0, 0.02, 0.0)),), mode=TargetMode.TOOL)
    with pytest.raises(InvalidRequestError, match=refused):
        plan_cartesian(cell, state, CartesianRequest(waypoints, LEFT, timing=wrong))
    right = TimingOptions(limits=limits, limit_units={ELBOWS[RIGHT]: "rad"})
    assert len(plan_motion(cell, state, MotionRequest(goals, LEFT, timing=right)).path)


def test_the_time_parameterization_refuses_limits_in_another_unit():
    cell, state = gantry()
    path = np.array([[state.configuration["x"]], [0.5]])
    for unit in ("", "m"):
        units = {"x": unit} if unit else {}
        timing = TimingOptions(limits={"x": JointLimits(velocity=SPEED)}, limit_units=units)
        found = time_joint_path(cell, state, PathTiming(("x",), path, timing))
        assert np.abs(found.trajectory.velocities).max() <= SPEED
    timing = TimingOptions(limits={"x": JointLimits(velocity=SPEED)}, limit_units={"x": "rad"})
    with pytest.raises(InvalidRequestError, match="joint x are in rad, and it is prismatic, in m"):
        time_joint_path(cell, state, PathTiming(("x",), path, timing))
