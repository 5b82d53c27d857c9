"""Composite groups over the wire: each of the nodes answers as the library does, and groups come and go by changes."""

from pathlib import Path

import numpy as np
import pytest

from robot_cell_planner import (
    IDENTITY,
    FrameTarget,
    Goals,
    MotionRequest,
    SimultaneousGoal,
    TargetMode,
    composite_forward_kinematics,
    composite_inverse_kinematics,
    load_cell,
    plan_motion,
    srv,
)
from robot_cell_planner import msg as messages
from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.nodes.client.client import make_pose_target
from robot_cell_planner.nodes.conversions.basic import configuration_to_message, pose_from_message

CELL_FILE = Path(__file__).parents[3] / "config" / "two_arms" / "cell.yaml"
CELL, STATE = load_cell(CELL_FILE)
LEFT, RIGHT = "left/manipulator", "right/manipulator"


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=CELL_FILE)
    start_node("kinematics_node")
    start_node("planning_node", workers=1)
    client.scene()


def tool_at(frame):
    return FrameTarget(pose=IDENTITY, mode=TargetMode.TOOL, reference_frame=frame)


@pytest.mark.parametrize("group", ["both", f"{LEFT}+{RIGHT}"])
def test_kinematics_of_both_arms(client, group):
    request = srv.ForwardKinematics.Request(group=group, mode=messages.Target.TOOL)
    found = client.call_service(srv.ForwardKinematics, "kinematics/forward_kinematics", request)
    assert found.frames == ["left_gripper/tcp", "right_gripper/tcp"]
    expected = composite_forward_kinematics(CELL, STATE, group, TargetMode.TOOL)
    for message, pose in zip(found.poses, expected.values(), strict=True):
        assert max(pose_from_message(message, "").distance_to(pose)) < 1e-9

    frames = ("above_left_grasp", "above_right_grasp", "left_grasp", "above_right_grasp")
    options = messages.IkOptions(return_all=True)
    request = srv.InverseKinematics.Request(
        group=group, targets=[make_pose_target(frame) for frame in frames], options=options
    )
    found = client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)
    assert tuple(found.joint_names) == CELL.group(group).variables
    for block, result in zip((frames[:2], frames[2:]), found.results, strict=True):
        targets = dict(zip((LEFT, RIGHT), map(tool_at, block), strict=True))
        truth = composite_inverse_kinematics(CELL, STATE, targets, group)
        np.testing.assert_array_equal([solution.positions for solution in result.solutions], truth.solutions)

    request = srv.InverseKinematics.Request(group=group, targets=[make_pose_target("left_grasp")])
    with pytest.raises(InvalidRequestError, match="one for each of left/manipulator, right/manipulator"):
        client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)


def part(group, **fields):
    return messages.PartGoal(group=group, **fields)


def test_a_simultaneous_goal_is_planned_as_by_the_library(client):
    pan = "left/shoulder_pan_joint"
    for parts, core in (
        (
            [part(LEFT, target=[make_pose_target("above_left_grasp")]), part(RIGHT, named_state="up")],
            {LEFT: tool_at("above_left_grasp"), RIGHT: "up"},
        ),
        (
            [part(LEFT, configuration=configuration_to_message({pan: -1.0}))],
            {LEFT: {pan: -1.0}},
        ),
    ):
        goal = messages.GoalSpec(simultaneous_goals=[messages.SimultaneousGoal(parts=parts)])
        plan = client.plan_motion(goal, group="both")
        truth = plan_motion(CELL, STATE, MotionRequest(Goals(simultaneous=(SimultaneousGoal(core),)), "both"))
        assert tuple(plan.path.joint_names) == truth.variables
        np.testing.assert_array_equal(np.reshape(plan.path.positions, (-1, 12)), truth.path)
        assert plan.record.certificate.certified_fraction == 1.0
        assert len(plan.trajectory.joint_names) == 12


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [part(LEFT)],
        [part(LEFT, named_state="up"), part(LEFT, named_state="home")],
        [part(LEFT, named_state="up", target=[make_pose_target("left_grasp")])],
    ],
)
def test_a_malformed_simultaneous_goal_is_refused(client, parts):
    goal = messages.GoalSpec(simultaneous_goals=[messages.SimultaneousGoal(parts=parts)])
    with pytest.raises(InvalidRequestError):
        client.plan_motion(goal, group="both")


def test_groups_come_and_go_by_changes(client):
    group = messages.CompositeGroup(name="pair", groups=[RIGHT, LEFT])
    with pytest.raises(UnknownNameError):
        client.plan_motion("up", group="pair")
    client.apply(messages.SceneChange(operation=messages.SceneChange.ADD, models=messages.RobotCell(groups=[group])))
    assert client.scene()[0].cell.groups["pair"].groups == (RIGHT, LEFT)
    assert list(client.plan_motion("up", group="pair").path.joint_names) == list(
        CELL.group(f"{RIGHT}+{LEFT}").variables
    )
    client.apply(messages.SceneChange(operation=messages.SceneChange.REMOVE, name="pair"))
    with pytest.raises(UnknownNameError):
        client.plan_motion("up", group="pair")
