"""Certified RRT-Connect: paths are certified, end at their goals, repeat for a seed, and searches obey their limits."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
import trimesh
from frozendict import frozendict
from planning_cells import gantry, is_free, spinner, wall_with_gap

from robot_cell_planner.collision.certification._kernels.arrays import HITS
from robot_cell_planner.collision.certification._kernels.gradients import gradient_space
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier, certifier_of
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import CancelledError, NotConnectedError, NotSupportedError
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, MeshUse, Shape, Triangles
from robot_cell_planner.model.mechanism import Link
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.simplification import densify, tighten
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.constraints import JointCombination
from robot_cell_planner.planning.problem.local_planner import StraightLocalPlanner
from robot_cell_planner.planning.problem.plan import path_length
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.space import joint_space
from robot_cell_planner.planning.problem.subspace import subspace_of
from robot_cell_planner.planning.search._kernels.motion_kernels import MotionSpace
from robot_cell_planner.planning.search._kernels.rrt_connect_kernels import (
    DEFLECTED,
    DEFLECTION_DISTANCE,
    DIRECT,
    TRAPPED,
    Trees,
    extend,
    nearest,
    random_fraction,
    sample,
)
from robot_cell_planner.planning.search.bridges import Bridges
from robot_cell_planner.planning.search.certified_rrt_connect import certified_tightened

ACROSS = Goals(joint_goals=({"x": 0.8, "y": 0.0},))


def planned(cell, state, goals=ACROSS, timing=None, constraints=(), **options):
    request = MotionRequest(
        goals, options=PlanningOptions(planner="CertifiedRRTConnect", **options), timing=timing, constraints=constraints
    )
    return plan_motion(cell, state, request)


@pytest.mark.parametrize("seed", range(6))
def test_a_path_through_the_gap_is_free_and_certified(seed):
    plan = planned(*wall_with_gap(), seed=seed)
    assert plan.planner == "CertifiedRRTConnect"
    assert plan.path[0].tolist() == [-0.8, 0.0]
    assert plan.path[-1].tolist() == [0.8, 0.0]
    assert plan.certified_fraction == pytest.approx(1.0)
    assert all(is_free(q) for q in densify(plan.path, 0.001)[0])


def test_shortening_reduces_the_length():
    long = planned(*wall_with_gap(), seed=1, simplify=False, tighten=False)
    short = planned(*wall_with_gap(), seed=1)
    assert short.path_length < long.path_length
    # The shortest way goes over both corners of the gap: 0.7 across and 0.55 up, 0.2 along, and back.
    assert 2.0 * np.hypot(0.7, 0.55) + 0.2 <= short.path_length < 2.6


def test_compiled_shortening_equals_the_path_tool():
    """The compiled function equals the path tool, both with spheres only, for a path with superfluous corners."""
    cell, state = wall_with_gap()
    checker = CollisionChecker(cell, state)
    space = joint_space(cell, state)
    subspace = subspace_of(space, ())
    path = np.array([[-0.8, 0.0], [-0.6, 0.7], [-0.3, 0.65], [0.3, 0.65], [0.5, 0.8], [0.8, 0.0]])
    checks = CountedChecks(checker, ProgressMonitor(), 100_000)
    assert checks.certified(path)
    with checks.with_spheres_only(100_000):
        expected = tighten(path, StraightLocalPlanner(checks, 0.01, subspace))
    found = certified_tightened(path, checks, subspace)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert path_length(found) < path_length(path) - 0.1
    assert found[0].tolist() == path[0].tolist()
    assert found[-1].tolist() == path[-1].tolist()
    assert all(is_free(q) for q in densify(found, 0.001)[0])


def test_colliding_motions_are_deflected():
    """For random motions from the left of the wall: the result is free by closed formula, and ends at the requested
    configuration if that is free, otherwise beside it."""
    cell, state = wall_with_gap()
    certifier = MotionCertifier(CollisionChecker(cell, state))
    scene, work = certifier.packed()
    counters, ends = np.zeros(3), np.zeros((2, 2))
    space = MotionSpace(
        scene.address, work.address, np.zeros(2), np.eye(2), COARSE, counters, ends, gradient_space(2, 2)
    )
    limits = np.array(((-1.0, -1.0), (1.0, 1.0)))
    rng = np.random.default_rng(6)
    outcomes = {TRAPPED: 0, DIRECT: 0, DEFLECTED: 0}
    for _ in range(400):
        root = np.array((rng.uniform(-0.9, -0.2), rng.uniform(-0.9, 0.9)))
        aim = root + rng.uniform(-0.6, 0.6, 2)
        if np.abs(aim).max() > 1.0:
            continue
        new, same, gradient = aim.copy(), aim.copy(), np.empty(2)
        work.arrays[HITS].fill(0)  # previous hits decide which one deflects
        outcome = extend(space, limits, np.ones(2), root, new, DEFLECTION_DISTANCE, gradient)
        whole = space._replace(whole=True)
        work.arrays[HITS].fill(0)
        assert extend(whole, limits, np.ones(2), root, same, DEFLECTION_DISTANCE, gradient) == outcome
        assert same.tolist() == new.tolist()
        outcomes[outcome] += 1
        straight = all(is_free(q) for q in densify(np.array((root, aim)), 0.001)[0])
        assert (outcome == DIRECT) <= (straight and bool((new == aim).all()))
        if outcome == DEFLECTED:
            assert not certifier.quickly_free(root, aim)
            assert np.abs(new).max() <= 1.0
            assert np.linalg.norm(new - aim) < 2.5 * np.linalg.norm(aim - root)
            assert all(is_free(q) for q in densify(np.array((root, new)), 0.001)[0])
    assert min(outcomes.values()) > 10


@pytest.mark.parametrize("count", [1, 7, 32, 33, 500])
def test_the_nearest_node_is_found(count):
    """Compared with all distances in double precision; entries behind the last node are ignored."""
    rng = np.random.default_rng(count)
    nodes = rng.uniform(-3.0, 3.0, (2, 7, 640))
    parents, counts = np.full((2, 640), -1), np.array((3, count, 0, 0, 0))
    squares = np.empty(640, dtype=np.float32)
    weights = rng.uniform(0.5, 2.0, 7)
    single = (nodes * weights[:, None]).astype(np.float32)
    trees = Trees(nodes, single, weights, parents, np.ones((2, 640)), squares, np.empty((5, 0)), counts)
    for point in rng.uniform(-3.0, 3.0, (50, 7)):
        found, distance = nearest(trees, 1, point)
        distances = np.linalg.norm(weights[:, None] * (nodes[1, :, :count] - point[:, None]), axis=0)
        assert found < count
        assert distance == pytest.approx(distances[found])
        assert distance <= distances.min() + 1e-5


def test_equal_seeds_give_equal_bytes_and_others_do_not():
    plans = [plan_to_json(planned(*wall_with_gap(), seed=seed), repeatable=True) for seed in (3, 3, 4)]
    assert plans[0] == plans[1] != plans[2]


def test_the_nearest_of_several_goals_that_can_be_reached():
    goals = Goals(joint_goals=({"x": 0.8, "y": 0.9}, {"x": 0.8, "y": -0.9}))
    plan = planned(*wall_with_gap(), goals=goals)
    assert plan.goal in (0, 1)
    assert plan.path[-1].tolist() == [0.8, (0.9, -0.9)[plan.goal]]


def test_a_start_near_contact_is_left_by_exact_distances():
    """The cube is 2 mm from the wall, which is below the resolution of its spheres."""
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": -0.102, "y": 0.0})
    checker = CollisionChecker(cell, state)
    start = np.array([-0.102, 0.0])
    assert not checker.in_collision(start)
    assert not MotionCertifier(checker).quickly_free(start, start)
    plan = planned(cell, state)
    assert plan.path[0].tolist() == start.tolist()
    assert plan.certified_fraction == pytest.approx(1.0)


def test_it_ends_at_its_limit_and_reports_its_progress():
    with pytest.raises(NotConnectedError) as caught:
        planned(*gantry((("wall", (0.0, 0.0), (0.1, 3.0)),))[:1], _across(), state_limit=20_000)
    failure = caught.value.partial
    assert failure.start_tree_size > 1
    assert failure.goal_tree_size > 1
    assert failure.nearest_approach > 0.2


def _across():
    _, state = gantry((("wall", (0.0, 0.0), (0.1, 3.0)),))
    return state.with_configuration({"x": -0.8, "y": 0.0})


def test_a_cancellation_ends_it():
    """The cube does not fit between the walls, neither of which is a barrier on its own."""
    cell, state = gantry((("front", (0.0, -0.8), (0.1, 1.55)), ("back", (0.0, 0.8), (0.1, 1.55))))
    state = state.with_configuration({"x": -0.8, "y": 0.0})
    cancellation_checks = []

    def cancelled():
        cancellation_checks.append(True)
        return len(cancellation_checks) > 30

    request = MotionRequest(ACROSS, options=PlanningOptions(planner="CertifiedRRTConnect", state_limit=10**9))
    with pytest.raises(CancelledError):
        plan_motion(cell, state, request, cancelled=cancelled)


def test_combinations_of_joints_hold():
    """y follows x: the cube passes the gap on the line y = 0.65 + 0.1 x."""
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": -0.8, "y": 0.57})
    goals = Goals(joint_goals=({"x": 0.8, "y": 0.73},))
    line = JointCombination({"x": -0.1, "y": 1.0})
    plan = planned(cell, state, goals, constraints=(line,))
    assert np.allclose(plan.path[:, 1] - 0.1 * plan.path[:, 0], 0.65, atol=1e-9)


def test_joints_without_limits_and_without_obstacles():
    cell, state = spinner()
    plan = planned(cell, state, Goals(joint_goals=({"endless": 3.0, "wide": -9.0},)))
    assert plan.path_length == pytest.approx(np.hypot(3.0, 9.0))


def of_triangles(cell):
    """The gantry's cell with triangle surfaces, of the same size, as cube and walls."""

    def surfaces(shapes):
        meshes = (trimesh.creation.box(shape.geometry.size) for shape in shapes)
        parts = ([tuple(map(tuple, part.tolist())) for part in (mesh.vertices, mesh.faces)] for mesh in meshes)
        return tuple(Shape(Triangles(*part, MeshUse.EXACT)) for part in parts)

    robot = cell.robots["gantry"]
    mechanism = robot.mechanism
    cube = msgspec.structs.replace(mechanism.links["cube"], collisions=surfaces(mechanism.links["cube"].collisions))
    mechanism = msgspec.structs.replace(mechanism, links=mechanism.links.set("cube", cube))
    bodies = {name: RigidBody(name, surfaces(body.collisions)) for name, body in cell.bodies.items()}
    robots = frozendict({"gantry": msgspec.structs.replace(robot, mechanism=mechanism)})
    return msgspec.structs.replace(cell, robots=robots, bodies=frozendict(bodies))


