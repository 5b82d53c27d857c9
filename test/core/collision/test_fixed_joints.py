"""Models of motions are shared by states in which joints that are no variables have slightly different values, such as
those of a gripper, of a rail or of another robot, and hold for all of these values."""

from collections import OrderedDict
from pathlib import Path

import msgspec
import numpy as np
import pytest
from collision_cells import arm, at, body, make_cell, mechanism, obstacles, place, sphere, with_obstacles, working_cell
from frozendict import frozendict

from robot_cell_planner import CollisionChecker, load_cell
from robot_cell_planner.collision.certification import distance_maps
from robot_cell_planner.collision.certification.certifier import cached_certifier, certifier_of
from robot_cell_planner.collision.certification.distance_maps import LARGEST_MARGIN
from robot_cell_planner.collision.certification.fixed_joints import MAX_DISPLACEMENT, fixed_values
from robot_cell_planner.collision.certification.motion_bounds import motion_model, rigid_bodies
from robot_cell_planner.collision.certification.scene import motion_scene
from robot_cell_planner.collision.geometry.collision_geometry import collision_geometries
from robot_cell_planner.collision.sphere_model.resolution import corners_of
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.system.cache import IdentityCache

CONFIG = Path(__file__).parents[3] / "config"
LARGEST_RESERVE = 2e-3  # [m]
SMALL = 1e-7  # [rad or m], a change of a measured value


def with_values(cell, state, values):
    """A state with values of joints of robots and tools, by the names that models have for them."""
    robots = {name: value for name, value in values.items() if name in cell.variables}
    state = state.with_configuration(robots)
    for name, value in values.items():
        tool, _, joint = name.partition("/")
        if tool in state.tools:
            state = state.with_tool(tool, state.tools[tool].with_configuration({joint: value}))
    return state


def crowded():
    bodies, poses = obstacles(8, np.random.default_rng(5))
    return with_obstacles(working_cell(bodies), poses)


@pytest.fixture(scope="module", params=["fingers", "gripper", "base", "elbow", "beyond the limits", "other arm"])
def case(request):
    """A cell, a state, the variables of a group, and ranges of the values of the joints that are none."""
    if request.param == "fingers":
        cell, state = load_cell(CONFIG / "demo" / "cell.yaml")
        return cell, state, cell.group().variables, {"gripper/finger_joint": (0.0, 0.042)}
    if request.param == "other arm":
        cell, state = load_cell(CONFIG / "two_arms" / "cell.yaml")
        own = cell.group(next(iter(next(iter(cell.robots.values())).groups))).variables
        return cell, state, own, {name: (-2.0, 2.0) for name in cell.variables if name not in own}
    cell, state = crowded()
    fixed = {"base": "joint1", "elbow": "joint3", "beyond the limits": "joint3"}.get(request.param, "")
    own = tuple(name for name in cell.variables if name != fixed)
    ranges = {"gripper/open": (0.02, 0.03)}
    if request.param == "beyond the limits":
        limit = cell.tools["gripper"].mechanism.joints["open"].limits.upper
        ranges = {"gripper/open": (limit + 1e-4, limit + 4e-3)}
    return cell, state, own, ranges | ({fixed: (-2.0, 2.0)} if fixed else {})


def random_states(case, count, seed=0):
    cell, state, _, ranges = case
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield with_values(cell, state, {name: float(rng.uniform(*ends)) for name, ends in ranges.items()})


def points_of(checker, index):
    """Corners (n, 3) of the shapes of an object, in its frame."""
    shapes = checker.allowed_pairs.objects[index].shapes
    parts = [(shape.pose.matrix, part) for shape in shapes for part in collision_geometries(shape.geometry)]
    return np.concatenate([corners_of(part)[:, :3] @ pose[:3, :3].T + pose[:3, 3] for pose, part in parts])


