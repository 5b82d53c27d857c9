"""Parameters of the simulated robot node, and the options of the simulation that they contain."""

from __future__ import annotations

from ...errors import InvalidRequestError
from ...model.simulated_robot import CONTROLLERS, SimulatedRobot
from ...simulation.engines.names import ENGINES
from ...simulation.options import SimulationOptions
from ...simulation.process import Schedule
from ..common.frame_names import FRAME_PREFIX
from ..common.lifecycle import NODE_PARAMETERS
from ..common.parameters import Parameter, Parameters
from ..common.resource_roots import RESOURCE_PARAMETERS
from .scene_following import FOLLOW_SCENE
from .sensor_output import SENSORS

DEFAULTS = SimulationOptions()
PARAMETERS = (
    Parameter("cell_file", "", "Cell file; the simulation starts in its state.", constraint="not empty"),
    Parameter("engine", DEFAULTS.engine, "Physics engine.", choices=ENGINES),
    Parameter("rate", 250.0, "Rate of joint_states, in simulated time [Hz].", 1.0, 1000.0),
    Parameter("state_rate", 10.0, "Rate of simulation/state, in simulated time [Hz].", 0.1, 100.0),
    Parameter(
        "command_delay",
        0.04,
        "Delay between the stamp of a command and its execution, which compensates for jitter [s].",
        0.0,
        1.0,
    ),
    Parameter("publish_clock", False, "Whether to publish /clock; all stamps are then in simulated time."),
    Parameter(
        "real_time_factor",
        1.0,
        "Simulated seconds per second of wall time. Motions of nodes with use_sim_time take the time of their "
        "trajectories in simulated time, of other nodes in wall time.",
        0.01,
        100.0,
        constraint="1 unless publish_clock",
    ),
    Parameter(
        "time_step",
        DEFAULTS.time_step,
        "Maximum time step of the physics; shortened so that a whole number of steps fits a period of `rate` [s].",
        1e-4,
        0.01,
    ),
    Parameter(
        "settle_time", DEFAULTS.settle_time, "Maximum time for objects to come to rest before the start [s].", 0.0, 60.0
    ),
    Parameter("friction", DEFAULTS.friction, "Coefficient of friction between any two objects.", 0.0, 10.0),
    Parameter(
        "spinning_friction",
        DEFAULTS.spinning_friction,
        "Coefficient of spinning friction: moment about the contact normal per normal force [m].",
        0.0,
        1.0,
    ),
    Parameter(
        "grasp_assist",
        DEFAULTS.grasp_assist,
        "Whether a grasped object is held by a constraint that is as strong as friction; false: by contacts only.",
    ),
    Parameter(
        "extrapolate_for",
        DEFAULTS.extrapolate_for,
        "Maximum time for which a position command is extrapolated with its velocity when the next is late [s].",
        0.0,
        1.0,
    ),
    Parameter(
        "command_timeout",
        DEFAULTS.command_timeout,
        "Time after which a velocity or effort command expires and its joint holds its position [s].",
        0.001,
        60.0,
    ),
    Parameter(
        "rest_speed",
        DEFAULTS.rest_speed,
        "Speed of joints and bodies below which the physics rest until something changes; 0: never [rad/s or m/s].",
        0.0,
        1e-3,
    ),
    Parameter(
        "controller",
        "",
        "Controller of the joints of all robots, with its default settings; empty: those of the cell file.",
        choices=("", *CONTROLLERS),
    ),
    FOLLOW_SCENE,
    SENSORS,
    FRAME_PREFIX,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)
OPTION_NAMES = tuple(p.name for p in PARAMETERS if hasattr(DEFAULTS, p.name))


def schedule_of(parameters: Parameters) -> Schedule:
    """Return the rates and the clock of the simulation.

    Raises:
        InvalidRequestError: The real-time factor is not 1, and the node does not publish /clock.
    """
    factor, clock = parameters["real_time_factor"], parameters["publish_clock"]
    if factor != 1.0 and not clock:
        text = f"parameter real_time_factor is {factor:g}, expected 1 unless publish_clock is true"
        raise InvalidRequestError(text, stage="parameters", subjects=("real_time_factor",))
    delay = 0.0 if clock else parameters["command_delay"]
    return Schedule(parameters["rate"], parameters["state_rate"], factor, clock, delay)


def simulation_options(parameters: Parameters, robot: SimulatedRobot) -> SimulationOptions:
    """Return the options of the simulation of a robot."""
    return SimulationOptions(robot=robot, **{name: parameters[name] for name in OPTION_NAMES})
