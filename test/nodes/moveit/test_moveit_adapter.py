"""MoveIt's services and actions, as a client of MoveIt calls them."""

import threading

import numpy as np
import pytest
from action_goals import Sent
from geometry_msgs.msg import PoseStamped
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import (
    CollisionObject,
    Constraints,
    MotionPlanRequest,
    MotionSequenceItem,
    MotionSequenceRequest,
    MoveItErrorCodes,
    RobotState,
)
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetMotionPlan,
    GetMotionSequence,
    GetPlanningScene,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
    QueryPlannerInterfaces,
)
from moveit_requests import (
    CELL,
    JOINTS,
    LEFT,
    RIGHT,
    STATE,
    box,
    joint_goal,
    pose_goal,
    robot_state,
    service_caller,
)
from running import DEMO

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.nodes.moveit.motion_requests import SAMPLE_PERIOD

M = MoveItErrorCodes
TURNED = [-0.8, *LEFT[1:]]
INTO_TABLE = [0.0, 0.4, 0.0, 0.0, 0.0, 0.0]
BEYOND = [0.0, 1.5, 0.0, 0.0, 0.0, 0.0]


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    for name in ("scene_node", "kinematics_node", "collision_node", "planning_node", "moveit_adapter_node"):
        start_node(name, **({"cell_file": DEMO} if name == "scene_node" else {}))
    client.scene()


@pytest.fixture(scope="module")
def call(client):
    """Call a service of the adapter."""
    return service_caller(client)


def plan_request(goal, start=LEFT, **fields):
    message = MotionPlanRequest(group_name="manipulator", start_state=robot_state(start), goal_constraints=[goal])
    for name, value in fields.items():
        setattr(message, name, value)
    return GetMotionPlan.Request(motion_plan_request=message)


def state_of(row):
    return STATE.with_configuration(dict(zip(JOINTS, row, strict=True)))


def tip(row):
    return world_pose(CELL, state_of(row), "tool0")


def distance(pose, other):
    return np.abs(pose.matrix - other.matrix).max()


def rows_of(trajectory):
    order = [list(trajectory.joint_names).index(name) for name in JOINTS]
    return np.array([[point.positions[i] for i in order] for point in trajectory.points])


def code(reply):
    assert reply.error_code.source
    return reply.error_code.val


def test_forward_and_inverse_kinematics_agree(call):
    request = GetPositionFK.Request(fk_link_names=["tool0", "forearm_link"], robot_state=robot_state(LEFT))
    found = call(GetPositionFK, "compute_fk", request)
    assert code(found) == M.SUCCESS
    assert list(found.fk_link_names) == ["tool0", "forearm_link"]
    assert found.pose_stamped[0].header.frame_id == "world"
    assert found.pose_stamped[0].pose == pose_to_message(tip(LEFT))
    request = GetPositionIK.Request()
    request.ik_request.group_name, request.ik_request.robot_state = "manipulator", robot_state(RIGHT)
    request.ik_request.pose_stamped = PoseStamped(pose=found.pose_stamped[0].pose)
    request.ik_request.pose_stamped.header.frame_id = "world"
    solved = call(GetPositionIK, "compute_ik", request)
    assert code(solved) == M.SUCCESS
    values = dict(zip(solved.solution.joint_state.name, solved.solution.joint_state.position, strict=True))
    assert distance(tip([values[name] for name in JOINTS]), tip(LEFT)) < 1e-5


def test_the_solution_of_inverse_kinematics_is_accepted_as_a_state(call, client):
    request = GetPositionIK.Request()
    request.ik_request.group_name, request.ik_request.robot_state = "manipulator", robot_state(LEFT)
    request.ik_request.pose_stamped = PoseStamped(pose=pose_to_message(tip(RIGHT)))
    solved = call(GetPositionIK, "compute_ik", request)
    assert code(solved) == M.SUCCESS
    assert solved.solution.attached_collision_objects
    request = GetPositionFK.Request(fk_link_names=["tool0"], robot_state=solved.solution)
    found = call(GetPositionFK, "compute_fk", request)
    assert code(found) == M.SUCCESS, found.error_code.message
    position = found.pose_stamped[0].pose.position
    assert np.allclose((position.x, position.y, position.z), tip(RIGHT).position, atol=1e-5)
    before = client.scene()[1]
    message = scene(call)
    message.is_diff = True
    assert call(ApplyPlanningScene, "apply_planning_scene", ApplyPlanningScene.Request(scene=message)).success
    assert client.scene()[1] == before


