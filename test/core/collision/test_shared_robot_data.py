"""Cells with the same robot share its collision data, and only as far as the data are equal."""

import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner import CollisionChecker, load_cell
from robot_cell_planner.collision.certification.joint_tree import joint_tree
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.engines import coal_engine, coal_moving
from robot_cell_planner.kinematics.forward import chain_at_state
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.model.bodies import CollisionSettings, PairMargin, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import DisabledPair
from robot_cell_planner.model.state import BodyState

CELL_FILE = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"
STATES = 150
BOXES = {"wall": (Box((0.05, 1.5, 1.5)), (0.55, 0.0, 0.5)), "post": (Box((0.1, 0.1, 1.0)), (0.3, 0.5, 0.5))}


@pytest.fixture(scope="module")
def robots():
    return load_cell(CELL_FILE)[0].robots


def cell_with(robots, names=(), **settings):
    bodies = {name: RigidBody(name, (Shape(BOXES[name][0]),)) for name in names}
    cell = RobotCell("cell", robots, bodies=frozendict(bodies), collision=CollisionSettings(**settings))
    state = cell.default_state()
    for name in names:
        state = state.with_body(name, BodyState(Pose(BOXES[name][1])))
    return cell, state


def variants(robots):
    """Cells of one robot whose verdicts differ at many states."""
    links = [name for robot in robots.values() for name, link in robot.mechanism.links.items() if link.collisions]
    base, _, _, forearm, *_, tip = links
    padded = {"margins": frozendict({tip: 0.08, base: 0.25})}
    disabled = DisabledPair(base, tip)
    changed = {
        name: msgspec.structs.replace(robot, disabled_pairs=(*robot.disabled_pairs, disabled))
        for name, robot in robots.items()
    }
    return {
        "plain": cell_with(robots),
        "pair margin": cell_with(robots, pair_margins=(PairMargin(base, tip, 0.3),)),
        "allowed": cell_with(robots, ignore_groups=frozendict({"all": tuple(links)})),
        "padded": cell_with(robots, **padded),
        "padded, one pair allowed": cell_with(robots, **padded, ignore_groups=frozendict({"two": (forearm, tip)})),
        "padded, one pair disabled": cell_with(frozendict(changed), **padded),
        "with a wall": cell_with(robots, ("wall",)),
        "with a padded wall": cell_with(robots, ("wall",), margins=frozendict({"wall": 0.1})),
        "with a wall and a post": cell_with(robots, ("post", "wall")),
    }


def in_a_new_thread(function):
    """Return what a function returns in a thread of its own, where nothing is cached."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def states_of(checker):
    return checker.default + np.random.default_rng(1).uniform(-2.5, 2.5, (STATES, len(checker.default)))


def test_verdicts_are_those_of_each_cell_alone(robots):
    """The checkers are used in turn, so that each finds the shared trees as another one left them."""
    cells = variants(robots)
    checkers = {name: CollisionChecker(*cell) for name, cell in cells.items()}
    assert len({id(checker._engine._trees.moving) for checker in checkers.values()}) < len(checkers)
    states = states_of(checkers["plain"])
    found = {name: [] for name in cells}
    for q in states:
        for name, checker in checkers.items():
            found[name].append(checker.in_collision(q))
    alone = {
        name: in_a_new_thread(lambda cell=cell: CollisionChecker(*cell).in_collision_batch(states).tolist())
        for name, cell in cells.items()
    }
    assert found == alone
    assert len({tuple(verdicts) for verdicts in alone.values()}) == len(cells), "the variants must differ"


def test_reports_agree_with_verdicts_in_turn(robots):
    """A report computes each pair by itself, without trees."""
    checkers = [CollisionChecker(*cell) for cell in variants(robots).values()]
    for q in states_of(checkers[0])[:40]:
        for checker in checkers:
            assert checker.in_collision(q) == bool(checker.report(q).pairs)


def test_an_engine_keeps_its_placements_while_another_one_is_used(robots):
    cells = variants(robots)
    first, second = (CollisionChecker(*cells[name]) for name in ("plain", "with a wall"))
    one, other = first._engine, second._engine
    assert one._trees.moving is other._trees.moving
    states = states_of(first)
    last = first.geometry_model.moving_count - 1
    for q, later in zip(states[::2], states[1::2], strict=True):
        expected = in_a_new_thread(lambda q=q: distance_at(CollisionChecker(*cells["plain"]), q, last))
        one.place(q)
        other.collides(later)
        assert one.distance(0, last).distance == expected


def distance_at(checker, q, geometry):
    checker._engine.place(q)
    return checker._engine.distance(0, geometry).distance


def test_a_cell_with_the_same_robot_builds_only_its_bodies(robots, monkeypatch):
    built = []

    def counted(geometry):
        built.append(geometry)
        return coal_geometry(geometry)

    coal_geometry = coal_moving.coal_geometry
    for module in (coal_engine, coal_moving):
        monkeypatch.setattr(module, "coal_geometry", counted)

    def numbers():
        counts = []
        for names in (("wall",), ("post",), ("post", "wall")):
            built.clear()
            checker = CollisionChecker(*cell_with(robots, names))
            counts.append(len(built))
            static = len(checker.geometry_model.geometries) - checker.geometry_model.moving_count
            assert checker.geometry_model.moving_count > static
        return counts, static

    counts, static = in_a_new_thread(numbers)
    assert counts[2] == static
    assert counts[1] == static - 1
    assert counts[0] > static


def test_cells_with_equal_robots_share_their_motion_bounds(robots):
    """Also robots that were loaded again, which are equal but other objects."""
    again = load_cell(CELL_FILE)[0].robots
    assert next(iter(again.values())) is not next(iter(robots.values()))
    first, second = (
        motion_model(CollisionChecker(*cell_with(of, names))) for of, names in ((robots, ("wall",)), (again, ("post",)))
    )
    assert first is not second
    assert first.tree is second.tree
    assert first.speed_bounds.tobytes() == second.speed_bounds.tobytes()


def test_motion_bounds_differ_with_a_joint_that_is_no_variable(robots):
    cell, state = cell_with(robots)
    variables = tuple(cell.variables)
    bent = state.with_configuration({variables[2]: 2.0})
    trees = [
        joint_tree(model, variables[:2], model.configuration(given))
        for given in (state, bent)
        for model in (cell_model(cell, given),)
    ]
    assert trees[0] is not trees[1]
    last = cell_model(cell, state).mechanisms.pin_model.njoints - 1
    places = [tree.placement_of(last, np.eye(4)).placement for tree in trees]
    assert np.abs(places[0] - places[1]).max() > 0.1


def test_chains_to_links_are_shared_and_those_to_bodies_are_not(robots):
    models, chains = [], []
    for x in (0.1, 0.2):
        cell, state = cell_with(robots, ("wall",))
        tip = cell.group().tip_link
        state = state.with_body("wall", BodyState(Pose((x, 0.0, 0.0)), attached_to=tip))
        model = cell_model(cell, state)
        models.append(model)
        chains.append([chain_at_state(model, state, frame, tuple(cell.variables)) for frame in (tip, "wall")])
    assert models[0] is not models[1]
    assert chains[0][0] is chains[1][0]
    assert chains[0][1] is not chains[1][1]
    assert np.abs(chains[0][1].table - chains[1][1].table).max() == pytest.approx(0.1)
