"""Configuration shared by all tests."""

import importlib.util
import sys
from pathlib import Path

import pytest
from blocked_tests import BlockedTests
from file_times import FileTimes
from hypothesis import settings

# For modules shared by tests and benchmarks. At the end, so that the package itself is found where its compiled kernels
# belong, and not in the root of the repository.
sys.path.append(str(Path(__file__).resolve().parents[1]))
# The same examples in each run, and no test that depends on how fast the machine is.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
BLOCKED = 700.0  # [s], beyond `timeout` in pyproject.toml


def pytest_configure(config):
    """Report how to run the tests if their environment is missing, and how long files take."""
    config.pluginmanager.register(FileTimes())
    config.pluginmanager.register(BlockedTests(config.cache.mkdir("blocked"), BLOCKED))
    if importlib.util.find_spec("robot_cell_planner") is None:
        raise pytest.UsageError("robot_cell_planner is not importable: `make test`, or `source .venv/setup.sh` first")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with the files that take longest for each test: those that start nodes. Otherwise one of them is often the
    last, and one processor waits for it."""
    items.sort(key=lambda item: "core" in item.path.parts)
