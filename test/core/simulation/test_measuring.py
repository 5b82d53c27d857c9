"""Sensors measure at their own rates, also where these do not divide the rate of the simulation."""

from itertools import pairwise

import pytest
from simulation_cells import workshop

from robot_cell_planner.model.simulated_sensors import JointTorqueSensor
from robot_cell_planner.simulation.measuring import Measuring
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell


class Torques:
    """Stands for the sensors of a simulated cell."""

    def joint_torques(self, name):
        return {name: 0.0}


@pytest.fixture
def simulated(monkeypatch):
    with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.0)) as simulated:
        monkeypatch.setattr(SimulatedCell, "sensors", Torques())
        yield simulated


@pytest.mark.parametrize(
    ("rate", "of_sensor", "expected"),
    [(250.0, 100.0, 100.0), (250.0, 30.0, 30.0), (200.0, 150.0, 150.0), (250.0, 250.0, 250.0), (100.0, 250.0, 100.0)],
)
def test_the_number_of_measurements_is_that_of_the_rate(simulated, rate, of_sensor, expected):
    measuring = Measuring(simulated, {"sensor": JointTorqueSensor("gantry", of_sensor)}, rate)
    due = [period for period in range(round(10 * rate)) if list(measuring.messages(period, 0.0))]
    assert due[0] == 0
    assert len(due) == 10 * expected
    gaps = [later - earlier for earlier, later in pairwise(due)]
    assert max(gaps) - min(gaps) <= 1


def test_rates_that_divide_that_of_the_simulation_are_even(simulated):
    measuring = Measuring(simulated, {"sensor": JointTorqueSensor("gantry", 10.0)}, 250.0)
    assert [period for period in range(1000) if list(measuring.messages(period, 0.0))] == list(range(0, 1000, 25))
