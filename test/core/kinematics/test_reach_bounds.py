"""Bounds of the reach hold in all configurations, and targets beyond them have no solution."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematic_cells import arm

from benchmarks.arms import ARMS
from robot_cell_planner.errors import OutOfReachError
from robot_cell_planner.kinematics._kernels import chain_kernels
from robot_cell_planner.kinematics.chain import Z, aligned_rotation
from robot_cell_planner.kinematics.forward import chain_to
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.ik.problem import ik_problem, is_proven_out_of_reach
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.reach_bounds import _bound, reach_bounds
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.pose import Pose

PANDA_REACH = 0.855  # [m] by its data sheet


def row(rotation, translation, kind=0.0, variable=0):
    return np.array((*np.ravel(rotation), *translation, kind, variable, 1.0, 0.0))


def random_chain(seed, joints, leading=0):
    """A chain of revolute joints with skew axes, after prismatic ones, and some consecutive axes that are parallel."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(joints + 1):
        axis = rng.normal(size=3)
        rotation = np.eye(4)[:3, :3] if rng.uniform() < 0.3 else aligned_rotation(axis / np.linalg.norm(axis))[:3, :3]
        kind = 1.0 if index < leading else 0.0
        rows.append(
            row(rotation, rng.uniform(-0.5, 0.5, 3) * (rng.uniform(size=3) < 0.7), kind, min(index, joints - 1))
        )
    return np.array(rows)


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 3))
def test_no_configuration_is_beyond_a_bound(seed, joints, leading):
    joints += leading
    table = random_chain(seed, joints, leading)
    configurations = np.random.default_rng(seed).uniform(-10.0, 10.0, (200, joints))
    poses = chain_kernels.forward_many(table, configurations)
    bounds = reach_bounds(table)
    assert len(bounds) == 2
    for bound, pose in itertools.product(bounds, poses):
        assert bound.excess(pose) <= 1e-9


