"""Inverse kinematics of two arms: each reaches its own target, also relative to an object held by the other."""

from types import SimpleNamespace

import numpy as np
import pytest
from frozendict import frozendict
from loaded_cells import loaded
from msgspec.structs import replace
from reference import reference_world_pose

from robot_cell_planner import (
    IDENTITY,
    CollisionChecker,
    FrameTarget,
    IkOptions,
    Pose,
    TargetMode,
    composite_forward_kinematics,
    composite_inverse_kinematics,
    inverse_kinematics,
)
from robot_cell_planner.errors import (
    AllSolutionsInCollisionError,
    InvalidRequestError,
    OutOfReachError,
    TimedOutError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.ik import composite
from robot_cell_planner.kinematics.ik.options import IkOrder
from robot_cell_planner.model.state import BodyState

LEFT, RIGHT = "left/manipulator", "right/manipulator"


@pytest.fixture(scope="module")
def arms(request):
    return loaded("two_arms")


def tool_at(pose, frame="world"):
    return FrameTarget(pose=pose, mode=TargetMode.TOOL, reference_frame=frame)


def at(state, result, row):
    return state.with_configuration(dict(zip(result.variables, result.solutions[row].tolist(), strict=True)))


def assert_there(found, pose):
    distance, angle = found.distance_to(pose)
    assert distance < 2e-6
    assert angle < 2e-6


def test_forward_kinematics_has_a_pose_of_each_group(arms):
    cell, state = arms
    for name in ("both", f"{LEFT}+{RIGHT}"):
        poses = composite_forward_kinematics(cell, state, name, TargetMode.TOOL)
        assert list(poses) == [LEFT, RIGHT]
        for part, frame in ((LEFT, "left_gripper/tcp"), (RIGHT, "right_gripper/tcp")):
            assert_there(poses[part], reference_world_pose(cell, state, frame))


def test_all_solutions_reach_both_targets_and_are_ordered(arms):
    cell, state = arms
    poses = {
        "left_gripper/tcp": Pose.from_rpy((-0.2, -0.2, 1.0), (np.pi, 0.1, 0.2)),
        "right_gripper/tcp": Pose.from_rpy((0.3, 0.2, 0.95), (np.pi, -0.1, 2.8)),
    }
    targets = {part: tool_at(pose) for part, pose in zip((RIGHT, LEFT), reversed(poses.values()), strict=True)}
    result = composite_inverse_kinematics(cell, state, targets, "both")
    assert result.variables == cell.group("both").variables
    assert result.complete
    counts = [len(inverse_kinematics(cell, state, target, part)) for part, target in targets.items()]
    assert min(counts) >= 2
    assert len(result) == counts[0] * counts[1]
    for row in range(len(result)):
        for frame, pose in poses.items():
            assert_there(reference_world_pose(cell, at(state, result, row), frame), pose)
    start = np.array([state.configuration[name] for name in result.variables])
    assert (np.diff(np.linalg.norm(result.solutions - start, axis=1)) > -1e-9).all()
    by_manipulability = composite_inverse_kinematics(
        cell, state, targets, "both", IkOptions(order=IkOrder.MOST_MANIPULABLE, max_solutions=3)
    )
    assert len(by_manipulability) == 3
    assert (np.diff(by_manipulability.manipulabilities()) < 1e-9).all()
    assert by_manipulability.manipulabilities()[0] == pytest.approx(result.manipulabilities().max())


def test_only_combinations_without_collision_are_returned(arms):
    cell, state = arms
    near = Pose.from_rpy((-0.1, 0.0, 0.95), (np.pi, 0.0, 0.0)), Pose.from_rpy((0.1, 0.0, 0.95), (np.pi, 0.0, np.pi))
    targets = {LEFT: tool_at(near[0]), RIGHT: tool_at(near[1])}
    checker = CollisionChecker(cell, state, cell.group("both").variables)
    every = composite_inverse_kinematics(cell, state, targets)
    free = composite_inverse_kinematics(cell, state, targets, is_valid=lambda q: not checker.in_collision(q))
    colliding = checker.in_collision_batch(every.solutions)
    assert 0 < colliding.sum() < len(every)
    assert len(free) == len(every) - colliding.sum()
    assert not checker.in_collision_batch(free.solutions).any()
    same = {LEFT: tool_at(near[0]), RIGHT: tool_at(near[0])}
    with pytest.raises(AllSolutionsInCollisionError, match="left_gripper"):
        composite_inverse_kinematics(
            cell,
            state,
            same,
            is_valid=lambda q: not checker.in_collision(q),
            explain=lambda q: tuple(f"{pair.first} - {pair.second}" for pair in checker.report(q).pairs),
        )


def test_a_target_may_follow_the_other_arm(arms):
    cell, state = arms
    offset = Pose.from_rpy((0.0, 0.0, -0.3), (0.0, np.pi, 0.0))
    left = Pose.from_rpy((-0.2, -0.1, 1.0), (np.pi, 0.0, 0.3))
    targets = {RIGHT: tool_at(offset, "left_gripper/tcp"), LEFT: tool_at(left)}
    try:
        result = composite_inverse_kinematics(cell, state, targets, "both", IkOptions(max_solutions=3))
    except OutOfReachError:
        pytest.fail("no solution for a reachable target relative to the other arm")
    for row in range(len(result)):
        reached = at(state, result, row)
        assert_there(reference_world_pose(cell, reached, "left_gripper/tcp"), left)
        assert_there(reference_world_pose(cell, reached, "right_gripper/tcp"), left @ offset)
    circle = {RIGHT: tool_at(offset, "left_gripper/tcp"), LEFT: tool_at(IDENTITY, "right_gripper/tcp")}
    with pytest.raises(InvalidRequestError, match="refer to frames"):
        composite_inverse_kinematics(cell, state, circle, "both")


def test_the_time_limit_applies_to_all_groups_and_combinations_together(arms, monkeypatch):
    cell, state = arms
    now = [100.0]
    monkeypatch.setattr(composite, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pose = composite_forward_kinematics(cell, state, "both", TargetMode.TOOL)
    targets = {part: tool_at(pose[part]) for part in (LEFT, RIGHT)}
    checked = []

    def is_valid(q):
        checked.append(q)
        now[0] += 100.0
        return False

    options = IkOptions(timeout=250.0)
    with pytest.raises(TimedOutError, match="group both"):
        composite_inverse_kinematics(cell, state, targets, "both", options, is_valid)
    assert len(checked) == 3  # one, of 64 combinations, is begun before the limit and ends after it


def test_an_arm_without_target_stays_and_errors_name_the_group(arms):
    cell, state = arms
    pose = Pose.from_rpy((-0.2, -0.2, 1.0), (np.pi, 0.1, 0.2))
    result = composite_inverse_kinematics(cell, state, {LEFT: tool_at(pose)}, "both")
    right = [index for index, name in enumerate(result.variables) if name.startswith("right/")]
    assert (result.solutions[:, right] == [state.configuration[result.variables[i]] for i in right]).all()
    with pytest.raises(OutOfReachError, match=f"group {RIGHT}"):
        composite_inverse_kinematics(cell, state, {LEFT: tool_at(pose), RIGHT: tool_at(Pose((9.0, 0.0, 0.0)))}, "both")
    with pytest.raises(UnknownNameError, match="middle"):
        composite_inverse_kinematics(cell, state, {"middle": tool_at(pose)}, "both")
    with pytest.raises(InvalidRequestError):
        composite_inverse_kinematics(cell, state, {}, "both")


def test_a_tool_named_like_the_prefix_of_a_robot_holds_only_its_attached_objects(arms):
    cell, state = arms
    tool = replace(cell.tools["left_gripper"], name="left")
    cell = replace(cell, tools=frozendict(left=tool))
    state = replace(state, tools=frozendict(left=state.tools["left_gripper"]))
    holds = {"left/wrist_3_link": (), "left/palm": ("bar",), "left/tcp": ("bar",), "left": ("bar",)}
    for parent, held in holds.items():
        found = state.with_body("bar", BodyState(attached_to=parent))
        cell.check_state(found)
        assert cell.workpieces_of_tool(found, "left") == held
