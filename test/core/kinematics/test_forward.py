"""Forward kinematics: every mode, any frame, batches, scales."""

import msgspec
import numpy as np
import pytest
from kinematic_cells import demo, odd_cell, put

from robot_cell_planner.errors import (
    InvalidRequestError,
    JointLimitError,
    ModelError,
    TargetModeMismatchError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.forward import (
    all_link_poses,
    chain_to,
    forward_batch,
    forward_kinematics,
    forward_kinematics_to_frame,
)
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import TargetMode, target_frame
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState


def holding(state, body="workpiece", frame="gripper/tcp"):
    return state.with_body(body, BodyState(Pose((0.0, 0.0, 0.02)), frame))


def test_modes_are_the_frames_of_tip_tool_and_workpiece():
    cell, state = demo()
    state = holding(state)
    transforms = WorldTransforms(cell, state)
    for mode, frame in (
        (TargetMode.ROBOT, "tool0"),
        (TargetMode.TOOL, "gripper/tcp"),
        (TargetMode.WORKPIECE, "workpiece"),
    ):
        assert target_frame(cell, state, mode=mode) == frame
        pose = forward_kinematics(cell, state, mode=mode)
        assert max(pose.distance_to(transforms.pose(frame))) < 1e-9
        pose = forward_kinematics(cell, state, mode=mode, relative_to="bin")
        assert max(pose.distance_to(transforms.between("bin", frame))) < 1e-9


def test_a_mode_that_the_state_does_not_support_is_an_error():
    cell, state = demo()
    with pytest.raises(TargetModeMismatchError, match="gripper"):
        forward_kinematics(cell, state, mode=TargetMode.WORKPIECE)
    with pytest.raises(TargetModeMismatchError, match="does not carry"):
        forward_kinematics(cell, state, mode=TargetMode.WORKPIECE, workpiece="bin")
    with pytest.raises(UnknownNameError, match="workpiece"):
        forward_kinematics(cell, state, mode=TargetMode.WORKPIECE, workpiece="workpeice")
    bare = state.with_tool("gripper", msgspec.structs.replace(state.tools["gripper"], attached_to=""))
    for mode in (TargetMode.TOOL, TargetMode.WORKPIECE):
        text = rf"mode {mode.name} needs a tool, and none is attached to group manipulator$"
        with pytest.raises(TargetModeMismatchError, match=text) as caught:
            forward_kinematics(cell, bare, mode=mode)
        others = "Mode ROBOT applies to its tip tool0, mode FRAME to any frame that the group moves."
        assert caught.value.remedy == f"{others} {TargetModeMismatchError.remedy}"


def test_of_several_workpieces_one_must_be_named():
    cell, state = demo()
    state = holding(holding(state), "bin")
    with pytest.raises(TargetModeMismatchError, match=r"found 2: .*name one"):
        target_frame(cell, state, mode=TargetMode.WORKPIECE)
    assert target_frame(cell, state, mode=TargetMode.WORKPIECE, frame="bin") == "bin"


def test_a_workpiece_may_be_attached_to_a_named_frame_or_another_body():
    cell, state = odd_cell()
    assert target_frame(cell, state, "two_all", TargetMode.WORKPIECE) == "held"
    assert target_frame(cell, state, "two_all", TargetMode.WORKPIECE, "on_held") == "on_held"
    with pytest.raises(TargetModeMismatchError):
        target_frame(cell, state, "one_all", TargetMode.WORKPIECE, "on_held")


def test_native_scale_is_metres_in_a_unit_of_the_caller():
    cell, state = demo()
    metres = forward_kinematics(cell, state)
    millimetres = forward_kinematics(cell, state, native_scale=0.001)
    np.testing.assert_allclose(millimetres.position, 1000.0 * np.array(metres.position))
    assert millimetres.quaternion == metres.quaternion
    for scale in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidRequestError, match="native_scale"):
            forward_kinematics(cell, state, native_scale=scale)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_values_beyond_limits_are_refused_on_request(end):
    cell, state = demo()
    tip = cell.tip_link("")
    for name in cell.robot.variables:
        limit = getattr(cell.variables[name].limits, end)
        beyond = np.nextafter(limit, -np.inf if end == "lower" else np.inf)
        for value, refused in ((limit, False), (beyond, True)):
            moved = state.with_configuration({name: value})
            rows = np.array([[value]])
            for compute in (
                lambda moved=moved: forward_kinematics(cell, moved, check_limits=True),
                lambda moved=moved: forward_kinematics_to_frame(cell, moved, tip, check_limits=True),
                lambda name=name, rows=rows: forward_batch(cell, state, tip, (name,), rows, check_limits=True),
            ):
                if refused:
                    with pytest.raises(JointLimitError) as caught:
                        compute()
                    assert caught.value.values[0].value == beyond
                else:
                    compute()


