"""A trajectory may begin in contact only if it leaves the contact."""

import numpy as np
import pytest
from planning_cells import gantry, wall_with_gap

from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.workers.tasks import ValidationRequest, validated
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import stop_at_waypoints

GOAL = {"x": -0.8, "y": 0.3}


def corrected(x):
    """Cell, state and plan with a start correction."""
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": x})
    options = PlanningOptions(max_start_correction=0.05)
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=(GOAL,)), options=options))
    assert plan.start_correction_waypoints == 1
    return cell, state, plan


def through(cell, *waypoints):
    """The timed motion that stops at waypoints (x, y)."""
    limits = MotionLimits.of([cell.variables[name] for name in ("x", "y")])
    return stop_at_waypoints(np.array(waypoints), limits).trajectory


def report(cell, state, trajectory, **fields):
    return validated(Scene(cell, state), ValidationRequest(trajectory, start=state.configuration, **fields))


@pytest.mark.parametrize("engine", ["coal", "bullet"])
@pytest.mark.parametrize("x", [-0.095, -0.085])  # 5 and 15 mm deep in the wall
def test_the_trajectory_of_a_plan_that_leaves_a_collision_is_valid(x, engine):
    cell, state, plan = corrected(x)
    found = report(cell, state, plan.trajectory, engine=engine)
    assert found.valid
    (warning,) = [text for text in found.warnings if "contact" in text]
    assert "begins in contact between cube and below and leaves it within" in warning


def test_a_motion_further_into_the_contact_collides():
    cell, state, _ = corrected(-0.095)
    for waypoints in ([(-0.095, 0.0), (-0.09, 0.0), (-0.8, 0.0)], [(-0.095, 0.0), (-0.095, 0.1)]):
        found = report(cell, state, through(cell, *waypoints))
        assert {found.collisions[0].first, found.collisions[0].second} == {"cube", "below"}
        assert found.collisions[0].time == 0.0
        assert not any("contact" in text for text in found.warnings)


def test_a_collision_after_the_contact_is_found():
    cell, state, _ = corrected(-0.095)
    found = report(cell, state, through(cell, (-0.095, 0.0), (-0.3, 0.0), (-0.095, 0.0)), find_all=True)
    assert found.collisions
    assert all(hit.configuration[0] > -0.11 and hit.time > 0.5 for hit in found.collisions)


def test_a_plan_that_leaves_a_collision_has_a_warning():
    _, _, plan = corrected(-0.095)
    text = "the motion begins with a start correction of 0.0125 m out of the collision of cube and below"
    assert text in plan.warnings
    assert not any("separate" in warning for warning in plan.warnings)


def test_a_correction_leaves_the_contact_and_does_not_pass_through_the_body():
    """The first candidate moves to the right, through the middle of the wall, the second one out of it."""
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": -0.02})
    options = PlanningOptions(max_start_correction=0.5)
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=(GOAL,)), options=options))
    assert plan.path[1].tolist() == pytest.approx([-0.145, 0.0])
    assert report(cell, state, plan.trajectory).valid


def test_a_correction_through_a_body_has_a_warning():
    """With a wall on the left, the only correction passes through the middle."""
    cell, state = gantry((("wall", (0.0, 0.0), (0.1, 3.0)), ("left", (-0.19, 0.0), (0.1, 3.0))))
    state = state.with_configuration({"x": -0.02, "y": 0.0})
    options = PlanningOptions(max_start_correction=0.5)
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"x": 0.8, "y": 0.3},)), options=options))
    assert plan.path[1][0] > 0.1
    assert "cube and wall do not separate steadily from the start" in plan.warnings[-1]
    assert not report(cell, state, plan.trajectory).valid
