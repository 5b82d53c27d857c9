"""A hand-over is one request: two arms, together and one after the other, with the changes of the scene between."""

import numpy as np
from independent_cell import dense
from loaded_cells import loaded
from reference import reference_world_pose

from robot_cell_planner import (
    IDENTITY,
    Attach,
    CollisionChecker,
    Detach,
    FrameTarget,
    Goals,
    MotionStep,
    MultistepRequest,
    Scene,
    SetJoints,
    SetTouch,
    SimultaneousGoal,
    TargetMode,
    apply_changes,
    plan_multistep,
    world_pose,
)

LEFT, RIGHT = "left/manipulator", "right/manipulator"
FINGERS = {
    side: tuple(f"{side}_gripper/{finger}" for finger in ("left_finger", "right_finger")) for side in ("left", "right")
}


def tool_at(frame):
    return FrameTarget(pose=IDENTITY, mode=TargetMode.TOOL, reference_frame=frame)


def bar_at(frame):
    return FrameTarget(pose=IDENTITY, mode=TargetMode.WORKPIECE, reference_frame=frame)


def together(left, right):
    return Goals(simultaneous=(SimultaneousGoal({LEFT: left, RIGHT: right}),))


def fingers_to(side, position):
    return SetJoints({f"{side}_gripper/finger_joint": position})


def straight(target, group, *changes):
    return MotionStep(Goals(targets=(target,)), group=group, changes=changes, straight=True)


STEPS = (
    MotionStep(together(tool_at("above_left_grasp"), "up"), group="both"),
    straight(tool_at("left_grasp"), LEFT),
    straight(
        bar_at("lifted"),
        LEFT,
        fingers_to("left", 0.025),
        Attach("bar", "left_gripper/tcp", touch_links=FINGERS["left"]),
    ),
    MotionStep(
        together(bar_at("exchange"), tool_at("above_right_grasp")),
        group="both",
        changes=(SetTouch("bar", touch_bodies=()),),
    ),
    straight(tool_at("right_grasp"), RIGHT),
    straight(
        bar_at("above_place"),
        "both",
        fingers_to("right", 0.025),
        Attach("bar", "left_gripper/tcp", touch_links=(*FINGERS["left"], *FINGERS["right"])),
    ),
    straight(bar_at("place"), "both", SetTouch("bar", touch_bodies=("table",))),
    straight(
        tool_at("above_left_grasp"),
        "both",
        fingers_to("left", 0.042),
        fingers_to("right", 0.042),
        Detach("bar"),
    ),
    MotionStep(Goals(named_states=("home",)), group="both"),
)


def test_a_hand_over_is_one_sequence():
    cell, state = loaded("two_arms")
    plans = plan_multistep(cell, state, MultistepRequest(STEPS))
    scene = Scene(cell, state)
    for step, plan in zip(STEPS, plans, strict=True):
        scene = apply_changes(scene, step.changes, world_pose)
        assert plan.certified_fraction == 1.0
        start = [scene.state.configuration[name] for name in plan.variables]
        np.testing.assert_array_equal(plan.path[0], start)
        checker = CollisionChecker(scene.cell, scene.state, plan.variables)
        assert not checker.in_collision_batch(dense(plan.path, 0.002)).any()
        scene = apply_changes(scene, (SetJoints(plan.end_configuration()),), world_pose)
    place = reference_world_pose(cell, state, "place")
    assert max(reference_world_pose(scene.cell, scene.state, "bar").distance_to(place)) < 1e-4
    assert not scene.state.bodies["bar"].attached_to
