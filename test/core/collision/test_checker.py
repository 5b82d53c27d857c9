"""Collision checker: inputs, batches, motions, shared engines, threads, and thousands of obstacles."""

import pickle
import threading

import numpy as np
import pytest
from collision_cells import (
    NO_SETTINGS,
    arm,
    at,
    body,
    box,
    bracket,
    gripper,
    make_cell,
    obstacles,
    place,
    settings,
    sphere,
    with_obstacles,
    working_cell,
)
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.motion_sampling import halving_order, segments
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions, PairType
from robot_cell_planner.errors import InvalidRequestError, LimitExceededError, NotSupportedError, UnknownNameError
from robot_cell_planner.model.geometry import Shape

ENGINES = ("coal", "bullet")


def crowded(count=20, seed=3, collision=None, extra=()):
    rng = np.random.default_rng(seed)
    bodies, poses = obstacles(count, rng)
    return with_obstacles(working_cell((*bodies, *extra), collision or settings()), poses)


def configurations(count, seed=0, dof=6):
    return np.random.default_rng(seed).uniform(-2.5, 2.5, (count, dof))


def by_distance(checker, q):
    """Whether any pair of objects is nearer than its margin, from the distances of all pairs."""
    return any(c.slack < -1e-5 for c in checker.clearances(q, 100_000, max_distance=0.5))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_equals_its_single_states(engine):
    checker = CollisionChecker(*crowded(), engine=engine)
    batch = configurations(100)
    found = checker.in_collision_batch(batch)
    assert found.tolist() == [checker.in_collision(q) for q in batch]
    assert 0 < found.sum() < 100
    assert checker.in_collision_batch(np.empty((0, 6))).shape == (0,)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_results_agree_with_each_other(engine):
    checker = CollisionChecker(*crowded(), engine=engine)
    for q in configurations(60, 1):
        report = checker.report(q)
        assert report.in_collision == checker.in_collision(q)
        assert checker.first_pair(q) == (report.pairs[0] if report.pairs else None)
        assert checker.report(q, max_pairs=2).pairs == report.pairs[:2]
        assert (checker.distance(q).distance < -1e-5) == report.in_collision


def test_results_do_not_depend_on_previous_requests():
    cell, state = crowded()
    batch = configurations(40, 2)
    checker = CollisionChecker(cell, state)
    forwards = [checker.report(q) for q in batch]
    backwards = [checker.report(q) for q in batch[::-1]][::-1]
    assert forwards == backwards
    fresh = [CollisionChecker(make_again(cell), state).report(q) for q in batch[:8]]
    assert fresh == forwards[:8]


