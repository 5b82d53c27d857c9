"""The planning node through its services and actions: its results, and its errors for bad requests."""

import math

import numpy as np
import pytest
from action_goals import action_client
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Vector3
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import action, srv
from robot_cell_planner.errors import (
    CancelledError,
    ConstraintMismatchError,
    FileError,
    GoalInCollisionError,
    InvalidRequestError,
    JointLimitError,
    LimitExceededError,
    MPNoIKSolutionError,
    MPStartStateInCollisionError,
    NotConnectedError,
    NotSupportedError,
    PathInvalidError,
    ResourceError,
    StaleStateError,
    StartBeyondLimitsError,
    TargetModeMismatchError,
    TimedOutError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import (
    Configuration,
    GoalRegion,
    GoalSpec,
    JointPath,
    MotionRequest,
    MotionStep,
    PathConstraint,
    PlanningOptions,
    SceneChange,
    StateRef,
    Target,
    TimingOptions,
)
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target, state_with_joints
from robot_cell_planner.nodes.conversions.basic import path_to_message
from robot_cell_planner.planning.path.processing import PathRequest, PathTool, process_path
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.request import PlanningOptions as CoreOptions
from robot_cell_planner.planning.search.registry import PLANNERS

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = [STATE.configuration[joint] for joint in JOINTS]
# Left and right of the post, the tool straight down.
LEFT = [-0.6, -1.2, 1.9, -2.2708, -1.5708, 0.0]
RIGHT = [0.9, -1.2, 1.9, -2.2708, -1.5708, 0.0]


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, tmp_path_factory):
    start_node("scene_node", cell_file=DEMO)
    start_node("planning_node", resource_folders=f"[{tmp_path_factory.getbasetemp()}]")
    client.scene()


def values(row):
    return dict(zip(JOINTS, row, strict=True))


def motion(**fields):
    request = MotionRequest(start=state_with_joints(values(LEFT)), goal=make_goal([values(RIGHT)]))
    for name, value in fields.items():
        setattr(request, name, value)
    return action.PlanMotion.Goal(request=request)


def plan(client, **fields):
    return client.send_goal(action.PlanMotion, "planning/plan_motion", motion(**fields)).plan


@pytest.fixture(scope="module")
def path(client):
    """A planned path around the post."""
    return plan(client, options=PlanningOptions(seed=3, simplify=False, tighten=False)).path


def rows_of(path):
    return np.array(path.positions).reshape(-1, len(path.joint_names))


def test_all_planners_are_listed_with_types_and_ranges(client):
    reply = client.call_service(srv.ListPlanners, "planning/list_planners", srv.ListPlanners.Request())
    assert [planner.name for planner in reply.planners] == list(PLANNERS)
    assert reply.default_planner == "Automatic"
    for planner in reply.planners:
        assert planner.description
        for parameter in planner.parameters:
            core = next(p for p in PLANNERS[planner.name].info.parameters if p.name == parameter.name)
            assert core.parse(parameter.default_value) == core.default
            assert parameter.type in ("bool", "int", "float")
            assert parameter.range
            assert parameter.description


@pytest.mark.parametrize("tool", ["simplify_path", "shortcut_path", "tighten_path", "reverse_path"])
def test_path_tools_answer_as_the_library(client, path, tool):
    request = srv.ProcessPath.Request(paths=[path], options=PlanningOptions(seed=4))
    reply = client.call_service(srv.ProcessPath, f"planning/{tool}", request)
    core = PathRequest(
        PathTool(tool.split("_")[0]), JOINTS, (rows_of(path),), options=CoreOptions(seed=4, search_step=0.03)
    )
    expected = process_path(CELL, STATE, core)
    assert np.array_equal(rows_of(reply.path), expected.path)
    assert reply.record.path_length == expected.path_length
    assert reply.record.planner == tool.split("_")[0]


