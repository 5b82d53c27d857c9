"""Robot by robot and all together, the states of all motions count: those that are not found or not kept too."""

import numpy as np
import pytest

from robot_cell_planner import (
    Coordination,
    FrameTarget,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    SimultaneousGoal,
    TargetMode,
    load_cell,
    plan_motion,
)
from robot_cell_planner.errors import NotConnectedError
from robot_cell_planner.planning.joint_space import planner
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.space_time.timed_checks import TimedChecks

LEFT, RIGHT = "left/manipulator", "right/manipulator"


@pytest.fixture(scope="module")
def arms(request):
    return load_cell(request.config.rootpath / "config" / "two_arms" / "cell.yaml")


@pytest.fixture
def made(monkeypatch):
    """All checks that are made, to count their states."""
    found = []
    for kind in (CountedChecks, TimedChecks):

        def create(checks, *given, create=kind.__init__, **named):
            create(checks, *given, **named)
            found.append(checks)

        monkeypatch.setattr(kind, "__init__", create)
    return found


@pytest.fixture
def requests(monkeypatch, made):
    """State limit of each motion, and the states checked before it."""
    found, plan = [], planner.plan_with_monitor

    def planned(cell, state, request, monitor):
        if request.options.coordination is Coordination.COUPLED:
            found.append((request.options.state_limit, sum(checks.states for checks in made)))
        return plan(cell, state, request, monitor)

    monkeypatch.setattr(planner, "plan_with_monitor", planned)
    return found


def planned(arms, coordination, **options):
    """Both tools cross the middle of the table."""
    ends = {LEFT: (0.05, 0.3, 0.0), RIGHT: (0.0, -0.3, np.pi)}
    goal = {
        group: FrameTarget(
            pose=Pose.from_rpy((x, y, 0.85), (np.pi, 0.0, yaw)), mode=TargetMode.TOOL, reference_frame="world"
        )
        for group, (x, y, yaw) in ends.items()
    }
    request = MotionRequest(
        Goals(simultaneous=(SimultaneousGoal(goal),)),
        "both",
        options=PlanningOptions(coordination=coordination, **options),
    )
    return plan_motion(*arms, request)


@pytest.mark.parametrize("coordination", [Coordination.PRIORITISED, Coordination.FASTEST])
@pytest.mark.parametrize("limit", [1_000_000, 4_000])
def test_a_plan_reports_the_states_of_all_motions(arms, made, requests, coordination, limit):
    plan = planned(arms, coordination, state_limit=limit)
    assert len(requests) >= 2
    assert plan.states_checked == sum(checks.states for checks in made)
    # Each motion is limited to states that are left of those of the request.
    assert all(own + before <= limit for own, before in requests)


def test_an_error_reports_the_states_of_all_motions(arms, made, requests):
    """No motion is found with so few states."""
    with pytest.raises(NotConnectedError) as found:
        planned(arms, Coordination.PRIORITISED, state_limit=600)
    total = sum(checks.states for checks in made)
    assert found.value.partial.states_checked == total
    assert [(value.value, value.limit) for value in found.value.values if value.name == "states checked"] == [
        (total, 600)
    ]
    assert all(own + before <= 600 for own, before in requests)
