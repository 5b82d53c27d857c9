"""Requests of MoveIt's clients that the adapter serves, for the fuzzer to change."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Pose
from moveit_msgs.action import ExecuteTrajectory, MoveGroup, MoveGroupSequence
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    MotionSequenceItem,
    MotionSequenceRequest,
    OrientationConstraint,
    PlanningScene,
    PositionConstraint,
    RobotState,
    RobotTrajectory,
)
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetMotionPlan,
    GetMotionSequence,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
)
from shape_msgs.msg import SolidPrimitive
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.nodes.moveit.scene_messages import SceneWriter
from robot_cell_planner.scene.scene import Scene

from .cell import Cell


def moveit_messages(cell: Cell, trajectory: JointTrajectory) -> dict[str, list[Any]]:
    """Requests, goals and messages by the name of their service, action or topic."""
    names, scene = list(cell.model.variables), Scene(cell.model, cell.state)
    state = RobotState(is_diff=True)
    state.joint_state.name = names
    state.joint_state.position = [cell.state.configuration[name] for name in names]
    tip = pose_to_message(world_pose(cell.model, cell.state, "tool0"))
    joints = Constraints(
        joint_constraints=[
            JointConstraint(joint_name=name, position=value, tolerance_above=0.01, tolerance_below=0.01)
            for name, value in zip(names, state.joint_state.position, strict=True)
        ]
    )
    motions = [MotionPlanRequest(group_name="manipulator", goal_constraints=[goal]) for goal in (joints, _pose(tip))]
    pilz = MotionPlanRequest(
        pipeline_id="pilz_industrial_motion_planner", planner_id="LIN", goal_constraints=[_pose(tip)]
    )
    sequence = MotionSequenceRequest(items=[MotionSequenceItem(req=pilz, blend_radius=0.0)])
    cartesian = GetCartesianPath.Request(link_name="tool0", waypoints=[tip], max_step=0.05)
    inverse = GetPositionIK.Request()
    inverse.ik_request.ik_link_name, inverse.ik_request.pose_stamped.pose = "tool0", tip
    box = CollisionObject(id="box", operation=CollisionObject.ADD, primitive_poses=[Pose()])
    box.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.1, 0.1])]
    box.pose.position.z = 3.0
    removal = CollisionObject(id="box", operation=CollisionObject.REMOVE)
    attached = AttachedCollisionObject(link_name="tool0", object=CollisionObject(id="workpiece"))
    detached = AttachedCollisionObject(object=CollisionObject(id="workpiece", operation=CollisionObject.REMOVE))
    whole = SceneWriter(scene).scene()
    difference = PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True))
    difference.world.collision_objects = [box]
    plans = [*motions, pilz]
    goals = [MoveGroup.Goal(request=motion) for motion in motions]
    for goal in goals:
        goal.planning_options.plan_only = goal is goals[0]
    return {
        "compute_fk": [GetPositionFK.Request(fk_link_names=["tool0"], robot_state=state)],
        "compute_ik": [inverse],
        "check_state_validity": [GetStateValidity.Request(robot_state=state, constraints=joints)],
        "plan_kinematic_path": [GetMotionPlan.Request(motion_plan_request=plan) for plan in plans],
        "plan_sequence_path": [GetMotionSequence.Request(request=sequence)],
        "compute_cartesian_path": [cartesian],
        "apply_planning_scene": [ApplyPlanningScene.Request(scene=scene) for scene in (whole, difference)],
        "move_action": goals,
        "execute_trajectory": [
            ExecuteTrajectory.Goal(trajectory=RobotTrajectory(joint_trajectory=trajectory)),
        ],
        "sequence_move_group": [MoveGroupSequence.Goal(request=sequence)],
        "planning_scene": [whole, difference],
        "planning_scene_world": [whole.world],
        "collision_object": [box, removal],
        "attached_collision_object": [attached, detached],
    }


def _pose(pose: Pose) -> Constraints:
    """The goal of a pose of the flange."""
    position = PositionConstraint(link_name="tool0")
    position.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.01])]
    position.constraint_region.primitive_poses = [Pose(position=pose.position)]
    rotation = OrientationConstraint(link_name="tool0", orientation=pose.orientation)
    rotation.absolute_x_axis_tolerance = rotation.absolute_y_axis_tolerance = rotation.absolute_z_axis_tolerance = 0.01
    return Constraints(position_constraints=[position], orientation_constraints=[rotation])
