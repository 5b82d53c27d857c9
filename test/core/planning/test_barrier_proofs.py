"""Barriers of pairs that several joints move: proven for all values of the other joints, or not reported."""

import numpy as np
import pytest
from collision_cells import at, body, box, make_cell, mechanism, place
from frozendict import frozendict

from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotConnectedError
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.planning.joint_space import path_search
from robot_cell_planner.planning.joint_space.barrier_proofs import BarrierProofs
from robot_cell_planner.planning.joint_space.barriers import barrier_between
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NAMES = ("rail", "turn", "tilt")


def cart(joints, block=(0.3, 0.3, 0.3), offset=0.0, post_y=0.0):
    """A rail along x that carries a block, which the other joints turn about its middle, and a post at x = 0.5."""
    links = {"base": [], "carriage": [], "table": [], "block": [box(*block, at(0.0, offset, 0.0))]}
    chain = [
        ("rail", JointKind.PRISMATIC, "base", "carriage", at(0.0), X),
        ("turn", JointKind.REVOLUTE, "carriage", "table", at(0.0), Z),
        ("tilt", JointKind.REVOLUTE if joints == 3 else JointKind.FIXED, "table", "block", at(0.0), Y),
    ]
    variables = NAMES[:joints]
    group = PlanningGroup("g", variables, base_link="base", tip_link="block")
    robot = Robot("cart", mechanism("cart", links, chain), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("post", box(0.1, 0.1, 1.0)),))
    state = place(cell.default_state(), "post", at(0.5, post_y))
    return cell, state, CollisionChecker(cell, state, variables)


@pytest.mark.parametrize("joints", [2, 3])
def test_a_block_that_collides_however_it_turns_is_a_barrier(joints):
    _, _, checker = cart(joints)
    start, goal = np.zeros(joints), np.full(joints, 0.4)
    goal[0] = 1.0
    barrier = barrier_between(checker, start, goal, boxes=8_000)
    assert barrier is not None
    assert (barrier.variable, {barrier.pair.first, barrier.pair.second}) == ("rail", {"block", "post"})
    assert abs(barrier.value - 0.5) < 0.15 + 0.05 + 1e-6
    turned = np.random.default_rng(1).uniform(-3.0, 3.0, (500, joints))
    turned[:, 0] = barrier.value
    assert checker.in_collision_batch(turned).all()


@pytest.mark.parametrize("joints", [2, 3])
def test_a_block_that_passes_with_some_turn_is_no_barrier(joints):
    """Collisions on the straight motion, and none with the block turned away."""
    _, _, checker = cart(joints, (0.06, 0.6, 0.06), offset=0.3, post_y=0.35)
    start, goal = np.zeros(joints), np.zeros(joints)
    goal[0] = 1.0
    assert checker.motion_in_collision(start, goal, 0.01)
    assert barrier_between(checker, start, goal, boxes=8_000) is None


def test_a_narrow_free_turn_is_not_missed():
    """The block passes beside the post only while it is nearly straight: no proof, however many boxes."""
    _, _, checker = cart(2, (0.5, 0.095, 0.1), post_y=0.101)
    by_name = checker.allowed_pairs.by_name
    objects = by_name["block"].index, by_name["post"].index
    colliding = np.array([0.5, 0.1])
    assert not checker.in_collision(np.array([0.5, 0.0]))
    assert checker.in_collision(colliding)
    proofs = BarrierProofs(checker, motion_model(checker), 100_000)
    assert not proofs.collide(objects, 0.0, colliding, 0)


def test_too_few_boxes_prove_nothing():
    _, _, checker = cart(3)
    assert barrier_between(checker, np.zeros(3), np.array([1.0, 0.4, 0.4]), boxes=2) is None


def test_a_request_past_the_barrier_ends_during_the_search(monkeypatch):
    cell, state, _ = cart(2)
    monkeypatch.setattr(path_search, "STATES_BEFORE_ALL_BARRIERS", 3_000)
    options = PlanningOptions(state_limit=100_000)
    request = MotionRequest(Goals(({"rail": 1.0, "turn": 0.4},)), group="g", options=options, timing=None)
    with pytest.raises(
        NotConnectedError, match=r"no path exists: .* collide at rail = 0\.\d+ for any values"
    ) as caught:
        plan_motion(cell, state, request)
    assert caught.value.partial.states_checked < options.state_limit / 2
