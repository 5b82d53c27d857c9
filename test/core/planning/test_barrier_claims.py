"""Barriers claimed for random mechanisms: no configuration of the other joints may be free."""

import math

import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from support.collision_cells import at, body, box, bracket, make_cell, pebble, place, sphere
from support.collision_cells import settings as collision_settings

from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.model.geometry import Capsule, Cone, Cylinder, MeshUse, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.planning.joint_space.barrier_proofs import BarrierProofs

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
MULTIPLIERS = (1.0, -1.0, 2.0, 0.5, -1.5, 0.0)
BOXES = 3_000
SAMPLES = 500


def random_pose(rng, spread):
    return Pose.from_rpy(rng.uniform(-spread, spread, 3), rng.uniform(-3.0, 3.0, 3))


def random_shape(rng, least, most):
    a, b, c = rng.uniform(least, most, 3).tolist()
    pose = random_pose(rng, 0.3 * least)
    kinds = (
        lambda: box(a, b, c, pose),
        lambda: sphere(0.5 * a, pose),
        lambda: Shape(Capsule(0.5 * a, b), pose),
        lambda: Shape(Cylinder(0.5 * a, b), pose),
        lambda: Shape(Cone(0.5 * a, b), pose),
        lambda: Shape(bracket(0.3, MeshUse.DECOMPOSITION), pose),
        lambda: Shape(pebble(), pose),
    )
    return kinds[rng.integers(len(kinds))]()


def random_joint(rng, name, parent, child, mimicked):
    """A joint of any kind; a mimic joint if there is one to mimic."""
    axis = rng.normal(size=3)
    axis = tuple((axis / np.linalg.norm(axis)).tolist())
    kind = (JointKind.PRISMATIC, JointKind.REVOLUTE, JointKind.CONTINUOUS)[rng.integers(3)]
    size = 0.1 if kind is JointKind.PRISMATIC else math.pi
    low, high = -rng.uniform(0.2, 1.2) * size, rng.uniform(0.2, 1.2) * size
    limits = JointLimits() if kind is JointKind.CONTINUOUS else JointLimits(low, high)
    mimic = None
    if mimicked:
        multiplier = MULTIPLIERS[rng.integers(len(MULTIPLIERS))]
        mimic, limits = Mimic(mimicked, multiplier, rng.uniform(-0.1, 0.1)), JointLimits()
        kind = JointKind.CONTINUOUS if kind is JointKind.CONTINUOUS else JointKind.REVOLUTE
    return Joint(name, kind, parent, child, random_pose(rng, 0.05), axis, limits, mimic)


def random_robot(rng):
    """A branched tree of two or three variables and at most two mimic joints, whose last links have shapes."""
    count = int(rng.integers(2, 4))
    mimics = int(rng.integers(0, 3))
    order = rng.permutation([True] * (count - 1) + [False] * mimics).tolist()
    links, joints, variables = {"base": Link("base")}, {}, []
    parents = ["base"]
    for number, is_variable in enumerate([True, *order]):
        name, child = f"joint{number}", f"link{number}"
        mimicked = "" if is_variable else variables[rng.integers(len(variables))]
        parent = parents[-1] if rng.random() < 0.8 else parents[rng.integers(len(parents))]
        joints[name] = random_joint(rng, name, parent, child, mimicked)
        shaped = number + 2 > len(order) and rng.random() < 0.9
        links[child] = Link(child, collisions=(random_shape(rng, 0.1, 0.5),) if shaped else ())
        if is_variable:
            variables.append(name)
        parents.append(child)
    group = PlanningGroup("g", tuple(variables), base_link="base", tip_link=parents[-1])
    return Robot("robot", Mechanism("robot", frozendict(links), frozendict(joints)), frozendict({"g": group}))


