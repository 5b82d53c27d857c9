"""What all tests share."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# For what tests share with benchmarks. At the end, so that the package itself is found where its compiled kernels
# belong to, and not in the root of the repository.
sys.path.append(str(Path(__file__).resolve().parents[1]))
# The same examples in each run, and no test that depends on how fast the machine is.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


def pytest_configure(config):
    """Say how the tests are run if they are run without their environment."""
    if importlib.util.find_spec("robot_cell_planner") is None:
        raise pytest.UsageError("robot_cell_planner is not importable: `make test`, or `source .venv/setup.sh` first")
