"""Certified motions: each bound is compared with an independent computation, and verdicts are compared with coal."""

import math

import numpy as np
import pytest
from collision_cells import (
    at,
    body,
    box,
    bracket,
    busy_cell,
    free_body,
    make_cell,
    mechanism,
    pebble,
    place,
    settings,
    small_sphere_beside,
    sphere,
    working_cell,
)
from frozendict import frozendict

from robot_cell_planner.collision.certification._kernels import arrays, lanes, schedule
from robot_cell_planner.collision.certification._kernels.arrays import (
    ALONG,
    CENTRES,
    DISPLACEMENTS,
    FEW_CANDIDATES,
    HITS,
    LANES,
    LISTED,
    MAX_CANDIDATES,
    Packed,
    work_space,
)
from robot_cell_planner.collision.certification._kernels.certificate import begin, evaluate
from robot_cell_planner.collision.certification._kernels.hits import HIT, UNCERTAIN
from robot_cell_planner.collision.certification._kernels.listed_candidates import evaluate_listed, retain_marked
from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier, certify
from robot_cell_planner.collision.certification.curves import PolynomialMotion, StraightMotion
from robot_cell_planner.collision.certification.exact import AT_ONCE, ENOUGH
from robot_cell_planner.collision.certification.refinement import Polyline
from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import InvalidRequestError, JointLimitError
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Sphere
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot

Z = (0.0, 0.0, 1.0)
RADIUS, MOTION_BOUNDS = 0.05, 0.8


def swing(joints=1, *, wall=2.0, margin=0.0, tip=None):
    """A sphere of 50 mm, or another tip, at the end of `joints` links in a row that turn about z, 0.8 m from the first
    axis; and a sphere of 50 mm as obstacle at `wall` from that axis, in the direction of x."""
    links = {"base": []} | {f"l{i}": [] for i in range(joints)} | {"tip": [tip or sphere(RADIUS)]}
    length = MOTION_BOUNDS / joints
    made = [("j0", JointKind.REVOLUTE, "base", "l0", at(0.0), Z)]
    made += [(f"j{i}", JointKind.REVOLUTE, f"l{i - 1}", f"l{i}", at(length), Z) for i in range(1, joints)]
    made += [("end", JointKind.FIXED, f"l{joints - 1}", "tip", at(length), Z)]
    names = tuple(f"j{i}" for i in range(joints))
    group = PlanningGroup("g", names, base_link="base", tip_link="tip")
    robot = Robot("swing", mechanism("swing", links, made), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("wall", sphere(RADIUS)),), settings(margins={"wall": margin}))
    return cell, place(cell.default_state(), "wall", at(wall))


def evaluate_once(checker, q, displacements, extra=0.0):
    """(uncertain, hit) of the spheres at q with displacements of all joints."""
    made = MotionScene(checker).arrays(extra)
    work = work_space(made, len(checker.variables))
    work.q[:] = np.asarray(q)[:, None]
    work.displacements[: len(made.joints)] = displacements
    scene, space = Packed(made), Packed(work)
    begin(scene.address, space.address)
    evaluate(scene.address, space.address, False)
    return bool(work.bits[UNCERTAIN]), bool(work.bits[HIT])


