"""Bounds from separating planes are compared with the distances of the engine."""

import itertools

import numpy as np
import pytest
from collision_cells import body, bracket, pebble, place, settings, with_obstacles, working_cell
from scipy.spatial import ConvexHull

from benchmarks.audit.cells import write_cell
from robot_cell_planner.collision.certification.certificate import FINE
from robot_cell_planner.collision.certification.curves import StraightMotion
from robot_cell_planner.collision.certification.exact import ExactCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import distance_error
from robot_cell_planner.collision.geometry.collision_geometry import Surface
from robot_cell_planner.collision.geometry.plane_kernels import PlacedPairs
from robot_cell_planner.collision.geometry.separating_planes import KnownPlanes
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import Pose

MOTION = 0.03  # [rad] between two placements


def faceted_sphere(count=200, use=MeshUse.EXACT):
    """A triangle surface with more points than its representation holds, or a hull of many points."""
    points = np.random.default_rng(3).normal(size=(count, 3))
    points *= 0.15 / np.linalg.norm(points, axis=1)[:, None]
    faces = ConvexHull(points).simplices
    return Triangles(tuple(map(tuple, points.tolist())), tuple(map(tuple, faces.tolist())), use)


SHAPES = (
    Box((0.1, 0.2, 0.15)),
    Sphere(0.08),
    Cylinder(0.07, 0.2),
    Capsule(0.05, 0.15),
    Cone(0.1, 0.2),
    pebble(),
    bracket(),
    faceted_sphere(),
    faceted_sphere(2500, MeshUse.HULL),
)


def cell_of_all_shapes(seed):
    random = np.random.default_rng(seed)
    bodies = [body(f"obstacle{index}", Shape(shape)) for index, shape in enumerate(SHAPES)]
    angles = np.arange(len(bodies)) * 2.0 * np.pi / len(bodies)
    poses = [
        Pose.from_rpy(
            (0.7 * np.cos(a), 0.7 * np.sin(a), random.uniform(0.0, 0.8)), random.uniform(-3.0, 3.0, 3).tolist()
        )
        for a in angles.tolist()
    ]
    return with_obstacles(working_cell(bodies, settings()), poses)


def along(checker, seed):
    """For each near pair along a random motion: its shapes, the distances, the bounds by the plane of one placement,
    and whether each bound is of that placement."""
    geometry_model, engine = checker.geometry_model, checker._engine
    random = np.random.default_rng(seed)
    start, step = random.uniform(-2.5, 2.5, 6), random.uniform(-MOTION, MOTION, 6)
    poses = engine.poses(checker._expand_batch(start + np.arange(9)[:, None] * step))
    states, near = geometry_model.candidates_along(poses, 1.0)
    first, second = near.first.tolist(), near.second.tolist()
    distances = np.array([engine.separation(i, j, poses[k])[0] for i, j, k in zip(first, second, states, strict=True)])
    for row in np.unique(np.column_stack((first, second)), axis=0, return_index=True)[1].tolist():
        pair = first[row], second[row]
        _, normal = engine.separation(*pair, poses[states[row]])
        if normal is None:
            continue
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        bounds = np.full(len(states), -np.inf)
        plane = geometry_model.planes.plane(pair, normal, poses[states[row]])
        pairs = PlacedPairs(poses, states, near.first, near.second, bounds)
        geometry_model.planes.raise_bounds(plane[None], pairs)
        same = (near.first == pair[0]) & (near.second == pair[1])
        assert np.isneginf(bounds[~same]).all()
        shapes = [geometry_model.geometries[geometry] for geometry in pair]
        yield shapes, distances[same], bounds[same], states[same] == states[row]


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_below_all_distances_and_equal_where_the_plane_is(seed):
    cell, state = cell_of_all_shapes(seed)
    kinds, missing = set(), []
    for shapes, distances, bounds, here in along(CollisionChecker(cell, state), seed):
        error = distance_error(distances.max())
        assert (bounds <= distances + error).all()
        kinds.update(type(shape).__name__ for shape in shapes)
        if not any(isinstance(shape, Surface) for shape in shapes):
            np.testing.assert_allclose(bounds[here], distances[here], atol=2.0 * error)
            missing.extend((distances - bounds)[~here].tolist())
    assert kinds == {"Box", "Sphere", "Cylinder", "Capsule", "Cone", "ConvexGeometry", "Surface"}
    # Of second order in the motion, while distances change by the first.
    assert np.median(missing) < 0.1 * MOTION


def test_stationary_geometries_may_move():
    cell, state = cell_of_all_shapes(0)
    assert any(True for _ in along(CollisionChecker(cell, state), 1))  # computes the planes that the next call adapts
    moved = CollisionChecker(cell, place(state, "obstacle0", Pose((0.4, 0.3, 0.5))))
    boxes = 0
    for shapes, distances, bounds, here in along(moved, 1):
        error = distance_error(distances.max())
        assert (bounds <= distances + error).all()
        if isinstance(shapes[0], Box) and isinstance(shapes[1], Box):
            np.testing.assert_allclose(bounds[here], distances[here], atol=2.0 * error)
            boxes += 1
    assert boxes > 3