@pytest.mark.parametrize("tilt", [0.0, 1e-16, 1e-15, 3e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-7, 1e-3])
def test_no_configuration_is_beyond_a_bound_on_stages_that_are_nearly_parallel(tilt):
    """As those of a telescopic column, whose directions differ by rounding errors or by a calibration."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        axis, across, last = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(3, 3)))
        stages = aligned_rotation(axis)[:3, :3], pin.exp3(tilt * across)
        table = [row(rotation, rng.normal(size=3), 1.0, index) for index, rotation in enumerate(stages)]
        table += [row(aligned_rotation(last)[:3, :3], (0.0, 0.0, 0.2), 0.0, 2), row(np.eye(3), (0.5, 0.0, 0.0))]
        configurations = rng.uniform(-10.0, 10.0, (50, 3))
        for bound, pose in itertools.product(
            reach_bounds(np.array(table)), chain_kernels.forward_many(np.array(table), configurations)
        ):
            assert bound.excess(pose) <= 1e-9


def test_a_planar_arm_reaches_as_far_as_the_sum_of_its_links():
    lengths = (0.3, 0.25, 0.2)
    table = np.array([row(np.eye(3), (before, 0.0, 0.0), 0.0, i) for i, before in enumerate((0.0, *lengths))])
    to_tip, to_last_axis = reach_bounds(table)
    assert to_tip.length == pytest.approx(sum(lengths), abs=1e-6)
    assert to_last_axis.length == pytest.approx(sum(lengths[:2]), abs=1e-6)
    target = np.eye(4)
    target[0, 3] = 1.0
    assert to_tip.excess(target) == pytest.approx(1.0 - sum(lengths), abs=1e-6)


def test_heights_of_joints_with_parallel_axes_are_no_reach():
    """A SCARA arm: links at other heights along parallel axes do not lengthen it."""
    heights, lengths = (0.4, 0.1, -0.2), (0.0, 0.3, 0.25)
    table = [row(np.eye(3), (length, 0.0, height)) for length, height in zip(lengths, heights, strict=True)]
    to_tip, _ = reach_bounds(np.array(table))
    target = np.eye(4)
    target[:3, 3] = (0.55 + 1e-3, 0.0, sum(heights))
    assert to_tip.excess(target) == pytest.approx(1e-3, abs=2e-4)


def test_bounds_move_with_the_base_and_are_not_computed_again():
    table, base = random_chain(11, 6), pin.SE3.Random()
    moved = table.copy()
    moved[0, :9] = (base.rotation @ table[0, :9].reshape(3, 3)).ravel()
    moved[0, 9:12] = base.act(table[0, 9:12])
    here = reach_bounds(table)
    computed = _bound.cache_info().misses
    for bound, there in zip(here, reach_bounds(moved), strict=True):
        assert there.length == bound.length
        np.testing.assert_allclose(there.origin, base.act(bound.origin), atol=1e-12)
    assert _bound.cache_info().misses == computed


def test_chains_whose_reach_depends_on_limits_have_no_bounds():
    revolute, prismatic = row(np.eye(3), Z), row(np.eye(3), Z, 1.0)
    assert reach_bounds(np.array((revolute, prismatic, revolute))) == ()
    assert reach_bounds(np.array((prismatic, revolute))) == ()
    assert reach_bounds(np.array((revolute,))) == ()


@pytest.mark.parametrize("name", ARMS)
def test_bounds_of_arms_are_reached_but_for_two_percent(name):
    """By the farthest of random configurations."""
    cell = arm(name)
    variables = cell.group().variables
    chain = chain_to(cell, cell.default_state(), cell.group().tip_link, variables)
    configurations = np.random.default_rng(1).uniform(-np.pi, np.pi, (20_000, len(variables)))
    if name == "rail":
        configurations[:, 0] = 0.0
    poses = chain.forward_many(configurations)
    for bound in chain.reach_bounds:
        excess = [bound.excess(pose) for pose in poses]
        assert -0.02 * bound.length < max(excess) <= 0.0
    if name == "panda":
        assert chain.reach_bounds[0].length == pytest.approx(PANDA_REACH, rel=0.01)


def _targets(cell, count):
    """Random poses around the reach of an arm."""
    rng = np.random.default_rng(3)
    chain = chain_to(cell, cell.default_state(), cell.group().tip_link, cell.group().variables)
    centre, reach = chain.reach_bounds[0].origin, chain.reach_bounds[0].length
    for _ in range(count):
        direction, rotation = rng.normal(size=3), rng.normal(size=4)
        position = centre + reach * rng.uniform(0.8, 1.3) * direction / np.linalg.norm(direction)
        yield Pose(tuple(position.tolist()), tuple((rotation / np.linalg.norm(rotation)).tolist()))


@pytest.mark.parametrize("name", ["panda", "j2s6s200", "rail", "ur5"])
@pytest.mark.parametrize("angles", [None, (3.14, 0.01, 0.01), (0.2, 0.1, 0.3)], ids=["fixed", "free", "tolerances"])
def test_a_search_without_proofs_finds_nothing_for_targets_that_are_proven_out_of_reach(name, angles, monkeypatch):
    cell = arm(name)
    state = cell.default_state()
    targets = [FrameTarget(pose=pose, tolerance_angles=angles) for pose in _targets(cell, 40)]
    proven = [is_proven_out_of_reach(ik_problem(cell, state, target)) for target in targets]
    assert 5 <= sum(proven) < 40
    for target in itertools.compress(targets, proven):
        with pytest.raises(OutOfReachError):
            inverse_kinematics(cell, state, target)
    for module in ("search", "failure"):
        path = f"robot_cell_planner.kinematics.ik.{module}.is_proven_out_of_reach"
        monkeypatch.setattr(path, lambda _: False)
    for target in itertools.compress(targets, proven):
        with pytest.raises(Exception, match=r"out of reach|not in its orientation|singular|beyond joint limits"):
            inverse_kinematics(cell, state, target, options=IkOptions(max_restarts=30))