def test_objects_are_within_the_displacement_of_where_the_model_places_them(case):
    cell, _, variables, _ = case
    rng = np.random.default_rng(1)
    largest = 0.0
    for state in random_states(case, 4):
        checker = CollisionChecker(cell, state, variables)
        model, kinematic = motion_model(checker), cell_model(cell, state)
        values = kinematic.configuration(state)
        fixed = fixed_values(kinematic, checker.allowed_pairs, checker.variables, values)
        own = kinematic.indices(variables)
        np.testing.assert_array_equal(fixed.values[own], values[own])
        configurations = np.tile(values, (20, 1))
        configurations[:, own] = rng.uniform(-3.0, 3.0, (20, len(own)))
        nearby = np.tile(fixed.values, (20, 1))
        nearby[:, own] = configurations[:, own]
        for index in checker.allowed_pairs.moving:
            name, points = checker.allowed_pairs.objects[index].name, points_of(checker, index)
            here, there = (
                poses[:, None, :3, :3] @ points[..., None] + poses[:, None, :3, 3:]
                for poses in (
                    forward_batch(cell, state, name, kinematic.variables, q) for q in (configurations, nearby)
                )
            )
            apart = float(np.linalg.norm((here - there)[..., 0], axis=-1).max())
            assert apart <= model.displacement(index) + 1e-12
            largest = max(largest, apart)
    assert largest > 0.1 * MAX_DISPLACEMENT


def test_speed_bounds_hold_for_the_values_themselves(case):
    cell, _, variables, _ = case
    rng = np.random.default_rng(2)
    for state in random_states(case, 3):
        checker = CollisionChecker(cell, state, variables)
        model = motion_model(checker)
        q = rng.uniform(-3.0, 3.0, (30, len(variables)))
        for number, index in enumerate(model.moving_objects):
            name, points = checker.allowed_pairs.objects[index].name, points_of(checker, index)
            for joint, bound in zip(model.tree.joints, model.speed_bounds[number], strict=True):
                step = np.zeros(len(variables))
                step[joint.variable] = 1e-5
                one, other = (forward_batch(cell, state, name, variables, q + side * step) for side in (-1.0, 1.0))
                moved = (other - one)[:, None, :3, :3] @ points[..., None] + (other - one)[:, None, :3, 3:]
                assert np.linalg.norm(moved[..., 0], axis=-1).max() <= 2e-5 * bound * (1.0 + 1e-6) + 1e-12


def swinging(name):
    """A robot whose links of 0.3 m turn about z in a plane, each with a sphere at its end."""
    links = {f"{name}base": []} | {f"{name}l{i}": [sphere(0.03, at(0.3))] for i in range(4)}
    parents = [f"{name}base", *(f"{name}l{i}" for i in range(3))]
    z = (0.0, 0.0, 1.0)
    made = [
        (f"{name}j{i}", JointKind.REVOLUTE, parent, f"{name}l{i}", at(0.3 if i else 0.0), z)
        for i, parent in enumerate(parents)
    ]
    names = tuple(f"{name}j{i}" for i in range(4))
    group = PlanningGroup(f"{name}g", names, base_link=f"{name}base", tip_link=f"{name}l3")
    return Robot(name, mechanism(name, links, made), frozendict({group.name: group}))


@pytest.mark.parametrize(
    "variables", ["aj0 aj1", "aj0 aj3", "aj1 aj2 aj3", "aj0 aj1 aj2 aj3", "aj1 bj2", "aj0 aj2 bj1 bj3"]
)
def test_spheres_prove_no_more_than_the_distance_of_the_values_themselves(variables):
    """The shapes are spheres, which represent themselves, so that nothing hides a displacement; distance
    maps decide smaller margins."""
    cell = make_cell((swinging("a"), swinging("b")), (), (body("wall", sphere(0.1)),))
    initial = msgspec.structs.replace(cell.default_state(), base_poses=frozendict({"a": at(0.0), "b": at(0.9)}))
    rng = np.random.default_rng(3)
    proven = refused = 0
    for _ in range(200):
        values = {name: float(value) for name, value in zip(cell.variables, rng.uniform(-2.5, 2.5, 8), strict=True)}
        state = place(initial.with_configuration(values), "wall", at(0.45, 0.5))
        checker = CollisionChecker(cell, state, variables.split())
        certifier, q = certifier_of(checker), checker.default
        gap = checker.closest_of(q[None], bodies=rigid_bodies(checker))[1].distance
        if not (gap > LARGEST_MARGIN + LARGEST_RESERVE and certifier.sphere_test_applies(gap + 1e-5)):
            continue
        model = motion_model(checker)
        rounding = float(certifier.scene.arrays().rounding[0])  # of single precision
        # The model may place both objects nearer to each other than they are, by what it adds to the margin.
        reserve = 4.0 * max(model.displacement(index) for index in checker.allowed_pairs.moving) + 2.0 * rounding
        assert reserve < LARGEST_RESERVE
        assert not certifier.quickly_free(q, q, gap + 3e-6)
        refused += 1
        proven += certifier.quickly_free(q, q, gap - reserve)
    assert refused == proven > 20


