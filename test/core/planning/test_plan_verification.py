"""The verification of a plan finds errors in its start correction, and obeys the options of its request."""

from dataclasses import replace

import numpy as np
import pytest
from planning_cells import gantry

from robot_cell_planner import Goals, MotionRequest, PlanningOptions, load_cell, plan_motion, verify_plan
from robot_cell_planner.errors import CancelledError, JointLimitError, TimedOutError, TrajectoryInCollisionError
from robot_cell_planner.planning.problem import progress
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory

GOAL = {"x": 0.8, "y": -0.5}
WALLS = (("wall", (0.0, -0.5), (0.1, 1.0)), ("block", (-0.5, -0.5), (0.1, 0.2)))


def timed(cell, plan, *waypoints):
    """A trajectory that stops at waypoints, within the rate limits of the joints."""
    limits = MotionLimits.of([cell.variables[name] for name in plan.variables])
    free = MotionLimits(limits.variables, limits.lower - 1.0, limits.upper + 1.0, *rates(limits))
    return stop_at_waypoints(np.array(waypoints), free).trajectory


def rates(limits):
    return limits.velocity, limits.acceleration, limits.jerk


@pytest.fixture(scope="module")
def corrected():
    """A plan that begins 5 mm inside the wall."""
    cell, state = gantry(WALLS)
    state = state.with_configuration({"x": -0.095, "y": -0.5})
    plan = plan_motion(
        cell, state, MotionRequest(Goals(joint_goals=(GOAL,)), options=PlanningOptions(max_start_correction=0.05))
    )
    assert plan.start_correction_waypoints == 1
    return cell, state, plan


class TestStartCorrections:
    def test_a_plan_with_a_correction_is_valid(self, corrected):
        assert verify_plan(*corrected).valid

    @pytest.mark.parametrize("timing", ["wait", "through", "back"])
    def test_a_trajectory_that_collides_after_the_correction_is_found(self, corrected, timing):
        cell, state, plan = corrected
        start, end, *rest = plan.path
        waypoints = {
            "wait": (start, plan.path[-1]),
            "through": (start, end, plan.path[-1]),
            "back": (start, end, start, end, *rest),
        }[timing]
        verdict = verify_plan(cell, state, replace(plan, trajectory=timed(cell, plan, *waypoints)))
        assert [type(violation) for violation in verdict.violations] == [TrajectoryInCollisionError]
        assert set(verdict.violations[0].subjects) == {"cube", "wall"}

    def test_a_pair_that_is_free_at_the_start_may_not_collide_in_the_correction(self, corrected):
        """From the wall to the other side of the block; the trajectory follows the path."""
        cell, state, plan = corrected
        path = np.vstack((plan.path[0], (-0.8, -0.5), (-0.8, 0.6), (0.8, 0.6), plan.path[-1]))
        wrong = replace(plan, path=path, trajectory=timed(cell, plan, *path))
        found = verify_plan(cell, state, wrong).violations
        collisions = [violation for violation in found if "block" in violation.subjects]
        assert len(collisions) == 2  # of the path and of the trajectory
        assert any("in the start correction" in violation.message for violation in collisions)

    def test_a_path_that_collides_after_a_long_correction_is_found(self, corrected):
        """Collisions in the correction do not use up the number of reported violations."""
        cell, state, plan = corrected
        path = np.vstack((plan.path[0], (-0.095, 0.2), (-0.8, 0.2), (0.8, -0.2), plan.path[-1]))
        found = verify_plan(cell, state, replace(plan, path=path, trajectory=None)).violations
        places = [value.value for violation in found for value in violation.values if value.name == "place"]
        assert places
        assert min(places) > 2.0

    @pytest.mark.parametrize("count", [-1, 2, 3, 5])
    def test_a_correction_has_one_waypoint(self, corrected, count):
        cell, state, plan = corrected
        found = verify_plan(cell, state, replace(plan, start_correction_waypoints=count)).violations
        assert f"a start correction has {count} waypoints" in found[0].message
        assert any("collide" in violation.message for violation in found[1:])

    def test_a_correction_is_bounded(self, corrected):
        cell, state, plan = corrected
        path = np.vstack((plan.path[0], (-0.095, 0.95), (0.8, 0.95), plan.path[-1]))
        found = verify_plan(cell, state, replace(plan, path=path, trajectory=None)).violations
        assert "the start correction moves a joint by 1.45" in found[0].message

    def test_limits_hold_after_a_correction_from_beyond_them(self):
        cell, state = gantry()
        state = state.with_configuration({"x": -1.02, "y": 0.0})
        request = MotionRequest(Goals(joint_goals=(GOAL,)), options=PlanningOptions(max_start_correction=0.05))
        plan = plan_motion(cell, state, request)
        assert plan.start_correction_waypoints == 1
        assert verify_plan(cell, state, plan).valid
        start, end, *rest = plan.path
        beyond = timed(cell, plan, start, end, (-1.01, 0.3), *rest)
        found = verify_plan(cell, state, replace(plan, trajectory=beyond)).violations
        assert len(found) == 1
        assert "beyond a position limit of x after the start correction" in found[0].message
        path = np.vstack((start, end, (-1.01, 0.3), *rest))
        found = verify_plan(cell, state, replace(plan, path=path, trajectory=None)).violations
        assert isinstance(found[0], JointLimitError)


