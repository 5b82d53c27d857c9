"""Goals that inverse kinematics cannot reach count no states, and still a request ends as soon as it has to."""

import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import CancelledError, TimedOutError
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space import goals as goals_module
from robot_cell_planner.planning.joint_space.goals import GoalSet
from robot_cell_planner.planning.problem.context import create_context
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import GoalRegion, Goals, PlanningOptions

FAR = tuple(FrameTarget(Pose((3.0 + 0.001 * index, 0.2, 0.5)), mode=TargetMode.TOOL) for index in range(100))
REGION = GoalRegion(FAR[0], (0.01, 0.01, 0.01), (0.1, 0.1, 0.1))


@pytest.fixture
def solved(monkeypatch):
    """The targets that inverse kinematics was called for."""
    found, solve = [], goals_module.inverse_kinematics

    def counted(cell, state, target, *others, **options):
        found.append(target)
        return solve(cell, state, target, *others, **options)

    monkeypatch.setattr(goals_module, "inverse_kinematics", counted)
    return found


def goal_set(goals, **monitor):
    cell, state = loaded()
    context = create_context(cell, state, "", (), PlanningOptions(), ProgressMonitor(**monitor))
    return GoalSet(context, goals, 0)


@pytest.mark.parametrize("goals", [Goals(targets=FAR), Goals(regions=(REGION,))], ids=["targets", "regions"])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_cancelled_request_solves_no_further_goal(solved, goals, count):
    with pytest.raises(CancelledError):
        goal_set(goals, cancelled=lambda: len(solved) >= count)
    assert len(solved) == count


def test_a_request_without_time_solves_no_goal(solved):
    with pytest.raises(TimedOutError):
        goal_set(Goals(targets=FAR), time_limit=1e-12)
    assert not solved


def test_further_goals_are_not_solved_for_a_cancelled_request(solved):
    cell, _ = loaded()
    cancelled = []
    up = cell.named_state("", "up")
    found = goal_set(Goals(joint_goals=(up,), targets=FAR[:2]), cancelled=lambda: bool(cancelled))
    cancelled.append(True)
    solved.clear()
    with pytest.raises(CancelledError):
        found.more()
    assert not solved
