"""The nodes of a robot cell: ros2 launch robot_cell_planner cell.launch.py cell:=my_cell.yaml

Starts what the supervisor `robot_cell` starts, with the same parameters, and by the same rule starts a node again when
it ends; one that cannot start, or ends too often, ends all. With respawn:=false the end of any node ends all.
"""

import atexit
import os
import time

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.conditions import IfCondition
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_cell_planner.nodes.bringup.command_line import EXECUTION, MOVEIT, NODES, PACKAGE, WITH_FRAMES
from robot_cell_planner.nodes.bringup.launch_arguments import check_arguments
from robot_cell_planner.nodes.bringup.program import STOP_TIME
from robot_cell_planner.nodes.bringup.respawn import NODE_RULE
from robot_cell_planner.nodes.bringup.session_folder import JOURNAL, SessionFolder
from robot_cell_planner.nodes.common.dds_profile import dds_variables
from robot_cell_planner.nodes.common.launched import launch_variables
from robot_cell_planner.security.environment import enclave_path, has_security

RESPAWN_DELAY = 0.5  # [s]
SWITCHES = {"simulated_robot": "simulated_robot", MOVEIT: "moveit"}  # arguments that decide whether a node is started


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
            "use_sim_time", default_value="false", choices=["true", "false"], description="take the time from /clock"
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
            description="whether nodes configure and activate themselves; false: a manager of lifecycles does so",
        ),
        DeclareLaunchArgument(
            "respawn", default_value="true", choices=["true", "false"], description="start nodes again when they end"
        ),
    ]
    local = [SetEnvironmentVariable(*variable) for variable in dds_variables(os.environ).items()]
    names = [argument.name for argument in arguments]
    return LaunchDescription([*arguments, *local, OpaqueFunction(function=_nodes, args=[names])])


def _nodes(context, names):
    files = {"params": LaunchConfiguration("params").perform(context)}
    check_arguments(context.argv, names, files, get_logger("cell.launch.py").warning)
    # Read now: launch forgets the arguments of an included file in a group of its own before its nodes end.
    respawn = LaunchConfiguration("respawn").perform(context) == "true"
    prefix = LaunchConfiguration("frame_prefix").perform(context)
    enclaves, namespace = (LaunchConfiguration(name).perform(context) for name in ("enclave_prefix", "namespace"))
    secured = enclaves or has_security(os.environ)
    journal = str(_folder() / JOURNAL)
    return [
        _node(name, journal, respawn, prefix, enclave_path(f"{name}_node", enclaves, namespace) if secured else "")
        for name in (*NODES, MOVEIT)
    ]


def _folder():
    """A folder for what the scene node goes on from when it is started again; the file of parameters may name another.

    It is removed when launch ends, since the scene node writes to it until its own end. A later launch removes that of
    one that was killed.
    """
    folder = SessionFolder()
    atexit.register(folder.remove)
    return folder.path


def _node(name, journal, respawn, prefix, enclave):
    # An absolute path stays what it is; a relative one is meant from where the launch was started.
    cell = PathJoinSubstitution([os.getcwd(), LaunchConfiguration("cell")])
    switches = {
        switch: ParameterValue(LaunchConfiguration(switch), value_type=bool) for switch in ("use_sim_time", "autostart")
    }
    condition = {"condition": IfCondition(LaunchConfiguration(SWITCHES[name]))} if name in SWITCHES else {}
    return Node(
        package=PACKAGE,
        executable=f"{name}_node",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            *([{"journal_file": journal}] if name == "scene" else []),
            LaunchConfiguration("params"),
            {"cell_file": ParameterValue(cell, value_type=str), **switches},
            *([{"frame_prefix": ParameterValue(prefix, value_type=str)}] if name in WITH_FRAMES and prefix else []),
        ],
        ros_arguments=["--enclave", enclave] if enclave else [],
        additional_env=launch_variables(),
        output="both",
        respawn=respawn,
        respawn_delay=RESPAWN_DELAY,
        on_exit=_Ends(f"{name}_node", respawn),
        **({"sigterm_timeout": str(STOP_TIME)} if name == EXECUTION else {}),
        **condition,
    )


class _Ends:
    """Handler of the ends of a node: nothing to do if it is started again, else the end of all nodes."""

    def __init__(self, name, respawn):
        self._name = name
        self._respawn = respawn
        self._failures = 0
        self._first = True
        self._started = time.monotonic()

    def __call__(self, event, context):
        """Return the actions of launch after an end of the node."""
        now = time.monotonic()
        lasted, self._started = now - self._started, now + RESPAWN_DELAY
        first, self._first = self._first, False
        self._failures = NODE_RULE.failures_after(self._failures, lasted, event.returncode)
        if self._respawn and not NODE_RULE.gives_up(self._failures, event.returncode, first):
            return None
        often = f" {self._failures} times in a row soon after its start" if self._failures > 1 else ""
        return [Shutdown(reason=f"{self._name} ended{often}, with status {event.returncode}")]
