"""Settings of MoveIt as joint limits and parameters of the nodes."""

from __future__ import annotations

from typing import Any

from ...io.common.serialisation import dump_yaml
from ...model.mechanism import Joint, JointKind
from ...model.robot import Robot
from ...planning.search.registry import PLANNERS

NOTE = "# Parameters of the nodes from MoveIt's settings: robot_cell up --cell cell.yaml --params parameters.yaml\n"
OMPL = "geometric::"
SOLVER = "kinematics_solver"
SCALING = ("default_velocity_scaling_factor", "default_acceleration_scaling_factor")


def limits_text(given: dict[str, Any], robot: Robot, left_out: list[str]) -> str:
    """Return the text of a limits file for the joints that the robot has; "" if there is none."""
    others = [str(key) for key in given if key not in ("joint_limits", *SCALING)]
    if others:
        left_out.append(f"{', '.join(others)[:300]} of joint_limits.yaml")
    joints = given.get("joint_limits")
    if not isinstance(joints, dict):
        return ""
    known: dict[str, Any] = {}
    for name, limits in joints.items():
        joint = robot.mechanism.joints.get(str(name))
        if joint is None or joint.kind is JointKind.FIXED or not isinstance(limits, dict):
            left_out.append(f"limits of joint {name}, which the robot does not have or which is fixed")
        else:
            known[str(name)] = _within_description(limits, joint, left_out)
    for key in SCALING:
        if isinstance(given.get(key), bool) or given.get(key, 1.0) != 1.0:  # True equals 1
            option = key.removeprefix("default_").removesuffix("_factor")
            left_out.append(f"{key} {given[key]}: requests use the full limits unless they set `{option}`")
    return dump_yaml({"joint_limits": known}) if known else ""


def _within_description(limits: dict[str, Any], joint: Joint, left_out: list[str]) -> dict[str, Any]:
    """Return limits whose positions are within those of the description, which MoveIt lets them leave."""
    low, high = limits.get("min_position"), limits.get("max_position")
    lower, upper = joint.limits.lower, joint.limits.upper
    if limits.get("has_position_limits") is False or not (
        isinstance(low, int | float) and isinstance(high, int | float)
    ):
        return limits
    if low > high or (lower <= low and high <= upper):
        return limits
    inner = {"min_position": max(low, lower), "max_position": min(high, upper)}
    if inner["min_position"] > inner["max_position"]:
        inner = {"min_position": lower, "max_position": upper}
    text = f"positions {low:g} to {high:g} of joint {joint.name}, which leave those of the description"
    left_out.append(f"{text}, {lower:g} to {upper:g}: {inner['min_position']:g} to {inner['max_position']:g}")
    return limits | inner


def initial_values(given: dict[str, Any], robot: Robot, left_out: list[str]) -> dict[str, float]:
    """Return joint values of initial_positions.yaml."""
    positions = given.get("initial_positions", {})
    values: dict[str, float] = {}
    others: list[str] = []
    for name, value in positions.items() if isinstance(positions, dict) else ():
        if name in robot.variables and isinstance(value, int | float) and not isinstance(value, bool):
            values[str(name)] = float(value)
        else:
            others.append(str(name))
    if others:
        text = "which the robot does not have, or which are no numbers"
        left_out.append(f"initial positions of {', '.join(others)[:300]}, {text}")
    return values


def note_kinematics(given: dict[str, Any], left_out: list[str]) -> None:
    """Note the settings of kinematics.yaml, none of which is taken over, with their values."""
    for group, entry in given.items():
        settings = entry if isinstance(entry, dict) else {}
        others = [f"{key} {str(value)[:60]}" for key, value in settings.items() if key != SOLVER]
        if SOLVER in settings:
            solver = str(settings[SOLVER])[:100]
            text = "inverse kinematics is analytic where the arm allows it, else numeric"
            left_out.append(f"solver {solver} of {group}: {text}")
        if others:
            text = "a search is limited by the parameters ik_restarts and ik_timeout of kinematics_node"
            left_out.append(f"{', '.join(others)[:300]} of {group}: {text}")


def parameters_text(planning: dict[str, Any], controllers: dict[str, Any], group: str, left_out: list[str]) -> str:
    """Return parameters of the planning and execution nodes; "" if there are none. `group`: The main group."""
    nodes: dict[str, Any] = {}
    planner = _planner(planning, group, left_out)
    if planner:
        nodes["/**/planning_node"] = {"ros__parameters": {"default_planner": planner}}
    actions = _actions(controllers, left_out)
    if actions:
        nodes["/**/execution_node"] = {"ros__parameters": actions}
    return NOTE + dump_yaml(nodes) if nodes else ""


def _planner(given: dict[str, Any], group: str, left_out: list[str]) -> str:
    """Return the planner that the main group has by default; "" without one, or if it is another library's."""
    configs = given.get("planner_configs")
    entry = given.get(group)
    name = entry.get("default_planner_config") if isinstance(entry, dict) else None
    config = configs.get(name) if isinstance(configs, dict) and isinstance(name, str) else None
    others = [
        f"{key} of {other}"
        for other, settings in given.items()
        if isinstance(settings, dict) and other != "planner_configs"
        for key in ("longest_valid_segment_fraction", "projection_evaluator")
        if key in settings
    ]
    if others:
        left_out.append(f"{', '.join(others)[:300]}: motions are certified or checked at an adapted resolution")
    if not isinstance(config, dict):
        return ""
    kind = str(config.get("type", "")).removeprefix(OMPL)
    if kind in PLANNERS:
        parameters = ", ".join(key for key in config if key != "type")
        if parameters:
            left_out.append(f"parameters of {name}: {parameters[:300]}; requests can set those of docs/planning.md")
        return kind
    left_out.append(f"planner {kind or name} of {group}; here Automatic")
    return ""


def _actions(given: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    manager = given.get("moveit_simple_controller_manager", given)
    names = manager.get("controller_names", []) if isinstance(manager, dict) else []
    trajectory: list[str] = []
    result: dict[str, Any] = {}
    for name in names if isinstance(names, list) else []:
        entry = manager.get(name)
        if not isinstance(entry, dict):
            continue
        action = f"{name}/{entry.get('action_ns', '')}".rstrip("/")
        if entry.get("type") == "FollowJointTrajectory":
            trajectory.append(action)
        elif entry.get("type") in ("GripperCommand", "ParallelGripperCommand") and "gripper_action" not in result:
            result |= {"gripper_action": action, "gripper_action_type": entry["type"]}
        else:
            left_out.append(f"controller {name} of type {entry.get('type')}")
    if trajectory:
        result["controller_actions"] = trajectory
        left_out.append("mode of execution: set `mode: controller` in parameters.yaml where these controllers run")
    return result
