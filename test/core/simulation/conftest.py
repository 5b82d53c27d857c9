"""The physics engines, in each of which the laws of mechanics are tested."""

import pytest

from robot_cell_planner.simulation.engines.names import BULLET, ENGINES
from robot_cell_planner.simulation.engines.selection import make_engine
from robot_cell_planner.system.physics import has_mujoco, has_physics


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """The name of an engine in which all simulations of a test run, one engine after the other."""
    if not (has_physics() if request.param == BULLET else has_mujoco()):
        pytest.skip(f"{request.param} is not installed")
    module = "robot_cell_planner.simulation.cell_physics"
    monkeypatch.setattr(f"{module}.make_engine", lambda _, *rest: make_engine(request.param, *rest))
    return request.param