def test_the_path_is_free_for_another_engine():
    cell, state = wall_with_gap()
    plan = planned(cell, state, engine="bullet")
    assert plan.certified_fraction == pytest.approx(1.0)
    checker = CollisionChecker(cell, state, plan.variables, engine="bullet")
    assert not checker.in_collision_batch(densify(plan.path, 0.001)[0]).any()


def test_an_engine_that_decomposes_surfaces_is_refused():
    """PyBullet finds no contact of two triangle surfaces, and the pieces of one of them extend beyond it."""
    cell, state = wall_with_gap()
    cell = of_triangles(cell)
    with pytest.raises(NotSupportedError, match="engine bullet decomposes cube"):
        planned(cell, state, engine="bullet")
    assert math.isnan(automatic(cell, state, engine="bullet").certified_fraction)
    assert planned(cell, state).certified_fraction == pytest.approx(1.0)


def test_the_demo_arm_is_planned_around_its_post(demo):
    cell, state = demo
    request = MotionRequest(
        Goals(joint_goals=({"shoulder_pan_joint": 1.5},)),
        options=PlanningOptions(planner="CertifiedRRTConnect", seed=2),
    )
    plan = plan_motion(cell, state, request)
    assert plan.certified_fraction == pytest.approx(1.0)
    assert plan.trajectory is not None


