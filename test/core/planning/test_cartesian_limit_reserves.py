"""Cartesian paths on which a joint of a redundant chain arrives at its limit: the others go on, within all limits."""

import numpy as np
import pytest
from rail_cells import bent_rail_cell

from robot_cell_planner.errors import TrajectoryLimitError, Value
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning import CartesianOptions, CartesianRequest, FrameWaypoints, plan_cartesian, verify_plan
from robot_cell_planner.planning.cartesian.limit_reserves import MAX_ATTEMPTS, LimitReserves
from robot_cell_planner.planning.cartesian.path.options import CartesianStrategy

GROUP = "arm_and_rail"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return bent_rail_cell(tmp_path_factory.mktemp("rail"))


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_a_line_longer_than_the_rail_is_planned_within_its_limits(scene, strategy):
    cell, state = scene
    start = forward_kinematics(cell, state, GROUP, TargetMode.ROBOT)
    x, y, z = start.position
    end = Pose((x, y - 2.7, z), start.quaternion)  # the rail ends at -2 m
    request = CartesianRequest(
        FrameWaypoints((end,), mode=TargetMode.ROBOT), GROUP, options=CartesianOptions(strategy=strategy)
    )
    plan = plan_cartesian(cell, state, request)
    assert plan.cartesian.fraction == 1.0
    assert not verify_plan(cell, state, plan).violations
    configurations = plan.trajectory.at(np.linspace(0.0, plan.duration, 5000), 0)
    assert configurations[:, 0].min() >= -2.0
    assert configurations[:, 0].min() < -1.99
    reached = state.with_configuration(dict(zip(plan.variables, configurations[-1].tolist(), strict=True)))
    assert forward_kinematics(cell, reached, GROUP, TargetMode.ROBOT).distance_to(end)[0] < 1e-5


def beyond(position):
    return TrajectoryLimitError("beyond", subjects=("rail_joint",), values=(Value("position", position, 2.0),))


def test_reserves_grow_at_their_limit_alone_and_keep_the_start(scene):
    cell, _ = scene
    variables = [cell.variables[name] for name in cell.group(GROUP).variables]
    reserves, start = LimitReserves(), np.zeros(len(variables))
    ends = []
    for excess in (0.01, 0.009, 0.01):
        assert reserves.extend(beyond(2.0 + excess))
        rail, *others = reserves.within(variables, start)
        assert others == variables[1:]
        assert rail.limits.lower == -2.0
        ends.append(rail.limits.upper)
    assert 2.0 > ends[0] > ends[1] > ends[2] > 1.9 - 1e-9
    assert len(ends) == MAX_ATTEMPTS
    assert not reserves.extend(beyond(2.02))
    start[0] = 2.0
    assert reserves.within(variables, start) == variables


def test_a_reserve_that_changes_nothing_is_not_extended():
    """As for a path that starts at the limit, or a robot that follows another."""
    reserves = LimitReserves()
    assert reserves.extend(beyond(2.01))
    assert not reserves.extend(beyond(2.01))