def random_checker(rng):
    """A checker of a random robot that holds a body, with a post and margins."""
    post = body("post", *(random_shape(rng, 0.1, 0.5) for _ in range(rng.integers(1, 3))))
    held = body("held", random_shape(rng, 0.1, 0.4))
    margins = {"post": float(rng.choice([0.0, 0.0, 0.01, 0.1]))}
    robot = random_robot(rng)
    cell = make_cell((robot,), (), (post, held), collision_settings(margins=margins))
    state = place(cell.default_state(), "post", random_pose(rng, 0.15))
    tip = robot.groups["g"].tip_link
    state = place(state, "held", random_pose(rng, 0.1), attached_to=tip, touch_links=(tip,))
    return CollisionChecker(cell, state, robot.groups["g"].variables)


def ranges(checker):
    """The limits of all variables (dof,), of continuous ones three turns."""
    limits = [checker.cell.variables[name].limits for name in checker.variables]
    lower, upper = np.array([(each.lower, each.upper) for each in limits]).T
    return np.where(np.isfinite(lower), lower, -3.0 * math.pi), np.where(np.isfinite(upper), upper, 3.0 * math.pi)


def freest(checker, pair, q, index, rng):
    """The configuration with the largest distance of a pair that is found with one variable as at q (dof,): the best of
    many samples and of corners, moved uphill."""
    alone = checker.of_pair(*sorted(checker.allowed_pairs.by_name[name].index for name in pair), 0.0)
    lower, upper = ranges(checker)
    rows = rng.uniform(lower, upper, (SAMPLES, len(q)))
    corners = rng.random((64, len(q))) < 0.5
    rows[:64] = np.where(corners, lower, upper)
    rows[:, index] = q[index]
    distances = [alone.distance(row).distance for row in rows]
    best, distance = rows[int(np.argmax(distances))], max(distances)
    size = 0.2 * (upper - lower)
    while (size > 1e-7).any():
        step = rng.normal(size=len(q)) * size
        step[index] = 0.0
        moved = np.clip(best + step, lower, upper)
        moved[index] = q[index]
        found = alone.distance(moved).distance
        if found > distance:
            best, distance = moved, found
        else:
            size = 0.95 * size
    return best, distance


def claims(rng, checker, attempts=40):
    """Claimed barriers: pair, margin, configuration and index of the variable, each pair and variable once."""
    lower, upper = ranges(checker)
    model, objects = motion_model(checker), checker.allowed_pairs.by_name
    proofs, found = BarrierProofs(checker, model, BOXES), {}
    for q in rng.uniform(lower, upper, (attempts, len(lower))):
        for pair in checker.report(q).pairs:
            names = pair.first, pair.second
            numbers = objects[pair.first].index, objects[pair.second].index
            for index in range(len(q)):
                if (names, index) not in found and proofs.collide(numbers, pair.margin, q, index):
                    found[names, index] = names, pair.margin, q, index
    return list(found.values())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_claim_is_contradicted_by_samples(seed):
    rng = np.random.default_rng(seed)
    checker = random_checker(rng)
    for pair, margin, q, index in claims(rng, checker):
        best, distance = freest(checker, pair, q, index, rng)
        assert distance < margin - TOUCHING, (pair, index, distance)
        assert checker.in_collision(best)


def test_random_mechanisms_have_claims():
    counts = [len(claims(rng, random_checker(rng))) for rng in map(np.random.default_rng, range(30))]
    assert sum(count > 0 for count in counts) >= 10


def chain_checker(block, chain, post, engine="coal"):
    """A checker of a chain of joints (name, kind, axis, limits) through the origin with a block at its end."""
    links, joints, parent = {"base": Link("base")}, {}, "base"
    for name, kind, axis, limits in chain:
        joints[name] = Joint(name, kind, parent, f"{name} link", IDENTITY, axis, limits)
        parent = f"{name} link"
        links[parent] = Link(parent, collisions=block if name == chain[-1][0] else ())
    variables = tuple(joints)
    group = PlanningGroup("g", variables, base_link="base", tip_link=parent)
    robot = Robot("robot", Mechanism("robot", frozendict(links), frozendict(joints)), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("post", *post),))
    return CollisionChecker(cell, cell.default_state(), variables, engine=engine), parent


def claimed(checker, link, q, index):
    objects = checker.allowed_pairs.by_name
    proofs = BarrierProofs(checker, motion_model(checker), 10_000)
    return proofs.collide((objects[link].index, objects["post"].index), 0.0, q, index)


