"""Constants and parameters of different modules that depend on each other do not contradict each other.

Parameters of one node declare such constraints (`Parameter.relation`), which the node checks.
"""

import pytest

from robot_cell_planner.nodes.bringup import prepared
from robot_cell_planner.nodes.bringup.session import ShutdownTimeouts
from robot_cell_planner.nodes.collision import node as collision
from robot_cell_planner.nodes.common import clock_rate, joint_states, lifecycle, server_monitor
from robot_cell_planner.nodes.common.remote_calls import REMOTE_PARAMETERS, REPLY_TIMEOUT
from robot_cell_planner.nodes.execution import node as execution
from robot_cell_planner.nodes.execution.parameters import PARAMETERS as OF_EXECUTION
from robot_cell_planner.nodes.motion import motion_monitor
from robot_cell_planner.nodes.motion.held_positions import TIMEOUTS
from robot_cell_planner.nodes.planning.parameters import PARAMETERS as OF_PLANNING
from robot_cell_planner.nodes.recording import recorder
from robot_cell_planner.nodes.scene import node as scene
from robot_cell_planner.nodes.simulation.parameters import PARAMETERS as OF_SIMULATION
from robot_cell_planner.planning.workers import pool
from robot_cell_planner.setup_assistant import check_parameters
from robot_cell_planner.simulation import disturbances, process, worker
from robot_cell_planner.simulation.options import BOUNDS
from robot_cell_planner.simulation.process import SCHEDULE_BOUNDS
from robot_cell_planner.trajectory.sampler import SamplerOptions

EXECUTION = {parameter.name: parameter for parameter in OF_EXECUTION}
SIMULATION = {parameter.name: parameter for parameter in OF_SIMULATION}
OF_SCHEDULE = {
    "rate": "rate",
    "report_rate": "state_rate",
    "real_time_factor": "real_time_factor",
    "delay": "command_delay",
}
STATES_OF = {"scene": scene.PARAMETERS, "collision": collision.PARAMETERS, "planning": OF_PLANNING}


def test_two_statuses_may_be_lost_before_a_node_counts_as_ended():
    assert server_monitor.STATUS_TIMEOUT > 2.0 * execution.STATUS_PERIOD


def test_a_monitored_motion_waits_for_more_than_one_reply_without_a_change():
    assert EXECUTION["monitor_timeout"].lower >= 2.0 * motion_monitor.PERIOD


def test_joint_states_are_read_before_they_can_count_as_missing():
    assert EXECUTION["joint_state_timeout"].lower >= max(execution.POLL_PERIOD, execution.REST_POLL_PERIOD)


def test_joints_count_as_lost_before_others_replace_them():
    assert EXECUTION["joint_state_lost_after"].upper <= joint_states.SILENT_AFTER


def test_the_default_timeouts_of_joint_states_are_those_of_the_parameters():
    names = "joint_state_timeout", "joint_state_lost_after", "path_return_timeout"
    assert (TIMEOUTS.silence, TIMEOUTS.lost_after, TIMEOUTS.path_return_timeout) == tuple(
        EXECUTION[n].default for n in names
    )


def test_nodes_follow_the_fastest_clock_of_a_simulation():
    assert SCHEDULE_BOUNDS["real_time_factor"][1] == clock_rate.MAX_RATE


@pytest.mark.parametrize("field", SCHEDULE_BOUNDS)
def test_parameters_of_the_schedule_have_its_bounds(field):
    found = SIMULATION[OF_SCHEDULE[field]]
    assert (found.lower, found.upper) == SCHEDULE_BOUNDS[field]


@pytest.mark.parametrize("name", sorted(BOUNDS.keys() & SIMULATION.keys()))
def test_parameters_of_the_simulation_have_the_bounds_of_its_options(name):
    assert (SIMULATION[name].lower, SIMULATION[name].upper) == BOUNDS[name]


def test_the_check_of_a_cell_knows_the_default_range_of_grippers():
    defaults = tuple(EXECUTION[name].default for name in ("gripper_lower", "gripper_upper"))
    assert defaults == (check_parameters.LOWER, check_parameters.UPPER)


def test_commands_wait_for_the_longest_latency_and_delay():
    longest = disturbances.BOUNDS[disturbances.DisturbanceKind.COMMAND_LATENCY][1] + SCHEDULE_BOUNDS["delay"][1]
    assert longest * EXECUTION["command_rate"].upper <= worker.MAX_WAITING


def test_a_simulation_reports_that_it_settles_long_before_it_is_given_up():
    assert process.START_TIMEOUT >= 10.0 * worker.SETTLING_PERIOD


def test_a_process_of_the_supervisor_may_compile_for_longer_than_a_worker():
    assert prepared.MAX_PREPARATION >= pool.MAX_PREPARATION


def test_processes_end_what_they_started_before_the_supervisor_kills_them():
    longest = max(process.END_TIMEOUT, pool.SHUTDOWN_TIMEOUT, SamplerOptions().stop_time) + lifecycle.ANSWER_TIME
    assert ShutdownTimeouts().interrupt > longest


def test_a_recording_is_flushed_before_it_is_synchronised():
    assert recorder.POLL_PERIOD < recorder.FLUSH_PERIOD <= recorder.SYNC_PERIOD


@pytest.mark.parametrize("node", STATES_OF)
def test_nodes_that_wait_for_a_state_answer_before_their_callers_give_up(node):
    (wait,) = [parameter for parameter in STATES_OF[node] if parameter.name == "wait_timeout"]
    (reply,) = [parameter for parameter in REMOTE_PARAMETERS if parameter.name == REPLY_TIMEOUT]
    assert wait.default < min(reply.default, EXECUTION["validation_timeout"].default)