def test_an_unreachable_pose_has_no_solution_and_a_reason(call):
    request = GetPositionIK.Request()
    request.ik_request.pose_stamped.header.frame_id = "world"
    request.ik_request.pose_stamped.pose.position.x = 9.0
    reply = call(GetPositionIK, "compute_ik", request)
    assert code(reply) == M.NO_IK_SOLUTION
    assert "reach" in reply.error_code.message


@pytest.mark.parametrize("goal", [joint_goal(RIGHT), pose_goal(tip(RIGHT))], ids=["joints", "pose"])
def test_a_plan_reaches_its_goal_without_collision(call, goal):
    reply = call(GetMotionPlan, "plan_kinematic_path", plan_request(goal)).motion_plan_response
    assert code(reply) == M.SUCCESS, reply.error_code.message
    rows = rows_of(reply.trajectory.joint_trajectory)
    assert np.allclose(rows[0], LEFT, atol=1e-6)
    assert distance(tip(rows[-1]), tip(RIGHT)) < 2e-3
    checker = CollisionChecker(CELL, STATE, JOINTS)
    assert not any(checker.in_collision(row) for row in rows[::10])
    start = dict(zip(reply.trajectory_start.joint_state.name, reply.trajectory_start.joint_state.position, strict=True))
    assert [start[name] for name in JOINTS] == LEFT
    velocities = np.array([point.velocities for point in reply.trajectory.joint_trajectory.points])
    assert not velocities[[0, -1]].any()


@pytest.mark.parametrize(
    ("request_", "expected", "word"),
    [
        (plan_request(joint_goal(RIGHT), group_name="arms"), M.INVALID_GROUP_NAME, "arms"),
        (plan_request(pose_goal(tip(RIGHT), link="tool9")), M.INVALID_LINK_NAME, "tool9"),
        (plan_request(Constraints()), M.INVALID_GOAL_CONSTRAINTS, "no constraint"),
        (plan_request(joint_goal(RIGHT), goal_constraints=[]), M.INVALID_GOAL_CONSTRAINTS, "empty"),
        (plan_request(joint_goal(RIGHT), start_state=RobotState(is_diff=True), planner_id="Magic"), M.FAILURE, "Magic"),
        (plan_request(joint_goal(RIGHT), pipeline_id="stomp"), M.FAILURE, "stomp"),
        (plan_request(joint_goal(RIGHT), allowed_planning_time=-1.0), M.FAILURE, "allowed_planning_time"),
        (plan_request(joint_goal(RIGHT), max_velocity_scaling_factor=3.0), M.FAILURE, "max_velocity_scaling_factor"),
        (plan_request(joint_goal(RIGHT), start=INTO_TABLE), M.START_STATE_IN_COLLISION, ""),
        (plan_request(joint_goal(INTO_TABLE)), M.GOAL_IN_COLLISION, ""),
        (plan_request(joint_goal(RIGHT), start=BEYOND), M.START_STATE_INVALID, "shoulder_lift_joint"),
        (plan_request(joint_goal(BEYOND)), M.GOAL_STATE_INVALID, "shoulder_lift_joint"),
    ],
)
def test_requests_that_cannot_be_served_get_their_code_and_a_reason(call, request_, expected, word):
    reply = call(GetMotionPlan, "plan_kinematic_path", request_).motion_plan_response
    assert code(reply) == expected, reply.error_code
    assert word in reply.error_code.message
    assert not reply.trajectory.joint_trajectory.points


def test_an_unknown_joint_of_the_start_is_refused(call):
    request = plan_request(joint_goal(RIGHT))
    request.motion_plan_request.start_state.joint_state.name[0] = "shoulder"
    reply = call(GetMotionPlan, "plan_kinematic_path", request).motion_plan_response
    assert code(reply) == M.INVALID_ROBOT_STATE
    assert "shoulder" in reply.error_code.message


def cartesian(*poses, **fields):
    request = GetCartesianPath.Request(group_name="manipulator", link_name="tool0", start_state=robot_state(LEFT))
    request.header.frame_id, request.max_step, request.avoid_collisions = "world", 0.01, True
    request.waypoints = [pose_to_message(pose) for pose in poses]
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def moved(pose, *shift):
    matrix = pose.matrix.copy()
    matrix[:3, 3] += shift
    return type(pose).from_matrix(matrix)