def test_paths_are_filled_in_and_joined(client, path):
    request = srv.ProcessPath.Request(paths=[path], spacing=0.05)
    dense = rows_of(client.call_service(srv.ProcessPath, "planning/densify_path", request).path)
    assert np.abs(np.diff(dense, axis=0)).max() <= 0.05 + 1e-12
    rows = rows_of(path)
    swapped = path_to_message(JOINTS[::-1], rows[2:, ::-1])
    request = srv.ProcessPath.Request(paths=[path_to_message(JOINTS, rows[:3]), swapped])
    joined = client.call_service(srv.ProcessPath, "planning/concatenate_paths", request).path
    assert np.array_equal(rows_of(joined), rows)


def test_a_path_is_measured_and_its_collisions_are_placed(client, path):
    reply = client.call_service(srv.CheckPath, "planning/check_path", srv.CheckPath.Request(path=path))
    assert not reply.violations
    assert reply.record.clearance.distance > 0.0
    through = path_to_message(JOINTS, np.array([LEFT, RIGHT]))
    request = srv.CheckPath.Request(path=through, find_all=True)
    reply = client.call_service(srv.CheckPath, "planning/check_path", request)
    assert reply.violations
    assert 0.0 < reply.collisions[0].place < 1.0
    measured = client.call_service(srv.MeasurePath, "planning/measure_path", srv.MeasurePath.Request(path=through))
    assert measured.record.path_length == pytest.approx(1.5)
    assert measured.record.clearance.distance < 0.0


def test_a_plan_is_verified_and_a_changed_one_refused(client, tmp_path):
    timed = TimingOptions(method=TimingOptions.STOP_AT_WAYPOINTS)
    found = plan(client, timing=timed, options=PlanningOptions(seed=2))
    request = srv.VerifyPlan.Request(plan=found, state=state_with_joints(values(LEFT)))
    reply = client.call_service(srv.VerifyPlan, "planning/verify_plan", request)
    assert reply.valid, [violation.message for violation in reply.violations]
    found.path.positions[0] += 0.01
    found.record.path_length *= 0.5
    reply = client.call_service(srv.VerifyPlan, "planning/verify_plan", request)
    assert not reply.valid
    assert {violation.name for violation in reply.violations} >= {"PathInvalidError", "TrajectoryStartError"}


def test_steps_are_planned_as_one(client):
    above, down = make_pose_target("above_pick"), make_pose_target("pick")
    grip = SceneChange(
        operation=SceneChange.ATTACH_IN_PLACE, name="workpiece", attach_to="gripper", touch_bodies=["table"]
    )
    goal = action.PlanMultistep.Goal(
        steps=[
            MotionStep(name="reach", goal=make_goal([above])),
            MotionStep(name="down", goal=make_goal([down]), paired_with="reach", straight=True),
            MotionStep(name="up", goal=make_goal([above]), changes=[grip]),
            MotionStep(name="carry", goal=make_goal([{"shoulder_pan_joint": 0.9}])),
        ]
    )
    steps = []
    result = client.send_goal(
        action.PlanMultistep, "planning/plan_multistep", goal, lambda feedback: steps.append(feedback.progress.step)
    )
    assert result.failed_step == -1
    assert len(result.plans) == 4
    for before, after in zip(result.plans[:-1], result.plans[1:], strict=True):
        assert rows_of(before.path)[-1].tolist() == rows_of(after.path)[0].tolist()
    assert set(steps) == {0, 1, 2, 3}
    distance = np.linalg.norm(np.subtract(*(world_pose(CELL, STATE, name).position for name in ("above_pick", "pick"))))
    assert result.plans[1].record.tool_path_length == pytest.approx(distance, abs=1e-4)
    assert result.plans[1].goal == result.plans[0].goal == 0
    goal.steps[3].goal = make_goal([away()])
    with pytest.raises(MPNoIKSolutionError, match="step carry") as caught:
        client.send_goal(action.PlanMultistep, "planning/plan_multistep", goal)
    assert caught.value.subjects[0] == "carry"
    assert caught.value.partial.failed_step == 3