class TestThresholds:
    """An interval is clear if and only if gaps exceed the displacement bound, to within a hundredth or a thousandth."""

    @pytest.mark.parametrize("joints", [1, 2, 4])
    @pytest.mark.parametrize("turn", [0.0, 0.05, 0.3])
    def test_of_turning_joints(self, joints, turn):
        # The sum of the arms about all axes, with the arm stretched out.
        arms = sum(MOTION_BOUNDS * (joints - i) / joints for i in range(joints))
        need = 2.0 * RADIUS + turn * arms
        for factor, uncertain in ((1.01, False), (0.999, True)):
            cell, state = swing(joints, wall=MOTION_BOUNDS + need * factor)
            checker = CollisionChecker(cell, state)
            assert evaluate_once(checker, np.zeros(joints), turn)[0] is uncertain

    @pytest.mark.parametrize("margin", [0.0, 0.02, 0.3])
    def test_of_margins(self, margin):
        for factor, uncertain in ((1.001, False), (0.999, True)):
            cell, state = swing(1, wall=MOTION_BOUNDS + (2.0 * RADIUS + margin) * factor, margin=margin)
            assert evaluate_once(CollisionChecker(cell, state), [0.0], 0.0) == (uncertain, uncertain)
            cell, state = swing(1, wall=MOTION_BOUNDS + (2.0 * RADIUS + margin) * factor)
            assert evaluate_once(CollisionChecker(cell, state), [0.0], 0.0, margin) == (uncertain, uncertain)

    def test_of_slides(self):
        for factor, uncertain in ((1.001, False), (0.999, True)):
            cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", sphere(RADIUS)),))
            state = place(cell.default_state(), "wall", at((2.0 * RADIUS + 0.2) * factor))
            assert evaluate_once(CollisionChecker(cell, state), [0.0], 0.2)[0] is uncertain

    def test_of_two_moving_links(self):
        """The joint below both spheres and the joints in the centre of one do not count; the joint between them does.

        Pairs that one or two joints move are not checked by spheres.
        """
        links = {"base": [], "a": [sphere(RADIUS)], "b": [sphere(RADIUS)]}
        for factor, uncertain in ((1.001, False), (0.999, True)):
            gap = 2.0 * RADIUS * factor / (1.0 - 0.3)
            joints = [
                ("j0", JointKind.REVOLUTE, "base", "a", at(1.0), Z),
                ("j1", JointKind.REVOLUTE, "a", "c", at(0.0), Z),
                ("j2", JointKind.REVOLUTE, "c", "d", at(gap), Z),
                ("j3", JointKind.REVOLUTE, "d", "b", at(0.0), Z),
            ]
            names = tuple(name for name, *_ in joints)
            groups = frozendict({"g": PlanningGroup("g", names, base_link="base", tip_link="b")})
            disabled = (DisabledPair("base", "b", "not of interest"),)
            robot = Robot("r", mechanism("r", links | {"c": [], "d": []}, joints), groups, disabled_pairs=disabled)
            cell = make_cell((robot,))
            checker = CollisionChecker(cell, cell.default_state())
            assert evaluate_once(checker, np.zeros(4), 0.3)[0] is uncertain


@pytest.fixture(scope="module")
def busy():
    return busy_cell()


def test_motion_bounds_limit_the_speed_of_every_sphere(busy):
    """The bounds hold for finite differences at random configurations; some speeds reach them to a few percent."""
    checker = CollisionChecker(*busy)
    scene = MotionScene(checker)
    made = scene.arrays()
    rng = np.random.default_rng(1)
    tightest = 0.0
    for joint in range(len(scene.tree.joints)):
        base = rng.uniform(-3.0, 3.0, (40, len(checker.variables)))
        for obj, index in enumerate(scene.moving_objects):
            centre = scene.trees[obj].leaves[0, :3]
            reach, far = scene.tree.bounds(scene.placements[index].joint, centre[None])
            step = np.zeros(len(checker.variables))
            step[scene.tree.joints[joint].variable] = 1e-6
            frame = scene.allowed_pairs.objects[index].name
            pose = np.linalg.inv(scene.placements[index].placement)
            local = pose[:3, :3] @ centre + pose[:3, 3]
            poses = [forward_batch(*busy, frame, checker.variables, base + side * step) for side in (-1.0, 1.0)]
            points = [p[:, :3, :3] @ local + p[:, :3, 3] for p in poses]
            speed = np.linalg.norm(points[1] - points[0], axis=1) / 2e-6
            assert (speed <= reach[0, joint] * (1.0 + 1e-6) + 1e-8).all()
            assert (np.linalg.norm(points[0], axis=1) <= far[0]).all()
            if scene.placements[index].joint == joint:
                tightest = max(tightest, float((speed / np.maximum(reach[0, joint], 1e-9)).max()))
    assert tightest > 0.999
    assert not made.motion_bounds[:, len(scene.tree.joints) :].any()