@pytest.mark.parametrize("seed", range(4))
def test_the_closest_state_is_found_where_it_is_an_end_of_the_path(seed):
    """The distance at an end bounds the search, which evaluates it again; coal's distance of the same placement differs
    in its last bits, depending on what was computed before."""
    cell, state = cell_of_all_shapes(seed)
    checker = CollisionChecker(cell, state)
    engine, random, calls = checker._engine, np.random.default_rng(seed), itertools.count()
    separation = engine.separation

    def drifting(*arguments):
        distance, normal = separation(*arguments)
        return distance + 1e-16 * next(calls), normal

    engine.separation = drifting
    ends = 0
    for _ in range(150):
        start, step = random.uniform(-2.5, 2.5, 6), random.uniform(-MOTION, MOTION, 6)
        path = start + np.arange(5)[:, None] * step
        distances = [checker.distance(q).distance for q in path]
        found = checker.closest_of(path)
        assert found is not None
        assert found[1].distance == pytest.approx(min(distances), abs=2e-6)
        ends += int(np.argmin(distances)) in (0, 4)
    assert ends > 100


def test_planes_save_most_distances():
    """Few distances are evaluated for 60 states, not more by a second call, which gives the same result."""
    cell, state = cell_of_all_shapes(2)
    checker = CollisionChecker(cell, state)
    states = np.linspace((0.3, 0.4, -0.6, 0.2, 0.5, 0.0), (0.9, 0.2, -0.4, 0.3, 0.2, 0.5), 60)
    engine, counts = checker._engine, []
    separation = engine.separation

    def counted(*arguments):
        counts[-1] += 1
        return separation(*arguments)

    engine.separation = counted
    search = checker.closest_search()
    results = []
    for _ in range(2):
        counts.append(0)
        results.append(search.closest_of(states, np.inf))
    assert results[0] == results[1]
    assert counts[1] <= counts[0] < 10


def certified(checker, seed, count=40):
    """Exact certificates of random motions; the number of distances that they took."""
    engine, exact, random = checker._engine, ExactCertifier(checker), np.random.default_rng(seed)
    separation, taken, verdicts = engine.separation, [0], []

    def counted(*arguments):
        taken[0] += 1
        return separation(*arguments)

    engine.separation = counted
    for _ in range(count):
        start = random.uniform(-2.5, 2.5, 6)
        motion = StraightMotion(start, start + random.uniform(-0.5, 0.5, 6))
        verdicts.append(exact.certify(motion, 0.5, 0.5, 0.0, FINE, 400).free)
    del engine.separation
    return verdicts, taken[0]


def test_planes_of_exact_certificates_are_below_the_distances(monkeypatch):
    """At every configuration of a proof that uses planes."""
    cell, state = cell_of_all_shapes(3)
    checker = CollisionChecker(cell, state)
    engine, raise_bounds, raised = checker._engine, KnownPlanes.raise_bounds, []

    def noted(self, of, pairs):
        before = pairs.bounds.copy()
        raise_bounds(self, of, pairs)
        for row in np.flatnonzero(pairs.bounds > before).tolist():
            pair = int(pairs.firsts[row]), int(pairs.seconds[row])
            raised.append((pairs.poses[pairs.states[row]], *pair, pairs.bounds[row]))

    monkeypatch.setattr(KnownPlanes, "raise_bounds", noted)
    assert True in certified(checker, 5)[0]
    assert len(raised) > 200
    for poses, first, second, bound in raised:
        engine.place_at(poses[checker.geometry_model.placement_rows])
        distance = engine.distance(first, second).distance
        assert bound <= distance + distance_error(distance)


def test_planes_save_distances_of_exact_certificates(monkeypatch):
    cell, state = cell_of_all_shapes(3)
    found = certified(CollisionChecker(cell, state), 5)
    monkeypatch.setattr(KnownPlanes, "raise_bounds", lambda *_: None)
    without = certified(CollisionChecker(cell, state), 5)
    assert found[0] == without[0]
    assert found[1] < 0.9 * without[1]  # half of it for decomposed meshes


def test_hulls_whose_normal_coal_does_not_set_have_a_direction(tmp_path):
    """Base and forearm of a UR3, 3.5 mm apart."""
    file = write_cell("ur3", 1, 1, tmp_path)
    cell, state = load_cell(file.path, file.roots)
    checker = CollisionChecker(cell, state, cell.group().variables)
    closest = checker.distance(np.array([-1.577532, -0.205030, 2.295638, -2.389785, 1.574226, 0.338905]))
    assert (closest.first, closest.second) == ("base_link", "forearm_link")
    apart = np.subtract(closest.point_first, closest.point_second)
    assert np.linalg.norm(apart) == pytest.approx(closest.distance, abs=1e-6)
    np.testing.assert_allclose(closest.normal, apart / np.linalg.norm(apart), atol=1e-6)
