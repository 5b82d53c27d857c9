"""Composite groups over the wire: the nodes give the results of the library, and changes add and remove groups."""

from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import Vector3
from loaded_cells import loaded
from reference import reference_world_pose

from robot_cell_planner import (
    IDENTITY,
    CartesianRequest,
    FrameTarget,
    FrameWaypoints,
    Goals,
    IkOptions,
    MotionRequest,
    MotionStep,
    MultistepRequest,
    PlanningOptions,
    Pose,
    SimultaneousGoal,
    TargetMode,
    action,
    composite_forward_kinematics,
    composite_inverse_kinematics,
    inverse_kinematics,
    merge_concurrent,
    plan_cartesian,
    plan_motion,
    plan_multistep,
    srv,
    world_pose,
)
from robot_cell_planner import msg as messages
from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target, merge_plans
from robot_cell_planner.nodes.conversions.basic import configuration_to_message, pose_from_message, pose_to_message
from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message
from robot_cell_planner.trajectory.timing import TimingOptions

CELL_FILE = Path(__file__).parents[3] / "config" / "two_arms" / "cell.yaml"
CELL, STATE = loaded("two_arms")
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


def test_whole_configurations_have_the_joints_of_all_robots(client):
    """The target's solution in place of the joints that it moves, the values of the state for all others."""

    def solve(whole, **fields):
        options = messages.IkOptions(whole_configurations=whole, **fields)
        request = srv.InverseKinematics.Request(group=LEFT, targets=[make_pose_target("left_grasp")], options=options)
        return client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)

    plain, whole = solve(False, return_all=True), solve(True, return_all=True)
    assert whole.joint_names == list(CELL.variables)
    assert len(plain.results[0].solutions) == len(whole.results[0].solutions) > 1
    for one, other in zip(plain.results[0].solutions, whole.results[0].solutions, strict=True):
        expected = {**STATE.configuration, **dict(zip(plain.joint_names, one.positions, strict=True))}
        assert list(other.positions) == [expected[name] for name in CELL.variables]
    with pytest.raises(InvalidRequestError, match="sweep is 10001"):
        solve(True, sweep=10_001)


def test_a_finer_sweep_of_a_free_rotation_is_that_of_the_library(client):
    target = FrameTarget(
        pose=IDENTITY, mode=TargetMode.TOOL, reference_frame="left_grasp", tolerance_angles=(1e-6, 1e-6, 3.2)
    )
    message = make_pose_target("left_grasp")
    message.axis_tolerances = Vector3(x=1e-6, y=1e-6, z=3.2)
    counts = []
    for sweep in (6, 40):
        options = messages.IkOptions(return_all=True, sweep=sweep)
        request = srv.InverseKinematics.Request(group=LEFT, targets=[message], options=options)
        found = client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)
        truth = inverse_kinematics(CELL, STATE, target, LEFT, IkOptions(sweep=sweep))
        solutions = [solution.positions for solution in found.results[0].solutions]
        np.testing.assert_array_equal(solutions, truth.solutions[: len(solutions)])
        counts.append(len(truth))
    assert counts[1] > counts[0]


def part(group, **fields):
    return messages.PartGoal(group=group, **fields)


def test_a_simultaneous_goal_is_planned_as_by_the_library(client):
    client.wait_until_ready(240.0)
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


def test_arms_that_move_together_are_planned_as_by_the_library(client):
    client.wait_until_ready(240.0)
    start = world_pose(CELL, STATE, "left_gripper/tcp")
    x, y, z = start.position
    goal = Pose((x, y + 0.1, z - 0.1), start.quaternion)
    message = make_pose_target()
    message.pose = pose_to_message(goal)
    found = client.plan_cartesian(message, group="both").plan
    waypoints = FrameWaypoints((goal,), mode=TargetMode.TOOL)
    truth = plan_cartesian(CELL, STATE, CartesianRequest(waypoints, "both"))
    assert tuple(found.path.joint_names) == truth.variables
    np.testing.assert_array_equal(np.reshape(found.path.positions, (-1, 12)), truth.path[1:])
    assert found.record.certificate.certified_fraction == 1.0
    assert len(found.trajectory.joint_names) == 12


