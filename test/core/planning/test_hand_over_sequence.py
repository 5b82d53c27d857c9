"""A hand-over is one request: motions of two arms together, in turn, and concurrently, with scene changes between
them."""

from dataclasses import replace

import numpy as np
import pytest
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
    merge_concurrent,
    plan_multistep,
    upright,
    world_pose,
)
from robot_cell_planner.errors import InvalidRequestError

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


def alone(goal, group, *changes, concurrent=False):
    goals = Goals(named_states=(goal,)) if isinstance(goal, str) else Goals(targets=(goal,))
    return MotionStep(goals, group=group, changes=changes, concurrent=concurrent)


LIFT = straight(
    bar_at("lifted"), LEFT, fingers_to("left", 0.025), Attach("bar", "left_gripper/tcp", touch_links=FINGERS["left"])
)

STEPS = (
    MotionStep(together(tool_at("above_left_grasp"), "up"), group="both"),
    straight(tool_at("left_grasp"), LEFT),
    LIFT,
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


# The left arm fetches and brings the bar, while the right arm moves independently to where the bar will be.
AT_THE_SAME_TIME = (
    alone(tool_at("above_left_grasp"), LEFT),
    alone("up", RIGHT, concurrent=True),
    straight(tool_at("left_grasp"), LEFT),
    LIFT,
    alone(bar_at("exchange"), LEFT, SetTouch("bar", touch_bodies=())),
    alone(tool_at("above_right_grasp"), RIGHT, concurrent=True),
    straight(tool_at("right_grasp"), RIGHT),
    straight(
        tool_at("above_left_grasp"),
        LEFT,
        fingers_to("right", 0.025),
        fingers_to("left", 0.042),
        Attach("bar", "right_gripper/tcp", touch_links=(*FINGERS["left"], *FINGERS["right"])),
    ),
    alone("home", LEFT, SetTouch("bar", touch_links=FINGERS["right"])),
    alone(bar_at("above_place"), RIGHT, concurrent=True),
)


def test_plans_that_are_not_those_of_the_steps_are_not_merged():
    cell, state = loaded("two_arms")
    request = MultistepRequest((alone("up", LEFT), alone("up", RIGHT, concurrent=True)))
    plans = plan_multistep(cell, state, request)
    with pytest.raises(InvalidRequestError, match="1 plans are given for 2 steps"):
        merge_concurrent(request, plans[:1])
    with pytest.raises(InvalidRequestError, match="the plan of step 1 has no trajectory"):
        merge_concurrent(request, (plans[0], replace(plans[1], trajectory=None)))


def test_steps_of_different_robots_are_executed_at_the_same_time():
    cell, state = loaded("two_arms")
    request = MultistepRequest(AT_THE_SAME_TIME)
    plans = plan_multistep(cell, state, request)
    first = [index for index, step in enumerate(request.steps) if not step.concurrent]
    parts = merge_concurrent(request, plans)
    assert len(parts) == len(first)
    scene = Scene(cell, state)
    for index, trajectory in zip(first, parts, strict=True):
        together = [plans[index], *(plans[index + 1 :][: int(index + 1 < len(plans) and index + 1 not in first)])]
        assert [plan.group for plan in together] == [step.group for step in request.steps[index:][: len(together)]]
        assert [len(plan.moving) for plan in together] == list(range(len(together)))
        assert all(plan.certified_fraction == 1.0 for plan in together)
        assert trajectory.duration == pytest.approx(max(plan.duration for plan in together), abs=1e-9)
        scene = apply_changes(scene, request.steps[index].changes, world_pose)
        # The executed trajectories begin at the state of the robots, and are free at a finer sampling than the plans.
        start = [scene.state.configuration[name] for name in trajectory.variables]
        np.testing.assert_allclose(trajectory.positions[0], start, atol=1e-9)
        checker = CollisionChecker(scene.cell, scene.state, trajectory.variables)
        assert not checker.in_collision_batch(trajectory.at(np.arange(0.0, trajectory.duration, 1e-3))).any()
        for plan in together:
            scene = apply_changes(scene, (SetJoints(plan.end_configuration()),), world_pose)
    place = reference_world_pose(cell, state, "above_place")
    assert max(reference_world_pose(scene.cell, scene.state, "bar").distance_to(place)) < 1e-4
    assert sum(part.duration for part in parts) < sum(plan.duration for plan in plans) - 1.0


@pytest.mark.parametrize(
    "text, fields",
    [
        ("not straight", {"goals": Goals(targets=(tool_at("place"),)), "straight": True}),
        ("no changes", {"changes": (Detach("bar"),)}),
        ("no constraints", {"constraints": (upright(0.1),)}),
    ],
)
def test_unsupported_fields_of_concurrent_steps_are_refused(text, fields):
    with pytest.raises(InvalidRequestError, match=text):
        MotionStep(**{"goals": Goals(named_states=("home",)), "concurrent": True, **fields})


def test_concurrent_steps_need_a_step_before_them_timing_and_other_robots():
    home, also = alone("home", LEFT), alone("home", RIGHT, concurrent=True)
    with pytest.raises(InvalidRequestError, match="no step before it"):
        MultistepRequest((also, home))
    with pytest.raises(InvalidRequestError, match="need timing"):
        MultistepRequest((home, also), timing=None)
    cell, state = loaded("two_arms")
    with pytest.raises(InvalidRequestError, match=r"step 1: joint left/.* is also in the trajectory of a moving robot"):
        plan_multistep(cell, state, MultistepRequest((alone("up", LEFT), alone("home", LEFT, concurrent=True))))