def test_a_region_is_reached_within_its_extents(client):
    region = GoalRegion(center=make_pose_target("above_pick"), position_extent=Vector3(x=0.05, y=0.05))
    region.rotation_extent.z = math.inf
    found = plan(client, goal=GoalSpec(regions=[region]), start=StateRef())
    end = STATE.with_configuration(values(rows_of(found.path)[-1].tolist()))
    offset = world_pose(CELL, STATE, "above_pick").inverse() @ world_pose(CELL, end, "gripper/tcp")
    assert np.abs(offset.position).max() <= 0.05 + 1e-5
    assert abs(offset.position[2]) <= 1e-5


def test_the_tool_stays_upright_along_the_path(client):
    upright = PathConstraint(type=PathConstraint.AXIS_IN_CONE, mode=Target.TOOL, tolerance=0.05, axis=Vector3(z=-1.0))
    found = rows_of(plan(client, constraints=[upright]).path)
    for fraction in np.linspace(0.0, len(found) - 1, 300):
        first = min(int(fraction), len(found) - 2)
        q = found[first] + (fraction - first) * (found[first + 1] - found[first])
        pose = world_pose(CELL, STATE.with_configuration(values(q.tolist())), "gripper/tcp")
        assert math.acos(min(1.0, -pose.matrix[2, 2])) <= 0.05


def test_a_failed_goal_reports_collisions_and_the_failure_of_inverse_kinematics(client):
    below = make_pose_target("above_pick")
    below.pose.position.z = 0.3
    goal = make_goal([values([0.0, 0.4, 0.0, 0.0, 0.0, 0.0]), away()])
    with pytest.raises(GoalInCollisionError) as caught:
        client.send_goal(action.PlanMotion, "planning/plan_motion", motion(goal=goal))
    first, second = caught.value.partial.failure.goals
    assert first.goal == 0
    assert first.pairs
    assert second.goal == 1
    assert second.ik.reason == second.ik.OUT_OF_REACH
    assert second.ik.excess > 1.0


# Bad requests -------------------------------------------------------------------------------------------------------


def away():
    target = make_pose_target()
    target.pose.position.x = 9.0
    return target


def options(**fields):
    return {"options": PlanningOptions(**fields)}


def constrained(**fields):
    return {"constraints": [PathConstraint(**fields)]}


def combination(names=("elbow_joint",), numbers=(1.0,), **fields):
    coefficients = Configuration(joint_names=list(names), positions=list(numbers))
    return {"constraints": [PathConstraint(coefficients=coefficients, **fields)]}


def parameter(name, value, planner="RRTConnect"):
    return options(planner=planner, planner_parameters=[KeyValue(key=name, value=value)])


def region(center=None, **fields):
    return {"goal": GoalSpec(regions=[GoalRegion(center=center or make_pose_target("pick"), **fields)])}


