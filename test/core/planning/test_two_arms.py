"""Two arms planned together: the whole motion is free by another engine and has one time base, and an object held by
one arm is an obstacle to the other."""

import numpy as np
import pytest
from independent_cell import IndependentCell, dense, prefixed_urdf
from loaded_cells import loaded
from reference import reference_world_pose

from robot_cell_planner import (
    IDENTITY,
    Attach,
    FrameTarget,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    Scene,
    SetTouch,
    SimultaneousGoal,
    TargetMode,
    apply_changes,
    check_joint_path,
    plan_motion,
    world_pose,
)
from robot_cell_planner.errors import GoalInCollisionError, InvalidRequestError, MPNoIKSolutionError, UnknownNameError
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro

LEFT, RIGHT = "left/manipulator", "right/manipulator"
SIDES = ("left", "right")
STEP = 0.001  # [rad]
# The grasps of both arms are on the opposite half of the table: the arms must pass each other.
CROSSED = {
    LEFT: Pose.from_rpy((0.1, 0.25, 0.85), (np.pi, 0.0, 0.0)),
    RIGHT: Pose.from_rpy((-0.1, -0.25, 0.85), (np.pi, 0.0, np.pi)),
}


@pytest.fixture(scope="module")
def arms(request):
    return loaded("two_arms")


@pytest.fixture(scope="module")
def holding(arms):
    """The left arm holds the bar above the middle of the table."""
    cell, state = arms
    goal = Goals(targets=(FrameTarget(pose=IDENTITY, mode=TargetMode.TOOL, reference_frame="left_grasp"),))
    plan = plan_motion(cell, state, MotionRequest(goal, LEFT, timing=None))
    state = state.with_configuration(plan.end_configuration())
    fingers = ("left_gripper/left_finger", "left_gripper/right_finger")
    grip = Attach("bar", "left_gripper/tcp", touch_links=fingers)
    found = apply_changes(Scene(cell, state), (grip, SetTouch("bar", touch_bodies=())), world_pose)
    lift = Goals(targets=(FrameTarget(pose=IDENTITY, mode=TargetMode.WORKPIECE, reference_frame="exchange"),))
    grip_state = apply_changes(found, (SetTouch("bar", touch_bodies=("table",)),), world_pose)
    plan = plan_motion(grip_state.cell, grip_state.state, MotionRequest(lift, LEFT, timing=None))
    return found.cell, found.state.with_configuration(plan.end_configuration())


def independent(cell, state, request):
    """The cell in Pinocchio's and coal's own models; fingers at their values in the state."""
    urdf = request.config.rootpath / "urdf"
    arm, gripper = (expand_xacro(urdf / f"{name}.urdf.xacro", {}) for name in ("arm", "gripper"))
    held = state.bodies["bar"].attached_to
    bodies = [
        (body, "", world_pose(cell, state, name)) for name, body in cell.bodies.items() if not (held and name == "bar")
    ]
    if held:
        flange = world_pose(cell, state, "left/tool0").inverse()
        bodies.append((cell.bodies["bar"], "left/tool0", flange @ world_pose(cell, state, "bar")))
    touching = [("bar", "table")] if not held else []
    touching += [(f"{side}_pedestal", f"{side}/base_link") for side in SIDES]
    touching += [("floor", f"{side}_pedestal") for side in SIDES] + [("floor", "table")]
    touching += [("bar", f"left/hand_{finger}_finger") for finger in SIDES]
    return IndependentCell(
        [(prefixed_urdf(arm, f"{side}/"), state.base_poses[side]) for side in SIDES],
        [(prefixed_urdf(gripper, f"{side}/hand_"), f"{side}/tool0", IDENTITY) for side in SIDES],
        bodies,
        touching,
    )


def fingers_of(state):
    return {
        f"{side}/hand_{joint}": state.tools[f"{side}_gripper"].configuration["finger_joint"]
        for side in SIDES
        for joint in ("finger_joint", "right_finger_joint")
    }


def collisions(reference, state, plan, rows):
    fingers = fingers_of(state)
    for q in rows:
        found = reference.collisions({**fingers, **dict(zip(plan.variables, q.tolist(), strict=True))})
        if found:
            return found
    return []


def together(**parts):
    return SimultaneousGoal({f"{side}/manipulator": goal for side, goal in parts.items()})


def tool_at(pose, frame="world"):
    return FrameTarget(pose=pose, mode=TargetMode.TOOL, reference_frame=frame)


