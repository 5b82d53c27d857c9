"""Where joints move far while the frame hardly moves, a Cartesian motion rests: its curve would overshoot."""

import numpy as np
import pytest
from cartesian_paths import axes, moved
from loaded_cells import loaded

from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.planning.cartesian.ladder.search import LadderTracker
from robot_cell_planner.planning.cartesian.path.points import Point
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.cartesian.timing import steep_motions

TURN, SPAN = 0.2, 1e-4  # [rad] of the last joint about the free axis, within this fraction of the path


def turned_on(follow):
    """`LadderTracker.follow`, whose paths turn the last joint at half of the path."""

    def follow_and_turn(tracker):
        follow(tracker)
        half = len(tracker.points) // 2
        turn = np.eye(len(tracker.start))[-1] * TURN
        before = tracker.points[:half]
        after = [Point(p.q + turn, p.segment, p.fraction) for p in tracker.points[half:]]
        last = before[-1]
        tracker.points = [*before, Point(last.q + turn, last.segment, last.fraction + SPAN), *after]

    return follow_and_turn


def test_the_curve_does_not_overshoot(monkeypatch):
    monkeypatch.setattr(LadderTracker, "follow", turned_on(LadderTracker.follow))
    cell, state = loaded()
    pose = forward_kinematics(cell, state, mode=TargetMode.TOOL)
    plan = plan_cartesian(cell, state, CartesianRequest(axes(moved(pose, z=0.08))))
    [first] = np.flatnonzero(np.abs(np.diff(plan.path[:, -1])) > 0.9 * TURN)
    [warning] = [text for text in plan.warnings if "rests at points" in text]
    assert f"points {first} and {first + 1} " in warning
    assert plan.variables[-1] in warning
    curve = plan.trajectory.curve
    values = curve.evaluate(np.linspace(0.0, curve.duration, 2000))[:, -1]
    assert values.min() > plan.path[:, -1].min() - 1e-3
    assert values.max() < plan.path[:, -1].max() + 1e-3


@pytest.mark.parametrize("rates", [[1.0], [1.0, 90.0, 1.0], [0.1, 0.2, 50.0, 60.0, 50.0, 0.1]])
def test_motions_with_similar_neighbours_are_not_steep(rates):
    lengths = 0.1 / np.array(rates)
    path = np.linspace(0.0, 0.1 * len(rates), len(rates) + 1)[:, None]
    assert not len(steep_motions(path, np.concatenate(([0.0], lengths)).cumsum()))


@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_steep_motion_is_found_anywhere(at):
    lengths = np.full(5, 0.1)
    lengths[at] = 1e-4
    path = np.linspace(0.0, 0.5, 6)[:, None]
    assert steep_motions(path, np.concatenate(([0.0], lengths)).cumsum()).tolist() == [at]
