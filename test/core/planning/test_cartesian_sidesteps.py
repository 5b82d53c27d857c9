"""Redundant arms use their self-motion if the greedy strategy collides; motions of a path are certified together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.cartesian_cells import arm_cell, group_of
from robot_cell_planner.collision import CollisionChecker, FreeConfigurations
from robot_cell_planner.collision.certification.certifier import certifier_of
from robot_cell_planner.errors import MPInterpolationInCollisionError
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.planning.cartesian.path.waypoints import PointAxisWaypoints
from robot_cell_planner.planning.cartesian.planner import (
    CartesianOptions,
    CartesianRequest,
    CartesianStrategy,
    plan_cartesian,
)
from robot_cell_planner.planning.cartesian.redundancy.self_motion_kernels import select_distinct
from robot_cell_planner.planning.cartesian.tracking.greedy import GreedyTracker
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.progress import ProgressMonitor

DOWN = (0.0, 0.0, -1.0)


@pytest.fixture(scope="module")
def panda():
    """The Panda among boxes, and a checker of its arm."""
    cell, state = arm_cell("panda")
    return cell, state, CollisionChecker(cell, state, cell.group(group_of(cell)).variables)


def ring(panda):
    """A ring beside a box with the axis of the flange down, and a state at its begin that is just free."""
    cell, state, checker = panda
    angles = 2.0 * np.pi * np.arange(60) / 100
    points = [((0.45 + 0.08 * float(np.cos(a)), 0.08 * float(np.sin(a)), 0.3), DOWN) for a in angles]
    target = PointAxisTarget(point=points[0][0], axis=DOWN, mode=TargetMode.ROBOT)
    free = FreeConfigurations(checker)
    start = inverse_kinematics(cell, state, target, group_of(cell), IkOptions(max_solutions=1), free).best
    at_start = state.with_configuration(dict(zip(checker.variables, start.tolist(), strict=True)))
    waypoints = PointAxisWaypoints(tuple(points[1:]), mode=TargetMode.ROBOT)
    options = CartesianOptions(strategy=CartesianStrategy.GREEDY)
    return cell, at_start, CartesianRequest(waypoints, group=group_of(cell), options=options, timing=None)


def test_a_redundant_arm_avoids_collisions_by_self_motion(panda, monkeypatch):
    cell, state, request = ring(panda)
    plan = plan_cartesian(cell, state, request)
    assert plan.cartesian.fraction == 1.0
    assert plan.cartesian.max_deviation < 1e-3
    checker = panda[2]
    assert not any(checker.motion_in_collision(a, b, 1e-3) for a, b in pairwise(plan.path))
    assert plan_to_json(plan_cartesian(cell, state, request), repeatable=True) == plan_to_json(plan, repeatable=True)
    monkeypatch.setattr(GreedyTracker, "max_sidesteps", 0)
    with pytest.raises(MPInterpolationInCollisionError):
        plan_cartesian(cell, state, request)


@pytest.mark.parametrize(
    ("angular", "distance", "reach"),
    [
        ((1.0, 0.0, 1.0), 1.0, 4.0),
        ((0.0, 0.0, 0.0), 1.0, 4.0),
        ((0.0, 1.0, 1.0), 0.02, 0.1),
        ((1.0, 1.0, 1.0), 1.5, 9.0),
    ],
)
@pytest.mark.parametrize("known", [0, 20])
def test_selected_configurations_are_apart_from_all_others(angular, distance, reach, known):
    rng = np.random.default_rng(1)
    found, candidates = rng.uniform(-reach, reach, (known, 3)), rng.uniform(-reach, reach, (200, 3))
    selected, expected = list(found), []
    for q in candidates:
        gaps = np.array(selected).reshape(-1, 3) - q
        gaps -= 2.0 * np.pi * np.round(gaps / (2.0 * np.pi)) * angular
        expected.append(bool((np.abs(gaps).max(axis=1) >= distance).all()))
        if expected[-1]:
            selected.append(q)
    assert 5 < sum(expected) < 190
    assert select_distinct(found, candidates, np.array(angular), distance).tolist() == expected


def test_motions_of_a_path_are_proven_as_one_by_one(panda):
    checker = panda[2]
    rng = np.random.default_rng(2)
    low, high = np.array((-0.5, -0.5, -0.5, -2.0, -0.5, 1.2, -0.5)), np.array((0.5, 0.5, 0.5, -1.2, 0.5, 2.2, 0.5))
    path = rng.uniform(low, high, (150, 7))
    certifier = certifier_of(checker)
    expected = [certifier.quickly_free(a, b) for a, b in pairwise(path)]
    assert 0 < sum(expected) < len(expected)
    assert certifier.motions_free(path).tolist() == expected
    checks = CountedChecks(checker, ProgressMonitor(), 10**9)
    assert checks.certified_motions(path).tolist() == expected
    # Proven motions are cached, also as parts of other paths.
    proven = int(np.argmax(expected))
    states = checks.states
    assert states > 0
    assert checks.certified_motions(path[proven : proven + 2]).tolist() == [True]
    assert checks.states == states


@pytest.mark.parametrize("spheres", [True, False])
def test_many_configurations_are_free_as_one_by_one(panda, spheres):
    cell, state, checker = panda
    rng = np.random.default_rng(3)
    limits = [cell.variables[name].limits for name in checker.variables]
    configurations = rng.uniform([limit.lower for limit in limits], [limit.upper for limit in limits], (200, 7))
    free = FreeConfigurations(checker, spheres=spheres)
    expected = [not checker.in_collision(q) for q in configurations]
    assert 0 < sum(expected) < 200
    assert free.many(configurations).tolist() == expected
    assert [free(q) for q in configurations] == expected
    assert free.many(configurations[:2]).tolist() == expected[:2]
    group = group_of(cell)
    target = FrameTarget(pose=forward_kinematics(cell, state.with_configuration({"panda_joint4": -1.5}), group))
    one = inverse_kinematics(cell, state, target, group, is_valid=lambda q: not checker.in_collision(q))
    many = inverse_kinematics(cell, state, target, group, is_valid=free)
    np.testing.assert_array_equal(one.solutions, many.solutions)
    some = inverse_kinematics(cell, state, target, group, IkOptions(max_solutions=3), free)
    assert len(some) == 3
    assert all(map(free, some.solutions))
