"""Two arms planned one after the other: free at all times by another engine, each arm at its own pace, and planned
together where no order of priority succeeds."""

import numpy as np
import pytest

from robot_cell_planner import (
    CollisionChecker,
    Coordination,
    FrameTarget,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    SimultaneousGoal,
    TargetMode,
    TimingOptions,
    load_cell,
    plan_motion,
    verify_plan,
)
from robot_cell_planner.errors import NotSupportedError

LEFT, RIGHT = "left/manipulator", "right/manipulator"


@pytest.fixture(scope="module")
def arms(request):
    return load_cell(request.config.rootpath / "config" / "two_arms" / "cell.yaml")


def tool_at(group, x, y):
    pose = Pose.from_rpy((x, y, 0.85), (np.pi, 0.0, np.pi if group == RIGHT else 0.0))
    return FrameTarget(pose=pose, mode=TargetMode.TOOL, reference_frame="world")


def planned(cell, state, goals, coordination, **others):
    options = PlanningOptions(coordination=coordination)
    return plan_motion(cell, state, MotionRequest(goals, "both", options=options, **others))


def test_each_arm_ends_when_it_can(arms):
    cell, state = arms
    near = {LEFT: "home", RIGHT: tool_at(RIGHT, 0.2, 0.3)}
    plan = planned(cell, state, Goals(simultaneous=(SimultaneousGoal(near),)), Coordination.PRIORITISED)
    assert plan.planner == "Prioritised"
    assert plan.certified_fraction == 1.0
    assert verify_plan(cell, state, plan).valid
    checker = CollisionChecker(cell, state, plan.variables, engine="bullet")
    assert not checker.in_collision_batch(plan.trajectory.at(np.arange(0.0, plan.duration, 0.001))).any()
    end = state.with_configuration(plan.end_configuration())
    # The other arm is at its start, since its goal is to rest there.
    assert all(end.configuration[name] == state.configuration[name] for name in cell.group(LEFT).variables)


def test_the_fastest_coordination_is_no_slower_than_the_others(arms):
    cell, state = arms
    goal = SimultaneousGoal({LEFT: tool_at(LEFT, 0.05, 0.3), RIGHT: tool_at(RIGHT, 0.0, -0.3)})
    plans = {each: planned(cell, state, Goals(simultaneous=(goal,)), each) for each in Coordination}
    slower = [plans[each].duration for each in (Coordination.COUPLED, Coordination.PRIORITISED)]
    assert plans[Coordination.FASTEST].duration == pytest.approx(min(slower))
    checker = CollisionChecker(cell, state, plans[Coordination.PRIORITISED].variables, engine="bullet")
    trajectory = plans[Coordination.PRIORITISED].trajectory
    assert not checker.in_collision_batch(trajectory.at(np.arange(0.0, trajectory.duration, 0.001))).any()


def test_unsupported_requests_are_refused(arms):
    cell, state = arms
    goals = Goals(named_states=("home",))
    with pytest.raises(NotSupportedError, match="no timing"):
        planned(cell, state, goals, Coordination.PRIORITISED, timing=None)
    options = PlanningOptions(coordination=Coordination.PRIORITISED)
    with pytest.raises(NotSupportedError, match="a group of one robot"):
        plan_motion(cell, state, MotionRequest(goals, LEFT, options=options, timing=TimingOptions()))