def test_rounding_stays_below_a_quarter_of_its_allowance(busy):
    checker = CollisionChecker(*busy)
    scene = MotionScene(checker)
    made = scene.arrays()
    work = work_space(made, len(checker.variables))
    packed, space = Packed(made), Packed(work)
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(20):
        q = rng.uniform(-20.0, 20.0, (LANES, len(checker.variables)))
        work.q[:] = q.T
        lanes.compute_joint_poses(packed.address, space.address)
        for obj, index in enumerate(scene.moving_objects):
            lanes.compute_centre(packed.address, space.address, obj, int(made.parent_joints[obj]))
            found = space.arrays[CENTRES].reshape(-1, 3, LANES)[obj].T + scene.origin
            pose = np.linalg.inv(scene.placements[index].placement)
            local = pose[:3, :3] @ scene.trees[obj].root[:3] + pose[:3, 3]
            poses = forward_batch(*busy, scene.allowed_pairs.objects[index].name, checker.variables, q)
            worst = max(worst, float(np.abs(poses[:, :3, :3] @ local + poses[:, :3, 3] - found).max()))
    assert 0.0 < worst < 0.25 * float(made.rounding[0])


SHAPES = {
    "box": Box((0.3, 0.2, 0.1)),
    "sphere": Sphere(0.15),
    "cylinder": Cylinder(0.1, 0.3),
    "capsule": Capsule(0.07, 0.3),
    "cone": Cone(0.12, 0.3),
    "hull": bracket(0.3, MeshUse.HULL),
    "round hull": pebble(),
    "surface": bracket(0.3, MeshUse.EXACT),
}


@pytest.mark.parametrize("name", SHAPES)
def test_gaps_to_obstacles_are_lower_bounds(name):
    """Of the distance that coal finds between a small sphere and the shape; for all but cones they are exact."""
    rng = np.random.default_rng(3)
    cell, state = small_sphere_beside(SHAPES[name])
    checker = CollisionChecker(cell, state)
    made = MotionScene(checker).arrays()
    work = work_space(made, 3)
    packed, space = Packed(made), Packed(work)
    clear = 0
    for _ in range(30):
        q = rng.uniform(-0.4, 0.4, (LANES, 3))
        truth = np.array([checker.distance(row).distance for row in q])
        for side, sign in ((1.0005, 1.0), (0.9995, -1.0)):
            # The sphere is clear if it may move by slightly less than the distance, and not if by slightly more.
            for lane in range(LANES):
                work.q[:] = q[lane][:, None]
                work.displacements[:] = 0.0
                work.displacements[0] = max(truth[lane], 0.0) / side - sign * 1e-4
                if work.displacements[0] < 0.0:
                    continue
                begin(packed.address, space.address)
                evaluate(packed.address, space.address, False)
                uncertain = bool(work.bits[UNCERTAIN])
                if truth[lane] <= 0.0 and name != "surface":
                    assert uncertain
                elif sign < 0.0:
                    assert uncertain or truth[lane] <= 0.0
                elif truth[lane] > 1e-3:
                    clear += not uncertain
                    assert not uncertain or name == "cone"
    assert clear > 50
    assert space.arrays[DISPLACEMENTS] is not None


