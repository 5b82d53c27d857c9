"""Connectors from configurations that are closer to objects than spheres resolve."""

from itertools import pairwise

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.sphere_model.approximation import FINE_PROTRUSION
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.problem.constraints import JointCombination
from robot_cell_planner.planning.problem.space import joint_space
from robot_cell_planner.planning.problem.subspace import subspace_of
from robot_cell_planner.planning.search.free_space_connectors import (
    CLEARANCE,
    FRACTIONS_BETWEEN,
    SAMPLES_PER_DISTANCE,
    STEP_FACTORS,
    ClosePairs,
    FreeSpaceConnectors,
)

JOINTS = ("rail", "slide", "across")
HALF, WALL = 0.05, 0.1  # [m] half the edge of the cube, and half the thickness of the wall in front of it
GAP = 2e-4  # [m] from the cube to the wall


def connectors_of(combinations=(), rail_lower=0.0):
    """A cube on two slides along x and one along y, with a wall GAP in front of it at the configuration 0."""
    links = "".join(f'<link name="{joint}_link"/>' for joint in JOINTS[:2])
    lower = {"rail": rail_lower, "slide": -0.5, "across": -0.5}
    axes = {"rail": "1 0 0", "slide": "1 0 0", "across": "0 1 0"}
    joints = "".join(
        f'<joint name="{joint}" type="prismatic"><parent link="{parent}"/><child link="{joint}_link"/>'
        f'<axis xyz="{axes[joint]}"/><limit lower="{lower[joint]}" upper="0.5" velocity="1" effort="1"/></joint>'
        for parent, joint in zip(("base", "rail_link", "slide_link"), JOINTS, strict=True)
    )
    text = f"""<robot name="gantry"><link name="base"/>{links}
      <link name="across_link"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
      {joints}</robot>"""
    group = PlanningGroup("all", JOINTS, (), "base", "across_link")
    robot = Robot("gantry", read_urdf(text), groups=frozendict({"all": group}))
    wall = RigidBody("wall", (Shape(Box((2 * WALL, 2.0, 1.0))),))
    cell = RobotCell(robots=frozendict({"gantry": robot}), bodies=frozendict({"wall": wall}))
    state = cell.default_state().with_body("wall", BodyState(Pose((HALF + GAP + WALL, 0.0, 0.0))))
    state = state.with_configuration(dict.fromkeys(JOINTS, 0.0))
    certifier = MotionCertifier(CollisionChecker(cell, state), protrusion=FINE_PROTRUSION)
    return certifier, FreeSpaceConnectors(certifier, subspace_of(joint_space(cell, state), combinations))


def found_from(connectors, q, seed=0, count=1):
    return connectors.find(np.array(q, dtype=np.float64), seed, count, lambda: None)


@pytest.mark.parametrize("rail_lower", [-0.5, 0.0], ids=["free", "at its limit"])
def test_the_shortest_step_away_is_taken_by_the_joints_that_have_room_for_it(rail_lower):
    certifier, connectors = connectors_of(rail_lower=rail_lower)
    for seed in range(3):
        [(first, inner)] = found_from(connectors, (0.0, 0.0, 0.0), seed)
        assert first.tolist() == [0.0, 0.0, 0.0]
        assert certifier.quickly_free(inner, inner)
        assert certifier.certify(first, inner).free
        step = CLEARANCE - GAP
        expected = np.array((0.0, -step, 0.0) if rail_lower == 0.0 else (-0.5 * step, -0.5 * step, 0.0))
        assert any(np.abs(inner - factor * expected).max() < 1e-5 for factor in STEP_FACTORS), inner


def test_the_shortest_step_stays_in_the_subspace():
    combination = JointCombination(frozendict({"slide": 1.0, "across": -1.0}))
    certifier, connectors = connectors_of([combination])
    [(first, inner)] = found_from(connectors, (0.0, 0.0, 0.0))
    assert inner[1] == pytest.approx(inner[2], abs=1e-12)
    assert inner[0] >= -1e-9
    assert certifier.certify(first, inner).free


def test_further_connectors_are_within_limits_and_free():
    certifier, connectors = connectors_of()
    found = found_from(connectors, (0.0, 0.0, 0.0), seed=4, count=5)
    assert len(found) >= 5
    for connector in found:
        assert connector[:, 0].min() >= 0.0, "the rail is at its lower limit"
        assert np.abs(connector).max() <= 0.5
        assert certifier.quickly_free(connector[-1], connector[-1])
        assert all(certifier.certify(a, b).free for a, b in pairwise(connector))
    again = found_from(connectors, (0.0, 0.0, 0.0), seed=4, count=5)
    assert [connector.tobytes() for connector in found] == [connector.tobytes() for connector in again]


def test_gaps_and_their_gradients_are_those_of_the_cube_and_the_wall():
    _, connectors = connectors_of()
    near = connectors._close_pairs_at(np.array((0.0, 0.004, 0.1)) - (0.0, 0.01, 0.0))
    assert near.gaps == pytest.approx([GAP + 0.006], abs=1e-9)
    assert near.missing == pytest.approx([CLEARANCE - GAP - 0.006], abs=1e-9)
    assert near.gradients == pytest.approx(np.array([[-1.0, -1.0, 0.0]]), abs=1e-9)


def test_motions_are_compared_by_the_largest_fraction_by_which_they_reduce_a_gap():
    gradients = np.array([[1.0, 0.0], [0.0, 1.0]])
    near = ClosePairs(np.array((0.01, 0.01)), np.array((0.001, 0.01)), gradients)
    motions = np.array(((-0.001, 0.0), (0.0, -0.001), (0.002, 0.02), (0.001, -0.02)))
    assert near.approaches(motions) == pytest.approx([1.0, 0.1, -2.0, 2.0])
    assert ClosePairs(np.empty(0), np.empty(0), np.empty((0, 2))).approaches(motions).tolist() == [0.0] * 4


def test_one_motion_of_each_distance_is_certified_and_it_does_not_approach_the_wall():
    _, connectors = connectors_of(rail_lower=-0.5)
    tried = []
    connectors._try = lambda q, inner, max_states, found: tried.append(inner)
    found_from(connectors, (0.0, 0.0, 0.0), seed=1)
    sampled = tried[len(STEP_FACTORS) :]
    assert 6 <= len(sampled) <= 12
    assert all(inner[0] + inner[1] < 0.0 for inner in sampled)
    most = SAMPLES_PER_DISTANCE * (1 + len(FRACTIONS_BETWEEN))
    assert connectors.states <= 2 + len(STEP_FACTORS) + 12 * most


def test_a_motion_that_spheres_prove_free_in_its_middle_comes_before_one_that_they_do_not():
    certifier, connectors = connectors_of(rail_lower=-0.5)
    q = np.array((0.0, -0.1, 0.0))
    past_the_wall, back = np.array((0.0, 0.5, 0.0)), np.array((0.0, -0.2, 0.0))
    assert certifier.quickly_free(past_the_wall, past_the_wall)
    near = ClosePairs(np.array((0.01,)), np.array((0.001,)), np.array([[0.0, 1.0, 0.0]]))
    assert near.approaches(np.array((past_the_wall, back)) - q).argmin() == 0
    chosen = connectors._most_promising(q, near, np.array((past_the_wall, back)))
    assert chosen.tolist() == back.tolist()
