"""Distance maps of pairs that two joints move: bounds are compared with exact distances, motions with samples."""

import math
from itertools import product

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from support.collision_cells import at, box, checker_of_arm, make_cell, sphere

from robot_cell_planner.collision.certification._kernels import gradients
from robot_cell_planner.collision.certification._kernels.arrays import (
    DISPLACEMENTS,
    JOINTS,
    LANES,
    MAP_MARGINS,
    NEVER,
    Q,
)
from robot_cell_planner.collision.certification._kernels.distance_maps import lanes_of_map
from robot_cell_planner.collision.certification._kernels.schedule import BLOCKED, certify_straight
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier
from robot_cell_planner.collision.certification.distance_maps import LARGEST_MARGIN, distance_maps, of_all_blocks
from robot_cell_planner.collision.certification.distance_search import ENOUGH, SHARE
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.geometry import Capsule, Cylinder, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
TURN = 2.0 * math.pi
RADIUS = 0.05  # [m] of spheres


def random_shape(rng):
    kind = rng.integers(4)
    pose = Pose.from_rpy(rng.uniform(-0.1, 0.1, 3), rng.uniform(-3.0, 3.0, 3))
    if kind == 0:
        return box(*rng.uniform(0.03, 0.2, 3), pose)
    if kind == 1:
        return Shape(Cylinder(*rng.uniform(0.03, 0.15, 2)), pose)
    if kind == 2:
        return Shape(Capsule(*rng.uniform(0.03, 0.15, 2)), pose)
    return sphere(rng.uniform(0.03, 0.1), pose)


def random_arm(seed, axes=(Y, Z)):
    """A post that turns, and two joints from there to a tip."""
    rng = np.random.default_rng(seed)
    links = {
        "base": [],
        "post": [random_shape(rng) for _ in range(2)],
        "middle": [],
        "tip": [random_shape(rng) for _ in range(2)],
    }
    chain = [
        ("turn", JointKind.REVOLUTE, "base", "post", at(0.0), Z),
        ("outer", JointKind.REVOLUTE, "post", "middle", at(*rng.uniform(-0.2, 0.2, 3)), axes[0]),
        ("inner", JointKind.REVOLUTE, "middle", "tip", at(*rng.uniform(-0.2, 0.2, 3)), axes[1]),
    ]
    return checker_of_arm(links, chain)


def exact_distance(checker, q):
    near = checker.near_geometries(q, ENOUGH)
    return min((checker.geometry_distance(pair.first, pair.second) for pair in near), default=ENOUGH)