def test_a_check_of_listed_candidates_finds_what_a_full_check_does(busy):
    """For smaller displacements, twice, the same lanes are uncertain or hit. A full check may miss hits if too many
    candidates are near to be listed."""
    checker = CollisionChecker(*busy)
    made = MotionScene(checker).arrays()
    work = work_space(made, len(checker.variables))
    scene, space = Packed(made).address, Packed(work).address
    rng = np.random.default_rng(8)
    seen, listed = set(), []
    parts = (0.9, 0.7, 0.5, 0.3, 0.1)
    for _ in range(150):
        work.q[:] = rng.uniform(-2.5, 2.5, (len(checker.variables), 1)) + rng.normal(size=work.q.shape) * 0.1
        sizes = rng.uniform(0.0, 0.06, len(made.joints))
        expected = []
        for part in parts:
            work.displacements[: len(made.joints)] = sizes * part
            work.bits[LISTED] = 0
            begin(scene, space)
            evaluate(scene, space, False)
            complete = work.bits[LISTED] <= MAX_CANDIDATES
            expected.append((int(work.bits[UNCERTAIN]), int(work.bits[HIT]), bool(complete)))
        work.bits[LISTED] = 0
        work.displacements[: len(made.joints)] = sizes
        begin(scene, space)
        evaluate(scene, space, False)
        if work.bits[LISTED] > MAX_CANDIDATES:
            continue
        listed.append(int(work.bits[LISTED]))
        for part, (uncertain, hits, complete) in zip(parts, expected, strict=True):
            work.displacements[: len(made.joints)] = sizes * part
            begin(scene, space)
            evaluate_listed(scene, space)
            retain_marked(space)
            assert int(work.bits[UNCERTAIN]) == uncertain
            assert hits & ~int(work.bits[HIT]) == 0
            assert hits == int(work.bits[HIT]) or not complete
            seen.add((uncertain, hits))
    assert len(seen) > 20
    assert max(listed) > 20


def test_lanes_do_not_depend_on_each_other(busy):
    """With many candidates, those that are near only in undecided lanes are skipped: each lane has the same verdict as
    alone, where the first near candidate decides, and is hit at most as often as with room in the list."""
    checker = CollisionChecker(*busy)
    made = MotionScene(checker).arrays()
    work = work_space(made, len(checker.variables))
    scene, space = Packed(made).address, Packed(work).address
    rng = np.random.default_rng(9)
    left_open, kinds = 0, set()
    for _ in range(100):
        q = rng.uniform(-2.5, 2.5, (len(checker.variables), 1)) + rng.normal(size=work.q.shape) * 0.1
        work.displacements[: len(made.joints)] = rng.uniform(0.0, 0.06, len(made.joints))
        found = []
        for listed in (FEW_CANDIDATES, 0):
            work.q[:], work.bits[LISTED] = q, listed
            begin(scene, space)
            evaluate(scene, space, False)
            left_open += work.bits[LISTED] > MAX_CANDIDATES
            found.append((int(work.bits[UNCERTAIN]), int(work.bits[HIT])))
        alone = 0
        for lane in range(LANES):
            work.q[:], work.bits[LISTED] = q[:, lane : lane + 1], 0
            begin(scene, space)
            evaluate(scene, space, False)
            alone |= int(work.bits[UNCERTAIN]) & 1 << lane
        assert found[0][0] == found[1][0] == alone
        assert found[0][1] & ~found[1][1] == 0
        kinds.add(alone)
    assert left_open > 50
    assert len(kinds) > 20


