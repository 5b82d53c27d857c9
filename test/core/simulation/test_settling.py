"""A simulation may settle for longer than its start may be silent."""

import pytest
from simulation_cells import workshop

from robot_cell_planner.errors import TimedOutError
from robot_cell_planner.simulation import worker
from robot_cell_planner.simulation.joint_names import JointNames
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.process import Ready, Schedule, Settling, SimulationProcess, Start
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

READY = Ready(JointNames.of(()), (), {})


class Received:
    """A connection that has received messages, and in which no more arrive."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.sent = []

    def poll(self, timeout):
        return bool(self.messages)

    def recv(self):
        return self.messages.pop(0)

    def send(self, message):
        self.sent.append(message)


def begun(*messages):
    process = SimulationProcess.__new__(SimulationProcess)
    process._connection = Received(*messages)
    process._outbox = type("Outbox", (), {"put": lambda self, message: True})()
    return process._begin(Start(*workshop(), SimulationOptions(), Schedule()))


def test_a_start_that_reports_that_it_settles_is_waited_for():
    assert begun(*map(Settling, (1.0, 2.0, 3.0)), READY) == READY


def test_one_that_does_not_report_any_more_is_not():
    with pytest.raises(TimedOutError, match=r"not ready within 120 s after 2 s of `settle_time`"):
        begun(Settling(1.0), Settling(2.0))


@pytest.mark.parametrize("settle_time", [0.0, 0.1])
def test_the_physics_report_each_step_in_which_objects_come_to_rest(settle_time):
    found = []
    options = SimulationOptions(settle_time=settle_time)
    with SimulatedCell(*workshop(), options, on_settling=found.append):
        pass
    assert len(found) == round(settle_time / options.time_step)
    assert found[-1:] == ([pytest.approx(settle_time)] if settle_time else [])


def test_the_worker_reports_them_before_it_is_ready(monkeypatch):
    monkeypatch.setattr(worker, "SETTLING_PERIOD", 0.0)
    options = SimulationOptions(settle_time=0.02, time_step=0.004)
    connection = Received(Start(*workshop(), options, Schedule()), None)
    worker._serve(connection)
    *settling, ready = connection.sent
    assert [message.settled for message in settling] == pytest.approx([0.004, 0.008, 0.012, 0.016, 0.02])
    assert isinstance(ready, Ready)
