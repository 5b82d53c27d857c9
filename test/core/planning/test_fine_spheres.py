"""Fine spheres are used if objects are closer to each other than the resolution of coarse spheres."""

from itertools import pairwise

import numpy as np
import pytest
from planning_cells import HALF, is_free, wall_with_gap

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.sphere_model.approximation import FINE_PROTRUSION
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.space import joint_space
from robot_cell_planner.planning.problem.subspace import subspace_of
from robot_cell_planner.planning.search.bridges import Bridges
from robot_cell_planner.planning.search.certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions

SPARE = 0.012  # [m] on either side: fine spheres protrude by much less, the others by nearly as much
GAP = 2.0 * (HALF + SPARE)
FAR, NEAR, GOAL = np.array((-0.8, 0.0)), np.array((-0.05 - HALF - 0.006, 0.0)), np.array((0.8, 0.0))


@pytest.fixture
def checker():
    return CollisionChecker(*wall_with_gap(GAP))


def checks_of(checker):
    return CountedChecks(checker, ProgressMonitor(), 100_000)


@pytest.mark.parametrize(("q", "refined"), [(FAR, False), (NEAR, True)])
def test_they_are_used_from_the_start_if_an_end_of_the_motion_needs_them(checker, q, refined):
    checks = checks_of(checker)
    checks.refine_near((FAR, q))
    assert checks.refined == refined
    assert checks.certifier.quickly_free(q, q)


def test_a_search_that_stalls_continues_with_them(checker, monkeypatch):
    monkeypatch.setattr(Bridges, "find", lambda *_: [])  # exact distances would find a path
    cell, state = wall_with_gap(GAP)
    space = subspace_of(joint_space(cell, state), ())
    coarse, fine = MotionCertifier(checker), MotionCertifier(checker, protrusion=FINE_PROTRUSION)
    options = CertifiedSearchOptions(seed=1, state_limit=100_000)
    assert CertifiedRrtConnect(coarse, space).solve(FAR, [GOAL], options).path is None
    planner = CertifiedRrtConnect(coarse, space, lambda: fine)
    path = planner.solve(FAR, [GOAL], options).path
    assert path is not None
    assert all(is_free(q, GAP) for q in densify(path, 1e-3)[0])
    assert planner.states <= options.state_limit
    assert all(fine.certify(a, b).free for a, b in pairwise(path))


@pytest.mark.parametrize(("start", "goal"), [(FAR, GOAL), (NEAR, -NEAR)])
def test_a_narrow_passage_is_planned_and_proven(start, goal):
    cell, state = wall_with_gap(GAP)
    state = state.with_configuration(dict(zip("xy", start.tolist(), strict=True)))
    goals = Goals(joint_goals=(dict(zip("xy", goal.tolist(), strict=True)),))
    request = MotionRequest(goals, options=PlanningOptions(seed=1), timing=None)
    plan = plan_motion(cell, state, request)
    assert (plan.planner, plan.certified_fraction) == ("CertifiedRRTConnect", 1.0)
    assert all(is_free(q, GAP) for q in densify(plan.path, 1e-3)[0])
    assert verify_plan(cell, state, plan, PlanningOptions()).valid
    assert plan_motion(cell, state, request).path.tobytes() == plan.path.tobytes()
