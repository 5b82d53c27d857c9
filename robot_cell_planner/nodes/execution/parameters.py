"""Parameters of the execution node, and the options that follow from them."""

from __future__ import annotations

from ...errors import InvalidRequestError, Value
from ...trajectory.sampler import SamplerOptions
from ..common.diagnostics import DIAGNOSTIC_PARAMETERS
from ..common.parameters import Parameter, Parameters
from ..common.resource_roots import RESOURCE_PARAMETERS
from ..motion.command_message import FIELDS
from ..motion.trajectory_goals import ToleranceDefaults
from ..servo.parameters import SERVO_PARAMETERS
from .gripper import GripperOptions

STREAM, CONTROLLER = "stream", "controller"
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
    Parameter("controller_action", FOLLOW_ACTION, "FollowJointTrajectory action of that controller."),
    Parameter("command_rate", 250.0, "Rate of joint_commands while anything moves [Hz].", 250.0, 1000.0),
    Parameter("command_fields", ["position"], "Fields of joint_commands to fill: position, velocity, effort."),
    Parameter(
        "joints", [""], "Joints that every command has, in this order; none: all that goals have named since the start."
    ),
    Parameter("hold_when_idle", False, "Keep publishing the last command between motions."),
    Parameter("late_after", 2.0, "Periods after which a command counts as late.", 1.0, 100.0),
    Parameter(
        "longest_gap",
        0.1,
        "After a longer time between two commands the robot is taken to stand; it goes on from rest [s].",
        0.02,
        10.0,
    ),
    Parameter(
        "realtime_priority",
        50,
        "First-in-first-out priority of the thread that streams, where the system grants one; 0: none.",
        0,
        99,
    ),
    Parameter("validate", True, "Have trajectories validated by the planning node before they run.", running=True),
    Parameter(
        "watch",
        True,
        "Have the rest of a validated trajectory checked whenever the scene changes while it runs.",
        running=True,
    ),
    Parameter(
        "watch_timeout",
        2.0,
        "How long the scene or planning node may leave the watch without an answer [s].",
        1.0,
        600.0,
        running=True,
    ),
    Parameter("most_replans", 10, "How often a move plans a way around that asks for it.", 0, 1000, running=True),
    Parameter("appear_timeout", 5.0, "Time for robot and planning node to appear [s].", 0.1, 600.0, running=True),
    Parameter("validation_timeout", 30.0, "How long a validation may take [s].", 0.1, 600.0, running=True),
    Parameter("most_points", 100_000, "Largest number of points of a trajectory.", 1, 1_000_000, running=True),
    Parameter(
        "joint_state_timeout",
        0.25,
        "Age at which joint_states count as missing: a motion is held on its path until they come again [s].",
        0.05,
        10.0,
    ),
    Parameter(
        "joint_state_lost_after",
        2.0,
        "Age at which joint_states count as lost, and a motion ends; joint_state_timeout if that is more [s].",
        0.05,
        60.0,
    ),
    Parameter(
        "return_time",
        2.0,
        "How long the robot may take to come back to its path after a pause of its process or of this one [s].",
        0.0,
        60.0,
    ),
    Parameter("joint_jump", 0.5, "Largest step of a joint between two joint_states [rad or m].", 1e-4, ENDLESS),
    Parameter("start_tolerance", 0.01, "Largest distance of a joint from a trajectory's start [rad or m].", 0.0, 1.0),
    Parameter("path_tolerance", 0.1, "Largest tracking error of a joint on the way [rad or m].", 0.0, ENDLESS),
    Parameter("goal_tolerance", 0.005, "Largest error of a joint at the end [rad or m].", 0.0, ENDLESS),
    Parameter("stopped_velocity", 0.02, "Largest measured speed of a joint at the end [per s].", 0.0, ENDLESS),
    Parameter("goal_time", 2.0, "How long after the end it may take until both hold [s].", 0.0, 600.0),
    Parameter("scale_acceleration", 4.0, "How fast the speed scale may change [1/s].", 0.1, 1000.0),
    Parameter("scale_jerk", 40.0, "How fast that rate may change [1/s2].", 1.0, 100_000.0),
    Parameter("feedback_rate", 20.0, "Rate of the feedback of actions [Hz].", 1.0, 100.0),
    Parameter("motion_modes", [""], "Values of robot_mode that allow motion; none: the mode does not matter."),
    Parameter("follow_joint_trajectory", FOLLOW_ACTION, "Name of the FollowJointTrajectory action offered."),
    Parameter("allow_partial_joints_goal", True, "Whether such a goal may leave out some of `joints`; they are held."),
    Parameter("gripper_action", "gripper_controller/gripper_cmd", "Name of the GripperCommand action offered."),
    Parameter("gripper_joint", "", 'Joint of the gripper, as joint_states calls it; "" offers no gripper.'),
    Parameter("gripper_lower", 0.0, "Smallest position of that joint [rad or m].", -ENDLESS, ENDLESS),
    Parameter("gripper_upper", 0.1, "Largest position of that joint [rad or m].", -ENDLESS, ENDLESS),
    Parameter("gripper_velocity", 0.1, "Speed of the gripper's commands [per s].", 1e-6, ENDLESS),
    Parameter("gripper_acceleration", 1.0, "Acceleration of the gripper's commands [per s2].", 1e-6, ENDLESS),
    Parameter("gripper_jerk", 20.0, "Jerk of the gripper's commands [per s3].", 1e-6, ENDLESS),
    Parameter("gripper_goal_tolerance", 0.001, "How near the goal counts as there [rad or m].", 0.0, ENDLESS),
    Parameter("gripper_goal_time", 5.0, "How long it may take to be there, or to stall [s].", 0.1, 600.0),
    Parameter("stall_velocity_threshold", 0.001, "Slower than this the gripper stands [per s].", 0.0, ENDLESS),
    Parameter("stall_timeout", 0.3, "Standing off its goal for this long, the gripper has stalled [s].", 0.01, 60.0),
    Parameter("allow_stalling", True, "Whether a gripper that has stalled did what it should: it holds something."),
    *SERVO_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *DIAGNOSTIC_PARAMETERS,
)