def test_samples_fill_the_bounds_and_depend_on_the_seed():
    lower, upper = np.array([-1.0, 2.0, 0.0]), np.array([1.0, 3.0, 0.5])
    points = np.zeros((2, 256, 3))
    for seed in (0, 1):
        for number in range(256):
            sample(seed, number, lower, upper, points[seed, number])
    assert (points >= lower).all()
    assert (points <= upper).all()
    assert np.abs(points.mean(axis=1) - 0.5 * (lower + upper)).max() < 0.03
    assert np.abs(points[0] - points[1]).max() > 0.1
    shares = np.array([random_fraction(7, k) for k in range(1000)])
    assert 0.45 < shares.mean() < 0.55
    assert len(np.unique(shares)) == 1000


def test_the_check_of_plans_finds_violations_without_certificates(monkeypatch):
    """The engine accepts the plan, and refuses a straight path through the wall even if spheres certify everything."""
    cell, state = wall_with_gap()
    plan = planned(cell, state, seed=1)
    certifier_of(CollisionChecker(cell, state, plan.variables))  # which is cached for the same cell
    monkeypatch.setattr(MotionCertifier, "certify", None)
    monkeypatch.setattr(MotionCertifier, "quickly_free", lambda *_: True)
    monkeypatch.setattr(MotionCertifier, "motions_free", lambda _, path: np.ones(len(path) - 1, dtype=bool))
    monkeypatch.setattr(MotionCertifier, "check_boxes", lambda _, middles, *__: np.zeros(len(middles), dtype=np.int8))
    assert verify_plan(cell, state, plan).valid
    cut = np.array([plan.path[0], plan.path[-1]])
    found = verify_plan(cell, state, replace(plan, path=cut)).violations
    assert any("collide" in violation.message for violation in found)


