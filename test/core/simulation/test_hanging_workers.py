"""Processes of a simulation that hang at their start or end are killed and named, and block nobody."""

import threading

import pytest
from simulation_cells import workshop

from robot_cell_planner.errors import TimedOutError, WorkerCrashedError
from robot_cell_planner.simulation import camera_process, process
from robot_cell_planner.simulation.camera_process import CameraProcess, CameraStart
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.process import Schedule, SimulationProcess, Start

OPTIONS = SimulationOptions(settle_time=0.0)
MORE_THAN_A_SOCKET_HOLDS = "x" * (1 << 23)


def start_physics(padding=""):
    cell, state = workshop()
    SimulationProcess(Start(cell, (state, padding), OPTIONS, Schedule()), print, print, print)


def start_cameras(padding=""):
    cell, state = workshop()
    CameraProcess(CameraStart(cell, (state, padding), OPTIONS), print, print)


STARTS = pytest.mark.parametrize("start", [start_physics, start_cameras])


@pytest.fixture(autouse=True)
def hanging(monkeypatch):
    """Both processes are those of `silent_worker`, and are not waited for longer than needed."""
    monkeypatch.setenv("HANGS", "open")
    for module in (process, camera_process):
        monkeypatch.setattr(module, "WORKER", "silent_worker")
        monkeypatch.setattr(module, "START_TIMEOUT", 0.5)
        monkeypatch.setattr(module, "END_TIMEOUT", 0.1)
    threads = threading.active_count()
    yield
    assert threading.active_count() == threads


@STARTS
def test_a_process_that_closes_its_connection_and_does_not_end_is_killed(start, monkeypatch):
    monkeypatch.setenv("HANGS", "closed")
    for module in (process, camera_process):
        monkeypatch.setattr(module, "START_TIMEOUT", 120.0)
    with pytest.raises(WorkerCrashedError, match=r"closed its connection, did not end within 0\.1 s and was killed"):
        start()


@STARTS
def test_a_process_that_does_not_read_its_configuration_is_reported(start):
    with pytest.raises(TimedOutError, match=r"not ready within 0\.5 s"):
        start(MORE_THAN_A_SOCKET_HOLDS)