NAN, INF = math.nan, math.inf
Z = Vector3(z=1.0)
COLLIDING = [0.0, 0.4, 0.0, 0.0, 0.0, 0.0]
BAD_MOTIONS = {
    "no goal": (lambda: {"goal": GoalSpec()}, InvalidRequestError),
    "1001 goals": (lambda: {"goal": make_goal([{}] * 1001)}, LimitExceededError),
    "unknown group": (lambda: {"group": "legs"}, UnknownNameError),
    "unknown joint": (lambda: {"joints": ["elbow"]}, UnknownNameError),
    "a joint twice": (lambda: {"joints": ["elbow_joint", "elbow_joint"]}, InvalidRequestError),
    "goal for an unknown joint": (lambda: {"goal": make_goal([{"elbo": 1.0}])}, UnknownNameError),
    "goal that is not finite": (lambda: {"goal": make_goal([{"elbow_joint": NAN}])}, InvalidRequestError),
    "goal beyond limits": (lambda: {"goal": make_goal([{"elbow_joint": 9.0}])}, JointLimitError),
    "goal in collision": (lambda: {"goal": make_goal([values(COLLIDING)])}, GoalInCollisionError),
    "unknown named state": (lambda: {"goal": make_goal(["hoem"])}, UnknownNameError),
    "target out of reach": (lambda: {"goal": make_goal([away()])}, MPNoIKSolutionError),
    "target of a workpiece that is not held": (
        lambda: {"goal": make_goal([make_pose_target("pick", mode=Target.WORKPIECE)])},
        TargetModeMismatchError,
    ),
    "target of an unknown mode": (lambda: {"goal": make_goal([Target(mode=9)])}, InvalidRequestError),
    "target from an unknown frame": (lambda: {"goal": make_goal([make_pose_target("pikc")])}, UnknownNameError),
    "target with a zero quaternion": (
        lambda: {"goal": make_goal([zero_quaternion()])},
        InvalidRequestError,
    ),
    "region with a negative extent": (lambda: region(position_extent=Vector3(x=-1.0)), InvalidRequestError),
    "region that is not a number": (lambda: region(rotation_extent=Vector3(x=NAN)), InvalidRequestError),
    "region around an axis": (
        lambda: region(center=Target(type=Target.POINT_AXIS, axis=Z)),
        InvalidRequestError,
    ),
    "region out of reach": (lambda: region(center=away()), MPNoIKSolutionError),
    "unknown planner": (lambda: options(planner="RRTConect"), UnknownNameError),
    "unknown parameter": (lambda: parameter("rnge", "1"), UnknownNameError),
    "parameter that is no number": (lambda: parameter("range", "wide"), InvalidRequestError),
    "parameter out of range": (lambda: parameter("range", "-1"), InvalidRequestError),
    "parameter that is not whole": (lambda: parameter("num_samples", "10.5", "FMT"), InvalidRequestError),
    "parameter that is neither true nor false": (lambda: parameter("k_nearest", "2", "RRTstar"), InvalidRequestError),
    "unknown objective": (lambda: options(objective=9), InvalidRequestError),
    "negative improvement": (lambda: options(improvement_states=-2), InvalidRequestError),
    "negative resolution": (lambda: options(resolution=-1.0), InvalidRequestError),
    "resolution that is not a number": (lambda: options(resolution=NAN), InvalidRequestError),
    "negative margin": (lambda: options(extra_margin=-0.1), InvalidRequestError),
    "infinite margin": (lambda: options(extra_margin=INF), InvalidRequestError),
    "max_start_correction without bound": (lambda: options(max_start_correction=10.0), InvalidRequestError),
    "no states to check": (lambda: options(state_limit=1), NotConnectedError),
    "no time": (lambda: options(time_limit=Duration(nanosec=1)), TimedOutError),
    "negative time": (lambda: options(time_limit=Duration(sec=-1)), InvalidRequestError),
    "start in collision": (lambda: {"start": state_with_joints(values(COLLIDING))}, MPStartStateInCollisionError),
    "start beyond limits": (
        lambda: {"start": state_with_joints({"elbow_joint": 9.0})},
        (StartBeyondLimitsError, InvalidRequestError, JointLimitError),
    ),
    "start with an unknown joint": (lambda: {"start": state_with_joints({"elbo": 0.0})}, UnknownNameError),
    "start of the future": (
        lambda: {"start": StateRef(min_revision=10**9, timeout=Duration(nanosec=50_000_000))},
        StaleStateError,
    ),
    "constraint of an unknown type": (lambda: constrained(type=9), InvalidRequestError),
    "constraint of an unknown mode": (lambda: constrained(type=1, mode=9, axis=Z), InvalidRequestError),
    "cone without an axis": (lambda: constrained(type=1, mode=1), InvalidRequestError),
    "cone with a negative tolerance": (
        lambda: constrained(type=1, mode=1, axis=Z, tolerance=-1.0),
        InvalidRequestError,
    ),
    "start outside of its cone": (lambda: constrained(type=1, mode=1, axis=Z), ConstraintMismatchError),
    "box with a negative extent": (lambda: constrained(type=3, mode=1, extent=Vector3(x=-1.0)), InvalidRequestError),
    "constraint on an unknown frame": (
        lambda: constrained(type=1, mode=3, frame="gripr", axis=Z),
        UnknownNameError,
    ),
    "constraint on frames for a planner without": (
        lambda: {**constrained(type=1, mode=1, axis=Vector3(z=-1.0)), **options(planner="RRTstar")},
        NotSupportedError,
    ),
    "combination of nothing": (lambda: combination((), ()), InvalidRequestError),
    "combination of an unknown joint": (lambda: combination(("elbo",)), UnknownNameError),
    "combination that is not finite": (lambda: combination(numbers=(INF,)), InvalidRequestError),
    "combination that start and goal disagree on": (
        lambda: combination(("shoulder_pan_joint",)),
        ConstraintMismatchError,
    ),
    "33 constraints": (
        lambda: {"constraints": combination()["constraints"] * 33},
        LimitExceededError,
    ),
    "suggestions of an unknown joint": (
        lambda: {"waypoint_suggestions": JointPath(joint_names=["elbo"], positions=[1.0])},
        UnknownNameError,
    ),
    "suggestions of half a row": (
        lambda: {"waypoint_suggestions": JointPath(joint_names=["a", "b"], positions=[1.0])},
        InvalidRequestError,
    ),
    "timing nobody offers": (lambda: {"timing": TimingOptions(method=77)}, (NotSupportedError, InvalidRequestError)),
}


