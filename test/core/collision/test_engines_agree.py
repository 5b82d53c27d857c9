"""Both engines on 20,000 random states of six cells: they may differ within 2 mm of the threshold only."""

import math

import numpy as np
import pytest
from collision_cells import (
    arm,
    at,
    body,
    bracket,
    gripper,
    make_cell,
    obstacles,
    place,
    settings,
    spindle,
    with_obstacles,
    working_cell,
)

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.bodies import PairMargin
from robot_cell_planner.model.geometry import Cone, MeshUse, Shape, Triangles

STATES = 3400
UNSURE = 0.002  # [m]


def held_part():
    bodies, poses = obstacles(15, np.random.default_rng(1), spread=0.8)
    return with_obstacles(working_cell(bodies), poses)


def margins():
    rng = np.random.default_rng(2)
    bodies, poses = obstacles(15, rng, spread=0.8)
    pairs = [PairMargin("part", "obstacle3", 0.1), PairMargin("gripper", "link2", 0.0)]
    chosen = settings({"ours": ("obstacle1", "arm")}, {"*": 0.01, "arm": 0.02, "link3": 0.0, "obstacle2": 0.05}, pairs)
    return with_obstacles(working_cell(bodies, chosen), poses)


def concave_meshes():
    """Static surfaces and a held one; no two of them are in contact."""
    rng = np.random.default_rng(3)
    bodies, poses = obstacles(8, rng, spread=0.8)
    state_of = [body(f"bracket{i}", Shape(bracket())) for i in range(4)]
    held = body("held", Shape(bracket(0.12), at(0.0, 0.0, 0.1)))
    ignored = settings({"surfaces": ("held", *(b.name for b in state_of))}, {"bracket1": 0.02})
    cell, state = working_cell((*bodies, *state_of, held), ignored)
    cell, state = with_obstacles((cell, state), poses)
    for index, name in enumerate(b.name for b in state_of):
        x, y = 0.45 * math.cos(1.5 * index), 0.45 * math.sin(1.5 * index)
        state = place(state, name, at(x, y, 0.2 * index, (0.4, 0.8, 1.1 * index)))
    return cell, place(state, "held", at(0.0, 0.06, 0.1), attached_to="link4", touch_links=("link5",))


def two_arms():
    bodies, poses = obstacles(6, np.random.default_rng(4), spread=0.8)
    cell = make_cell((arm(), arm("second", "second_")), (gripper(), spindle()), bodies)
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    state = place(state, "spindle", attached_to="second_manipulator")
    base_poses = state.base_poses.set("second", at(0.7, 0.0, 0.0, (0.0, 0.0, 3.0)))
    return with_obstacles((cell, state.__class__(base_poses, state.configuration, state.tools, state.bodies)), poses)


def mesh_arm():
    """An arm of convex hulls, as vendors' meshes are used."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(60, 3))
    points *= np.array((0.05, 0.06, 0.14)) / np.linalg.norm(points, axis=1)[:, None]
    points[:, 2] += 0.05
    hull = Triangles(tuple(map(tuple, points.tolist())), ((0, 1, 2),), MeshUse.HULL)
    bodies, poses = obstacles(12, rng, spread=0.8)
    cones = [body(f"cone{i}", Shape(Cone(0.1, 0.3))) for i in range(3)]
    cell, state = with_obstacles(working_cell((*bodies, *cones), arm_shape=Shape(hull)), poses)
    for index in range(3):
        state = place(state, f"cone{index}", at(0.4, 0.3 * index - 0.3, 0.5, (index, 1.0, 0.0)))
    return cell, state


def decompositions():
    rng = np.random.default_rng(6)
    bodies, poses = obstacles(8, rng, spread=0.8)
    brackets = [body(f"bracket{i}", Shape(bracket(use=MeshUse.DECOMPOSITION))) for i in range(4)]
    cell, state = with_obstacles(working_cell((*bodies, *brackets), settings(margins={"*": 0.003})), poses)
    for index in range(4):
        x, y = 0.45 * math.cos(1.5 * index), 0.45 * math.sin(1.5 * index)
        state = place(state, f"bracket{index}", at(x, y, 0.2 * index, (0.4, 0.8, 1.1 * index)))
    return cell, state


@pytest.mark.parametrize(
    "make", [held_part, margins, concave_meshes, two_arms, mesh_arm, decompositions], ids=lambda make: make.__name__
)
def test_engines_agree(make):
    cell, state = make()
    coal, bullet = (CollisionChecker(cell, state, engine=engine) for engine in ("coal", "bullet"))
    rng = np.random.default_rng(7)
    configurations = rng.uniform(-2.6, 2.6, (STATES, len(coal.variables)))
    one, other = coal.in_collision_batch(configurations), bullet.in_collision_batch(configurations)
    assert 0.1 < one.mean() < 0.9
    for q in configurations[one != other]:
        slack = min(c.slack for c in coal.clearances(q, 10_000, max_distance=0.15))
        assert abs(slack) <= UNSURE
    assert (one != other).mean() < 0.01
    for q in configurations[:80]:
        found, expected = coal.distance(q).distance, bullet.distance(q).distance
        if found > 0.0 or expected > 0.0:
            assert found == pytest.approx(expected, abs=1e-3)


def test_reports_name_the_same_pairs():
    cell, state = margins()
    coal, bullet = (CollisionChecker(cell, state, engine=engine) for engine in ("coal", "bullet"))
    compared = 0
    for q in np.random.default_rng(8).uniform(-2.6, 2.6, (300, 6)):
        one, other = (
            {(p.pair_type, p.first, p.second): p for p in checker.report(q).pairs} for checker in (coal, bullet)
        )
        for key in one.keys() & other.keys():
            # For a deep overlap, the engines may find different directions of separation.
            if abs(one[key].depth) < 0.01:
                assert one[key].depth == pytest.approx(other[key].depth, abs=1e-3)
                compared += 1
        for key in one.keys() ^ other.keys():
            pair = one.get(key) or other[key]
            assert abs(pair.distance - pair.margin) < UNSURE
    assert compared > 50
