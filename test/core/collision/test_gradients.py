"""Gradients of the gap of colliding pairs equal differences of coal's distances, and separate the pairs."""

import numpy as np
import pytest
from collision_cells import bracket, obstacles, pebble, small_sphere_beside, with_obstacles, working_cell

from robot_cell_planner.collision.certification._kernels import gradients
from robot_cell_planner.collision.certification._kernels.arrays import HITS, JOINTS
from robot_cell_planner.collision.certification._kernels.hits import A_MAP, A_PAIR, AN_OBSTACLE
from robot_cell_planner.collision.certification._kernels.schedule import BLOCKED, certify_straight
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Sphere

STEP = 1e-5  # [m or rad]
EXACT = {
    "box": Box((0.3, 0.2, 0.1)),
    "sphere": Sphere(0.15),
    "cylinder": Cylinder(0.1, 0.3),
    "capsule": Capsule(0.07, 0.3),
}
ALL = {**EXACT, "cone": Cone(0.12, 0.3), "hull": pebble()}


class Hits:
    """Colliding motions, and the gradient of the gap at any configuration."""

    def __init__(self, cell, state):
        self.checker = CollisionChecker(cell, state)
        self.certifier = MotionCertifier(self.checker)
        self.scene, self.work = self.certifier.packed()

    def hit(self, start, end):
        """Whether a motion collides; if so, the fraction at which the overlap is deepest."""
        verdict = certify_straight(self.scene.address, self.work.address, start, end, COARSE, np.zeros(3))
        return gradients.deepest(self.scene.address, self.work.address) if verdict == BLOCKED else None

    def at(self, q):
        """(gap, gradient) of the pair of the last collision, at a configuration."""
        space = gradients.gradient_space(len(self.scene.arrays[JOINTS]), len(q))
        return gradients.hit_gradient(self.scene.address, self.work.address, q, space), space.gradient

    @property
    def kind(self):
        return int(self.work.arrays[HITS][0, 0])


def by_steps(value, q):
    """Derivatives of a function of a configuration, by central differences."""
    steps = np.eye(len(q)) * STEP
    return np.array([(value(q + step) - value(q - step)) / (2.0 * STEP) for step in steps])


@pytest.mark.parametrize("name", EXACT)
def test_gradients_outside_are_those_of_the_exact_distance(name):
    hits = Hits(*small_sphere_beside(EXACT[name]))
    middle = np.array((0.1, -0.2, 0.05))
    assert hits.hit(middle - 0.4, middle + 0.4) == pytest.approx(0.5, abs=0.25)
    compared = 0
    for q in middle + np.random.default_rng(1).uniform(-0.4, 0.4, (60, 3)):
        distance = hits.checker.distance(q).distance
        if distance > 0.01:
            gap, found = hits.at(q)
            assert gap == pytest.approx(distance, abs=1e-4)
            np.testing.assert_allclose(found, by_steps(lambda p: hits.checker.distance(p).distance, q), atol=5e-3)
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("name", ALL)
def test_a_step_along_the_gradient_separates_the_pair(name):
    """A step along the gradient by the depth separates the pair; curved gaps need a few steps."""
    hits = Hits(*small_sphere_beside(ALL[name]))
    middle = np.array((0.1, -0.2, 0.05))
    assert hits.hit(middle - 0.4, middle + 0.4) is not None
    left = tried = 0
    for q in middle + np.random.default_rng(2).uniform(-0.12, 0.12, (200, 3)):
        if not hits.checker.in_collision(q):
            continue
        gap, found = hits.at(q)
        if not np.isfinite(gap):
            continue
        tried += 1
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-6)
        for _ in range(3):
            gap, found = hits.at(q)
            q = q + max(1e-3 - gap, 0.0) * found
        left += not hits.checker.in_collision(q)
    assert left == tried
    assert tried > 20 or name in ("sphere", "capsule", "cylinder", "cone")


def test_surfaces_have_no_gradient():
    hits = Hits(*small_sphere_beside(bracket(0.3, MeshUse.EXACT)))
    middle = np.array((0.1, -0.2, 0.05))
    for direction in np.random.default_rng(3).normal(size=(20, 3)):
        if hits.hit(middle - direction, middle + direction) is not None:
            assert hits.at(middle)[0] == np.inf
            return
    pytest.fail("no motion collided")


def test_gradients_of_an_arm_with_a_gripper_among_obstacles():
    """The gradient equals differences of the gap, for spheres of a link and obstacles or other links."""
    bodies, poses = obstacles(8, np.random.default_rng(5))
    hits = Hits(*with_obstacles(working_cell(bodies), poses))
    rng = np.random.default_rng(4)
    kinds = {A_PAIR: 0, AN_OBSTACLE: 0}
    for start in rng.uniform(-2.5, 2.5, (400, len(hits.checker.variables))):
        end = start + rng.normal(size=len(start)) * 0.4
        share = hits.hit(start, end)
        if share is None or hits.kind == A_MAP:
            continue
        q = start + share * (end - start)
        gap, found = hits.at(q)
        if np.isfinite(gap):
            assert gap < 0.0
            np.testing.assert_allclose(found, by_steps(lambda p: hits.at(p)[0], q), atol=1e-4)
            kinds[hits.kind] += 1
    assert min(kinds.values()) > 20


def test_gradients_of_distances_of_an_arm_among_obstacles():
    """The gradient of the distance of two geometries equals its differences, except at corners of the distance."""
    bodies, poses = obstacles(8, np.random.default_rng(5))
    hits = Hits(*with_obstacles(working_cell(bodies), poses))
    checker, scene = hits.checker, hits.certifier.scene
    compared = {True: 0, False: 0}  # by whether both objects move
    for q in np.random.default_rng(6).uniform(-2.5, 2.5, (60, len(checker.variables))):
        for near in checker.near_geometries(q, 0.1):
            joints = scene.joints_of(near.objects)

            def distance(p, near=near):
                checker.near_geometries(p, 0.0)
                return checker.geometry_distance(near.first, near.second)

            steps = np.eye(len(q)) * STEP
            here = distance(q)
            forward, backward = (
                np.array([(distance(q + s) - here) / STEP * sign for s in steps * sign]) for sign in (1, -1)
            )
            if max(joints) < 0 or here < 0.005 or np.abs(forward - backward).max() > 2e-3:
                continue
            distance(q)
            found = checker.nearest_points(near.first, near.second)
            points = np.array((found.point_first, found.point_second)) - scene.origin
            gradient = np.empty(len(q))
            gradients.separation_gradient(hits.scene.address, q, joints, *points, np.array(found.normal), gradient)
            np.testing.assert_allclose(gradient, 0.5 * (forward + backward), atol=5e-3)
            compared[min(joints) >= 0] += 1
    assert min(compared.values()) > 20
