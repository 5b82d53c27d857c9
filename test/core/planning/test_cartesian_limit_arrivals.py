"""Joints of redundant chains slow down ahead of a limit at which the others take over their motion."""

import numpy as np
import pytest
from rail_cells import bent_rail_cell

from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning import CartesianOptions, CartesianRequest, FrameWaypoints, plan_cartesian, verify_plan
from robot_cell_planner.planning.cartesian import limit_arrivals
from robot_cell_planner.planning.cartesian.limit_arrivals import corners_at_limits
from robot_cell_planner.planning.cartesian.path.options import CartesianStrategy

GROUP = "arm_and_rail"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return bent_rail_cell(tmp_path_factory.mktemp("rail"))


def line(scene, length, strategy):
    cell, state = scene
    x, y, z = (start := forward_kinematics(cell, state, GROUP, TargetMode.ROBOT)).position
    waypoints = FrameWaypoints((Pose((x, y + length, z), start.quaternion),), mode=TargetMode.ROBOT)
    return plan_cartesian(cell, state, CartesianRequest(waypoints, GROUP, options=CartesianOptions(strategy=strategy)))


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_a_line_beyond_the_end_of_a_rail_is_not_slowed_down_as_a_whole(scene, strategy):
    shorter, longer = line(scene, -2.3, strategy), line(scene, -2.7, strategy)
    assert shorter.path[:, 0].min() > -1.9
    assert longer.path[:, 0].min() < -1.99
    assert longer.duration < 4.0 * shorter.duration
    changes = np.diff(longer.path, n=2, axis=0)
    assert np.abs(changes).max() < 0.1 * np.abs(np.diff(longer.path, axis=0)).max()


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_a_rounded_path_keeps_the_frame_on_the_line(scene, strategy):
    cell, state = scene
    plan = line(scene, -2.7, strategy)
    assert not verify_plan(cell, state, plan).violations
    start = forward_kinematics(cell, state, GROUP, TargetMode.ROBOT)
    for q in plan.path:
        reached = state.with_configuration(dict(zip(plan.variables, q.tolist(), strict=True)))
        pose = forward_kinematics(cell, reached, GROUP, TargetMode.ROBOT)
        line_pose = Pose((start.position[0], pose.position[1], start.position[2]), start.quaternion)
        assert max(pose.distance_to(line_pose)) < 1e-6


def test_a_path_is_kept_if_the_rounded_one_is_not_faster(scene, monkeypatch):
    rounded = line(scene, -2.7, CartesianStrategy.GREEDY)
    monkeypatch.setattr(limit_arrivals, "_duration", lambda tracker: 1.0)
    kept = line(scene, -2.7, CartesianStrategy.GREEDY)
    assert np.abs(np.diff(kept.path, n=2, axis=0)).max() > 3.0 * np.abs(np.diff(rounded.path, n=2, axis=0)).max()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("corner", [0.4, 0.4321, 0.4999])
def test_corners_at_limits_are_found_between_the_points(sign, corner):
    parameters = np.linspace(0.0, 1.0, 101)
    rail = sign * (1.0 + 0.7 * np.minimum(parameters - corner, 0.0))
    inside = sign * 1e-5 * (np.arange(101) % 2) * (parameters > corner)  # where projections leave the joint
    path = np.column_stack((rail - inside, parameters + 0.5 * np.maximum(parameters - corner, 0.0)))
    limits = np.array(((-1.0, -9.0), (1.0, 9.0)))
    for forward in (True, False):
        rows = path if forward else path[::-1].copy()
        (found,) = corners_at_limits(rows, parameters, limits)
        assert (found.joint, found.limit) == (0, sign)
        assert found.parameter == pytest.approx(corner if forward else 1.0 - corner, abs=2e-5)
        assert found.change == pytest.approx((-0.7 * sign, 0.5), abs=1e-2)
    assert corners_at_limits(path, parameters, 2.0 * limits) == []