def bound_of(found, inner, outer):
    """The bound of the cell of two joint values."""
    row, column = (
        math.floor(value / TURN * n) % n for value, n in zip((inner, outer), found.bounds.shape, strict=True)
    )
    return float(found.bounds[row, column])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_no_distance_in_a_cell_is_below_its_bound(seed):
    checker = random_arm(seed)
    (found,) = distance_maps(checker)
    rng = np.random.default_rng(seed)
    for inner, outer in rng.uniform(-TURN, TURN, (400, 2)):
        distance = exact_distance(checker, np.array((0.3, outer, inner)))
        assert bound_of(found, inner, outer) <= max(distance, 0.0)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_bounds_near_contact_are_closer_than_those_of_displacements(seed):
    """From the middle of a cell, the distance decreases by at most the sum of speed bounds times half sizes."""
    checker = random_arm(seed)
    (found,) = distance_maps(checker)
    halves = 0.5 * TURN / np.array(found.bounds.shape)
    speeds = motion_model(checker).pair_bound(*found.objects)[list(found.joints)]
    rows, columns = np.nonzero((found.bounds > 0.0) & (found.bounds < 0.003))
    for row, column in list(zip(rows.tolist(), columns.tolist(), strict=True))[:: max(len(rows) // 100, 1)]:
        inner, outer = (2.0 * np.array((row, column)) + 1.0) * halves
        distance = exact_distance(checker, np.array((0.0, outer, inner)))
        assert found.bounds[row, column] >= distance - halves @ speeds - 1e-4


def planar_arm(gap):
    """Two links of 0.3 m in a plane, with a sphere at the end of the second, and one on the post beside the first
    joint, which the other passes at a gap [m] where both links are in line, if the first joint is at pi."""
    links = {
        "base": [],
        "post": [sphere(RADIUS, at(-0.6 - 2.0 * RADIUS - gap))],
        "middle": [],
        "tip": [sphere(RADIUS, at(0.3))],
    }
    chain = [
        ("turn", JointKind.REVOLUTE, "base", "post", at(0.0), Z),
        ("outer", JointKind.REVOLUTE, "post", "middle", at(0.0), Z),
        ("inner", JointKind.REVOLUTE, "middle", "tip", at(0.3), Z),
    ]
    return checker_of_arm(links, chain)


def distance_formula(gap, inner, outer):
    x = 0.3 * np.cos(outer) + 0.3 * np.cos(outer + inner)
    y = 0.3 * np.sin(outer) + 0.3 * np.sin(outer + inner)
    return np.hypot(x + 0.6 + 2.0 * RADIUS + gap, y) - 2.0 * RADIUS


@pytest.mark.parametrize("gap", [0.002, 0.01, -0.02])
def test_bounds_agree_with_a_closed_formula(gap):
    """A bound is below the smallest distance in its cell by less than the plane at the middle is below the spheres, or
    by the share that is allowed in a block of cells."""
    (found,) = distance_maps(planar_arm(gap))
    shape = np.array(found.bounds.shape)
    smallest = np.full(found.bounds.shape, ENOUGH)
    for inner, outer in product(np.linspace(0.0, 1.0, 9), repeat=2):
        at_cells = np.meshgrid(
            *((np.arange(n) + part) / n * TURN for n, part in zip(shape, (inner, outer), strict=True))
        )
        smallest = np.minimum(smallest, distance_formula(gap, *at_cells).T)
    near = (smallest > 1e-4) & (smallest < 0.01)
    half = 0.5 * TURN / shape
    sideways = 0.3 * half[0] + 0.6 * half[1]  # [m] that the tip moves from the middle to a corner of a cell
    assert near.any()
    assert (found.bounds <= np.maximum(smallest, 0.0) + 1e-6).all()
    lost = sideways**2 * (0.5 / (2.0 * RADIUS) + 1.0 / 0.3)
    assert (found.bounds[near] >= np.minimum(0.9 * SHARE * smallest[near], smallest[near] - lost)).all()


def test_a_passage_below_the_resolution_of_spheres_is_proven_without_exact_distances():
    """The tip passes the post at 1.5 mm; spheres of both links protrude, since both are boxes."""
    links = {
        "base": [],
        "post": [box(0.1, 0.3, 0.1, at(0.3, 0.0, 0.0))],
        "middle": [],
        "tip": [box(0.1, 0.3, 0.1, at(0.3, 0.0, 0.1015))],
    }
    chain = [
        ("turn", JointKind.REVOLUTE, "base", "post", at(0.0), Z),
        ("outer", JointKind.REVOLUTE, "post", "middle", at(0.0), Z),
        ("inner", JointKind.REVOLUTE, "middle", "tip", at(0.0), Z),
    ]
    certifier = MotionCertifier(checker_of_arm(links, chain))
    start, end = np.array((0.0, -1.0, -0.5)), np.array((1.0, 1.0, 0.5))
    assert certifier.quickly_free(start, end)
    found = certifier.certify(start, end)
    assert found.free
    assert found.exact_states == 0


@given(seed=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_motions_that_are_proven_free_are_free_at_samples(seed):
    checker = random_arm(seed, axes=(Y, X) if seed % 2 else (Z, Z))
    assert len(MotionScene(checker).arrays().pairs) == 0  # nothing but the map decides
    certifier = MotionCertifier(checker)
    rng = np.random.default_rng(seed)
    starts = rng.uniform(-7.0, 7.0, (60, 3))
    proven = 0
    for start, step in zip(starts, rng.normal(size=(60, 3)), strict=True):
        end = start + step * rng.choice((0.02, 0.3, 2.0))
        along = start + np.linspace(0.0, 1.0, 300)[:, None] * (end - start)
        collides = checker.in_collision_batch(along).any()
        free = certifier.quickly_free(start, end)
        proven += free
        assert not (free and collides)
        verdicts = certifier.check_boxes(along[::30], np.full((10, 3), 0.01))
        inside = along[::30, None] + rng.uniform(-0.01, 0.01, (10, 8, 3))
        for verdict, configurations in zip(verdicts, inside, strict=True):
            assert verdict != 0 or not checker.in_collision_batch(configurations).any()
    assert proven


@pytest.mark.parametrize("seed", range(4))
def test_a_step_along_the_gradient_of_a_hit_separates_the_pair(seed):
    checker = random_arm(seed)
    certifier = MotionCertifier(checker)
    arrays, work = certifier.packed()
    space = gradients.gradient_space(len(arrays.arrays[JOINTS]), 3)
    rng = np.random.default_rng(seed)
    tried = separated = 0
    for start in rng.uniform(-3.0, 3.0, (2000, 3)):
        end = start + 0.3 * rng.normal(size=3)
        if certify_straight(arrays.address, work.address, start, end, COARSE, np.zeros(3)) != BLOCKED:
            continue
        q = start + gradients.deepest(arrays.address, work.address) * (end - start)
        gap, slopes = gradients.hit_gradient(arrays.address, work.address, q, space), space.gradient
        assert gap < 0.0
        assert slopes[0] == 0.0  # the first joint moves both links
        if gap > -0.01 and np.linalg.norm(slopes) > 0.05:
            tried += 1
            step = 0.03 * slopes / np.linalg.norm(slopes)
            separated += exact_distance(checker, q + step) > exact_distance(checker, q)
    assert tried > 10
    assert separated >= 0.9 * tried


def test_all_intervals_with_a_collision_are_undecided():
    checker = planar_arm(-0.02)
    certifier = MotionCertifier(checker)
    motion = np.array((0.0, 2.0, 0.3)), np.array((0.0, 4.2, -0.3))
    found = certifier.certify(*motion)
    assert found.verdict == "colliding"
    assert distance_formula(-0.02, found.configuration[2], found.configuration[1]) < 0.0
    for margin in (0.0, 0.01):  # before and after the collision
        assert certifier.certify(motion[0], motion[0] + 0.3 * (motion[1] - motion[0]), margin).free


def test_a_contact_between_the_first_configurations_of_a_motion_is_found():
    """The links overlap by 0.2 mm where they are in line; the first configurations are 0.1 rad apart."""
    certifier = MotionCertifier(planar_arm(-2e-4))
    rng = np.random.default_rng(1)
    for before, after in rng.uniform(0.5, 1.5, (40, 2)):
        start, end = np.array((0.0, math.pi - before, 0.0)), np.array((0.0, math.pi + after, 0.0))
        assert not certifier.quickly_free(start, end)
        found = certifier.certify(start, end)
        assert found.verdict == "colliding"


def test_a_margin_adds_to_the_distance_that_is_required():
    checker = planar_arm(0.01)
    certifier = MotionCertifier(checker)
    start, end = np.array((0.0, math.pi - 0.2, 0.0)), np.array((0.0, math.pi + 0.2, 0.0))
    assert certifier.quickly_free(start, end, 0.009)
    assert not certifier.quickly_free(start, end, 0.0105)
    assert len(MotionScene(checker).arrays(LARGEST_MARGIN).pairs) == 0
    assert len(MotionScene(checker).arrays(1.01 * LARGEST_MARGIN).pairs) == 1


def geared(ratio, offset):
    """The planar arm, whose inner joint follows a motor."""
    shapes = {"post": sphere(RADIUS, at(-0.6 - 2.0 * RADIUS - 0.004)), "tip": sphere(RADIUS, at(0.3))}
    links = {
        name: Link(name, collisions=(shapes[name],) if name in shapes else ())
        for name in ("base", "post", "middle", "tip", "rotor")
    }
    limits = JointLimits(-50.0, 50.0)
    joints = {
        "turn": Joint("turn", JointKind.REVOLUTE, "base", "post", at(0.0), Z, limits),
        "outer": Joint("outer", JointKind.REVOLUTE, "post", "middle", at(0.0), Z, limits),
        "motor": Joint("motor", JointKind.REVOLUTE, "base", "rotor", at(0.0), Z, limits),
        "inner": Joint("inner", JointKind.REVOLUTE, "middle", "tip", at(0.3), Z, limits, Mimic("motor", ratio, offset)),
    }
    group = PlanningGroup("group", ("turn", "outer", "motor"), base_link="base", tip_link="tip")
    disabled = (DisabledPair("base", "base", "Never"),)
    made = Mechanism("arm", frozendict(links), frozendict(joints))
    robot = Robot("arm", made, frozendict({"group": group}), disabled_pairs=disabled)
    cell = make_cell(robots=(robot,))
    return CollisionChecker(cell, cell.default_state())


@pytest.mark.parametrize("ratio", [1.0, -3.0, 0.4])
def test_ratios_and_offsets_of_joints_count(ratio):
    checker = geared(ratio, 0.7)
    assert len(distance_maps(checker)) == 1
    certifier = MotionCertifier(checker)
    q = {"turn": 0.0, "outer": math.pi, "motor": -0.7 / ratio}
    in_line = np.array([q[name] for name in checker.variables])
    motor = np.zeros(3)
    motor[checker.variables.index("motor")] = 0.3 / abs(ratio)
    assert certifier.quickly_free(in_line - motor, in_line + motor, 0.003)
    assert not certifier.quickly_free(in_line - motor, in_line + motor, 0.0045)
    assert checker.distance(in_line).distance == pytest.approx(0.004, abs=1e-6)


def test_the_fixed_base_and_the_second_link_have_a_map_wherever_the_robot_is():
    links = {"base": [box(0.2, 0.2, 0.2)], "middle": [], "tip": [box(0.1, 0.1, 0.3, at(0.0, 0.15, 0.0))]}
    chain = [
        ("outer", JointKind.REVOLUTE, "base", "middle", at(0.0), Z),
        ("inner", JointKind.REVOLUTE, "middle", "tip", at(0.0, 0.0, 0.12), Y),
    ]
    checker = checker_of_arm(links, chain)
    (found,) = distance_maps(checker)
    base_poses = frozendict({"arm": at(3.0, -2.0, 0.5, (0.3, -0.2, 1.0))})
    moved = msgspec.structs.replace(checker.state, base_poses=base_poses)
    other = CollisionChecker(checker.cell, moved)
    (again,) = distance_maps(other)
    assert again.blocks is found.blocks
    arrays = MotionScene(other).arrays()
    assert (arrays.margins[arrays.obstacles[:, 1]] == NEVER).all()  # no sphere is checked against the base
    rng = np.random.default_rng(3)
    for q in rng.uniform(-3.0, 3.0, (200, 2)):
        assert bound_of(found, q[1], q[0]) <= max(exact_distance(other, q), 0.0)


def names_of(checker, found):
    objects = motion_model(checker).allowed_pairs.objects
    return tuple(objects[index].name for index in found.objects)


def test_only_links_that_nothing_else_moves_relative_to_each_other_have_maps():
    """Three joints, a slide, and a joint that is no variable are left to spheres."""
    links = {name: [sphere(0.02, at(0.1))] for name in ("one", "two", "three", "four")}
    chain = [
        ("a", JointKind.REVOLUTE, "one", "two", at(0.1), Z),
        ("b", JointKind.REVOLUTE, "two", "three", at(0.1), Y),
        ("c", JointKind.PRISMATIC, "three", "four", at(0.1), X),
    ]
    checker = checker_of_arm(links, chain)
    assert [names_of(checker, found) for found in distance_maps(checker)] == [("three", "one")]
    without = CollisionChecker(checker.cell, checker.state, ("a", "c"))
    assert distance_maps(without) == ()


def overlapped(low, high, cells):
    """The cells of a turn that a range of positions among them overlaps."""
    return np.arange(math.floor(low), math.floor(high) + 1) % cells


@pytest.mark.parametrize("spread", [0.0, 0.05, 2.0])
def test_lanes_are_free_if_all_cells_within_the_displacements_are(spread):
    """Lanes are compared one by one with the cells that they overlap, and with those that blocks may add to these."""
    certifier = MotionCertifier(planar_arm(-0.005))
    (found,) = distance_maps(certifier.checker)
    arrays, work = certifier.packed()
    inner, outer = found.joints
    shape, margin = found.bounds.shape, float(arrays.arrays[MAP_MARGINS][0])
    rng = np.random.default_rng(4)
    verdicts = np.zeros(2)
    for _ in range(300):
        q = np.array((0.0, math.pi, 0.0)) + rng.uniform(-0.3, 0.3, 3)
        lanes = q[:, None] + spread * rng.uniform(-1.0, 1.0, (3, LANES))
        sizes = rng.uniform(0.0, 0.15, 2) * rng.choice((1e-3, 0.1, 1.0), 2)
        work.arrays[Q][:] = lanes
        work.arrays[DISPLACEMENTS][[inner, outer]] = sizes
        bits, hits = lanes_of_map(arrays.address, work.address, 0)
        for lane in range(LANES):
            at_cells = lanes[[inner, outer], lane] / TURN * shape
            wide = sizes.astype(np.float32) / TURN * shape
            around = [overlapped(x - w, x + w, n) for x, w, n in zip(at_cells, wide, shape, strict=True)]
            more = [
                overlapped(x - 5.0 * w - 1.0, x + 5.0 * w + 1.0, n)
                for x, w, n in zip(at_cells, wide, shape, strict=True)
            ]
            expected = found.bounds[np.ix_(*around)].min() <= margin
            possible = found.bounds[np.ix_(*more)].min() <= margin
            assert expected <= (bits >> lane & 1) <= possible
            assert (hits >> lane & 1) == (
                expected and found.bounds[tuple(np.floor(at_cells).astype(int) % shape)] <= margin
            )
            verdicts[bits >> lane & 1] += 1
    assert verdicts.min() > 50


def test_single_precision_proves_nothing_beyond_the_end_of_a_cell():
    """A hundred turns away, positions in single precision are off by up to 30 microradians."""
    certifier = MotionCertifier(planar_arm(0.004))
    (found,) = distance_maps(certifier.checker)
    margin, (rows, columns) = 0.0045, found.bounds.shape
    is_open = found.bounds[0] <= margin
    ends = np.flatnonzero(is_open & ~np.roll(is_open, 1)) / columns * TURN  # where an open cell begins
    assert len(ends)
    for end in ends:
        for beyond in np.linspace(1e-6, 6e-5, 60):
            q = np.array((0.0, 100.0 * TURN + end + beyond, 0.5 * TURN / rows))
            assert not certifier.quickly_free(q, q, margin)


@pytest.mark.parametrize("turns", [1, -20, 100])
def test_verdicts_repeat_after_full_turns(turns):
    """Also where single precision displaces joint values by more than the motion is long."""
    certifier = MotionCertifier(planar_arm(0.004))
    rng = np.random.default_rng(2)
    middles = np.column_stack((np.zeros(300), rng.uniform(3.0, 3.3, 300), rng.uniform(-0.1, 0.1, 300)))
    steps = 1e-4 * rng.normal(size=(300, 3))
    same = [certifier.quickly_free(*ends) for ends in zip(middles - steps, middles + steps, strict=True)]
    middles[:, 1] += turns * TURN
    far = [certifier.quickly_free(*ends) for ends in zip(middles - steps, middles + steps, strict=True)]
    assert far == same
    limits = [certifier.quickly_free(*ends, 0.0045) for ends in zip(middles - steps, middles + steps, strict=True)]
    assert 0 < sum(limits) < 300


def test_blocks_have_the_minimum_of_their_cells():
    rng = np.random.default_rng(1)
    bounds = rng.random((64, 1024), dtype=np.float32)
    found = of_all_blocks(bounds)
    for m, n in ((0, 0), (1, 0), (0, 3), (4, 7), (6, 10)):
        rows, columns = 64 >> m, 1024 >> n
        part = found[128 - 2 * rows : 128 - rows, 2048 - 2 * columns : 2048 - columns]
        assert (part == bounds.reshape(rows, 1 << m, columns, 1 << n).min(axis=(1, 3))).all()
