"""A robot cell beside a controller manager: ros2 launch robot_cell_planner ros2_control.launch.py

The controllers of ros2_control command the robot through topics; what answers there is the simulated robot, or a real
one with simulated_robot:=false. The execution node hands trajectories to the joint trajectory controller and publishes
no commands. Needs the packages that docs/ros2_control.md names. The end of the simulated robot or of the controller
manager ends all: a robot that is started again is not where the controllers left it.
"""

import os
import shlex

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import get_logger
from launch.substitutions import Command, FindExecutable, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_cell_planner.nodes.bringup.launch_arguments import check_arguments
from robot_cell_planner.nodes.common.dds_profile import dds_variables
from robot_cell_planner.nodes.common.launched import launch_variables
from robot_cell_planner.security.environment import enclave_path, has_security

PACKAGE = "robot_cell_planner"
CONTROLLERS = ("joint_state_broadcaster", "joint_trajectory_controller", "gripper_controller")
# Jazzy is the last distribution with the gripper controller of GripperCommand.
GRIPPERS = {"jazzy": "gripper_jazzy.yaml"}
GRIPPER = "gripper.yaml"
# Arguments that are passed on to the launch file of the cell.
OF_CELL = (
    "cell",
    "params",
    "namespace",
    "frame_prefix",
    "enclave_prefix",
    "use_sim_time",
    "moveit",
    "autostart",
    "respawn",
)
FILES = ("params", "controllers", "gripper")  # arguments that name files of parameters
# The robot's own side, in the namespace. The broadcaster publishes joint_states, which all other nodes follow.
RATE = 100.0  # [Hz] of its states, as of the controller manager
COMMAND_DELAY = 0.02  # [s] two cycles of the controller manager; more would only delay the states that it compares
COMMANDS, STATES = "robot/joint_commands", "robot/joint_states"
# The scene node publishes robot_description and TF of the cell; the description with the hardware goes beside them.
DESCRIPTION = "ros2_control/robot_description"


def generate_launch_description():
    """The launch description, as `ros2 launch` asks for it."""
    share = FindPackageShare(PACKAGE)
    config = PathJoinSubstitution([share, "config", "ros2_control"])
    arguments = [
        DeclareLaunchArgument(
            "cell", default_value=PathJoinSubstitution([share, "config", "demo", "cell.yaml"]), description="cell file"
        ),
        DeclareLaunchArgument(
            "description",
            default_value=PathJoinSubstitution([share, "urdf", "arm_with_gripper.urdf.xacro"]),
            description="URDF or xacro with a ros2_control block",
        ),
        DeclareLaunchArgument(
            "description_arguments",
            default_value="",
            description="arguments of xacro for it, such as 'ur_type:=ur5e name:=ur'",
        ),
        DeclareLaunchArgument(
            "controllers",
            default_value=PathJoinSubstitution([config, "controllers.yaml"]),
            description="parameters of the controller manager and the arm's controllers",
        ),
        DeclareLaunchArgument(
            "gripper",
            default_value=PathJoinSubstitution([config, GRIPPERS.get(os.environ.get("ROS_DISTRO", ""), GRIPPER)]),
            description="parameters of the gripper's controller; default: config/ros2_control/gripper.yaml, with Jazzy "
            "gripper_jazzy.yaml",
        ),
        DeclareLaunchArgument(
            "params",
            default_value=PathJoinSubstitution([config, "parameters.yaml"]),
            description="parameters of the nodes of the cell",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="namespace of all nodes and controllers"),
        DeclareLaunchArgument(
            "frame_prefix",
            default_value="",
            description='put before the names of all frames in TF but world, such as "cell1/"; empty: as params says',
        ),
        DeclareLaunchArgument(
            "enclave_prefix",
            default_value="",
            description="start each node in the enclave PREFIX/NODE of SROS 2; empty: with security, in "
            "NAMESPACE/robot_cell_planner/NODE",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=["true", "false"],
            description="all nodes and controllers take the time from /clock",
        ),
        DeclareLaunchArgument(
            "simulated_robot",
            default_value="true",
            choices=["true", "false"],
            description="start the simulated robot; false where there is a real one",
        ),
        DeclareLaunchArgument(
            "moveit",
            default_value="false",
            choices=["true", "false"],
            description="also start moveit_adapter_node, which serves clients of MoveIt",
        ),
        DeclareLaunchArgument(
            "autostart",
            default_value="true",
            choices=["true", "false"],
            description="whether nodes of the cell configure and activate themselves; false: a manager of lifecycles "
            "does so",
        ),
        DeclareLaunchArgument(
            "respawn",
            default_value="true",
            choices=["true", "false"],
            description="start nodes of the cell again when they end, but not the simulated robot",
        ),
    ]
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([share, "launch", "cell.launch.py"])),
        launch_arguments={
            **{name: LaunchConfiguration(name) for name in OF_CELL},
            "simulated_robot": "false",
        }.items(),
    )
    # In a scope of its own, as the included file has arguments of the same names.
    cell = GroupAction([nodes], scoped=True)
    local = [SetEnvironmentVariable(*variable) for variable in dds_variables(os.environ).items()]
    return LaunchDescription(
        [
            *arguments,
            *local,
            OpaqueFunction(function=_check_arguments, args=[[argument.name for argument in arguments]]),
            cell,
            OpaqueFunction(function=_robot),
            OpaqueFunction(function=_description),
            _manager(),
            *map(_spawner, CONTROLLERS),
        ]
    )


