"""Passages narrower than the sphere resolution: bridges between parts of the trees, and connectors out of them."""

from itertools import pairwise

import numpy as np
import pytest
from frozendict import frozendict
from planning_cells import wall_with_gap

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
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.local_planner import StraightLocalPlanner
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.space import joint_space
from robot_cell_planner.planning.problem.subspace import subspace_of
from robot_cell_planner.planning.search.bridges import Bridges
from robot_cell_planner.planning.search.certified_planner import CertifiedPlanner
from robot_cell_planner.planning.search.certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions
from robot_cell_planner.planning.search.free_space_connectors import FreeSpaceConnectors
from robot_cell_planner.planning.search.planner import Budget, SearchProblem

RADIUS, HALF_LENGTH, WALL = 0.05, 0.05, 0.05  # [m] of a pin along x, and half the thickness of the wall
CLEARANCE = 0.003  # [m] around the pin in the hole: less than fine spheres protrude
START, GOAL, INSIDE = np.array((-0.5, 0.0)), np.array((0.5, 2.0)), np.array((0.0, 0.3))


def pin_and_wall(clearance):
    """A pin that slides along x and turns about it, and a wall at x = 0 with a square hole around it.

    A pin that fits is free at all joint values, and otherwise nowhere within the wall.
    """
    text = f"""<robot name="pin">
      <link name="base"/><link name="slide"/>
      <link name="pin"><collision><origin rpy="0 1.5707963267948966 0"/>
        <geometry><cylinder radius="{RADIUS}" length="{2 * HALF_LENGTH}"/></geometry></collision></link>
      <joint name="x" type="prismatic"><parent link="base"/><child link="slide"/><axis xyz="1 0 0"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
      <joint name="turn" type="revolute"><parent link="slide"/><child link="pin"/><axis xyz="1 0 0"/>
        <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
    </robot>"""
    robot = Robot(
        "pin", read_urdf(text), groups=frozendict({"all": PlanningGroup("all", ("x", "turn"), (), "base", "pin")})
    )
    size, middle = (2 * WALL, 1.0, 0.4), RADIUS + clearance + 0.2
    sides = {"top": (0.0, middle), "bottom": (0.0, -middle), "left": (middle, 0.0), "right": (-middle, 0.0)}
    boxes = {name: Box(size if y == 0.0 else (2 * WALL, 0.4, 1.0)) for name, (y, _) in sides.items()}
    bodies = {name: RigidBody(name, (Shape(box),)) for name, box in boxes.items()}
    cell = RobotCell(robots=frozendict({"pin": robot}), bodies=frozendict(bodies))
    state = cell.default_state()
    for name, (y, z) in sides.items():
        state = state.with_body(name, BodyState(Pose((0.0, y, z))))
    return cell, state.with_configuration(dict(zip(("x", "turn"), START.tolist(), strict=True)))


def certifier_and_space(clearance):
    cell, state = pin_and_wall(clearance)
    certifier = MotionCertifier(CollisionChecker(cell, state), protrusion=FINE_PROTRUSION)
    return certifier, subspace_of(joint_space(cell, state), ())


def crosses(first, second):
    return first[0] * second[0] < 0.0 and min(abs(first[0]), abs(second[0])) > WALL


def test_a_search_passes_a_hole_below_the_sphere_resolution():
    certifier, space = certifier_and_space(CLEARANCE)
    assert not certifier.quickly_free(INSIDE, INSIDE)
    options = CertifiedSearchOptions(seed=1, state_limit=100_000)
    paths = [CertifiedRrtConnect(certifier, space).solve(START, [GOAL], options).path for _ in range(2)]
    assert paths[0] is not None
    assert paths[0].tobytes() == paths[1].tobytes()
    assert paths[0][0].tolist() == START.tolist()
    assert paths[0][-1].tolist() == GOAL.tolist()
    assert all(certifier.certify(a, b).free for a, b in pairwise(paths[0]))


def test_a_search_does_not_pass_a_hole_that_is_too_narrow():
    certifier, space = certifier_and_space(-CLEARANCE)
    planner = CertifiedRrtConnect(certifier, space)
    result = planner.solve(START, [GOAL], CertifiedSearchOptions(seed=1, state_limit=40_000))
    assert result.path is None
    assert 40_000 <= planner.states < 50_000


@pytest.mark.parametrize("shorten", [True, False])
@pytest.mark.parametrize("bridged", [True, False])
def test_a_path_counts_as_shortened_only_if_that_was_requested_and_there_are_no_bridges(bridged, shorten):
    cell = pin_and_wall(CLEARANCE) if bridged else wall_with_gap()
    checks = CountedChecks(CollisionChecker(*cell), ProgressMonitor(), 100_000)
    space = subspace_of(joint_space(*cell), ())
    start, goal = np.array(tuple(cell[1].configuration.values())), np.array((0.8, 0.0))
    settings = CertifiedPlanner.info.settings({})
    local_planner = StraightLocalPlanner(checks, 0.05)
    problem = SearchProblem(space, checks, local_planner, start, [goal], 0.05, 1, settings, shorten)
    found = CertifiedPlanner().solve(problem, Budget(100_000))
    assert found.path is not None
    assert found.shortened == (shorten and not bridged)
    assert found.shortened or not found.tightened


@pytest.mark.parametrize(("clearance", "exist"), [(CLEARANCE, True), (-CLEARANCE, False), (0.05, False)])
def test_bridges_are_free_and_only_in_narrow_passages(clearance, exist):
    certifier, space = certifier_and_space(clearance)
    nodes = np.array((START, (-0.3, 1.0), (-0.2, -1.0)))
    found = Bridges(certifier, space, seed=1).find(nodes, lambda: None)
    assert bool(found) == exist
    for row, point in found:
        assert crosses(nodes[row], point)
        assert point[1] == nodes[row][1]
        assert certifier.certify(nodes[row], point).free
        assert not certifier.quickly_free(nodes[row], point)


def test_a_connector_leads_out_of_the_hole():
    certifier, space = certifier_and_space(CLEARANCE)
    [connector] = FreeSpaceConnectors(certifier, space).find_far(INSIDE, lambda: None)
    assert connector[0].tolist() == INSIDE.tolist()
    assert abs(connector[-1][0]) > WALL + HALF_LENGTH
    assert certifier.quickly_free(connector[-1], connector[-1])
    assert all(certifier.certify(a, b).free for a, b in pairwise(connector))