def test_a_path_relative_to_the_other_arms_tool_is_planned_as_by_the_library(client):
    client.wait_until_ready(240.0)
    left, right = (world_pose(CELL, STATE, f"{side}_gripper/tcp") for side in ("left", "right"))
    x, y, z = left.position
    goal = Pose((x, y + 0.1, z - 0.1), left.quaternion)
    along = left.inverse() @ right @ Pose((0.0, 0.05, 0.0))
    path = messages.RelativePath(
        group=RIGHT, waypoints=[messages.CartesianWaypoint(target=make_pose_target("left_gripper/tcp", along))]
    )
    request = action.PlanCartesian.Goal(
        group="both",
        waypoints=[messages.CartesianWaypoint(target=make_pose_target(pose=goal))],
        relative_paths=[path],
        timing=messages.TimingOptions(method=messages.TimingOptions.FOLLOW_SAMPLES),
    )
    found = client.send_goal(action.PlanCartesian, "planning/plan_cartesian", request).plan
    relative = FrameWaypoints((along,), mode=TargetMode.TOOL, reference_frame="left_gripper/tcp")
    truth = plan_cartesian(
        CELL,
        STATE,
        CartesianRequest(FrameWaypoints((goal,), mode=TargetMode.TOOL), "both", relative_paths={RIGHT: relative}),
    )
    np.testing.assert_array_equal(np.reshape(found.path.positions, (-1, 12)), truth.path[1:])
    assert found.record.certificate.certified_fraction == 1.0
    end = STATE.with_configuration(dict(zip(found.path.joint_names, found.path.positions[-12:], strict=True)))
    reached = [reference_world_pose(CELL, end, f"{side}_gripper/tcp") for side in ("left", "right")]
    assert max(reached[0].distance_to(goal)) < 1e-4
    assert max((reached[0].inverse() @ reached[1]).distance_to(along)) < 1e-4


def test_steps_of_both_arms_at_the_same_time_are_planned_as_by_the_library(client):
    client.wait_until_ready(240.0)
    steps = [
        messages.MotionStep(group=group, goal=make_goal("up"), concurrent=group == RIGHT) for group in (LEFT, RIGHT)
    ]
    request = action.PlanMultistep.Goal(steps=steps, options=messages.PlanningOptions(seed=3))
    request.timing.method = messages.TimingOptions.STOP_AT_WAYPOINTS
    request.timing.sample_period = TimingOptions().period
    plans = client.send_goal(action.PlanMultistep, "planning/plan_multistep", request).plans
    up = Goals(named_states=("up",))
    together = MultistepRequest(
        (MotionStep(up, group=LEFT), MotionStep(up, group=RIGHT, concurrent=True)), options=PlanningOptions(seed=3)
    )
    truth = plan_multistep(CELL, STATE, together)
    for plan, expected in zip(plans, truth, strict=True):
        rows = np.reshape(plan.path.positions, (-1, len(plan.path.joint_names)))
        np.testing.assert_array_equal(rows, expected.path)
    merged = trajectory_from_message(merge_plans(plans), "")
    (expected,) = merge_concurrent(together, truth)
    times = np.linspace(0.0, expected.duration, 200)
    order = [merged.variables.index(name) for name in expected.variables]
    np.testing.assert_allclose(merged.at(times)[:, order], expected.at(times), atol=1e-6)
    assert merged.duration == pytest.approx(max(plan.duration for plan in truth), abs=1e-6)


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


def test_changes_add_and_remove_groups(client):
    group = messages.CompositeGroup(name="pair", groups=[RIGHT, LEFT])
    with pytest.raises(UnknownNameError):
        client.plan_motion("up", group="pair")
    added = client.apply(
        messages.SceneChange(operation=messages.SceneChange.ADD, models=messages.RobotCell(groups=[group]))
    )
    assert client.scene()[0].cell.groups["pair"].groups == (RIGHT, LEFT)
    plan = client.plan_motion("up", group="pair", start=messages.StateRef(min_revision=added))
    assert list(plan.path.joint_names) == list(CELL.group(f"{RIGHT}+{LEFT}").variables)
    removed = client.apply(messages.SceneChange(operation=messages.SceneChange.REMOVE, name="pair"))
    with pytest.raises(UnknownNameError):
        client.plan_motion("up", group="pair", start=messages.StateRef(min_revision=removed))