@pytest.mark.parametrize("engine", ["coal", "bullet"])
@pytest.mark.parametrize(("touch", "expected"), [(5e-6, False), (5e-3, True)])
def test_a_value_at_which_objects_touch_is_no_barrier(engine, touch, expected):
    """The depth of two boxes decreases to a touch at the end of the range of a joint, which is free."""
    chain = (
        ("rail", JointKind.PRISMATIC, X, JointLimits(-1.0, 1.0)),
        ("lift", JointKind.PRISMATIC, Z, JointLimits(0.0, 0.1 - touch)),
    )
    checker, link = chain_checker((box(0.2, 0.2, 0.2),), chain, (box(0.2, 0.2, 0.2, at(0.0, 0.0, -0.1)),), engine)
    at_end = np.array([0.0, 0.1 - touch])
    assert checker.in_collision(at_end) is expected
    assert checker.in_collision(np.zeros(2))
    assert claimed(checker, link, np.zeros(2), 0) is expected


def test_a_rail_beyond_its_limits_has_no_barrier():
    """Motion bounds do not hold there: an arm of 10 m passes through a slot that one of 1 m could not reach."""
    chain = (
        ("turn", JointKind.CONTINUOUS, Z, JointLimits()),
        ("rail", JointKind.PRISMATIC, X, JointLimits(0.0, 1.0)),
    )
    post = (box(40.0, 20.0, 0.2, at(0.0, 10.5)), box(40.0, 20.0, 0.2, at(0.0, -9.9)))
    checker, link = chain_checker((sphere(0.05),), chain, post)
    beyond = np.array([0.0, 10.0])
    assert checker.in_collision(beyond)
    assert not checker.in_collision(np.array([math.asin(0.03), 10.0]))
    assert not claimed(checker, link, beyond, 1)


def test_a_sphere_that_leaves_a_flat_cylinder_through_its_end_is_not_taken_for_one_that_cannot():
    """Coal's own depth is the way out through the side, also if that through an end is shorter."""
    chain = (
        ("rail", JointKind.PRISMATIC, X, JointLimits(-1.0, 1.0)),
        ("lift", JointKind.PRISMATIC, Z, JointLimits(-0.2105, 0.2105)),
    )
    checker, link = chain_checker((sphere(0.14),), chain, (Shape(Cylinder(0.18, 0.14)),))
    assert checker.in_collision(np.zeros(2))
    assert not checker.in_collision(np.array([0.0, 0.2105]))
    assert not claimed(checker, link, np.zeros(2), 0)


def test_turns_of_a_mimic_joint_at_half_speed_are_not_taken_for_those_of_its_variable():
    """The blade of a joint that mimics a continuous one at half its speed is free only after a whole turn of that."""
    links = {name: Link(name) for name in ("base", "carriage", "wheel")}
    blade = (box(0.8, 0.2, 0.2, at(0.45, 0.0)),)
    links["blade"] = Link("blade", collisions=blade)
    joints = (
        Joint("rail", JointKind.PRISMATIC, "base", "carriage", IDENTITY, X, JointLimits(-1.0, 1.0)),
        Joint("spin", JointKind.CONTINUOUS, "carriage", "wheel", IDENTITY, Z),
        Joint("half", JointKind.CONTINUOUS, "carriage", "blade", IDENTITY, Z, mimic=Mimic("spin", 0.5)),
    )
    mechanism = Mechanism("robot", frozendict(links), frozendict({joint.name: joint for joint in joints}))
    group = PlanningGroup("g", ("rail", "spin"), base_link="base", tip_link="blade")
    cell = make_cell((Robot("robot", mechanism, frozendict({"g": group})),), (), (body("post", box(0.4, 2.0, 0.2)),))
    checker = CollisionChecker(cell, place(cell.default_state(), "post", at(0.25, 0.0)), ("rail", "spin"))
    for spin in np.linspace(-math.pi, math.pi, 50):
        assert checker.in_collision(np.array([0.0, spin]))
    assert not checker.in_collision(np.array([0.0, 2.0 * math.pi]))
    assert not claimed(checker, "blade", np.zeros(2), 0)
