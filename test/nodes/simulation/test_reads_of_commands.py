"""Reads of commands by the simulated robot, at all delays and rates that parameters allow."""

import numpy as np
import pytest

from robot_cell_planner.nodes.execution.parameters import PARAMETERS as EXECUTION
from robot_cell_planner.nodes.simulation.node import COMMANDS_DEPTH, poll_period
from robot_cell_planner.nodes.simulation.parameters import PARAMETERS as SIMULATION


def bounds(parameters, name):
    (found,) = [each for each in parameters if each.name == name]
    return found.lower, found.upper


@pytest.mark.parametrize("delay", np.linspace(*bounds(SIMULATION, "command_delay"), 11))
def test_commands_at_the_highest_rate_are_not_replaced_before_they_are_read(delay):
    """Although a read may come late."""
    _, rate = bounds(EXECUTION, "command_rate")
    assert 5.0 * rate * poll_period(delay) <= COMMANDS_DEPTH


def test_commands_are_read_before_they_are_due():
    for delay in np.linspace(0.02, 1.0, 50):
        assert poll_period(delay) <= 0.5 * delay
