"""Kinematics, collision and planning nodes over ROS, compared with the core in this process."""

import threading

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import (
    InvalidRequestError,
    MPStartStateInCollisionError,
    OutOfReachError,
    StaleStateError,
    TargetModeMismatchError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import CollisionOptions, GoalSpec, IkOptions, JointPath, PlanningOptions, StateRef, Target
from robot_cell_planner.nodes.client.client import final_joint_values, make_goal, make_pose_target, state_with_joints
from robot_cell_planner.nodes.client.run_record import plan_digest
from robot_cell_planner.nodes.conversions.basic import path_to_message, pose_from_message

CELL, STATE = loaded()
JOINTS = CELL.group().variables


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    for name in ("kinematics_node", "collision_node", "planning_node"):
        start_node(name)
    client.scene()


def random_configurations(count, seed=1):
    rng = np.random.default_rng(seed)
    centre = np.array([STATE.configuration[joint] for joint in JOINTS])
    return centre + rng.uniform(-0.6, 0.6, (count, len(JOINTS)))


def test_goals_are_sent_in_the_thread_that_takes_their_answers(client):
    """rclpy's own clients can lose the answer to a goal that another thread sends."""
    senders = []

    class Actions:
        def send_goal_async(self, goal, feedback_callback=None, goal_uuid=None):
            senders.append(threading.current_thread())
            return goal

    assert client._send_goal_async(Actions(), "goal") == "goal"
    assert senders == [client._thread]


def test_forward_kinematics_of_a_batch(client):
    rows = random_configurations(20)
    request = srv.ForwardKinematics.Request(mode=Target.TOOL, frames=["bin"], reference_frame="table")
    request.configurations = path_to_message(JOINTS, rows)
    reply = client.call_service(srv.ForwardKinematics, "kinematics/forward_kinematics", request)
    assert reply.frames == ["gripper/tcp", "bin"]
    assert reply.state.revision == 1
    for index, row in enumerate(rows):
        state = STATE.with_configuration(dict(zip(JOINTS, row.tolist(), strict=True)))
        truth = world_pose(CELL, state, "table").inverse() @ world_pose(CELL, state, "gripper/tcp")
        distance, angle = pose_from_message(reply.poses[2 * index], "pose").distance_to(truth)
        assert distance < 1e-9
        assert angle < 1e-7


def test_every_inverse_solution_reaches_its_target(client):
    request = srv.InverseKinematics.Request(
        targets=[make_pose_target("above_pick")], options=IkOptions(return_all=True)
    )
    reply = client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)
    assert len(reply.results[0].solutions) >= 2
    goal = world_pose(CELL, STATE, "above_pick")
    for solution in reply.results[0].solutions:
        state = STATE.with_configuration(dict(zip(reply.joint_names, solution.positions, strict=True)))
        distance, angle = world_pose(CELL, state, "gripper/tcp").distance_to(goal)
        assert distance < 1e-6
        assert angle < 1e-6


def ik(**fields):
    return srv.InverseKinematics.Request(**{"targets": [make_pose_target("pick")], **fields})


def far():
    target = make_pose_target()
    target.pose.position.x = 9.0
    return target


