"""Parameters of the execution node, and options derived from them."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InvalidRequestError, Value
from ...trajectory.sampler import SamplerOptions
from ..common.action_names import MOVE_GRIPPER, move_gripper_action
from ..common.external_frames import TRANSFORM_PARAMETERS
from ..common.lifecycle import NODE_PARAMETERS
from ..common.parameters import Parameter, Parameters
from ..common.resource_roots import RESOURCE_PARAMETERS
from ..common.robot_topics import checked_prefixes
from ..motion.command_values import FIELDS
from ..motion.controller_motion import ControllerOptions
from ..motion.independent_robots import IndependentRobots
from ..motion.path_return import feedback_timeouts
from ..motion.trajectory_goals import ToleranceDefaults
from ..motion.wraparound import Wraparound
from ..servo.parameters import SERVO_PARAMETERS
from .gripper import GripperActions, GripperOptions
from .monitoring_parameters import MONITORING_PARAMETERS
from .parameter_relations import BELOW_GOAL_TIME, LONGER_THAN_STOP

STREAM, CONTROLLER = "stream", "controller"
GRIPPER_COMMAND, PARALLEL_GRIPPER_COMMAND = "GripperCommand", "ParallelGripperCommand"
FOLLOW_ACTION = "joint_trajectory_controller/follow_joint_trajectory"
ENDLESS = 1e9
LONGEST_GRIPPER_MOTION = 600.0  # [s]

PARAMETERS = (
    Parameter(
        "mode",
        STREAM,
        "stream: publishes joint_commands itself. controller: hands trajectories to a controller that already runs, "
        "and publishes no commands.",
        choices=(STREAM, CONTROLLER),
    ),
    Parameter(
        "controller_actions",
        [FOLLOW_ACTION],
        "Names of the FollowJointTrajectory actions of the controllers, in mode controller.",
        constraint="at least one, each once",
    ),
    Parameter(
        "controller_lead",
        0.2,
        "How far ahead the trajectory of a controller is changed, so that it receives the change in time [s].",
        0.02,
        5.0,
    ),
    Parameter("command_rate", 250.0, "Rate of joint_commands while anything moves [Hz].", 250.0, 1000.0),
    Parameter(
        "command_fields",
        ["position"],
        "Fields of joint_commands to fill.",
        choices=FIELDS,
        constraint="each once",
    ),
    Parameter(
        "joints",
        [""],
        "Joints of every command, in this order; none: all joints that goals have named since the start.",
        constraint="each once",
    ),
    Parameter(
        "independent_robots",
        [""],
        "Prefixes of the joints of robots that different clients may move at the same time; none: one client at a time "
        "moves all robots.",
        constraint="each once, ending with /",
    ),
    Parameter(
        "watch_horizon",
        3.0,
        "Time ahead for which the path of a motion is checked while joints move that it does not move, as of tools and "
        "other robots; longer than a stop and a check take [s].",
        1.0,
        60.0,
        relation=LONGER_THAN_STOP,
    ),
    Parameter("hold_when_idle", False, "Keep publishing the last command between motions."),
    Parameter(
        "late_command_periods", 2.0, "Age at which a command counts as late [periods of command_rate].", 1.0, 100.0
    ),
    Parameter(
        "max_command_gap",
        0.1,
        "Time between two commands after which the robot is assumed to stand still; motion resumes from rest [s].",
        0.02,
        10.0,
    ),
    Parameter(
        "realtime_priority",
        50,
        "SCHED_FIFO priority of the streaming thread, if the system grants it; 0: none.",
        0,
        99,
    ),
    *MONITORING_PARAMETERS,
    Parameter(
        "max_replans",
        10,
        "Maximum number of replans around obstacles for a goal of execution/move with options.replan.",
        0,
        1000,
        running=True,
    ),
    Parameter(
        "server_timeout",
        5.0,
        "Time to wait for the robot and the planning node to appear [s].",
        0.1,
        600.0,
        running=True,
    ),
    Parameter("validation_timeout", 30.0, "Time limit of a validation [s].", 0.1, 600.0, running=True),
    Parameter("max_points", 100_000, "Maximum number of points of a trajectory.", 1, 1_000_000, running=True),
    Parameter(
        "joint_state_timeout",
        0.25,
        "Age, or lag of the stamps, at which joint_states count as missing: the motion pauses on its path until they "
        "are received again [s].",
        0.05,
        10.0,
    ),
    Parameter(
        "joint_state_lost_after",
        2.0,
        "Age at which joint_states count as lost and a motion ends, or joint_state_timeout if that is longer [s].",
        0.05,
        60.0,
    ),
    Parameter(
        "path_return_timeout",
        2.0,
        "Time limit for the robot to return to its path after its process or this one was suspended [s].",
        0.0,
        60.0,
    ),
    Parameter(
        "angle_wraparound", [""], "Joints whose drivers publish positions within one turn.", constraint="each once"
    ),
    Parameter("max_joint_step", 0.5, "Maximum change of a joint between two joint_states [rad or m].", 1e-4, ENDLESS),
    Parameter("start_tolerance", 0.01, "Maximum distance of a joint from a trajectory's start [rad or m].", 0.0, 1.0),
    Parameter("path_tolerance", 0.1, "Maximum tracking error of a joint along the path [rad or m].", 0.0, ENDLESS),
    Parameter("goal_tolerance", 0.005, "Maximum error of a joint at the end [rad or m].", 0.0, ENDLESS),
    Parameter(
        "stopped_velocity_tolerance", 0.02, "Maximum measured speed of a joint at the end [rad/s or m/s].", 0.0, ENDLESS
    ),
    Parameter(
        "goal_time",
        2.0,
        "Time after the end, by the stamps of joint_states, within which goal_tolerance and stopped_velocity_tolerance "
        "must be met [s].",
        0.0,
        600.0,
    ),
    Parameter("scale_acceleration", 4.0, "Maximum rate of change of the speed scale [1/s].", 0.1, 1000.0),
    Parameter("scale_jerk", 40.0, "Maximum second derivative of the speed scale [1/s^2].", 1.0, 100_000.0),
    Parameter("feedback_rate", 20.0, "Rate of the feedback of actions [Hz].", 1.0, 100.0),
    Parameter(
        "motion_modes",
        [""],
        "Values of robot_mode that allow motion; none: robot_mode is ignored.",
        constraint="each once",
    ),
    Parameter(
        "follow_joint_trajectory", FOLLOW_ACTION, "Name of the FollowJointTrajectory action that this node offers."
    ),
    Parameter(
        "allow_partial_joints_goal",
        True,
        "Whether a FollowJointTrajectory goal may leave out some of `joints`, which then hold their positions.",
    ),
    Parameter("gripper_action", "gripper_controller/gripper_cmd", "Name of the gripper action that this node offers."),
    Parameter(
        "gripper_action_type",
        GRIPPER_COMMAND,
        "Type of the gripper action in control_msgs: that of the gripper controllers up to Jazzy, or from Kilted on.",
        choices=(GRIPPER_COMMAND, PARALLEL_GRIPPER_COMMAND),
    ),
    Parameter(
        "gripper_joint",
        "",
        "Name of the gripper's joint in joint_states, or <tool>/<joint>; empty: no gripper action is offered.",
    ),
    Parameter(
        "gripper_joints",
        [""],
        "Joints of several grippers, as <tool>/<joint>, instead of gripper_joint: each is moved by its own actions "
        "execution/<tool>/move_gripper and <tool>/gripper_cmd.",
        constraint="each once, of different tools; none with gripper_joint",
    ),
    Parameter(
        "gripper_lower",
        0.0,
        "Minimum position of the gripper's joint [rad or m].",
        -ENDLESS,
        ENDLESS,
        constraint="below gripper_upper",
    ),
    Parameter(
        "gripper_upper",
        0.1,
        "Maximum position of the gripper's joint [rad or m].",
        -ENDLESS,
        ENDLESS,
        constraint="above gripper_lower",
    ),
    Parameter("gripper_velocity", 0.1, "Maximum speed of the gripper's commands [rad/s or m/s].", 1e-6, ENDLESS),
    Parameter(
        "gripper_acceleration", 1.0, "Maximum acceleration of the gripper's commands [rad/s^2 or m/s^2].", 1e-6, ENDLESS
    ),
    Parameter("gripper_jerk", 20.0, "Maximum jerk of the gripper's commands [rad/s^3 or m/s^3].", 1e-6, ENDLESS),
    Parameter(
        "gripper_goal_tolerance",
        0.001,
        "Distance to the goal at which the gripper has reached it [rad or m].",
        0.0,
        ENDLESS,
    ),
    Parameter("gripper_goal_time", 5.0, "Time limit for the gripper to reach its goal or to stall [s].", 0.1, 600.0),
    Parameter(
        "stall_velocity_threshold",
        0.001,
        "Speed below which the gripper counts as standing still [rad/s or m/s].",
        0.0,
        ENDLESS,
    ),
    Parameter(
        "stall_timeout",
        0.3,
        "Time without motion, away from the goal, after which the gripper counts as stalled [s].",
        0.01,
        60.0,
        relation=BELOW_GOAL_TIME,
    ),
    Parameter(
        "gripper_start_timeout",
        2.0,
        "Time after the end of the commands within which the gripper begins to move, before it counts as stalled [s].",
        0.0,
        60.0,
        relation=BELOW_GOAL_TIME,
    ),
    Parameter(
        "allow_stalling", True, "Whether a goal succeeds when the gripper stalls, as it does when it holds an object."
    ),
    *SERVO_PARAMETERS,
    *TRANSFORM_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)


def names(parameters: Parameters, name: str) -> tuple[str, ...]:
    """Return a parameter that is a list of strings, without empty ones.

    Raises:
        InvalidRequestError: One is listed twice.
    """
    values = tuple(value for value in parameters[name] if value)
    if len(set(values)) != len(values):
        raise InvalidRequestError(f"parameter {name} lists a name twice: {', '.join(values)}", stage="parameters")
    return values


def wraparound(parameters: Parameters) -> Wraparound:
    """Return the joints whose drivers publish positions within one turn."""
    return Wraparound(names(parameters, "angle_wraparound"), feedback_timeouts(parameters).lost_after)


def command_fields(parameters: Parameters) -> tuple[str, ...]:
    """The fields of joint_commands.

    Raises:
        InvalidRequestError: One is listed twice.
    """
    return names(parameters, "command_fields")


def independent_robots(parameters: Parameters) -> IndependentRobots:
    """The robots that different clients may move at the same time.

    Raises:
        InvalidRequestError: a prefix is listed twice, or does not end with a slash.
    """
    return IndependentRobots(checked_prefixes(parameters, "independent_robots"))


def tolerance_defaults(parameters: Parameters) -> ToleranceDefaults:
    return ToleranceDefaults(
        start=parameters["start_tolerance"],
        path=parameters["path_tolerance"],
        goal=parameters["goal_tolerance"],
        stopped_velocity_tolerance=parameters["stopped_velocity_tolerance"],
        goal_time=parameters["goal_time"],
    )


def sampler_options(parameters: Parameters) -> SamplerOptions:
    return SamplerOptions(parameters["scale_acceleration"], parameters["scale_jerk"])


def controller_actions(parameters: Parameters) -> tuple[str, ...]:
    """The actions of the controllers.

    Raises:
        InvalidRequestError: The list is empty, or a name is listed twice.
    """
    actions = names(parameters, "controller_actions")
    if not actions:
        text = "parameter controller_actions is empty, and mode controller needs at least one action"
        raise InvalidRequestError(text, stage="parameters", subjects=("controller_actions",))
    return actions


def controller_options(parameters: Parameters) -> ControllerOptions:
    """Return the options of motions by controllers."""
    return ControllerOptions(parameters["controller_lead"], sampler_options(parameters), parameters["server_timeout"])


def grippers(parameters: Parameters) -> tuple[tuple[GripperActions, GripperOptions], ...]:
    """Return the actions and options of all grippers.

    Raises:
        InvalidRequestError: The bounds of a gripper are in the wrong order, its range takes more than ten minutes, or
            two grippers have the same actions.
    """
    single, joints = parameters["gripper_joint"], names(parameters, "gripper_joints")
    if single and joints:
        text = "parameters gripper_joint and gripper_joints are both given, expected one of them"
        raise InvalidRequestError(text, stage="parameters", subjects=("gripper_joint", "gripper_joints"))
    if single:
        actions = GripperActions(parameters["gripper_action"], MOVE_GRIPPER)
        return ((actions, _gripper_options(parameters, single, _short_name(single))),)
    tools = [joint.rpartition("/")[0] for joint in joints]
    if not all(tools) or len(set(tools)) < len(tools):
        text = f"parameter gripper_joints lists {', '.join(joints)}, expected one <tool>/<joint> of each tool"
        raise InvalidRequestError(text, stage="parameters", subjects=("gripper_joints",))
    own = [_short_name(joint) for joint in joints]
    short = [name if own.count(name) == 1 else "" for name in own]  # of several grippers, it could be any
    return tuple(
        (GripperActions(f"{tool}/gripper_cmd", move_gripper_action(tool)), _gripper_options(parameters, *names))
        for tool, *names in zip(tools, joints, short, strict=True)
    )


def passive_joints(found: Sequence[tuple[GripperActions, GripperOptions]]) -> tuple[str, ...]:
    """Return the joints of grippers, by each name that they may have in joint_states."""
    return tuple(name for _, options in found for name in (options.joint, options.short) if name)


def _short_name(joint: str) -> str:
    """Return the name of a joint without its tool; empty for one without a tool."""
    tool, _, own = joint.rpartition("/")
    return own if tool else ""


def _gripper_options(parameters: Parameters, joint: str, short: str) -> GripperOptions:
    lower, upper = parameters["gripper_lower"], parameters["gripper_upper"]
    if not lower < upper:
        text = f"parameter gripper_lower is {lower:g}, expected below gripper_upper, {upper:g}"
        raise InvalidRequestError(text, stage="parameters", subjects=("gripper_lower", "gripper_upper"))
    options = GripperOptions(
        joint=joint,
        lower=lower,
        upper=upper,
        velocity=parameters["gripper_velocity"],
        acceleration=parameters["gripper_acceleration"],
        jerk=parameters["gripper_jerk"],
        goal_tolerance=parameters["gripper_goal_tolerance"],
        stall_velocity=parameters["stall_velocity_threshold"],
        stall_timeout=parameters["stall_timeout"],
        start_timeout=parameters["gripper_start_timeout"],
        goal_time=parameters["gripper_goal_time"],
        allow_stalling=parameters["allow_stalling"],
        parallel=parameters["gripper_action_type"] == PARALLEL_GRIPPER_COMMAND,
        short=short,
    )
    if not options.longest_motion <= LONGEST_GRIPPER_MOTION:
        values = (Value("time", options.longest_motion, LONGEST_GRIPPER_MOTION, "s"),)
        text = "the gripper would need too long for its range: check gripper range, velocity, acceleration and jerk"
        raise InvalidRequestError(text, stage="parameters", subjects=("gripper_velocity",), values=values)
    return options