def names(parameters: Parameters, name: str) -> tuple[str, ...]:
    """A parameter that is a list of strings, without the empty ones.

    Raises:
        InvalidRequestError: one is listed twice.
    """
    values = tuple(value for value in parameters[name] if value)
    if len(set(values)) != len(values):
        raise InvalidRequestError(f"parameter {name} lists a name twice: {', '.join(values)}", stage="parameters")
    return values


def command_fields(parameters: Parameters) -> tuple[str, ...]:
    """The fields of joint_commands.

    Raises:
        InvalidRequestError: none, or one that there is not.
    """
    fields = names(parameters, "command_fields")
    wrong = [field for field in fields if field not in FIELDS]
    if wrong or not fields:
        text = f"parameter command_fields is {list(fields)}, expected one or more of {', '.join(FIELDS)}"
        raise InvalidRequestError(text, stage="parameters", subjects=("command_fields",))
    return fields


def tolerance_defaults(parameters: Parameters) -> ToleranceDefaults:
    return ToleranceDefaults(
        start=parameters["start_tolerance"],
        path=parameters["path_tolerance"],
        goal=parameters["goal_tolerance"],
        stopped_velocity=parameters["stopped_velocity"],
        goal_time=parameters["goal_time"],
    )


def playback_options(parameters: Parameters) -> SamplerOptions:
    return SamplerOptions(parameters["scale_acceleration"], parameters["scale_jerk"])


def gripper_options(parameters: Parameters) -> GripperOptions:
    """How the gripper moves.

    Raises:
        InvalidRequestError: its bounds are the wrong way around, or its range takes more than ten minutes.
    """
    lower, upper = parameters["gripper_lower"], parameters["gripper_upper"]
    if not lower < upper:
        text = f"parameter gripper_lower is {lower:g}, expected below gripper_upper, {upper:g}"
        raise InvalidRequestError(text, stage="parameters", subjects=("gripper_lower", "gripper_upper"))
    options = GripperOptions(
        joint=parameters["gripper_joint"],
        lower=lower,
        upper=upper,
        velocity=parameters["gripper_velocity"],
        acceleration=parameters["gripper_acceleration"],
        jerk=parameters["gripper_jerk"],
        goal_tolerance=parameters["gripper_goal_tolerance"],
        stall_velocity=parameters["stall_velocity_threshold"],
        stall_timeout=parameters["stall_timeout"],
        goal_time=parameters["gripper_goal_time"],
        allow_stalling=parameters["allow_stalling"],
    )
    if not options.longest_motion <= LONGEST_GRIPPER_MOTION:
        values = (Value("time", options.longest_motion, LONGEST_GRIPPER_MOTION, "s"),)
        text = (
            "the gripper would take too long for its range, by its parameters of range, velocity, acceleration and jerk"
        )
        raise InvalidRequestError(text, stage="parameters", subjects=("gripper_velocity",), values=values)
    return options
