"""The pre-check of targets: attached objects against static objects, without the robot."""

import math

import pytest
from collision_cells import arm, at, body, box, gripper, make_cell, place, sphere, spindle, working_cell

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions, PairType
from robot_cell_planner.collision.targets import TargetChecker
from robot_cell_planner.errors import TargetModeMismatchError, UnknownNameError
from robot_cell_planner.kinematics.forward import forward_kinematics, forward_kinematics_to_frame
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode, target_frame
from robot_cell_planner.model.pose import Pose

ENGINES = ("coal", "bullet")


def scene():
    cell, state = working_cell((body("table", box(2.0, 2.0, 0.1)), body("ball", sphere(0.05))))
    state = place(state, "table", at(0.0, 0.0, -0.05))
    return cell, place(state, "ball", at(0.5, 0.5, 0.5))


def downwards(x, y, z):
    """The flange points down, so that the end of the part is 0.15 m below it."""
    return Pose.from_rpy((x, y, z), (3.141592653589793, 0.0, 0.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_attached_objects_are_checked_against_static_ones(engine):
    checker = TargetChecker(*scene(), engine=engine)
    assert not checker.in_collision(downwards(0.5, 0.0, 0.16))
    report = checker.report(downwards(0.5, 0.0, 0.14))
    assert [(p.pair_type, p.first, p.second) for p in report.pairs] == [(PairType.BODY_BODY, "part", "table")]
    assert report.pairs[0].depth == pytest.approx(0.01, abs=1e-4)
    steps = {p.pair_type for p in checker.report(downwards(0.5, 0.5, 0.6)).pairs}
    assert steps == {PairType.BODY_BODY, PairType.TOOL_BODY}
    assert report.pairs_checked == 8


def test_the_robot_is_left_out():
    """The target is inside the column of the arm, where every state of the robot would collide."""
    cell, state = scene()
    assert not TargetChecker(cell, state).in_collision(downwards(0.0, 0.0, 0.5))


def test_it_agrees_with_the_full_check_where_the_robot_is_free():
    cell, state = scene()
    steps = CollisionOptions(pair_types=(PairType.BODY_BODY, PairType.TOOL_BODY))
    for shoulder in (0.5, 1.0, 1.4, 1.9, 2.2):
        values = {"joint2": shoulder, "joint3": 0.4, "joint5": 0.3, "joint1": 0.7}
        there = state.with_configuration(values)
        full = CollisionChecker(cell, there, options=steps).report()
        tip = forward_kinematics(cell, there)
        found = TargetChecker(cell, state).report(tip)
        assert [(p.first, p.second) for p in found.pairs] == [(p.first, p.second) for p in full.pairs]
        for one, other in zip(found.pairs, full.pairs, strict=True):
            assert one.distance == pytest.approx(other.distance, abs=1e-6)


def test_objects_of_other_robots_are_obstacles_and_hidden_ones_are_not():
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
    assert PairType.TOOL_TOOL in {p.pair_type for p in found.pairs}


def test_margins_count():
    cell, state = scene()
    for margin, collides in ((0.005, False), (0.02, True)):
        options = CollisionOptions(extra_margin=margin)
        assert TargetChecker(cell, state, options=options).in_collision(downwards(0.5, 0.0, 0.16)) is collides
    with pytest.raises(UnknownNameError):
        TargetChecker(cell, state, "hand")


def outcome(report):
    """The content of a report, rounded to a nanometre."""
    return [(pair.pair_type, pair.first, pair.second, round(pair.distance, 9)) for pair in report.pairs]


@pytest.mark.parametrize("mode", [TargetMode.ROBOT, TargetMode.TOOL, TargetMode.WORKPIECE])
def test_a_target_is_converted_to_the_pose_of_the_tip(mode):
    cell, state = scene()
    state = place(state, "ball", Pose.from_rpy((0.5, 0.5, 0.5), (0.3, 0.0, 0.7)))
    checker = TargetChecker(cell, state)
    frame = target_frame(cell, state, "", mode)
    world_T_frame = downwards(0.5, 0.0, 0.02)
    truth = checker.report(world_T_frame @ forward_kinematics_to_frame(cell, state, frame, cell.tip_link()).inverse())
    assert truth.in_collision
    assert outcome(checker.report_target(FrameTarget(pose=world_T_frame, mode=mode))) == outcome(truth)
    seen = state.bodies["ball"].pose.inverse() @ world_T_frame
    x, y, z = seen.position
    millimetres = Pose((1000.0 * x, 1000.0 * y, 1000.0 * z), seen.quaternion)
    target = FrameTarget(pose=millimetres, mode=mode, reference_frame="ball", native_scale=0.001)
    assert outcome(checker.report_target(target)) == outcome(truth)


def test_a_point_axis_target_collides_only_if_every_rotation_does():
    """A flat part held sideways beside a wall: it is free if turned along the wall, and collides if turned into it."""
    cell, state = working_cell((body("wall", box(0.1, 2.0, 2.0)), body("blade", box(0.3, 0.01, 0.01))))
    state = place(state, "wall", at(0.85, 0.0, 1.0))
    state = place(state, "blade", at(0.0, 0.0, 0.2), attached_to="gripper")
    checker = TargetChecker(cell, state)
    turned = [FrameTarget(pose=Pose.from_rpy((0.7, 0.0, 0.6), (math.pi, 0.0, yaw))) for yaw in (0.0, math.pi / 2)]
    free = [not checker.report_target(target).in_collision for target in turned]
    assert free == [False, True]
    axis = (0.0, 0.0, -1.0)
    assert not checker.report_target(PointAxisTarget(point=(0.7, 0.0, 0.6), axis=axis)).in_collision
    assert checker.report_target(PointAxisTarget(point=(0.8, 0.0, 0.6), axis=axis)).in_collision


def test_a_verbose_report_lists_attached_against_static_objects():
    cell, state = scene()
    report = TargetChecker(cell, state).report(downwards(0.5, 0.0, 0.16), verbose=True)
    assert len(report.checked) == report.pairs_checked == 8
    assert all(pair.second in ("table", "ball") for pair in report.checked)
    objects = len(TargetChecker(cell, state).allowed_pairs.objects)
    assert report.pairs_checked + report.pairs_skipped == objects * (objects - 1) // 2


def test_a_frame_that_is_not_fixed_to_the_tip_is_refused():
    with pytest.raises(TargetModeMismatchError, match="link3 is not fixed to link"):
        TargetChecker(*scene()).report_target(FrameTarget(pose=Pose(), mode=TargetMode.FRAME, frame="link3"))