def raised(pose, height):
    return moved(pose, 0.0, 0.0, height)


def test_a_cartesian_path_stays_on_its_line(call):
    reply = call(GetCartesianPath, "compute_cartesian_path", cartesian(raised(tip(LEFT), 0.1)))
    assert code(reply) == M.SUCCESS, reply.error_code.message
    assert reply.fraction == 1.0
    rows = rows_of(reply.solution.joint_trajectory)
    positions = np.array([tip(row).position for row in rows])
    assert np.ptp(positions[:, :2], axis=0).max() < 1e-3
    assert positions[-1, 2] - positions[0, 2] == pytest.approx(0.1, abs=1e-5)


def apply(call, *objects, **fields):
    request = ApplyPlanningScene.Request()
    request.scene.is_diff = request.scene.robot_state.is_diff = True
    request.scene.world.collision_objects = list(objects)
    for name, value in fields.items():
        setattr(request.scene, name, value)
    return call(ApplyPlanningScene, "apply_planning_scene", request).success


def scene(call, components=0):
    request = GetPlanningScene.Request()
    request.components.components = components
    return call(GetPlanningScene, "get_planning_scene", request).scene


def world_names(call):
    return {item.id for item in scene(call).world.collision_objects}


def test_a_part_of_a_cartesian_path_is_no_success(call):
    assert apply(call, box("in_the_way", 0.616, -0.296, 0.95, size=0.06))
    reply = call(GetCartesianPath, "compute_cartesian_path", cartesian(moved(tip(LEFT), -0.25, 0.0, 0.0)))
    assert apply(call, CollisionObject(id="in_the_way", operation=CollisionObject.REMOVE))
    assert code(reply) != M.SUCCESS
    assert "in_the_way" in reply.error_code.message
    assert 0.0 < reply.fraction < 1.0
    rows = rows_of(reply.solution.joint_trajectory)
    assert tip(rows[-1]).position[0] == pytest.approx(tip(LEFT).position[0] - 0.25 * reply.fraction, abs=1e-3)


def test_objects_appear_and_disappear_all_or_none(call, client):
    _, before = client.scene()
    assert apply(call, box("crate"), box("crate2", x=0.5))
    changed, revision = client.scene()
    assert revision == before + 1
    assert {"crate", "crate2", "table"} <= world_names(call)
    assert world_pose(changed.cell, changed.state, "crate").position == (0.4, -0.6, 1.2)
    removal = CollisionObject(id="crate", operation=CollisionObject.REMOVE)
    assert not apply(call, removal, CollisionObject(id="nothing", operation=CollisionObject.REMOVE))
    assert client.scene()[1] == revision
    assert apply(call, removal, CollisionObject(id="crate2", operation=CollisionObject.REMOVE))
    assert not {"crate", "crate2"} & world_names(call)


def test_the_scene_as_it_is_changes_nothing(call, client):
    before = client.scene()[1]
    whole = scene(call)
    assert not whole.is_diff
    assert call(ApplyPlanningScene, "apply_planning_scene", ApplyPlanningScene.Request(scene=whole)).success
    assert client.scene()[1] == before


def test_validity_names_the_bodies_in_contact(call):
    position = tip(LEFT).position
    assert apply(call, box("obstacle", *position))
    reply = call(
        GetStateValidity,
        "check_state_validity",
        GetStateValidity.Request(group_name="manipulator", robot_state=robot_state(LEFT)),
    )
    assert not reply.valid
    assert any("obstacle" in (contact.contact_body_1, contact.contact_body_2) for contact in reply.contacts)
    assert apply(call, CollisionObject(id="obstacle", operation=CollisionObject.REMOVE))
    reply = call(
        GetStateValidity,
        "check_state_validity",
        GetStateValidity.Request(group_name="manipulator", robot_state=robot_state(LEFT), constraints=joint_goal(LEFT)),
    )
    assert reply.valid
    assert [found.result for found in reply.constraint_result] == [True] * 6


