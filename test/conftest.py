"""What all tests share."""

import importlib.util

import pytest
from hypothesis import settings

# The same examples in each run, and no test that depends on how fast the machine is.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


def pytest_configure(config):
    """Say how the tests are run if they are run without their environment."""
    if importlib.util.find_spec("robot_cell_planner") is None:
        raise pytest.UsageError("robot_cell_planner is not importable: `make test`, or `source .venv/setup.sh` first")