def test_a_full_check_follows_if_candidates_exceed_the_list():
    """A motion along a plate is proven although more spheres are near the plate than the list of candidates holds."""
    shapes = [sphere(0.01, at(0.002 * (i % 40), 0.002 * (i // 40), 0.0)) for i in range(800)]
    cell = make_cell((free_body("robot", *shapes),), (), (body("plate", box(2.0, 2.0, 0.1)),))
    for gap, verdict in ((1e-3, schedule.FREE), (-1e-3, schedule.BLOCKED)):
        state = place(cell.default_state(), "plate", at(0.0, 0.0, -0.06 - gap))
        certifier = MotionCertifier(CollisionChecker(cell, state))
        scene, work = certifier.packed()
        start, end = np.array([-0.1]), np.array([0.1])
        found = schedule.certify_straight(scene.address, work.address, start, end, COARSE, np.zeros(3))
        assert found == verdict
        assert certifier.certify(start, end).free is (verdict == schedule.FREE)


def check_closely(checker, start, end, finest=1e-3):
    """The smallest gap beyond margins on a motion, by steps no longer than it allows."""
    speed = float(np.abs(end - start).max())
    place, least = 0.0, math.inf
    while place <= 1.0:
        found = checker.distance(start + place * (end - start), max_distance=1.0)
        gap = found.distance - found.margin if found.first else 1.0
        least = min(least, gap)
        place += max(finest, 0.2 * gap) / max(speed, 1e-9)
    return least


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_verdicts_hold(busy, margin):
    """Free motions keep their margin, colliding ones collide at the reported configuration, and few are undecided."""
    checker = CollisionChecker(*busy)
    certifier = MotionCertifier(checker)
    rng = np.random.default_rng(7)
    counts = dict.fromkeys(Verdict, 0)
    by_spheres = 0
    for _ in range(120):
        start = rng.uniform(-2.0, 2.0, len(checker.variables))
        end = start + rng.normal(size=len(start)) * 0.15
        found = certifier.certify(start, end, margin)
        counts[found.verdict] += 1
        if found.free:
            by_spheres += found.exact_states == 0
            assert found.clearance == margin
            assert check_closely(checker, start, end) >= margin - 2e-5
            assert found.exact_states or certifier.quickly_free(start, end, margin) or found.exact_fraction == 0.0
        elif found.verdict is Verdict.COLLIDING:
            q = np.array(found.configuration)
            assert np.allclose(q, start + found.place * (end - start))
            gap = checker.distance(q)
            assert gap.distance - gap.margin < margin
            assert {found.pair.first, found.pair.second} <= {obj.name for obj in checker.allowed_pairs.objects}
            assert found.distance < margin
    assert counts[Verdict.UNDECIDED] <= 1
    assert min(counts[Verdict.FREE], counts[Verdict.COLLIDING], by_spheres) > 5


def test_curves_of_polynomials(busy):
    checker = CollisionChecker(*busy)
    certifier = MotionCertifier(checker)
    rng = np.random.default_rng(8)
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(40):
        first = np.array([rng.uniform(-2.0, 2.0, len(checker.variables)), *rng.normal(size=(3, 6)) * 0.1])
        second = np.array([first.sum(axis=0), *rng.normal(size=(3, 6)) * 0.1])
        curve = PolynomialMotion(np.array([0.0, 1.0, 2.0]), np.array([first, second]))
        found = certifier.certify_curve(curve)
        counts[found.verdict] += 1
        samples = checker.in_collision_batch(np.array([curve.at(t) for t in np.linspace(0.0, 2.0, 400)]))
        assert found.verdict is not Verdict.FREE or not samples.any()
        if found.verdict is Verdict.COLLIDING:
            assert checker.in_collision(np.array(found.configuration))
    assert min(counts[Verdict.FREE], counts[Verdict.COLLIDING]) > 3


def test_polynomials_and_polylines_pass_through_their_points():
    rng = np.random.default_rng(10)
    breaks, coefficients = np.array([0.0, 0.7, 1.5]), rng.normal(size=(2, 6, 3))
    motion = PolynomialMotion(breaks, coefficients)
    for time in rng.uniform(0.0, 1.5, 50):
        piece = int(time >= 0.7)
        expected = [np.polyval(column[::-1], time - breaks[piece]) for column in coefficients[piece].T]
        assert np.allclose(motion.at(time), expected, rtol=0.0, atol=1e-12)
    rows = rng.normal(size=(5, 3))
    line = Polyline.through(rows)
    for parameter in rng.uniform(0.0, 4.0, 50):
        expected = [np.interp(parameter, np.arange(5), column) for column in rows.T]
        assert np.allclose(line.at(parameter), expected, rtol=0.0, atol=1e-12)
    assert [line.at(float(index)).tolist() for index in range(5)] == rows.tolist()


@pytest.mark.parametrize("half", [0.1, 0.4])
def test_deviation_bounds_of_curves_hold(half):
    rng = np.random.default_rng(9)
    for _ in range(30):
        curves = (
            PolynomialMotion(np.array([0.0, 1.0]), rng.normal(size=(1, 6, 3))),
            Polyline.through(rng.normal(size=(2, 3))),
            StraightMotion(rng.normal(size=3), rng.normal(size=3)),
        )
        for curve in curves:
            found = curve.deviation_bound(0.5, half)
            configurations, deviations = curve.boxes(np.array([[0.5, half], [0.25, 0.1]]))
            assert np.array_equal(configurations, [curve.at(0.5), curve.at(0.25)])
            assert np.array_equal(deviations, [found, curve.deviation_bound(0.25, 0.1)])
            ways = [np.abs(curve.at(t) - curve.at(0.5)) for t in np.linspace(0.5 - half, 0.5 + half, 101)]
            assert (np.max(ways, axis=0) <= found + 1e-12).all()
    assert (curves[-1].deviation_bound(0.5, half) < np.max(ways, axis=0) * 1.001).all()


def test_a_planted_error_in_the_exact_bounds_is_found():
    """The speed bound of the stretched arm equals the speed of its tip, to one in a thousand."""
    cell, state = swing(4)
    scene = MotionScene(CollisionChecker(cell, state))
    arms = [MOTION_BOUNDS * (4 - i) / 4 + RADIUS for i in range(4)]
    assert scene.model.speed_bounds[0] == pytest.approx(arms, rel=6e-3)
    assert (scene.model.speed_bounds[0] >= np.array(arms) - 1e-12).all()


@pytest.mark.parametrize("factor, done", [(0.99, True), (1.01, False), (1.05, False)])
def test_exact_intervals_at_the_threshold(factor, done):
    """A pair is separated on an interval if and only if its distance exceeds the displacement bound."""
    gap = 0.05
    cell, state = swing(1, wall=MOTION_BOUNDS + 2.0 * RADIUS + gap)
    exact = MotionCertifier(CollisionChecker(cell, state)).exact
    deviation = np.array([[factor * gap / (MOTION_BOUNDS + RADIUS)]])
    [left] = exact.open_pairs(np.zeros((1, 1)), deviation, 0.0, [None], exact.known_planes())
    assert (not left) is done
    cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", sphere(RADIUS)),))
    checker = CollisionChecker(cell, place(cell.default_state(), "wall", at(2.0 * RADIUS + gap)))
    exact = MotionCertifier(checker).exact
    [left] = exact.open_pairs(np.zeros((1, 1)), np.array([[factor * gap]]), 0.0, [None], exact.known_planes())
    assert (not left) is done


def comb():
    """The exact certifier of ten plates that turn between ten others at 20 mm from their neighbours, of which there are
    19 pairs."""
    arm = [box(0.6, 0.1, 0.02, at(0.4, 0.0, 0.08 * i)) for i in range(10)]
    links = {"base": [], "arm": arm}
    made = mechanism("comb", links, [("j0", JointKind.REVOLUTE, "base", "arm", at(0.0), Z)])
    robot = Robot("comb", made, frozendict({"g": PlanningGroup("g", ("j0",), base_link="base", tip_link="arm")}))
    wall = body("wall", *(box(1.0, 1.0, 0.02, at(0.0, 0.0, 0.08 * i + 0.04)) for i in range(10)))
    cell = make_cell((robot,), (), (wall,), settings())
    checker = CollisionChecker(cell, cell.default_state())
    return checker, MotionCertifier(checker).exact


def test_wide_intervals_with_many_pairs_are_halved_before_their_distances_are_computed():
    checker, exact = comb()
    computed, separation = [], checker.geometry_separation
    checker.geometry_separation = lambda *pair: computed.append(pair) or separation(*pair)
    motion = StraightMotion(np.array([-1.5]), np.array([1.5]))
    assert exact.certify(motion, 0.5, 0.5, 0.0, 1e-3).free
    assert len(set(computed)) == 19


@pytest.mark.parametrize(("resolution", "enough", "states"), [(1e-3, 2, 2 + AT_ONCE), (1.6, ENOUGH, 1)])
def test_wide_intervals_with_many_pairs_are_not_halved_beyond_the_limits_of_a_request(resolution, enough, states):
    """Neither beyond the number of configurations nor below the resolution."""
    _, exact = comb()
    motion = StraightMotion(np.array([-1.5]), np.array([1.5]))
    found = exact.certify(motion, 0.5, 0.5, 0.0, resolution, enough)
    assert not found.free
    assert not found.collides
    assert exact.states <= states


def test_objects_that_no_variable_moves_are_checked():
    """A wall intersects the upper arm, whose joints are fixed: no motion of the wrist is free."""
    cell, state = working_cell((body("wall", box(0.1, 0.1, 0.1)),))
    free = place(state, "wall", at(0.0, 1.5, 0.4))
    for where, verdict in ((free, Verdict.FREE), (place(state, "wall", at(0.0, 0.0, 0.4)), Verdict.COLLIDING)):
        certifier = MotionCertifier(CollisionChecker(cell, where, ("joint6",)))
        found = certifier.certify(np.zeros(1), np.full(1, 0.1))
        assert found.verdict is verdict
        assert certifier.quickly_free(np.zeros(1), np.full(1, 0.1)) is (verdict is Verdict.FREE)
    assert "wall" in (found.pair.first, found.pair.second)


def test_a_slide_without_limits_has_an_unbounded_load():
    """The position of its load is unbounded; the slide itself is bounded, and the exact verdict is correct."""
    unlimited = JointLimits()
    joints = {
        "turn": Joint("turn", JointKind.REVOLUTE, "base", "beam", Pose(), Z, JointLimits(-3.0, 3.0)),
        "slide": Joint("slide", JointKind.PRISMATIC, "beam", "tip", Pose(), (1.0, 0.0, 0.0), unlimited),
    }
    links = {"base": Link("base"), "beam": Link("beam"), "tip": Link("tip", collisions=(sphere(RADIUS),))}
    model = Mechanism("m", frozendict(links), frozendict(joints))
    group = PlanningGroup("g", ("turn", "slide"), base_link="base", tip_link="tip")
    cell = make_cell((Robot("r", model, frozendict({"g": group})),), (), (body("wall", sphere(RADIUS)),))
    certifier = MotionCertifier(CollisionChecker(cell, place(cell.default_state(), "wall", at(1.0))))
    assert not certifier.quickly_free(np.array([1.5, 0.5]), np.array([1.6, 0.5]))
    assert certifier.certify(np.zeros(2), np.array([0.0, 1.0])).verdict is Verdict.COLLIDING
    assert certifier.certify(np.zeros(2), np.array([0.0, 0.5])).verdict is not Verdict.COLLIDING


def test_one_call_for_one_motion():
    cell, state = swing(2, wall=0.89)
    assert certify(cell, state, np.array([1.0, 0.0]), np.array([2.0, 0.0])).free
    found = certify(cell, state, np.array([-1.0, 0.0]), np.array([1.0, 0.0]))
    assert found.verdict is Verdict.COLLIDING
    assert abs(found.configuration[0]) < 0.2
    assert (found.pair.first, found.pair.second) == ("tip", "wall")


def test_bad_requests_are_refused():
    cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", sphere(RADIUS)),))
    certifier = MotionCertifier(CollisionChecker(cell, place(cell.default_state(), "wall", at(0.0, 5.0))))
    for start, end in (([0.0, 0.0], [0.0, 0.0]), ([math.nan], [0.0])):
        with pytest.raises(InvalidRequestError):
            certifier.certify(np.array(start), np.array(end))
    for options in ({"margin": -1.0}, {"margin": math.nan}, {"resolution": 0.0}):
        with pytest.raises(InvalidRequestError):
            certifier.certify(np.zeros(1), np.ones(1), **options)
    with pytest.raises(JointLimitError) as caught:
        certifier.certify(np.zeros(1), np.array([4.0]))
    assert caught.value.subjects == ("slide",)


def test_equal_requests_have_equal_answers(busy):
    answers = [MotionCertifier(CollisionChecker(*busy)).certify(np.zeros(6), np.full(6, 0.7)) for _ in range(2)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("gap", "by_spheres"), [(0.015, True), (0.002, False), (0.0005, False)])
def test_motions_at_a_distance_are_proven_free(gap, by_spheres):
    """The corners of a cube pass a sphere: proven by spheres at a distance of 15 mm, by exact distances at less."""
    corners = math.hypot(MOTION_BOUNDS + 0.05, 0.05, 0.05)
    checker = CollisionChecker(*swing(tip=box(0.1, 0.1, 0.1), wall=corners + RADIUS + gap))
    certifier = MotionCertifier(checker)
    start, end = np.array([-0.7]), np.array([0.6])
    found = certifier.certify(start, end)
    assert found.free
    assert certifier.quickly_free(start, end) is by_spheres
    assert (found.exact_states == 0) is by_spheres


def test_verdicts_do_not_depend_on_previous_hits(busy):
    """Cached hits change only the order in which configurations are checked."""
    certifier = MotionCertifier(CollisionChecker(*busy))
    scene, work = certifier.packed()
    rng = np.random.default_rng(4)
    counts = {schedule.FREE: 0, schedule.BLOCKED: 0, schedule.OPEN: 0}
    for _ in range(400):
        start = rng.uniform(-2.5, 2.5, 6)
        motion = (scene.address, work.address, start, start + 0.2 * rng.normal(size=6), COARSE)
        after_others = schedule.certify_straight(*motion, np.zeros(3))
        # The pair that blocks the motion is cached, and is found again.
        again = schedule.certify_straight(*motion, np.zeros(3))
        remembered = bool(work.arrays[HITS].any())
        work.arrays[HITS][:] = 0
        alone = schedule.certify_straight(*motion, np.zeros(3))
        assert after_others == again == alone
        assert remembered or alone != schedule.BLOCKED
        counts[alone] += 1
    assert min(counts[schedule.FREE], counts[schedule.BLOCKED]) > 20


def test_indices_of_arrays_match_their_names():
    for kind in (arrays.MotionArrays, arrays.WorkSpace):
        assert [getattr(arrays, name.upper()) for name in kind._fields] == list(range(len(kind._fields)))


def test_initial_intervals_cover_the_motion():
    _, work = MotionCertifier(CollisionChecker(*along_a_wall())).packed()
    for longest in (0.0, 0.3, 2.0, 2.1, 9.0):
        batches = schedule.batches_of(longest)
        places = np.empty((batches, LANES))
        for batch in range(batches):
            schedule.spread(work.address, batch, batches)
            places[batch] = work.arrays[ALONG]
        assert (places[:, -1] - places[:, 0] > 0.9 * (1.0 - 1.0 / LANES)).all()
        places = np.sort(places.ravel())
        half = 0.5 / len(places)
        assert np.allclose(places, (2.0 * np.arange(len(places)) + 1.0) * half)
        assert 2.0 * half * longest <= schedule.SPACING + 1e-12


def along_a_wall(gap=0.0):
    """A sphere that moves along x beside a wall, at a gap [m]."""
    wall = body("wall", box(4.0, 0.02, 1.0))
    cell = make_cell((free_body("robot", sphere(0.05)),), (), (wall,))
    return cell, place(cell.default_state(), "wall", at(0.0, 0.06 + gap))


def test_a_slide_along_a_wall_at_contact_is_soon_undecided():
    certifier = MotionCertifier(CollisionChecker(*along_a_wall()))
    found = certifier.certify(np.zeros(1), np.full(1, 0.5))
    assert found.verdict is Verdict.UNDECIDED
    assert "wall" in (found.pair.first, found.pair.second)
    assert found.exact_states < 500
    # A short motion, and a long one at a gap, are proven.
    assert certifier.certify(np.zeros(1), np.full(1, 5e-4)).free
    assert MotionCertifier(CollisionChecker(*along_a_wall(0.001))).certify(np.zeros(1), np.full(1, 0.2)).free