def test_all_links_at_once():
    cell, state = odd_cell()
    poses = all_link_poses(cell, state, "one_c")
    transforms = WorldTransforms(cell, state)
    assert {"one_a", "two_i", "tool", "tool/body", "tool/tcp"} <= set(poses)
    assert not {"held", "free", "world"} & set(poses)
    for name, pose in poses.items():
        assert max(pose.distance_to(transforms.between("one_c", name))) < 1e-9


@pytest.mark.parametrize("relative_to", ["world", "one_d", "two_root", "two_b", "mark"])
def test_a_batch_is_the_same_as_one_by_one(relative_to):
    cell, state = odd_cell()
    group = cell.group("two_all")
    rng = np.random.default_rng(4)
    rows = rng.uniform(-2.0, 2.0, (30, len(group.variables)))
    poses = forward_batch(cell, state, "on_held", group.variables, rows, relative_to)
    assert poses.shape == (30, 4, 4)
    for q, pose in zip(rows, poses, strict=True):
        expected = WorldTransforms(cell, put(cell, state, q, "two_all")).matrix("on_held", relative_to)
        np.testing.assert_allclose(pose, expected, atol=1e-12)


def test_a_batch_may_name_some_variables_in_any_order_and_of_tools():
    cell, state = demo()
    names = ("gripper/finger_joint", "wrist_3_joint")
    rows = np.array([[0.01, 0.5], [0.03, -0.5]])
    finger = next(frame for frame in cell_model(cell, state).frame_names if "finger" in frame)
    poses = forward_batch(cell, state, finger, names, rows)
    for (finger_value, wrist), pose in zip(rows, poses, strict=True):
        moved = state.with_configuration({"wrist_3_joint": float(wrist)})
        moved = moved.with_tool(
            "gripper", moved.tools["gripper"].with_configuration({"finger_joint": float(finger_value)})
        )
        np.testing.assert_allclose(pose, WorldTransforms(cell, moved).matrix(finger), atol=1e-12)


def test_read_only_sliced_and_integer_arrays_are_accepted():
    cell, state = demo()
    names = cell.group().variables
    rows = np.arange(24.0).reshape(2, 12)[:, ::2] / 10.0
    rows.flags.writeable = False
    expected = forward_batch(cell, state, "tool0", names, rows.copy())
    np.testing.assert_array_equal(forward_batch(cell, state, "tool0", names, rows), expected)
    np.testing.assert_array_equal(
        forward_batch(cell, state, "tool0", names, np.ones((1, 6), dtype=int)),
        forward_batch(cell, state, "tool0", names, np.ones((1, 6))),
    )


@pytest.mark.parametrize(
    "rows",
    [np.zeros((2, 5)), np.zeros(6), np.zeros((1, 2, 3)), np.full((1, 6), np.nan), np.full((1, 6), np.inf), [["a"] * 6]],
)
def test_malformed_batches_are_refused(rows):
    cell, state = demo()
    with pytest.raises(InvalidRequestError):
        forward_batch(cell, state, "tool0", cell.group().variables, rows)


def test_forward_kinematics_of_a_chain():
    cell, state = demo()
    names = cell.group().variables
    chain = chain_to(cell, state, "gripper/tcp", names)
    q = np.linspace(-1.0, 1.0, 6)
    expected = WorldTransforms(cell, put(cell, state, q)).matrix("gripper/tcp")
    np.testing.assert_allclose(chain.forward(q), expected, atol=1e-12)


def test_unknown_frames_groups_and_groups_without_a_tip():
    cell, state = demo()
    with pytest.raises(UnknownNameError, match="tool0"):
        forward_kinematics_to_frame(cell, state, "tool_0")
    with pytest.raises(UnknownNameError):
        forward_kinematics(cell, state, relative_to="nowhere")
    with pytest.raises(UnknownNameError):
        forward_kinematics(cell, state, "nobody")
    robot = cell.robot
    loose = msgspec.structs.replace(robot.groups["manipulator"], tip_link="", base_link="")
    robot = msgspec.structs.replace(robot, groups=robot.groups.set("manipulator", loose))
    free_tool = state.with_tool("gripper", msgspec.structs.replace(state.tools["gripper"], attached_to=""))
    with pytest.raises(ModelError, match="not a chain"):
        forward_kinematics(msgspec.structs.replace(cell, robots=cell.robots.set("arm", robot)), free_tool)