def test_states_that_differ_little_share_everything_that_spheres_need(case):
    cell, state, variables, ranges = case
    values = {name: 0.4 * low + 0.6 * high for name, (low, high) in ranges.items()}
    first = CollisionChecker(cell, with_values(cell, state, values), variables)
    scene, packed = motion_scene(first), certifier_of(first).packed()
    fixed = fixed_values(
        cell_model(cell, state), first.allowed_pairs, variables, cell_model(cell, state).configuration(first.state)
    )
    on_grid = dict(zip(cell_model(cell, state).variables, fixed.values.tolist(), strict=True))
    for change in (SMALL, -SMALL):
        nearby = {name: on_grid[name] + change for name in ranges}
        checker = CollisionChecker(cell, with_values(cell, state, nearby), variables)
        assert cached_certifier(checker).packed() is packed
        assert motion_scene(checker) is scene
        assert motion_model(checker) is motion_model(first)
        assert certifier_of(checker).checker.fixed_values == checker.fixed_values


def test_values_on_both_sides_of_zero_share_a_model():
    """A closed gripper is measured a little above or below."""
    cell, state = crowded()
    checkers = [
        CollisionChecker(cell, with_values(cell, state, {"gripper/open": value}), tuple(cell.variables))
        for value in (1e-9, -1e-9)
    ]
    assert motion_model(checkers[0]) is motion_model(checkers[1])


def test_distance_maps_do_not_depend_on_the_state_that_they_are_computed_for(monkeypatch):
    """Joint 1 turns both links of each map."""
    cell = make_cell((arm(disabled=False),))
    variables = tuple(f"joint{number}" for number in range(2, 7))
    monkeypatch.setenv("ROBOT_CELL_PLANNER_CACHE", "")
    found = []
    for value in (0.70004, 0.69996, -1.1):
        monkeypatch.setattr(distance_maps, "_blocks", OrderedDict())
        monkeypatch.setattr(distance_maps, "_maps", IdentityCache(size=1))
        checker = CollisionChecker(cell, cell.default_state().with_configuration({"joint1": value}), variables)
        found.append([each.bounds.tobytes() for each in distance_maps.distance_maps(checker)])
    assert len(found[0]) >= 3
    assert found[1] == found[2] == found[0]


def test_a_prismatic_joint_far_beyond_its_limits_keeps_its_value():
    cell, state = crowded()
    variables = tuple(cell.variables)
    limit = cell.tools["gripper"].mechanism.joints["open"].limits.upper
    for value, is_rounded in ((0.0234567, True), (limit + 0.0034567, True), (limit + 0.1234567, False)):
        checker = CollisionChecker(cell, with_values(cell, state, {"gripper/open": value}), variables)
        model = cell_model(cell, checker.state)
        found = fixed_values(model, checker.allowed_pairs, variables, model.configuration(checker.state))
        assert bool(found.values[model.position["gripper/open"]] != value) is is_rounded
        assert bool(found.displacements) is is_rounded


def test_values_of_variables_displace_nothing():
    cell, state = crowded()
    checker = CollisionChecker(cell, state, (*cell.variables, "gripper/open"))
    assert not motion_model(checker).displacements.any()


def test_without_variables_the_state_is_certified():
    cell, state = load_cell(CONFIG / "demo" / "cell.yaml")
    checker = CollisionChecker(cell, state, ())
    still = np.zeros(0)
    assert not checker.in_collision(still)
    assert certifier_of(checker).certify(still, still).free
