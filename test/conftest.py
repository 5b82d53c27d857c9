"""Configuration shared by all tests."""

import faulthandler
import importlib.util
import os
import sys
from pathlib import Path

import pytest
from file_times import FileTimes
from hypothesis import settings

# For modules shared by tests and benchmarks. At the end, so that the package itself is found where its compiled kernels
# belong, and not in the root of the repository.
sys.path.append(str(Path(__file__).resolve().parents[1]))
# The same examples in each run, and no test that depends on how fast the machine is.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
# [s], beyond `timeout` in pyproject.toml, whose signal is never handled in a call of a library that does not return:
# Fast DDS may block itself when another process leaves (its issue 6502). The process ends instead, and the test fails.
BLOCKED = 700.0
STDERR = pytest.StashKey[int]()


def pytest_configure(config):
    """Report how to run the tests if their environment is missing, and how long files take."""
    config.pluginmanager.register(FileTimes())
    config.stash[STDERR] = os.dup(2)  # not yet that of a test
    if importlib.util.find_spec("robot_cell_planner") is None:
        raise pytest.UsageError("robot_cell_planner is not importable: `make test`, or `source .venv/setup.sh` first")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process if a test blocks it for good, and print where."""
    faulthandler.dump_traceback_later(BLOCKED, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with the files that take longest for each test: those that start nodes. Otherwise one of them is often the
    last, and one processor waits for it."""
    items.sort(key=lambda item: "core" in item.path.parts)
