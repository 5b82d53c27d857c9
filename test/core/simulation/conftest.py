"""Fixture that runs a test in each physics engine."""

import pytest

from robot_cell_planner.simulation.engines.names import BULLET, ENGINES
from robot_cell_planner.simulation.engines.selection import make_engine
from robot_cell_planner.system.physics import has_mujoco, has_physics


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """The name of the engine of all simulations of a test; the test runs once with each engine."""
    if not (has_physics() if request.param == BULLET else has_mujoco()):
        pytest.skip(f"{request.param} is not installed")
    module = "robot_cell_planner.simulation.cell_physics"
    monkeypatch.setattr(f"{module}.make_engine", lambda _, *rest: make_engine(request.param, *rest))
    return request.param