def automatic(cell, state, goals=ACROSS, **options):
    request = MotionRequest(goals, options=PlanningOptions(**options), timing=None)
    return plan_motion(cell, state, request)


class TestWithoutANamedPlanner:
    def test_it_uses_certified_rrt_connect_where_supported(self):
        plan = automatic(*wall_with_gap(), seed=2)
        assert (plan.planner, plan.warnings) == ("CertifiedRRTConnect", ())
        assert plan.certified_fraction == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("options", "reason"), [({"engine": "bullet", "certify": False}, "certify"), ({"certify": False}, "certify")]
    )
    def test_another_planner_is_used_if_options_are_not_supported(self, options, reason):
        plan = automatic(*wall_with_gap(), seed=2, **options)
        assert plan.planner == "RRTConnect"
        assert len(plan.warnings) == 1
        assert reason in plan.warnings[0]
        assert all(is_free(q) for q in densify(plan.path, 0.001)[0])

    def test_another_planner_is_used_if_no_path_is_found(self, monkeypatch):
        """A cube of 1 m passes a gap with 20 mm to either side, where its spheres protrude further, coarse and fine."""
        monkeypatch.setattr(Bridges, "find", lambda *_: [])  # exact distances would find a way through
        cell, state = gantry((("below", (0.0, -1.11), (0.1, 1.78)), ("above", (0.0, 1.71), (0.1, 1.78))))
        robot = cell.robots["gantry"]
        links = robot.mechanism.links.set("cube", Link("cube", collisions=(Shape(Box((1.0, 1.0, 1.0))),)))
        robot = msgspec.structs.replace(robot, mechanism=msgspec.structs.replace(robot.mechanism, links=links))
        cell = msgspec.structs.replace(cell, robots=frozendict({"gantry": robot}))
        state = state.with_configuration({"x": -0.8, "y": 0.0})
        assert MotionCertifier(CollisionChecker(cell, state)).warnings  # about spheres of more than 20 mm
        plan = automatic(cell, state, seed=1, state_limit=100_000)
        assert plan.planner == "RRTConnect"
        assert any("found no path" in warning for warning in plan.warnings)
        assert not CollisionChecker(cell, state).in_collision_batch(densify(plan.path, 0.001)[0]).any()

    def test_the_same_request_gives_the_same_bytes(self):
        first, second = (plan_to_json(automatic(*wall_with_gap(), seed=5), repeatable=True) for _ in range(2))
        assert first == second


def test_objects_thinner_than_steps_are_found():
    """The check of other planners finds them, although its steps are larger than the object."""
    cell, state = gantry((("sheet", (0.0, 0.0), (0.002, 1.9)),))
    checks = CountedChecks(CollisionChecker(cell, state), ProgressMonitor(), 1_000)
    start, end = np.array((-0.8, 0.0)), np.array((0.8, 0.0))
    assert checks.checker.first_collision_on_motion(start, end, 1.6) is None
    assert not checks.motion_free(start, end, 1.6)
    assert abs(checks.blocked.last.configuration[0]) <= 0.051