BAD = {
    "no target": (lambda: ik(targets=[]), InvalidRequestError),
    "unknown mode": (lambda: ik(targets=[Target(mode=9)]), InvalidRequestError),
    "no workpiece held": (
        lambda: ik(targets=[make_pose_target("pick", mode=Target.WORKPIECE)]),
        TargetModeMismatchError,
    ),
    "unknown frame": (lambda: ik(targets=[make_pose_target("pikc")]), UnknownNameError),
    "unknown group": (lambda: ik(group="manipulatr"), UnknownNameError),
    "unknown joint": (lambda: ik(joints=["elbow"]), UnknownNameError),
    "out of reach": (lambda: ik(targets=[far()]), OutOfReachError),
    "seeds of the wrong number": (
        lambda: ik(seeds=JointPath(joint_names=["elbow_joint"], positions=[0.1, 0.2, 0.3])),
        InvalidRequestError,
    ),
    "a seed that is not finite": (
        lambda: ik(seeds=JointPath(joint_names=["elbow_joint"], positions=[float("nan")])),
        InvalidRequestError,
    ),
    "unknown order": (lambda: ik(options=IkOptions(order=77)), InvalidRequestError),
    "a scene of the future": (
        lambda: ik(state=StateRef(min_revision=10**9, timeout=Duration(nanosec=100_000_000))),
        StaleStateError,
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_kinematic_requests_get_their_named_error(client, case):
    make, kind = BAD[case]
    with pytest.raises(kind):
        client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", make())


def test_collision_verdicts_are_those_of_the_checker(client):
    rows = random_configurations(60, seed=2) * np.array([1.0, 1.6, 1.2, 1.0, 1.0, 1.0])
    checker = CollisionChecker(CELL, STATE, JOINTS)
    truth = checker.in_collision_batch(rows).tolist()
    assert any(truth)
    assert not all(truth)
    request = srv.CheckStates.Request(configurations=path_to_message(JOINTS, rows))
    request.options = CollisionOptions(full_report=True, contacts=True)
    reply = client.call_service(srv.CheckStates, "collision/check_states", request)
    assert list(reply.in_collision) == truth
    for row, report in zip(rows, reply.reports, strict=True):
        pairs = [(pair.first, pair.second) for pair in checker.report(row).pairs]
        assert [(pair.name_a, pair.name_b) for pair in report.pairs] == pairs


def test_clearance_is_that_of_the_checker(client):
    reply = client.call_service(
        srv.ComputeClearance, "collision/compute_clearance", srv.ComputeClearance.Request(pairs=3)
    )
    truth = CollisionChecker(CELL, STATE, JOINTS).clearances(count=3)
    assert [entry.distance for entry in reply.clearances] == pytest.approx([entry.distance for entry in truth])


def plan(client, **options):
    return client.plan_motion(
        make_goal([make_pose_target("above_pick")]),
        start=state_with_joints(dict(STATE.configuration)),
        options=PlanningOptions(seed=5, **options),
    )


def test_plans_start_at_the_requested_state_end_at_the_goal_and_are_repeatable(client):
    first, second = plan(client), plan(client)
    assert plan_digest(first) == plan_digest(second)
    assert list(first.path.positions[:6]) == [STATE.configuration[joint] for joint in first.path.joint_names]
    end = STATE.with_configuration(final_joint_values(first))
    distance, angle = world_pose(CELL, end, "gripper/tcp").distance_to(world_pose(CELL, STATE, "above_pick"))
    assert distance < 1e-5
    assert angle < 1e-5
    assert list(first.trajectory.points[-1].velocities) == [0.0] * 6
    assert first.record.state.revision == 1


def test_a_straight_motion_is_straight(client):
    state = {**STATE.configuration, **final_joint_values(plan(client))}
    result = client.plan_cartesian(make_pose_target("pick"), start=state_with_joints(state))
    assert result.report.fraction == 1.0
    start, goal = (np.array(world_pose(CELL, STATE, name).position) for name in ("above_pick", "pick"))
    direction = (goal - start) / np.linalg.norm(goal - start)
    names = result.plan.trajectory.joint_names
    for point in result.plan.trajectory.points:
        here = STATE.with_configuration(dict(zip(names, point.positions, strict=True)))
        offset = np.array(world_pose(CELL, here, "gripper/tcp").position) - start
        assert np.linalg.norm(offset - (offset @ direction) * direction) < 1e-3


def test_a_start_in_collision_names_its_pairs(client):
    with pytest.raises(MPStartStateInCollisionError) as caught:
        client.plan_motion(
            make_goal(["home"]), start=state_with_joints({"shoulder_lift_joint": 0.3, "elbow_joint": 0.2})
        )
    assert caught.value.subjects
    assert caught.value.partial.failure.start_pairs


BAD_PLANS = {
    "no goal": (lambda: {"goal": GoalSpec()}, InvalidRequestError),
    "unknown named state": (lambda: {"goal": make_goal(["hoem"])}, UnknownNameError),
    "unknown planner": (lambda: {"options": PlanningOptions(planner="RRTConect")}, UnknownNameError),
    "an objective nobody has": (lambda: {"options": PlanningOptions(objective=9)}, InvalidRequestError),
    "a resolution out of range": (lambda: {"options": PlanningOptions(resolution=-1.0)}, InvalidRequestError),
    "unknown group": (lambda: {"group": "legs"}, UnknownNameError),
}


@pytest.mark.parametrize("case", BAD_PLANS)
def test_bad_planning_requests_get_their_named_error(client, case):
    make, kind = BAD_PLANS[case]
    with pytest.raises(kind):
        client.plan_motion(**{"goal": make_goal(["home"]), **make()})


def test_planning_to_the_present_position_succeeds(client):
    """The path has no motion, and its cost is a number."""
    values = dict(STATE.configuration)
    result = client.plan_motion(make_goal([values]), start=state_with_joints(values))
    assert set(np.ptp(np.reshape(result.path.positions, (-1, len(JOINTS))), axis=0)) == {0.0}
    assert plan(client).path.positions