def zero_quaternion():
    target = make_pose_target("pick")
    target.pose.orientation.w = 0.0
    target.pose.orientation.x = target.pose.orientation.y = target.pose.orientation.z = 0.0
    return target


@pytest.mark.parametrize("case", BAD_MOTIONS)
def test_bad_motions_get_their_named_error(client, case):
    make, kind = BAD_MOTIONS[case]
    with pytest.raises(kind) as caught:
        client.send_goal(action.PlanMotion, "planning/plan_motion", motion(**make()))
    assert caught.value.message
    assert caught.value.stage


def tool(name, **fields):
    return srv.ProcessPath, f"planning/{name}", srv.ProcessPath.Request(**fields)


def straight(*rows, names=JOINTS):
    return JointPath(joint_names=list(names), positions=[value for row in rows for value in row])


def check(**fields):
    return srv.CheckPath, "planning/check_path", srv.CheckPath.Request(**fields)


def verify(**fields):
    return srv.VerifyPlan, "planning/verify_plan", srv.VerifyPlan.Request(**fields)


BAD_CALLS = {
    "no path": (lambda: tool("simplify_path"), InvalidRequestError),
    "an empty path": (lambda: tool("simplify_path", paths=[JointPath(joint_names=["a"])]), InvalidRequestError),
    "a path without joints": (lambda: tool("simplify_path", paths=[JointPath()]), InvalidRequestError),
    "two paths for one": (lambda: tool("reverse_path", paths=[straight(HOME)] * 2), InvalidRequestError),
    "a path that is not finite": (lambda: tool("simplify_path", paths=[straight([NAN] * 6)]), InvalidRequestError),
    "a path of an unknown joint": (
        lambda: tool("reverse_path", paths=[straight([0.0], names=["elbo"])]),
        UnknownNameError,
    ),
    "a path through the post": (lambda: tool("simplify_path", paths=[straight(LEFT, RIGHT)]), PathInvalidError),
    "a path beyond limits": (lambda: tool("shortcut_path", paths=[straight(HOME, [9.0] * 6)]), JointLimitError),
    "a path off its constraint": (
        lambda: tool("tighten_path", paths=[straight(LEFT, HOME)], **combination(("shoulder_pan_joint",))),
        ConstraintMismatchError,
    ),
    "spacing of zero": (lambda: tool("densify_path", paths=[straight(HOME, LEFT)]), InvalidRequestError),
    "spacing too fine": (
        lambda: tool("densify_path", paths=[straight(HOME, LEFT)], spacing=1e-12),
        InvalidRequestError,
    ),
    "paths that do not meet": (
        lambda: tool("concatenate_paths", paths=[straight(HOME), straight(LEFT)]),
        PathInvalidError,
    ),
    "paths of different joints": (
        lambda: tool("concatenate_paths", paths=[straight(HOME), straight([0.0], names=["elbow_joint"])]),
        InvalidRequestError,
    ),
    "a negative joint tolerance": (
        lambda: tool("concatenate_paths", paths=[straight(HOME)], joint_tolerance=-1.0),
        InvalidRequestError,
    ),
    "a check of nothing": (lambda: check(), InvalidRequestError),
    "a check with a negative margin": (lambda: check(path=straight(HOME), extra_margin=-1.0), InvalidRequestError),
    "a check of joints twice": (
        lambda: check(path=straight([0.0, 0.0], names=["elbow_joint", "elbow_joint"])),
        InvalidRequestError,
    ),
    "no plan": (lambda: verify(), InvalidRequestError),
    "a plan file that is nowhere": (lambda: verify(uri="plan.json"), (ResourceError, FileError)),
    "a plan file out of bounds": (lambda: verify(uri="file:///etc/passwd"), ResourceError),
    "a plan file that is no plan": (lambda: verify(uri=f"file://{DEMO}"), (ResourceError, FileError)),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls_get_their_named_error(client, case):
    make, kind = BAD_CALLS[case]
    with pytest.raises(kind) as caught:
        client.call_service(*make())
    assert caught.value.message
    assert caught.value.stage


STAY = make_goal([{}])
BAD_STEPS = {
    "no steps": (lambda: [], InvalidRequestError),
    "101 steps": (lambda: [MotionStep(goal=STAY)] * 101, LimitExceededError),
    "a step without a goal": (lambda: [MotionStep()], InvalidRequestError),
    "a change of something unknown": (
        lambda: [MotionStep(goal=STAY, changes=[SceneChange(operation=SceneChange.HIDE, name="x")])],
        UnknownNameError,
    ),
    "a later goal out of reach": (
        lambda: [MotionStep(goal=STAY), MotionStep(goal=make_goal([away()]))],
        MPNoIKSolutionError,
    ),
}


@pytest.mark.parametrize("case", BAD_STEPS)
def test_bad_steps_get_their_named_error(client, case):
    make, kind = BAD_STEPS[case]
    with pytest.raises(kind) as caught:
        client.send_goal(action.PlanMultistep, "planning/plan_multistep", action.PlanMultistep.Goal(steps=make()))
    assert caught.value.message


def test_a_plan_file_is_read_below_allowed_folders(client, tmp_path):
    from robot_cell_planner.planning.joint_space.planner import plan_motion
    from robot_cell_planner.planning.problem.request import Goals
    from robot_cell_planner.planning.problem.request import MotionRequest as CoreRequest

    start = STATE.with_configuration(values(LEFT))
    file = tmp_path / "plan.json"
    file.write_bytes(plan_to_json(plan_motion(CELL, start, CoreRequest(Goals(joint_goals=(values(RIGHT),))))))
    request = srv.VerifyPlan.Request(uri=f"file://{file}", state=state_with_joints(values(LEFT)))
    reply = client.call_service(srv.VerifyPlan, "planning/verify_plan", request)
    assert reply.valid, [violation.message for violation in reply.violations]


def test_a_cancelled_plan_is_answered(client):

    goal = motion(options=PlanningOptions(planner="RRTstar", improvement_states=-1, state_limit=10**9))
    actions = action_client(client, action.PlanMotion, "planning/plan_motion")
    assert actions.wait_for_server(60.0)
    handle = client._wait(client._send_goal_async(actions, goal), 60.0, "goal")
    client._wait(handle.cancel_goal_async(), 60.0, "cancel")
    result = client._wait(handle.get_result_async(), 60.0, "result").result
    assert result.error.name == CancelledError.__name__