@pytest.mark.parametrize("group", ["both", f"{RIGHT}+{LEFT}"])
def test_crossing_arms_are_free_by_another_engine(arms, request, group):
    cell, state = arms
    goal = SimultaneousGoal({part: tool_at(pose) for part, pose in CROSSED.items()})
    plan = plan_motion(cell, state, MotionRequest(Goals(simultaneous=(goal,)), group, options=PlanningOptions(seed=2)))
    assert plan.variables == cell.group(group).variables
    assert plan.certified_fraction == 1.0
    end = state.with_configuration(plan.end_configuration())
    for part, frame in ((LEFT, "left_gripper/tcp"), (RIGHT, "right_gripper/tcp")):
        distance, angle = reference_world_pose(cell, end, frame).distance_to(CROSSED[part])
        assert max(distance, angle) < 2e-6
    reference = independent(cell, state, request)
    assert collisions(reference, state, plan, dense(plan.path, STEP)) == []
    times = np.arange(0.0, plan.duration, 0.001)
    assert collisions(reference, state, plan, plan.trajectory.at(times)) == []
    # Both arms move at the same time: neither waits for the other to arrive.
    moved = np.abs(plan.trajectory.at(np.array([0.5 * plan.duration]))[0] - plan.path[0])
    assert all(moved[[name.startswith(side) for name in plan.variables]].max() > 0.05 for side in SIDES)
    # The reference finds collisions: the straight motion between the crossed arms and those turned by half collides.
    reach = dict(zip(plan.variables, plan.path[-1].tolist(), strict=True))
    reach["left/shoulder_lift_joint"] += 0.6
    assert reference.collisions({**fingers_of(state), **reach})


def test_a_certificate_of_a_path_of_both_arms_agrees_with_the_other_engine(arms, request):
    """Random straight motions: certified motions have no collision at 1/1000 rad."""
    cell, state = arms
    variables = cell.group("both").variables
    reference, random = independent(cell, state, request), np.random.default_rng(5)
    home = np.array([state.configuration[name] for name in variables])
    proven = collided = 0
    for _ in range(24):
        path = home + random.uniform(-0.9, 0.9, (2, len(variables)))
        found = check_joint_path(cell, state, variables, path)
        rows = dense(path, 0.02 if found.violations else STEP)
        hits = [reference.collisions({**fingers_of(state), **dict(zip(variables, q, strict=True))}) for q in rows]
        if found.violations:
            collided += any(hits)
        else:
            assert found.record.certified_fraction == 1.0
            assert not any(hits)
            proven += 1
    assert proven >= 3
    assert collided >= 3


def test_an_object_held_by_one_arm_is_an_obstacle_to_the_other(arms, holding, request):
    cell, state = holding
    at_bar = tool_at(world_pose(cell, state, "right_grasp") @ Pose((0.0, 0.0, 0.06)))
    with pytest.raises(GoalInCollisionError, match="bar"):
        plan_motion(cell, state, MotionRequest(Goals(targets=(at_bar,)), RIGHT))
    assert plan_motion(*arms, MotionRequest(Goals(targets=(at_bar,)), RIGHT, timing=None)).path.shape[1] == 6
    # From one side of the held bar to the other.
    goal = together(
        left=FrameTarget(pose=Pose((0.0, 0.0, 0.1)), mode=TargetMode.WORKPIECE, reference_frame="exchange"),
        right=tool_at(Pose.from_rpy((0.15, -0.3, 0.9), (np.pi, 0.0, np.pi))),
    )
    across = Goals(targets=(tool_at(Pose.from_rpy((0.15, 0.3, 0.9), (np.pi, 0.0, np.pi))),))
    first = plan_motion(cell, state, MotionRequest(across, RIGHT))
    reference = independent(cell, state, request)
    left = {name: state.configuration[name] for name in cell.group(LEFT).variables}
    rows = dense(first.path, STEP)
    for q in rows:
        values = {**fingers_of(state), **left, **dict(zip(first.variables, q.tolist(), strict=True))}
        assert reference.collisions(values) == []
    state = state.with_configuration(first.end_configuration())
    plan = plan_motion(cell, state, MotionRequest(Goals(simultaneous=(goal,)), "both"))
    assert plan.certified_fraction == 1.0
    assert collisions(reference, state, plan, dense(plan.path, STEP)) == []


def test_goals_of_parts_may_be_of_different_kinds(arms):
    cell, state = arms
    pan = "left/shoulder_pan_joint"
    goal = together(left={pan: state.configuration[pan] + 0.2}, right="up")
    plan = plan_motion(cell, state, MotionRequest(Goals(named_states=("folded",), simultaneous=(goal,)), "both"))
    assert plan.goal in (0, 1)
    only = plan_motion(cell, state, MotionRequest(Goals(simultaneous=(goal,)), "both", timing=None))
    end = only.end_configuration()
    assert end[pan] == state.configuration[pan] + 0.2
    assert {name: end[name] for name in cell.group(RIGHT).variables} == dict(cell.named_state(RIGHT, "up"))
    assert end["left/elbow_joint"] == state.configuration["left/elbow_joint"]


def test_wrong_simultaneous_goals_are_named(arms):
    cell, state = arms
    far = tool_at(Pose((9.0, 0.0, 0.0)))
    for parts, error in (
        ({"middle": "up"}, UnknownNameError),
        ({LEFT: "sideways"}, UnknownNameError),
        ({LEFT: {"right/elbow_joint": 0.0}}, UnknownNameError),
        ({LEFT: far}, MPNoIKSolutionError),
        ({LEFT: tool_at(CROSSED[LEFT]), RIGHT: tool_at(CROSSED[LEFT])}, GoalInCollisionError),
    ):
        with pytest.raises(error):
            plan_motion(cell, state, MotionRequest(Goals(simultaneous=(SimultaneousGoal(parts),)), "both"))
    with pytest.raises(InvalidRequestError):
        SimultaneousGoal({})
    with pytest.raises(InvalidRequestError):
        SimultaneousGoal({LEFT: {"left/elbow_joint": float("nan")}})