def _check_arguments(context, names):
    files = {name: LaunchConfiguration(name).perform(context) for name in FILES}
    check_arguments(context.argv, names, files, get_logger("ros2_control.launch.py").warning)


def _switch(name):
    return ParameterValue(LaunchConfiguration(name), value_type=bool)


def _full_name(topic):
    """The name of a topic in the namespace, for a parameter of the hardware."""
    return PathJoinSubstitution(["/", LaunchConfiguration("namespace"), topic])


def _robot(context):
    name = "simulated_robot_node"
    prefix, enclaves, namespace = (
        LaunchConfiguration(argument).perform(context) for argument in ("frame_prefix", "enclave_prefix", "namespace")
    )
    secured = enclaves or has_security(os.environ)
    robot = Node(
        package=PACKAGE,
        executable=name,
        namespace=namespace,
        # Those that the controller manager relies on come last, and hold whatever the file of parameters says.
        parameters=[
            LaunchConfiguration("params"),
            {
                "cell_file": ParameterValue(LaunchConfiguration("cell"), value_type=str),
                "rate": RATE,
                "command_delay": COMMAND_DELAY,
                **{switch: _switch(switch) for switch in ("use_sim_time", "autostart")},
            },
            *([{"frame_prefix": ParameterValue(prefix, value_type=str)}] if prefix else []),
        ],
        ros_arguments=["--enclave", enclave_path(name, enclaves, namespace)] if secured else [],
        remappings=[("joint_commands", COMMANDS), ("joint_states", STATES)],
        additional_env=launch_variables(),
        output="both",
        condition=IfCondition(LaunchConfiguration("simulated_robot")),
        on_exit=Shutdown(reason=f"{name} ended"),
    )
    return [robot]


def _description(context):
    """Publishes the description with the hardware. Its frames go beside TF, where the scene node publishes the cell."""
    words = [
        FindExecutable(name="xacro").perform(context),
        LaunchConfiguration("description").perform(context),
        *shlex.split(LaunchConfiguration("description_arguments").perform(context)),
        f"joint_commands_topic:={_full_name(COMMANDS).perform(context)}",
        f"joint_states_topic:={_full_name(STATES).perform(context)}",
    ]
    xacro = Command(shlex.join(words))  # is split like a line of a shell
    publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            {"robot_description": ParameterValue(xacro, value_type=str), "use_sim_time": _switch("use_sim_time")}
        ],
        remappings=[
            ("robot_description", DESCRIPTION),
            ("/tf", "ros2_control/tf"),
            ("/tf_static", "ros2_control/tf_static"),
        ],
    )
    return [publisher]


def _manager():
    return Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=LaunchConfiguration("namespace"),
        # The files may set the time of the controllers, too.
        parameters=[
            {"use_sim_time": _switch("use_sim_time")},
            LaunchConfiguration("controllers"),
            LaunchConfiguration("gripper"),
        ],
        remappings=[("robot_description", DESCRIPTION), ("~/robot_description", DESCRIPTION)],
        output="both",
        on_exit=Shutdown(reason="the controller manager ended"),
    )


def _spawner(controller):
    file = LaunchConfiguration("gripper" if controller == "gripper_controller" else "controllers")
    return Node(
        package="controller_manager",
        executable="spawner",
        namespace=LaunchConfiguration("namespace"),
        arguments=[controller, "--param-file", file],
    )