def make_again(cell):
    """An equal cell that is in no cache."""
    return pickle.loads(pickle.dumps(cell))


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(5), r"shape \(5,\), expected \(6,\)"),
        (np.zeros((1, 6)), r"shape \(1, 6\)"),
        (np.array([0.0, 0.0, np.nan, 0.0, 0.0, 0.0]), "joint3 is nan, expected a finite number"),
        (np.array([0.0, 0.0, np.inf, 0.0, 0.0, 0.0]), "joint3 is inf, expected a finite number"),
        (np.full(6, 1e300), r"joint \w+ is 1e\+300, expected a finite number of at most"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_malformed_configurations_are_refused(q, message):
    checker = CollisionChecker(*crowded(2))
    for ask in (checker.in_collision, checker.first_pair, checker.report, checker.check, checker.distance):
        with pytest.raises(InvalidRequestError, match=message):
            ask(q)


@pytest.mark.parametrize("engine", ["coal", "bullet"])
def test_pairs_that_cannot_move_are_checked_on_request(engine):
    """A wall through the base of the arm, and a block through the wall, in every state of the arm."""
    bodies = (body("wall", box(0.05, 2.0, 2.0)), body("block", box(0.2, 0.2, 0.2)), body("apart", box(0.1, 0.1, 0.1)))
    cell = make_cell((arm(),), (gripper(),), bodies, NO_SETTINGS)
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    state = place(place(state, "block", at(0.0, 0.5, 0.5)), "apart", at(5.0, 0.0, 0.0))
    usual = CollisionChecker(cell, state, engine=engine)
    fixed = CollisionChecker(cell, state, engine=engine, options=CollisionOptions(fixed_pairs=True))
    rng = np.random.default_rng(4)
    for q in rng.uniform(-3.0, 3.0, (20, len(usual.variables))):
        before, after = ({(p.first, p.second) for p in checker.report(q).pairs} for checker in (usual, fixed))
        assert {("base", "wall"), ("wall", "block")} <= after
        assert before <= after
        assert not {("base", "wall"), ("wall", "block")} & before
        assert not any("apart" in pair for pair in after)
        assert fixed.in_collision(q)
        assert fixed.distance(q).distance < 0.0
    with pytest.raises(LimitExceededError, match="too many objects for fixed_pairs"):
        CollisionChecker(*crowded(1001), options=CollisionOptions(fixed_pairs=True))


def test_malformed_batches_are_refused():
    checker = CollisionChecker(*crowded(2))
    with pytest.raises(InvalidRequestError, match=r"expected \(k, 6\)"):
        checker.in_collision_batch(np.zeros((3, 5)))
    bad = np.zeros((3, 6))
    bad[1, 2] = np.nan
    with pytest.raises(InvalidRequestError, match="configuration 1: joint joint3 is nan"):
        checker.in_collision_batch(bad)


def test_unknown_names_are_refused():
    cell, state = crowded(2)
    with pytest.raises(UnknownNameError, match="joint 'joint9'"):
        CollisionChecker(cell, state, ("joint1", "joint9"))
    with pytest.raises(UnknownNameError, match="engine 'fcl'"):
        CollisionChecker(cell, state, engine="fcl")
    with pytest.raises(UnknownNameError, match="group 'arm'"):
        CollisionChecker(cell, state, group="arm")
    with pytest.raises(InvalidRequestError, match="listed twice"):
        CollisionChecker(cell, state, ("joint1", "joint1"))


def test_other_joints_keep_their_values_in_the_state():
    cell, state = crowded()
    every = CollisionChecker(cell, state)
    rest = {"joint1": 0.4, "joint4": -0.7}
    some = CollisionChecker(cell, state.with_configuration(rest), ("joint6", "joint3", "joint2", "joint5"))
    for q in configurations(30, 4):
        q[[0, 3]] = rest["joint1"], rest["joint4"]
        assert some.report(q[[5, 2, 1, 4]]) == every.report(q)
    assert CollisionChecker(cell, state, group="").variables == every.variables


@pytest.mark.parametrize("engine", ENGINES)
def test_fingers_follow_their_joint(engine):
    """Both fingers move by the one variable, from the state and from q alike."""
    cell = make_cell((arm(),), (gripper(),), (body("pin", sphere(0.004)),))
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    # Straight up, the fingertips are at y = +-(open + 0.005).
    height = 0.15 + 0.1 + 0.3 + 0.3 + 0.1 + 0.1 + 0.14 + 0.06 + 0.03
    state = place(state, "pin", at(0.0, 0.0, height))
    fingers = CollisionChecker(cell, state, ("gripper/open",), engine=engine)
    for opening in (0.0, 0.003, 0.005, 0.02):
        blocked = opening < 0.004
        assert fingers.in_collision(np.array([opening])) is blocked
        tool = state.tools["gripper"].with_configuration({"open": opening})
        moved = state.with_tool("gripper", tool)
        assert CollisionChecker(cell, moved, engine=engine).in_collision(np.zeros(6)) is blocked
    sides = {pair.first for pair in fingers.report(np.array([0.0])).pairs}
    assert sides == {"gripper/left", "gripper/right"}


@pytest.mark.parametrize("engine", ENGINES)
def test_objects_fixed_to_each_other_collide_in_all_states_or_none(engine):
    cell, state = working_cell((body("clamp", sphere(0.05)),))
    free = place(state, "clamp", at(0.0, 0.0, 0.2), attached_to="flange")
    inside = place(state, "clamp", at(0.0, 0.0, 0.02), attached_to="flange")
    checker = CollisionChecker(cell, inside, engine=engine)
    for q in (np.zeros(6), np.array([0.3, 0.5, 0.7, 0.2, 0.4, 0.1])):
        assert not CollisionChecker(cell, free, engine=engine).in_collision(q)
        assert checker.in_collision(q)
        found = {(p.pair_type, p.first, p.second) for p in checker.report(q).pairs}
        assert (PairType.TOOL_BODY, "gripper/palm", "clamp") in found


def test_states_with_the_same_attachments_share_an_engine():
    cell, state = crowded()
    one = CollisionChecker(cell, state)
    other = CollisionChecker(cell, state.with_configuration({"joint1": 1.0}), ("joint2",))
    tool = state.tools["gripper"].with_configuration({"open": 0.01})
    third = CollisionChecker(cell, state.with_tool("gripper", tool))
    assert one._engine is other._engine is third._engine
    moved = CollisionChecker(cell, place(state, "obstacle0", at(0.5)))
    assert moved._engine is not one._engine


def test_a_checker_is_used_in_one_thread_only():
    cell, state = crowded(2)
    checker = CollisionChecker(cell, state)
    caught, engines = [], []

    def elsewhere():
        engines.append(CollisionChecker(cell, state)._engine)
        try:
            checker.in_collision(np.zeros(6))
        except NotSupportedError as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert engines[0] is not checker._engine
    with pytest.raises(NotSupportedError, match="belongs to its thread"):
        pickle.dumps(checker)


@pytest.mark.parametrize(
    "collision",
    [
        settings(),
        settings(margins={"*": 0.02}),
        settings(margins={"link3": 0.03, "gripper": 0.01, "obstacle5": 0.05}),
        settings({"soft": ("link2", "obstacle1", "obstacle2", "obstacle3", "obstacle4", "obstacle5")}),
    ],
    ids=["plain", "one margin", "many margins", "ignore group"],
)
@pytest.mark.parametrize("count", [30, 200])
def test_trees_of_obstacles_agree_with_distances(count, collision):
    """The engine uses different code for few and for many obstacles, and for equal and different ones."""
    surface = [body(f"bracket{i}", Shape(bracket())) for i in range(2)]
    cell, state = crowded(count, 9, collision, surface)
    state = place(place(state, "bracket0", at(0.4, 0.3, 0.4)), "bracket1", at(-0.5, 0.0, 0.3))
    state = place(state, "obstacle0", state.bodies["obstacle0"].pose, touch_links=("link6",))
    checker = CollisionChecker(cell, state)
    verdicts = []
    for q in configurations(50, 5) * 0.6:
        verdicts.append(checker.in_collision(q))
        assert checker._engine._trees.plain or count == 30
        assert verdicts[-1] == by_distance(checker, q)
    if count == 30:
        assert 0 < sum(verdicts) < 50


def test_reports_need_no_trees_of_all_pairs():
    checker = CollisionChecker(*crowded(30, 9, settings()))
    found = [bool(checker.report(q).pairs) for q in configurations(20, 5)]
    assert checker._engine._trees._models is None
    assert [checker.in_collision(q) for q in configurations(20, 5)] == found
    assert checker._engine._trees._models is not None


def test_ten_thousand_obstacles_fit():
    rng = np.random.default_rng(6)
    bodies, poses = obstacles(10_000, rng, spread=6.0)
    cell, state = with_obstacles(working_cell(bodies), poses)
    checker = CollisionChecker(cell, state)
    for q in configurations(10, 7):
        assert checker.in_collision(q) == by_distance(checker, q)


def test_options_widen_margins_and_choose_steps():
    cell, state = crowded()
    checker = CollisionChecker(cell, state)
    q = next(q for q in configurations(50, 8) if 0.002 < checker.distance(q).distance < 0.05)
    gap = checker.distance(q).distance
    assert not checker.in_collision(q)
    assert CollisionChecker(cell, state, options=CollisionOptions(gap + 1e-3)).in_collision(q)
    assert not CollisionChecker(cell, state, options=CollisionOptions(gap - 1e-3)).in_collision(q)
    steps = CollisionChecker(cell, state, options=CollisionOptions(pair_types=(PairType.LINK_LINK,)))
    for q in configurations(30, 9):
        assert steps.report(q).pairs == tuple(p for p in checker.report(q).pairs if p.pair_type is PairType.LINK_LINK)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_motion_is_checked_between_its_ends(engine):
    cell = make_cell((arm(),), (), (body("post", sphere(0.05)),))
    state = place(cell.default_state(), "post", at(0.5, 0.0, 0.25))
    checker = CollisionChecker(cell, state, engine=engine)
    start = np.array([-0.6, 1.6, 0.0, 0.0, 0.0, 0.0])
    end = start * (-1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert not checker.in_collision(start)
    assert not checker.in_collision(end)
    assert checker.motion_in_collision(start, end, 0.02)
    assert not checker.motion_in_collision(start, end, 2.0)
    fraction = checker.first_collision_on_motion(start, end, 0.02)
    assert checker.in_collision(start + fraction * (end - start))
    assert not checker.motion_in_collision(start, start, 0.1)
    middle = 0.5 * (start + end)
    assert checker.first_collision_on_motion(middle, end, 0.1) == 0.0
    for step in (0.0, -1.0, np.nan, 1e-9):
        with pytest.raises(InvalidRequestError, match="step"):
            checker.motion_in_collision(start, end, step)


def test_segments_are_no_longer_than_the_step():
    rng = np.random.default_rng(0)
    for _ in range(200):
        start, end = rng.uniform(-3.0, 3.0, (2, 6))
        step = float(rng.uniform(0.01, 1.0))
        count = segments(start, end, step)
        longest = np.abs(end - start).max() / count
        assert longest <= step * (1.0 + 1e-6)
        assert count == 1 or longest * count / (count - 1) > step * (1.0 - 1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 33, 100])
def test_halving_visits_every_sample_once(count):
    visited = [round(fraction * count) for fraction in halving_order(count)]
    assert visited[:2] == [0, count]
    assert sorted(visited) == list(range(count + 1))
    for k in range(3, len(visited)):
        # After the first k samples no gap is more than twice as wide as any later one can be.
        seen = sorted(visited[:k])
        gaps = np.diff(seen)
        assert gaps.max() <= 2 * max(1, 2 ** int(np.ceil(np.log2(count / (k - 1)))))


def test_the_default_configuration_is_that_of_the_state():
    cell, state = crowded()
    q = configurations(1, 10)[0]
    values = frozendict(zip(CollisionChecker(cell, state).variables, q.tolist(), strict=True))
    there = CollisionChecker(cell, state.with_configuration(values))
    assert there.report() == CollisionChecker(cell, state).report(q)
    assert there.distance() == CollisionChecker(cell, state).distance(q)
