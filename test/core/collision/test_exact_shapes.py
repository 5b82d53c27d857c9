"""Both engines are compared with closed formulas: distances, depths, nearest points, contacts and margins."""

import math

import numpy as np
import pytest
from collision_cells import at, body, bracket, free_body, make_cell, place, settings
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import IDENTITY, Pose

ENGINES = ("coal", "bullet")
CORNERS = tuple((x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1))
CUBE = Triangles(CORNERS, ((0, 1, 2),))  # used as a hull


def checker(moving, stationary, pose=IDENTITY, engine="coal", moving_pose=IDENTITY, margins=None):
    """A checker with a single variable, which moves one shape along x towards another."""
    cell = make_cell(
        (free_body("moving", Shape(moving, moving_pose)),),
        (),
        (body("obstacle", Shape(stationary)),),
        settings(margins=margins),
    )
    return CollisionChecker(cell, place(cell.default_state(), "obstacle", pose), engine=engine)


def turned(x, *rpy):
    return Pose.from_rpy((x, 0.0, 0.0), rpy)


EDGE = 0.1 * math.sqrt(2.0) + 0.2

# Shapes and their position in contact: extent of the moving body towards +x plus extent of the obstacle towards -x.
CASES = {
    "sphere-sphere": (Sphere(0.1), Sphere(0.2), IDENTITY, IDENTITY, 0.3),
    "sphere-box": (Sphere(0.1), Box((0.4, 1.0, 1.0)), IDENTITY, IDENTITY, 0.3),
    "box-box": (Box((0.2, 0.4, 0.4)), Box((0.4, 0.3, 0.3)), IDENTITY, IDENTITY, 0.3),
    "box edge-box": (Box((0.2, 0.2, 0.2)), Box((0.4, 1.0, 1.0)), turned(0.0, 0.0, 0.0, math.pi / 4), IDENTITY, EDGE),
    "capsule end-box": (Capsule(0.05, 0.2), Box((0.4, 1.0, 1.0)), turned(0.0, 0.0, math.pi / 2, 0.0), IDENTITY, 0.35),
    "capsule side-sphere": (Capsule(0.05, 0.2), Sphere(0.1), IDENTITY, IDENTITY, 0.15),
    "capsule-capsule crossed": (
        Capsule(0.05, 0.2),
        Capsule(0.03, 0.4),
        IDENTITY,
        turned(0.0, math.pi / 2, 0.0, 0.0),
        0.08,
    ),
    "cylinder side-box": (Cylinder(0.1, 0.3), Box((0.2, 1.0, 1.0)), IDENTITY, IDENTITY, 0.2),
    "cylinder end-sphere": (Cylinder(0.1, 0.3), Sphere(0.1), turned(0.0, 0.0, math.pi / 2, 0.0), IDENTITY, 0.25),
    "cone tip-box": (Cone(0.1, 0.3), Box((0.2, 1.0, 1.0)), turned(0.0, 0.0, math.pi / 2, 0.0), IDENTITY, 0.25),
    "cone base-sphere": (Cone(0.1, 0.3), Sphere(0.1), turned(0.0, 0.0, -math.pi / 2, 0.0), IDENTITY, 0.25),
    "hull-sphere": (CUBE, Sphere(0.1), IDENTITY, IDENTITY, 0.2),
    "hull-hull": (CUBE, CUBE, turned(0.0, 0.3, 0.0, 0.0), IDENTITY, 0.2),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_distance_depth_and_points_are_exact(case, engine):
    moving, obstacle, moving_pose, obstacle_turn, reach = CASES[case]
    where = at(1.0) @ obstacle_turn
    check = checker(moving, obstacle, where, engine, moving_pose)
    contact = 1.0 - reach
    for gap in (0.5, 0.05, 0.001, -0.001, -0.01):
        q = np.array([contact - gap])
        found = check.distance(q)
        assert found.distance == pytest.approx(gap, abs=2e-5), gap
        assert (found.first, found.second) == ("slider", "obstacle")
        # The normal points from the second to the first object: back along x.
        assert found.normal == pytest.approx((-1.0, 0.0, 0.0), abs=2e-2)
        between = np.subtract(found.point_first, found.point_second)
        assert between == pytest.approx(np.array(found.normal) * found.distance, abs=1e-4)
        assert check.in_collision(q) == (gap < 0.0)
        report = check.report(q)
        assert report.in_collision == (gap < 0.0)
        if gap < 0.0:
            assert report.pairs[0].depth == pytest.approx(-gap, abs=2e-5)
            assert report.pairs[0].contacts[0].normal == pytest.approx((-1.0, 0.0, 0.0), abs=2e-2)


@pytest.mark.parametrize(
    ("moving", "stationary", "depth"),
    [
        (Sphere(0.04), Cylinder(0.015, 0.5), 0.055),
        (Cylinder(0.015, 0.5), Sphere(0.04), 0.055),
        (Capsule(0.02, 0.2), Capsule(0.03, 0.2), 0.05),
    ],
)
def test_shapes_with_the_same_centre_have_a_normal(moving, stationary, depth):
    """Each direction to the side separates them."""
    check = checker(moving, stationary)
    (contact,) = check.report(np.zeros(1)).pairs[0].contacts
    nearest = check.distance(np.zeros(1))
    for found, normal in ((contact, contact.normal), (nearest, nearest.normal)):
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        between = np.subtract(found.point_first, found.point_second)
        assert between @ np.array(normal) == pytest.approx(-depth, abs=1e-4)
    assert contact.depth == pytest.approx(depth, abs=1e-5)


@pytest.mark.parametrize("sphere_moves", [True, False])
def test_a_sphere_in_a_cylinder_has_the_depth_of_the_shortest_way_out(sphere_moves):
    """Through the side, or through an end, from any place of its centre in a flat cylinder."""
    rng = np.random.default_rng(3)
    through_ends = 0
    for _ in range(60):
        radius, size, length = rng.uniform(0.02, 0.3), rng.uniform(0.1, 0.3), rng.uniform(0.05, 0.3)
        x, y = rng.uniform(-0.7, 0.7, 2) * size
        z = rng.uniform(-0.45, 0.45) * length
        in_cylinder = Pose((float(x), float(y), float(z)))
        cylinder_pose = Pose.from_rpy((0.0, 0.0, 0.0), rng.uniform(-3.0, 3.0, 3).tolist())
        sphere_pose = cylinder_pose @ in_cylinder
        shapes = (Sphere(radius), sphere_pose), (Cylinder(size, length), cylinder_pose)
        (moving, moving_pose), (still, pose) = shapes if sphere_moves else shapes[::-1]
        check = checker(moving, still, pose, moving_pose=moving_pose)
        to_side, to_end = size - math.hypot(x, y), 0.5 * length - abs(z)
        depth = radius + min(to_side, to_end)
        through_ends += to_end < to_side
        q = np.zeros(1)
        (found,) = check.report(q).pairs
        nearest, along_path = check.distance(q), check.closest_search().closest_of(np.array([q]), 1.0)[1]
        assert -found.depth == pytest.approx(-depth, abs=1e-5)
        assert nearest.distance == pytest.approx(-depth, abs=1e-5)
        assert along_path.distance == pytest.approx(-depth, abs=1e-5)
        between = np.subtract(nearest.point_first, nearest.point_second)
        assert between == pytest.approx(-depth * np.array(nearest.normal), abs=1e-5)
        # The motion of the first object along the normal separates both.
        names = nearest.first, nearest.second
        step = (depth + 1e-4) * np.array(nearest.normal) * (1.0 if names == ("slider", "obstacle") else -1.0)
        away = Pose(tuple((moving_pose.matrix[:3, 3] + step).tolist()), moving_pose.quaternion)
        assert not checker(moving, still, pose, moving_pose=away).in_collision(q)
    assert 15 < through_ends < 55


@pytest.mark.parametrize("engine", ENGINES)
def test_capsules_of_any_pose_have_the_distance_of_their_axes(engine):
    """The distance of two capsules is that of two segments (Ericson, 2005, 5.1.9), less both radii."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        pose = Pose.from_rpy(rng.uniform(-0.5, 0.5, 3).tolist(), rng.uniform(-3, 3, 3).tolist())
        check = checker(Capsule(0.04, 0.5), Capsule(0.06, 0.3), pose, engine)
        q = rng.uniform(-0.3, 0.3, 1)
        end = pose.matrix[:3, 2] * 0.15
        middle = pose.matrix[:3, 3]
        half = np.array((0.0, 0.0, 0.25))
        offset = np.array((q[0], 0.0, 0.0))
        expected = segment_distance(offset - half, offset + half, middle - end, middle + end) - 0.1
        if expected > -0.06:
            assert check.distance(q).distance == pytest.approx(expected, abs=1e-4)


def segment_distance(a, b, c, d):
    """Distance by a dense search over one segment, with the closest point of the other in closed form."""
    best = math.inf
    low, high = 0.0, 1.0
    for _ in range(6):
        s = np.linspace(low, high, 101)
        points = a + s[:, None] * (b - a)
        t = np.clip((points - c) @ (d - c) / ((d - c) @ (d - c)), 0.0, 1.0)
        distances = np.linalg.norm(points - c - t[:, None] * (d - c), axis=1)
        index = int(distances.argmin())
        best = min(best, float(distances[index]))
        low, high = s[max(0, index - 1)], s[min(100, index + 1)]
    return best


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("obstacle", [Box((0.4, 1.0, 1.0)), CUBE, bracket()], ids=["box", "hull", "surface"])
def test_objects_that_touch_do_not_collide(obstacle, engine):
    """A part that rests on a table is at distance zero, up to rounding."""
    front = 0.2 if isinstance(obstacle, Box) else 0.1 if obstacle is CUBE else 0.17
    lift = at(0.0, 0.0, 0.15) if front == 0.17 else IDENTITY
    check = checker(Box((0.1, 0.08, 0.08)), obstacle, at(1.0), engine, lift)
    contact = 1.0 - front - 0.05
    for gap in (1e-4, 1e-7, 1e-12, 0.0, -1e-12, -1e-7, -0.8 * TOUCHING):
        assert not check.in_collision(np.array([contact - gap])), gap
        assert not check.report(np.array([contact - gap])).in_collision
    for gap in (-1.5 * TOUCHING, -1e-4, -1e-3):
        assert check.in_collision(np.array([contact - gap])), gap
        assert check.report(np.array([contact - gap])).in_collision


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("obstacle", [Box((0.4, 1.0, 1.0)), bracket()], ids=["box", "surface"])
def test_a_gap_below_the_margin_collides(obstacle, engine):
    front = 0.2 if isinstance(obstacle, Box) else 0.17
    check = checker(
        Sphere(0.05),
        obstacle,
        at(1.0),
        engine,
        at(0.0, 0.0, 0.15),
        margins=frozendict({"moving": 0.02, "obstacle": 0.03}),
    )
    contact = 1.0 - front - 0.05
    for gap, collides in ((0.06, False), (0.0501, False), (0.05, False), (0.0499, True), (0.0, True), (-0.01, True)):
        q = np.array([contact - gap])
        assert check.in_collision(q) is collides, gap
        report = check.report(q)
        assert report.in_collision is collides
        if collides:
            pair = report.pairs[0]
            assert pair.margin == pytest.approx(0.05)
            assert pair.distance == pytest.approx(gap, abs=1e-4)
            assert check.distance(q).slack == pytest.approx(gap - 0.05, abs=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_concave_mesh_has_its_hollow_only_when_exact(engine):
    ball = Sphere(0.05)
    for use, hollow in ((MeshUse.EXACT, True), (MeshUse.DECOMPOSITION, True), (MeshUse.HULL, False)):
        check = checker(ball, bracket(use=use), at(0.0), engine, at(0.0, 0.0, 0.1))
        assert check.in_collision(np.array([0.0])) is not hollow
        assert check.in_collision(np.array([-0.12]))
        assert check.decomposed == (("obstacle",) if use is MeshUse.DECOMPOSITION else ())


def test_bullet_decomposes_one_of_two_surfaces_with_a_warning():
    moving, obstacle = bracket(), bracket(0.4)
    results = {}
    for engine in ENGINES:
        check = checker(moving, obstacle, at(1.0), engine)
        results[engine] = [check.in_collision(np.array([x])) for x in (0.0, 0.6, 0.95, 1.0)]
        assert check.decomposed == (("slider",) if engine == "bullet" else ())
        assert check.report(np.array([0.95])).decomposed == check.decomposed
    assert results["coal"] == results["bullet"] == [False, False, True, True]


def test_a_moving_flat_sheet_is_checked():
    """Its bounding box has no volume, and coal treats such a box as empty."""
    sheet = Triangles(((0.0, -0.1, -0.1), (0.0, 0.1, -0.1), (0.0, 0.1, 0.1)), ((0, 1, 2),), MeshUse.EXACT)
    for engine in ENGINES:
        check = checker(sheet, Box((0.2, 1.0, 1.0)), at(1.0), engine)
        assert not check.in_collision(np.array([0.8]))
        assert check.in_collision(np.array([0.95]))
        assert check.distance(np.array([0.8])).distance == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("case", CASES)
def test_verdict_first_pair_and_report_agree_at_the_threshold(case, margin, engine):
    moving, obstacle, moving_pose, pose, reach = CASES[case]
    made = checker(moving, obstacle, Pose((1.0, 0.0, 0.0), pose.quaternion), engine, moving_pose, {"*": margin / 2})
    threshold = 1.0 - reach - margin + TOUCHING
    steps = np.concatenate((np.linspace(-4e-6, 4e-6, 17), np.linspace(-1e-8, 1e-8, 5)))
    verdicts = set()
    for q in threshold + steps[:, None]:
        verdict = made.in_collision(q)
        verdicts.add(verdict)
        assert bool(made.report(q).pairs) is verdict
        assert (made.first_pair(q) is not None) is verdict
    if engine == "coal":
        assert verdicts == {True, False}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("turn", (0.0, math.pi / 96, 0.02))
def test_a_cone_is_nowhere_free_whose_base_is_overlapped(engine, turn):
    # A pyramid of 96 sides within this cone would be 1 mm smaller at the middle of each side.
    cone = checker(Box((0.2, 0.01, 4.0)), Cone(2.0, 1.0), turned(0.0, 0.0, 0.0, turn), engine)
    assert cone.in_collision((-2.0998,))
    assert not cone.in_collision((-2.1012,))
