"""Collision reports: pairs, pair types, contact points and depths; their texts; the error that contains a report."""

import pickle

import numpy as np
import pytest
from collision_cells import NO_SETTINGS, at, body, box, place, settings, sphere, working_cell
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import PairType
from robot_cell_planner.collision.pairs.objects import ObjectKind
from robot_cell_planner.errors import CollisionCheckError

ENGINES = ("coal", "bullet")
UP = np.zeros(6)


def scene(collision=NO_SETTINGS):
    """The arm points straight up; bodies overlap it and are beside it."""
    obstacles = (
        body("wall", box(0.02, 1.0, 1.0)),
        body("shelf", box(1.0, 1.0, 0.02)),
        body("ball", sphere(0.05)),
    )
    cell, state = working_cell(obstacles, collision)
    state = place(state, "wall", at(0.04, 0.0, 0.4))  # its near face at x = 0.03, in links of radius 0.04
    state = place(state, "shelf", at(0.0, 0.0, 1.4), touch_bodies=("part",))
    return cell, place(state, "ball", at(0.0, -0.2, 1.3))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_report_names_every_colliding_pair(engine):
    cell, state = scene()
    report = CollisionChecker(cell, state, engine=engine).report(UP)
    named = [(pair.pair_type, pair.first, pair.second) for pair in report.pairs]
    assert named == [(PairType.LINK_BODY, f"link{index}", "wall") for index in (1, 2, 3, 4)]
    for pair in report.pairs:
        assert (pair.first_kind, pair.second_kind) == (ObjectKind.LINK, ObjectKind.BODY)
        assert pair.depth == pytest.approx(0.01, abs=1e-4)
        assert pair.normal == pytest.approx((-1.0, 0.0, 0.0), abs=1e-3)
        assert pair.point_first[0] == pytest.approx(0.04, abs=1e-4)
        assert pair.point_second[0] == pytest.approx(0.03, abs=1e-4)
        assert pair.margin == 0.0
    assert report.engine == engine
    assert report.decomposed == ()


def test_golden_report():
    collision = settings(margins={"gripper": 0.01, "ball": 0.15})
    cell, state = scene(collision)
    report = CollisionChecker(cell, state).report(UP)
    assert str(report) == (
        "CC.3: link link1 and body wall overlap by 0.01 m; CC.3: link link2 and body wall overlap by 0.01 m; "
        "CC.3: link link3 and body wall overlap by 0.01 m; CC.3: link link4 and body wall overlap by 0.01 m; "
        "and 3 more"
    )
    assert [str(pair) for pair in report.pairs[4:]] == [
        "CC.4: body part and body ball are 0.125 m apart, margin 0.15 m",
        "CC.5: tool gripper/palm and body ball are 0.112 m apart, margin 0.16 m",
        "CC.5: tool gripper/right and body ball are 0.115 m apart, margin 0.16 m",
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_moving_along_the_normal_by_the_depth_separates(engine):
    cell, state = scene()
    state = place(state, "ball", at(0.02, -0.05, 0.72))
    checker = CollisionChecker(cell, state, engine=engine)
    pair = next(p for p in checker.report(UP).pairs if p.second == "ball")
    moved = np.array(state.bodies["ball"].pose.position) - np.array(pair.normal) * (pair.depth + 1e-3)
    after = CollisionChecker(cell, place(state, "ball", at(*moved.tolist())), engine=engine).report(UP)
    assert (pair.first, "ball") not in {(p.first, p.second) for p in after.pairs}
    not_enough = np.array(state.bodies["ball"].pose.position) - np.array(pair.normal) * (pair.depth - 1e-3)
    before = CollisionChecker(cell, place(state, "ball", at(*not_enough.tolist())), engine=engine).report(UP)
    assert (pair.first, "ball") in {(p.first, p.second) for p in before.pairs}


def test_contacts_are_those_of_the_shapes_deepest_first():
    cell, state = working_cell((body("steps", box(0.5, 0.5, 0.1), box(0.5, 0.5, 0.1, at(0.02, 0.0, 0.2))),))
    state = place(state, "steps", at(0.26, 0.0, 0.4))
    pair = CollisionChecker(cell, state).first_pair(UP)
    depths = [contact.depth for contact in pair.contacts]
    assert len(depths) == 2
    assert depths == sorted(depths, reverse=True)
    assert pair.distance == -depths[0]


def test_a_free_state_has_an_empty_report():
    cell, state = working_cell()
    checker = CollisionChecker(cell, state)
    report = checker.report(UP)
    assert not report.in_collision
    assert str(report) == f"no collision in {checker.allowed_pairs.pair_count} pairs"
    report.raise_if_colliding()
    checker.check(UP)


def test_the_error_contains_the_report():
    cell, state = scene()
    checker = CollisionChecker(cell, state)
    with pytest.raises(CollisionCheckError) as caught:
        checker.check(UP)
    error = caught.value
    assert error.partial == checker.report(UP)
    assert error.subjects == ("link1", "wall", "link2", "link3", "link4")
    assert error.values[0].name == "distance link1 - wall"
    assert error.values[0].value == pytest.approx(-0.01, abs=1e-6)
    assert "link link1 and body wall overlap by 0.01 m" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert again.partial == error.partial


def test_a_verbose_report_lists_every_pair_once():
    cell, state = scene()
    checker = CollisionChecker(cell, state)
    report = checker.report(UP, verbose=True)
    checked = {(p.first, p.second) for p in report.checked}
    skipped = {(p.first, p.second) for p in report.skipped}
    objects = len(checker.allowed_pairs.objects)
    assert len(report.checked) == len(checked) == report.pairs_checked
    assert len(report.skipped) == len(skipped)
    assert not checked & skipped
    assert len(checked | skipped) == objects * (objects - 1) // 2
    assert {(p.first, p.second) for p in report.pairs} <= checked
    assert all(p.reason for p in report.skipped)
    assert checker.report(UP).checked == ()


def test_reports_can_be_compared_and_pickled():
    cell, state = scene()
    report = CollisionChecker(cell, state).report(UP)
    assert report == CollisionChecker(cell, state).report(UP)
    assert hash(report) == hash(pickle.loads(pickle.dumps(report)))
    assert frozendict({report: 1})
