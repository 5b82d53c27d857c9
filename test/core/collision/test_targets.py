"""The pre-check of targets: what is carried against what stands, the robot left out."""

import pytest
from collision_cells import arm, at, body, box, gripper, make_cell, place, sphere, spindle, working_cell

from robot_cell_planner.cell.pose import Pose
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.rules import CollisionOptions, Step
from robot_cell_planner.collision.targets import TargetChecker
from robot_cell_planner.errors import UnknownNameError
from robot_cell_planner.kinematics.forward import forward_kinematics

ENGINES = ("coal", "bullet")


def scene():
    cell, state = working_cell((body("table", box(2.0, 2.0, 0.1)), body("ball", sphere(0.05))))
    state = place(state, "table", at(0.0, 0.0, -0.05))
    return cell, place(state, "ball", at(0.5, 0.5, 0.5))


def downwards(x, y, z):
    """The flange looks down, so that the part's end is 0.15 below it."""
    return Pose.from_rpy((x, y, z), (3.141592653589793, 0.0, 0.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_carried_is_held_against_what_stands(engine):
    checker = TargetChecker(*scene(), engine=engine)
    assert not checker.in_collision(downwards(0.5, 0.0, 0.16))
    report = checker.report(downwards(0.5, 0.0, 0.14))
    assert [(p.step, p.first, p.second) for p in report.pairs] == [(Step.CC4, "part", "table")]
    assert report.pairs[0].depth == pytest.approx(0.01, abs=1e-4)
    steps = {p.step for p in checker.report(downwards(0.5, 0.5, 0.6)).pairs}
    assert steps == {Step.CC4, Step.CC5}
    assert report.pairs_checked == 8


def test_the_robot_is_left_out():
    """The target lies inside the arm's own column, where any real state would collide."""
    cell, state = scene()
    assert not TargetChecker(cell, state).in_collision(downwards(0.0, 0.0, 0.5))


def test_it_agrees_with_the_full_check_where_the_robot_is_free():
    cell, state = scene()
    steps = CollisionOptions(steps=(Step.CC4, Step.CC5))
    for shoulder in (0.5, 1.0, 1.4, 1.9, 2.2):
        values = {"joint2": shoulder, "joint3": 0.4, "joint5": 0.3, "joint1": 0.7}
        there = state.with_configuration(values)
        full = CollisionChecker(cell, there, options=steps).report()
        tip = forward_kinematics(cell, there)
        found = TargetChecker(cell, state).report(tip)
        assert [(p.first, p.second) for p in found.pairs] == [(p.first, p.second) for p in full.pairs]
        for one, other in zip(found.pairs, full.pairs, strict=True):
            assert one.distance == pytest.approx(other.distance, abs=1e-6)


def test_what_others_carry_and_what_is_hidden_does_not_count():
    cell = make_cell(
        (arm(), arm("second", "second_")),
        (gripper(), spindle()),
        (body("part", sphere(0.03)), body("post", sphere(0.1))),
    )
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    state = place(state, "spindle", attached_to="second_manipulator")
    state = place(state, "part", at(0.0, 0.0, 0.1), attached_to="spindle")
    state = place(state, "post", at(1.0, 0.0, 0.5))
    target = downwards(1.0, 0.0, 0.55)
    assert TargetChecker(cell, state, "manipulator").in_collision(target)
    assert TargetChecker(cell, state, "manipulator").report(target).pairs_checked == 3
    assert TargetChecker(cell, state, "second_manipulator").in_collision(target)
    hidden = place(state, "post", at(1.0, 0.0, 0.5), hidden=True)
    assert not TargetChecker(cell, hidden, "manipulator").in_collision(target)
    standing = place(state, "spindle", at(1.0, 0.0, 0.4))
    found = TargetChecker(cell, standing, "manipulator").report(target)
    assert Step.CC6 in {p.step for p in found.pairs}


def test_margins_count():
    cell, state = scene()
    for margin, collides in ((0.005, False), (0.02, True)):
        options = CollisionOptions(extra_margin=margin)
        assert TargetChecker(cell, state, options=options).in_collision(downwards(0.5, 0.0, 0.16)) is collides
    with pytest.raises(UnknownNameError):
        TargetChecker(cell, state, "hand")