def test_a_message_counts_for_the_request_after_it(call, client):
    publisher = client.node.create_publisher(CollisionObject, "collision_object", 10)
    tries = threading.Event()
    while not publisher.get_subscription_count():
        tries.wait(0.02)
    publisher.publish(box("late", *tip(RIGHT).position))
    for _ in range(600):
        if "late" in world_names(call):
            break
        tries.wait(0.1)
    reply = call(GetMotionPlan, "plan_kinematic_path", plan_request(joint_goal(RIGHT))).motion_plan_response
    assert code(reply) == M.GOAL_IN_COLLISION
    assert apply(call, CollisionObject(id="late", operation=CollisionObject.REMOVE))


def item(kind, goal, radius=0.0):
    request = MotionPlanRequest(group_name="manipulator", goal_constraints=[goal], planner_id=kind)
    request.pipeline_id = "pilz_industrial_motion_planner"
    return MotionSequenceItem(req=request, blend_radius=radius)


def sequence(call, *items):
    items[0].req.start_state = robot_state(LEFT)
    request = GetMotionSequence.Request(request=MotionSequenceRequest(items=list(items)))
    return call(GetMotionSequence, "plan_sequence_path", request).response


@pytest.mark.parametrize("radius", [0.0, 0.02], ids=["stop", "blend"])
@pytest.mark.parametrize("first", ["LIN", "PTP"])
def test_a_sequence_passes_its_corner_within_the_radius(call, first, radius):
    corner, end = raised(tip(LEFT), 0.1), moved(tip(LEFT), 0.0, 0.06, 0.1)
    reply = sequence(call, item(first, pose_goal(corner), radius), item("LIN", pose_goal(end)))
    assert code(reply) == M.SUCCESS, reply.error_code.message
    (trajectory,) = [entry.joint_trajectory for entry in reply.planned_trajectories]
    positions = np.array([tip(row).position for row in rows_of(trajectory)])
    distances = np.linalg.norm(positions - corner.position, axis=1)
    assert distances.min() < max(radius, 2e-3)
    assert np.allclose(positions[-1], end.position, atol=1e-3)
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in trajectory.points]
    assert np.all(np.diff(times) > 0.0)
    speeds = np.abs([point.velocities for point in trajectory.points]).max(axis=1)
    assert (speeds[distances.argmin()] > 0.01) == bool(radius)


@pytest.mark.parametrize(("planner", "kept"), [("LIN", True), ("PTP", False)])
def test_path_constraints_of_pilz_are_checked_along_the_path(call, planner, kept):
    request = plan_request(pose_goal(raised(tip(LEFT), 0.1)) if kept else joint_goal(TURNED), planner_id=planner)
    message = request.motion_plan_request
    message.pipeline_id = "pilz_industrial_motion_planner"
    message.path_constraints.orientation_constraints = pose_goal(tip(LEFT), tolerance=0.05).orientation_constraints
    reply = call(GetMotionPlan, "plan_kinematic_path", request).motion_plan_response
    assert code(reply) == (M.SUCCESS if kept else M.INVALID_MOTION_PLAN), reply.error_code.message
    assert kept or "breaks the constraints on frames" in reply.error_code.message


def test_the_last_motion_of_a_sequence_has_no_blend(call):
    reply = sequence(call, item("LIN", pose_goal(raised(tip(LEFT), 0.1)), 0.01))
    assert code(reply) == M.FAILURE
    assert "blend_radius" in reply.error_code.message


def test_planners_are_listed(call):
    reply = call(QueryPlannerInterfaces, "query_planner_interface", QueryPlannerInterfaces.Request())
    ids = {entry.pipeline_id: list(entry.planner_ids) for entry in reply.planner_interfaces}
    assert ids["pilz_industrial_motion_planner"] == ["PTP", "LIN", "CIRC"]
    assert "RRTConnect" in ids["ompl"]


def test_move_action_plans_only(client):
    goal = MoveGroup.Goal(request=plan_request(joint_goal(RIGHT)).motion_plan_request)
    goal.planning_options.plan_only = True
    sent = Sent(client, MoveGroup, "move_action", goal)
    assert sent.done.wait(240.0)
    result = sent.result
    assert code(result) == M.SUCCESS
    trajectory = result.planned_trajectory.joint_trajectory
    assert np.allclose(rows_of(trajectory)[-1], RIGHT, atol=1e-3)
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in trajectory.points]
    # Points where the jerk steps are additional ones.
    assert max(np.diff(times)) <= SAMPLE_PERIOD + 1e-9
    assert len(times) < 3.0 * times[-1] / SAMPLE_PERIOD
