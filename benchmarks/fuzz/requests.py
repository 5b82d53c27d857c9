"""Requests, goals and messages that nodes accept, for the fuzzer to change."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Duration
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped, Vector3
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, msg, srv
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target
from robot_cell_planner.nodes.conversions.basic import pose_to_message

from .cell import Cell
from .moveit_requests import moveit_messages


def valid_messages(cell: Cell) -> dict[str, list[Any]]:
    """Requests and goals that are accepted, by the name of their service or action; many faults are behind the first
    checks."""
    joints = list(cell.model.variables)
    start = [cell.state.configuration[name] for name in joints]
    path = msg.JointPath(joint_names=joints, positions=[*start, *(value + 0.05 for value in start)])
    one = msg.JointPath(joint_names=joints, positions=start)
    target = make_pose_target("pick")
    change = msg.SceneChange
    points = [
        JointTrajectoryPoint(positions=row, velocities=[0.0] * len(joints), time_from_start=Duration(sec=second))
        for row, second in ((start, 0), ([value + 0.05 for value in start], 2))
    ]
    trajectory = JointTrajectory(joint_names=joints, points=points)
    body = msg.BodyModel(
        name="new", collision=[msg.Shape(geometry=msg.Geometry(type=msg.Geometry.BOX, dimensions=[0.1] * 3))]
    )
    added = change(operation=change.ADD)
    added.models.bodies = [body]
    changes = [
        added,
        change(operation=change.REMOVE, name="gripper"),
        change(operation=change.REMOVE, name="workpiece"),
        change(operation=change.MOVE, name="workpiece"),
        change(operation=change.ATTACH, name="workpiece", attach_to="gripper/tcp"),
        change(operation=change.ATTACH_IN_PLACE, name="workpiece", attach_to="gripper/tcp"),
        change(operation=change.HIDE, name="bin"),
        change(operation=change.SET_TOUCH, name="workpiece", touch_links=["gripper/left_finger"]),
        change(
            operation=change.SET_JOINTS, configuration=msg.Configuration(joint_names=joints[:2], positions=start[:2])
        ),
        change(operation=change.SET_BASE_POSE, name="arm"),
    ]
    goal = make_goal([make_pose_target("above_pick")])
    motion = msg.MotionRequest(goal=goal)
    waypoint = msg.CartesianWaypoint(target=target)
    found: dict[str, list[Any]] = {
        "scene/apply_changes": [
            srv.ApplyChanges.Request(changes=[entry], dry_run=dry) for entry in changes for dry in (False, True)
        ],
        "scene/load_cell": [
            srv.LoadCell.Request(uri=str(cell.file), dry_run=True),
            srv.LoadCell.Request(cell=added.models, mode=1),
        ],
        "scene/wait_for_state": [srv.WaitForState.Request(joint_names=joints[:2])],
        "kinematics/forward_kinematics": [srv.ForwardKinematics.Request(configurations=path, frames=["bin"])],
        "kinematics/inverse_kinematics": [srv.InverseKinematics.Request(targets=[target], seeds=one)],
        "kinematics/lookup_transforms": [srv.LookupTransforms.Request(frames=["bin", "gripper/tcp"])],
        "kinematics/compute_jacobian": [srv.ComputeJacobian.Request(configurations=path)],
        "kinematics/inverse_dynamics": [
            srv.InverseDynamics.Request(
                configurations=one, velocities=[0.1] * len(joints), accelerations=[0.1] * len(joints)
            )
        ],
        "kinematics/forward_dynamics": [
            srv.ForwardDynamics.Request(configurations=one, velocities=[0.1] * len(joints), efforts=[0.1] * len(joints))
        ],
        "kinematics/mass_matrix": [srv.MassMatrix.Request(configurations=one)],
        "collision/check_states": [srv.CheckStates.Request(configurations=path)],
        "collision/check_trajectory": [srv.CheckTrajectory.Request(trajectory=trajectory)],
        "collision/check_targets": [srv.CheckTargets.Request(targets=[target])],
        "collision/compute_clearance": [srv.ComputeClearance.Request(configurations=one)],
        "collision/certify_motion": [
            srv.CertifyMotion.Request(path=path),
            srv.CertifyMotion.Request(trajectory=trajectory),
        ],
        "planning/validate_trajectory": [srv.ValidateTrajectory.Request(trajectory=trajectory)],
        "planning/look_ahead": [srv.LookAhead.Request(trajectory=trajectory)],
        "planning/check_path": [srv.CheckPath.Request(path=path)],
        "planning/measure_path": [srv.MeasurePath.Request(path=path)],
        "planning/time_parameterize": [srv.TimeParameterize.Request(path=path)],
        "planning/plan_motion": [action.PlanMotion.Goal(request=motion)],
        "planning/plan_multistep": [action.PlanMultistep.Goal(steps=[msg.MotionStep(goal=goal)])],
        "planning/plan_cartesian": [action.PlanCartesian.Goal(waypoints=[waypoint])],
        "execution/execute_trajectory": [action.ExecuteTrajectory.Goal(trajectory=trajectory)],
        "execution/move": [action.Move.Goal(request=motion)],
        "execution/set_speed_scale": [srv.SetSpeedScale.Request(scale=1.0)],
        "simulation/control": [srv.ControlSimulation.Request()],
        "simulation/disturb": [srv.DisturbSimulation.Request(clear=True)],
        "simulation/set_controller": [srv.SetJointController.Request(type="motor")],
        "execution/set_servo": [
            srv.SetServo.Request(enabled=enabled, options=msg.ServoOptions(source=source, check_collision=checked))
            for enabled, source, checked in ((True, 0, False), (True, 1, False), (True, 2, True), (False, 0, False))
        ],
        "servo/twist": [TwistStamped(twist=Twist(linear=Vector3(x=0.05)))],
        "servo/joint_velocities": [JointJog(joint_names=joints[:1], velocities=[0.1])],
        "servo/target": [_reached(cell)],
        "joint_states": [JointState(name=joints[:2], position=start[:2])],
    }
    for tool in ("simplify", "tighten", "shortcut", "densify", "reverse"):
        found[f"planning/{tool}_path"] = [srv.ProcessPath.Request(paths=[path])]
    found.update(moveit_messages(cell, trajectory))
    found["planning/concatenate_paths"] = [srv.ProcessPath.Request(paths=[path, path])]
    return found


def _reached(cell: Cell) -> PoseStamped:
    """The pose of the planner frame of the robot."""
    found = PoseStamped()
    found.pose = pose_to_message(forward_kinematics(cell.model, cell.state))
    return found


def settings(parameters: list[Parameter]) -> dict[str, list[Any]]:
    """Requests that set parameters of a node, by the service's name: each to its own value, and its clock to simulated
    time. Time limits are left as they are: they define when replies are late."""
    simulated = Parameter(name="use_sim_time", value=ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True))
    chosen = [parameter for parameter in parameters if not parameter.name.endswith(("timeout", "time_limit"))]
    return {
        name: [kind.Request(parameters=[parameter]) for parameter in (*chosen, simulated)]
        for name, kind in (("set_parameters", SetParameters), ("set_parameters_atomically", SetParametersAtomically))
    }
