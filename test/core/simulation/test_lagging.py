"""A simulation that is behind the clock gives up time only if no command waits that moves a joint, or at rest."""

import math
import time
from contextlib import contextmanager
from multiprocessing import Pipe

import pytest
from simulation_cells import workshop

from robot_cell_planner.simulation.commands import JointCommand
from robot_cell_planner.simulation.measuring import Measuring
from robot_cell_planner.simulation.operations import Request, Reset
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.process import Report, Schedule, TimedCommand
from robot_cell_planner.simulation.repetition import MAX_LAG
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
from robot_cell_planner.simulation.worker import _Run


@pytest.fixture
def run():
    here, there = Pipe()
    with here, there, SimulatedCell(*workshop(), SimulationOptions(settle_time=0.0)) as simulated:
        yield _Run(simulated, Schedule(simulated_clock=True), there, Measuring(simulated, {}, 250.0))


def send(run, **values):
    run._receive(TimedCommand(JointCommand(**values), run._simulated.time))


@pytest.mark.parametrize(
    ("values", "moves"),
    [
        ({"positions": {"x": 0.1}}, True),
        ({"positions": {"x": 0.0}, "velocities": {"x": 0.1}}, True),
        ({"velocities": {"x": 0.1}}, True),
        ({"velocities": {"x": 0.0}}, False),
        ({"efforts": {"x": 10.0}}, True),
        ({"efforts": {"z": 0.0}}, True),  # it falls
        ({"positions": {"finger": 0.04}, "efforts": {"finger": 10.0}}, False),  # a bound
    ],
)
def test_which_commands_move_a_joint(run, values, moves):
    send(run, positions={"x": 0.0, "finger": 0.04})
    run._carry_out(run._simulated.time)
    send(run, **values)
    assert run._is_moving() == moves


@pytest.mark.parametrize("mode", ["velocities", "efforts"])
def test_after_other_commands_every_position_is_a_motion(run, mode):
    send(run, positions={"x": 0.1})
    send(run, **{mode: {"x": 0.1}})
    run._carry_out(run._simulated.time)
    send(run, positions={"x": 0.1})
    assert run._is_moving()


def test_after_a_return_to_the_start_every_position_is_a_motion(run):
    send(run, positions={"x": 0.1})
    run._carry_out(run._simulated.time)
    send(run, positions={"x": 0.1})
    assert not run._is_moving()
    run._receive(Request(0, Reset()))
    send(run, positions={"x": 0.1})
    assert run._is_moving()


class Sent(list):
    """A connection that keeps what is sent."""

    send = list.append

    def send_bytes(self, _):
        """Ignore samples."""


@contextmanager
def at_rest(report_rate):
    """A simulation at rest, and the messages that it sends from then on."""
    sent = Sent()
    with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.0)) as simulated:
        run = _Run(simulated, Schedule(report_rate=report_rate), sent, Measuring(simulated, {}, 250.0))
        simulated.step_to(run._pace.period)
        run.periods = 1  # after the first report
        while not run._can_rest():
            run._finish_period((run.periods + 1) * run._pace.period)
        run._rests = True
        sent.clear()
        yield run, sent


@pytest.fixture
def resting():
    with at_rest(10.0) as found:
        yield found


@pytest.mark.parametrize("suspended", [0.5, 1.5 * MAX_LAG, 100.0])
@pytest.mark.parametrize("commanded_after", [math.inf, 0.3, 50.0])
def test_a_rest_is_not_simulated_period_by_period_after_a_suspension(resting, suspended, commanded_after):
    run, sent = resting
    pace, begin = run._pace, run._pace.moment(run.periods * run._pace.period)
    now, command = begin + suspended, begin + commanded_after
    run._pass_periods(now, command)
    reached, until = pace.moment(run.periods * pace.period), min(now, command)
    assert reached <= until + 1e-9
    assert reached + pace.interval >= until - 1e-9
    assert run._simulated.time == pytest.approx(run.periods * pace.period)
    reports = [message for message in sent if isinstance(message, Report)]
    assert len(reports) <= 10.0 * min(MAX_LAG, until - begin) + 2.0
    # The samples of the skipped time were repeated.
    assert (reached - begin) / pace.interval == pytest.approx(round((reached - begin) / pace.interval), abs=1e-3)
    assert pace.lost == 0.0


def test_contacts_before_a_suspension_that_are_reported_after_it_have_the_stamps_of_their_time():
    with at_rest(0.1) as (run, _):
        begins = {(each.first, each.second): run._pace.moment(each.begin) for each in run._simulated.contact_log}
        assert begins
        run._pass_periods(time.monotonic() + 100.0)
        assert {(each.first, each.second): each.begin for each in run._stamped_contacts()} == begins
