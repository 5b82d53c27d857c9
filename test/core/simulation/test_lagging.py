"""A simulation that is behind the clock gives up time only if no command waits that moves a joint."""

from multiprocessing import Pipe

import pytest
from simulation_cells import workshop

from robot_cell_planner.simulation.commands import JointCommand
from robot_cell_planner.simulation.measuring import Measuring
from robot_cell_planner.simulation.operations import Request, Reset
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.process import Schedule, TimedCommand
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
