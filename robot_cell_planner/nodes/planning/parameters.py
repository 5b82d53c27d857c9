"""Parameters of the planning node."""

from __future__ import annotations

from ...model.start_limits import MAX_START_TOLERANCE, START_LIMIT_TOLERANCE
from ...planning.problem.planner_info import AUTOMATIC
from ...planning.search.registry import PLANNERS
from ...trajectory.timing import DEFAULT_PERIOD
from ..common.external_frames import TRANSFORM_PARAMETERS
from ..common.lifecycle import NODE_PARAMETERS
from ..common.parameters import Parameter
from ..common.resource_roots import RESOURCE_PARAMETERS
from .failure_cases import CASE_PARAMETERS

PARAMETERS = (
    Parameter("workers", 2, "Number of worker processes, which is the number of requests planned at once.", 1, 64),
    Parameter(
        "worker_niceness",
        10,
        "Increment of the niceness of workers that serve requests, so that streaming and simulation take precedence.",
        0,
        19,
    ),
    Parameter("default_planner", AUTOMATIC, "Default planner.", choices=tuple(PLANNERS), running=True),
    Parameter("engine", "coal", "Collision engine.", choices=("coal", "bullet"), running=True),
    Parameter("time_limit", 30.0, "Default time limit of requests [s].", 0.01, 86_400.0, running=True),
    Parameter(
        "state_limit",
        1_000_000,
        "Default maximum number of states to check.",
        1,
        1_000_000_000,
        running=True,
    ),
    Parameter(
        "search_step", 0.03, "Maximum step between states checked while searching [rad or m].", 1e-4, 1.0, running=True
    ),
    Parameter(
        "resolution",
        0.001,
        "Maximum step between states checked along a returned path [rad or m].",
        1e-5,
        1.0,
        running=True,
    ),
    Parameter(
        "sample_period", DEFAULT_PERIOD, "Time between the samples of trajectories [s].", 1e-4, 1.0, running=True
    ),
    Parameter(
        "start_tolerance",
        0.01,
        "Maximum distance of a trajectory's first point from the state [rad or m].",
        0.0,
        1.0,
        running=True,
    ),
    Parameter(
        "start_limit_tolerance",
        START_LIMIT_TOLERANCE,
        "Maximum distance of a start beyond a position limit that is corrected, with a warning [rad or m].",
        0.0,
        MAX_START_TOLERANCE,
        running=True,
    ),
    Parameter("max_configurations", 100_000, "Maximum number of configurations in a request.", 1, 10_000_000),
    Parameter("wait_timeout", 5.0, "Default timeout of min_revision and min_joint_stamp [s].", 0.0, 600.0),
    *CASE_PARAMETERS,
    *TRANSFORM_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)
