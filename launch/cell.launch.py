"""The nodes of a robot cell: ros2 launch robot_cell_planner cell.launch.py cell:=my_cell.yaml

Starts what the supervisor `robot_cell` starts, with the same parameters; when one node ends, all end.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_cell_planner.nodes.supervisor.command_line import NODES, PACKAGE


def generate_launch_description():
    """The launch description, as `ros2 launch` asks for it."""
    config = PathJoinSubstitution([FindPackageShare(PACKAGE), "config"])
    arguments = [
        DeclareLaunchArgument(
            "cell", default_value=PathJoinSubstitution([config, "demo", "cell.yaml"]), description="cell file"
        ),
        DeclareLaunchArgument(
            "params",
            default_value=PathJoinSubstitution([config, "parameters.yaml"]),
            description="parameters of the nodes, in ROS's YAML format",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="namespace of all nodes"),
        DeclareLaunchArgument(
            "use_sim_time", default_value="false", choices=["true", "false"], description="take the time from /clock"
        ),
        DeclareLaunchArgument(
            "simulated_robot",
            default_value="true",
            choices=["true", "false"],
            description="start the simulated robot; false where there is a real one",
        ),
    ]
    return LaunchDescription([*arguments, *(_node(name) for name in NODES)])


def _node(name):
    # An absolute path stays what it is; a relative one is meant from where the launch was started.
    cell = PathJoinSubstitution([os.getcwd(), LaunchConfiguration("cell")])
    use_sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    condition = {"condition": IfCondition(LaunchConfiguration("simulated_robot"))} if name == "simulated_robot" else {}
    return Node(
        package=PACKAGE,
        executable=f"{name}_node",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            LaunchConfiguration("params"),
            {"cell_file": ParameterValue(cell, value_type=str), "use_sim_time": use_sim_time},
        ],
        output="both",
        on_exit=Shutdown(reason=f"{name}_node ended"),
        **condition,
    )