@pytest.fixture(scope="module")
def arms(request):
    cell, state = load_cell(request.config.rootpath / "config" / "two_arms" / "cell.yaml")
    goals = Goals(named_states=("up",))
    left = plan_motion(cell, state, MotionRequest(goals, "left/manipulator"))
    right = plan_motion(cell, state, MotionRequest(goals, "right/manipulator", moving=(left.trajectory,)))
    assert all(verify_plan(cell, state, plan).valid for plan in (left, right))  # also fills caches
    return cell, state, left, right


class TestOptions:
    @pytest.mark.parametrize("which", ["alone", "among moving robots"])
    def test_extra_margins_are_checked(self, arms, which):
        cell, state, left, right = arms
        plan = left if which == "alone" else right
        margin = plan.clearance.closest.distance + 0.05
        found = verify_plan(cell, state, plan, PlanningOptions(extra_margin=margin)).violations
        assert any(isinstance(violation, TrajectoryInCollisionError) for violation in found)

    @pytest.mark.parametrize("which", ["alone", "among moving robots"])
    def test_all_parts_of_a_verification_can_be_cancelled(self, arms, which):
        cell, state, left, right = arms
        plan = left if which == "alone" else right
        cancellation_checks = []

        def cancelled():
            cancellation_checks.append(1)
            return False

        verify_plan(cell, state, plan, cancelled=cancelled)
        for last in (1, len(cancellation_checks) // 2, len(cancellation_checks)):
            cancellation_checks.clear()
            with pytest.raises(CancelledError):
                verify_plan(cell, state, plan, cancelled=lambda at=last: cancelled() or len(cancellation_checks) >= at)
            assert len(cancellation_checks) == last

    def test_the_check_of_a_trajectory_can_be_cancelled(self, arms):
        cell, state, left, _ = arms
        cancellation_checks = []
        verify_plan(cell, state, replace(left, trajectory=None), cancelled=lambda: bool(cancellation_checks.append(1)))
        without = len(cancellation_checks)
        assert without > 10
        verify_plan(cell, state, left, cancelled=lambda: bool(cancellation_checks.append(1)))
        assert len(cancellation_checks) - without > without + 10

    @pytest.mark.parametrize("which", ["alone", "among moving robots"])
    def test_the_time_limit_is_that_of_the_whole_verification(self, arms, which, monkeypatch):
        """The clock advances by a millisecond each time it is read."""
        cell, state, left, right = arms
        plan = left if which == "alone" else right
        now = [0.0]

        def read():
            now[0] += 1e-3
            return now[0]

        monkeypatch.setattr(progress.time, "monotonic", read)
        verify_plan(cell, state, plan)
        whole, now[0] = now[0], 0.0
        with pytest.raises(TimedOutError):
            verify_plan(cell, state, plan, PlanningOptions(time_limit=0.9 * whole))


def test_a_trajectory_of_other_joints_is_refused(corrected):
    cell, state, plan = corrected
    other = Trajectory(("y", "x"), np.zeros(1), plan.path[:1])
    found = verify_plan(cell, state, replace(plan, trajectory=other)).violations
    assert any("the trajectory moves" in violation.message for violation in found)
